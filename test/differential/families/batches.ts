import type { Prng } from '../../simulation/prng.ts';
import { mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { payloads, seconds, command } from './requests.ts';
import { complete, describe, plainStart, poll, settle, steady, terminate, times } from './steps.ts';

/** Jobs that do the same to some workflows, by a list or by a query; how they are described, stopped and refused. */
export function batches(prng: Prng): readonly Step[] {
  const jobId = '$W0-job';
  const running = [plainStart(), ...(prng.chance(0.6) ? [poll(), complete(prng.chance(0.5) ? [activity] : [])] : [])];
  return [
    ...running,
    ...(prng.chance(0.4) ? [plainStart(1)] : []),
    ...(prng.chance(0.2) ? [terminate()] : []),
    settle,
    steady('CountWorkflowExecutions', { query: BOTH }),
    start(prng, jobId),
    steady('DescribeBatchOperation', { jobId }),
    settle,
    describe(),
    ...times(prng.int(1, 3), () => more(prng, jobId)),
  ];
}

const BOTH = "WorkflowId IN ('$W0', '$W1')";
const activity = command('scheduleActivityTask', {
  activityId: 'act-1',
  activityType: { name: 'act' },
  taskQueue: { name: '$Q0' },
  startToCloseTimeout: seconds(20),
});

function start(prng: Prng, jobId: string): Step {
  const target = prng.pick<Fields>([
    { executions: [{ workflowId: '$W0' }] },
    { executions: [{ workflowId: '$W0', runId: '$RUN0' }, { workflowId: '$W5' }] },
    { executions: [{ workflowId: '$W0' }, { workflowId: '$W1' }] },
    { visibilityQuery: BOTH },
    { visibilityQuery: "WorkflowId = '$W0' AND ExecutionStatus = 'Running'" },
    { visibilityQuery: "WorkflowId = '$W8'" },
    { visibilityQuery: 'WorkflowId = ' },
    { executions: [{ workflowId: '$W0' }], visibilityQuery: BOTH },
    {},
  ]);
  const full = { jobId, reason: 'many', ...target, ...operation(prng) };
  return call('StartBatchOperation', prng.chance(0.2) ? mutated(prng, full) : full);
}

function operation(prng: Prng): Fields {
  const identity = 'client';
  return prng.pick<Fields>([
    { signalOperation: { signal: 'go', input: payloads('in'), identity } },
    { signalOperation: { signal: 'go', identity } },
    { terminationOperation: { details: payloads('d'), identity } },
    { cancellationOperation: { identity } },
    { deletionOperation: { identity } },
    { resetOperation: { identity, options: { firstWorkflowTask: {} } } },
    { resetOperation: { identity, options: { lastWorkflowTask: {}, resetReapplyExcludeTypes: ['RESET_REAPPLY_EXCLUDE_TYPE_SIGNAL'] } } },
    { resetOperation: { identity, options: { workflowTaskId: 4 } } },
    { resetOperation: { identity, resetType: 'RESET_TYPE_FIRST_WORKFLOW_TASK' } },
    {
      updateWorkflowOptionsOperation: {
        identity,
        workflowExecutionOptions: { priority: { priorityKey: 3 } },
        updateMask: { paths: ['priority'] },
      },
    },
    { unpauseActivitiesOperation: { identity, matchAll: true } },
    { resetActivitiesOperation: { identity, matchAll: true } },
    { resetActivitiesOperation: { identity, type: 'act', keepPaused: true } },
    {
      updateActivityOptionsOperation: {
        identity,
        matchAll: true,
        activityOptions: { heartbeatTimeout: seconds(9) },
        updateMask: { paths: ['heartbeat_timeout'] },
      },
    },
    {},
  ]);
}

function more(prng: Prng, jobId: string): readonly Step[] {
  const [method, request] = prng.pick<readonly [string, Fields]>([
    ['StopBatchOperation', { jobId, reason: 'enough', identity: 'client' }],
    ['StopBatchOperation', { jobId: '$W9-job', reason: 'enough', identity: 'client' }],
    ['DescribeBatchOperation', { jobId }],
    ['DescribeBatchOperation', { jobId: '$W9-job' }],
    ['StartBatchOperation', { jobId, reason: 'again', visibilityQuery: BOTH, cancellationOperation: { identity: 'client' } }],
  ]);
  return [call(method, prng.chance(0.35) ? mutated(prng, request) : request), steady('DescribeBatchOperation', { jobId }), settle];
}
