/** Task queues: what is told of them, polls, answers without a task. */
import type { Prng } from '../../simulation/prng.ts';
import { mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { plainStart, poll, times } from './steps.ts';

export function taskQueues(prng: Prng): readonly Step[] {
  const queue = { name: '$Q0', kind: 'TASK_QUEUE_KIND_NORMAL' };
  const calls: readonly (readonly [string, Fields])[] = [
    ['DescribeTaskQueue', { taskQueue: queue, taskQueueType: 'TASK_QUEUE_TYPE_WORKFLOW' }],
    ['DescribeTaskQueue', { taskQueue: queue, taskQueueType: 'TASK_QUEUE_TYPE_ACTIVITY', reportStats: true }],
    ['PollWorkflowTaskQueue', { taskQueue: queue, identity: 'worker' }],
    ['PollActivityTaskQueue', { taskQueue: queue, identity: 'worker' }],
    ['PollWorkflowTaskQueue', { taskQueue: { name: '$Q0-sticky', kind: 'TASK_QUEUE_KIND_STICKY', normalName: '$Q0' }, identity: 'worker' }],
    ['ResetStickyTaskQueue', { execution: { workflowId: '$W0', runId: '$RUN0' } }],
    ['RespondWorkflowTaskCompleted', { taskToken: '$TOKEN0', identity: 'worker' }],
    ['RespondWorkflowTaskFailed', { taskToken: '$TOKEN0', identity: 'worker', failure: { message: 'm' } }],
    ['RespondQueryTaskCompleted', { taskToken: '$TOKEN0' }],
    ['ShutdownWorker', { stickyTaskQueue: '$Q0-sticky', identity: 'worker', reason: 'r' }],
  ];
  const one = (): readonly Step[] => {
    const [method, request] = prng.pick(calls);
    return [call(method, prng.chance(0.7) ? mutated(prng, request) : request, { timeoutMs: prng.pick([2_200, 2_200, 1_500]), slot: 0 })];
  };
  return [...(prng.chance(0.6) ? [plainStart()] : []), ...(prng.chance(0.3) ? [poll()] : []), ...times(prng.int(2, 4), one)];
}
