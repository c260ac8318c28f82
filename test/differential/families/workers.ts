import type { Prng } from '../../simulation/prng.ts';
import { mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { seconds } from './requests.ts';
import { times } from './steps.ts';

/** Heartbeats of workers, and what a query about them finds. */
export function workers(prng: Prng): readonly Step[] {
  return times(prng.int(3, 6), () => [one(prng)]);
}

function heartbeat(prng: Prng): Fields {
  return {
    workerInstanceKey: prng.pick(['$W0-worker', '$W1-worker']),
    workerIdentity: 'worker@$W0',
    hostInfo: { hostName: 'host', processId: '17', workerGroupingKey: '$W0-group', currentHostCpuUsage: 0.5 },
    taskQueue: '$Q0',
    sdkName: 'temporal-differential',
    sdkVersion: '1.2.3',
    status: `WORKER_STATUS_${prng.pick(['RUNNING', 'SHUTTING_DOWN', 'SHUTDOWN', 'UNSPECIFIED'])}`,
    startTime: { seconds: 1_700_000_000 },
    heartbeatTime: { seconds: 1_800_000_000 },
    elapsedSinceLastHeartbeat: seconds(60),
    workflowTaskSlotsInfo: { currentAvailableSlots: 5, currentUsedSlots: 1, slotSupplierKind: 'Fixed', totalProcessedTasks: 9 },
    workflowPollerInfo: { currentPollers: 2, isAutoscaling: true },
    totalStickyCacheHit: 3,
    currentStickyCacheSize: 4,
    plugins: [{ name: 'plugin', version: '1' }],
  };
}

function one(prng: Prng): Step {
  const query = prng.pick([
    "TaskQueue = '$Q0'",
    "TaskQueue = '$Q0' AND Status = 'RUNNING'",
    "WorkerInstanceKey = '$W0-worker'",
    "WorkerIdentity = 'worker@$W0' AND SdkName = 'temporal-differential'",
    "TaskQueue = '$Q0' AND SdkVersion != '1.2.3'",
    "TaskQueue = '$Q0' AND (HostName = 'host' OR Status = 'SHUTDOWN')",
    "TaskQueue = '$Q0' AND StartTime > '2020-01-01T00:00:00Z'",
    "Nothing = 'x'",
    'TaskQueue = ',
    "TaskQueue STARTS_WITH '$Q0'",
    "TaskQueue = '$Q0' ORDER BY Status",
  ]);
  const [method, request] = prng.pick<() => readonly [string, Fields]>([
    () => ['RecordWorkerHeartbeat', { identity: 'worker', workerHeartbeat: [heartbeat(prng)] }],
    () => ['RecordWorkerHeartbeat', { identity: 'worker', workerHeartbeat: [heartbeat(prng), heartbeat(prng)] }],
    () => ['ListWorkers', { query, pageSize: prng.pick([0, 10, -1]) }],
    () => ['ListWorkers', { query }],
    () => ['CountWorkers', { query }],
    () => ['DescribeWorker', { workerInstanceKey: prng.pick(['$W0-worker', '$W1-worker', '$W7-worker']) }],
    () => ['ShutdownWorker', { workerInstanceKey: '$W0-worker', taskQueue: '$Q0', identity: 'worker', reason: 'r' }],
  ])();
  // Without a query they would find the workers of other programs.
  return call(method, prng.chance(0.2) && !('query' in request) ? mutated(prng, request) : request);
}
