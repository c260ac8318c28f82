import type { Prng } from '../../simulation/prng.ts';
import { mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { plainStart, poll, times } from './steps.ts';

const queue = { name: '$Q0', kind: 'TASK_QUEUE_KIND_NORMAL' };

/** What task queues tell of themselves, and the rates and weights that they are given. */
export function queueConfigs(prng: Prng): readonly Step[] {
  const backlog = prng.pick<readonly Step[]>([[], [plainStart()], [plainStart(), poll()]]);
  return [...backlog, ...times(prng.int(2, 5), () => [one(prng)])];
}

function one(prng: Prng): Step {
  const type = `TASK_QUEUE_TYPE_${prng.pick(['WORKFLOW', 'ACTIVITY', 'ACTIVITY'])}`;
  const [method, request] = prng.pick<() => readonly [string, Fields]>([
    () => ['UpdateTaskQueueConfig', update(prng, type)],
    () => ['UpdateTaskQueueConfig', update(prng, type)],
    () => ['DescribeTaskQueue', { taskQueue: queue, taskQueueType: type, reportConfig: true }],
    () => ['DescribeTaskQueue', { taskQueue: queue, taskQueueType: type, includeTaskQueueStatus: true }],
    () => ['DescribeTaskQueue', { taskQueue: queue, taskQueueType: type, reportStats: true, reportConfig: true }],
    () => [
      'DescribeTaskQueue',
      { taskQueue: queue, apiMode: 'DESCRIBE_TASK_QUEUE_MODE_ENHANCED', taskQueueTypes: [type], reportStats: true, reportPollers: true },
    ],
    () => ['ListTaskQueuePartitions', { taskQueue: queue }],
    () => ['ListTaskQueuePartitions', { taskQueue: { name: prng.pick(['/_sys/$Q0/1', '$Q8', '']) } }],
  ])();
  return call(method, prng.chance(0.25) ? mutated(prng, request) : request);
}

function update(prng: Prng, taskQueueType: string): Fields {
  const rate = (): Fields =>
    prng.chance(0.25) ? { reason: 'none' } : { rateLimit: { requestsPerSecond: prng.pick([10, 0.5, 0, -1]) }, reason: 'slow' };
  return {
    taskQueue: '$Q0',
    taskQueueType,
    identity: 'client',
    ...(prng.chance(0.6) ? { updateQueueRateLimit: rate() } : {}),
    ...(prng.chance(0.4) ? { updateFairnessKeyRateLimitDefault: rate() } : {}),
    ...(prng.chance(0.3) ? { setFairnessWeightOverrides: { tenant: prng.pick([1.5, 2, 0, -1]) } } : {}),
    ...(prng.chance(0.2) ? { unsetFairnessWeightOverrides: [prng.pick(['tenant', 'other'])] } : {}),
  };
}
