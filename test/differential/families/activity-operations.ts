import type { Prng } from '../../simulation/prng.ts';
import { mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { applicationFailure, command, millis, payloads, seconds } from './requests.ts';
import { complete, describe, plainStart, poll, settle, signal, times } from './steps.ts';

/** Pause, unpause, reset and new options of activities that wait, run, back off or are over. */
export function activityOperations(prng: Prng): readonly Step[] {
  const list = [activity('act-1', 'act', prng), ...(prng.chance(0.4) ? [activity('act-2', prng.pick(['act', 'other']), prng)] : [])];
  return [
    plainStart(),
    poll(),
    complete(list),
    settle,
    ...(prng.chance(0.6) ? [{ op: 'pollActivity', slot: 0 } as const] : []),
    ...times(prng.int(2, 5), () => [...(prng.chance(0.65) ? [operation(prng)] : byWorker(prng)), settle, describe()]),
    poll(),
  ];
}

function activity(activityId: string, type: string, prng: Prng): Fields {
  return command('scheduleActivityTask', {
    activityId,
    activityType: { name: type },
    // One that nobody polls: which of two tasks of a queue comes first is for chance to say.
    taskQueue: { name: activityId === 'act-1' ? '$Q0' : '$Q1' },
    input: payloads('in'),
    startToCloseTimeout: seconds(20),
    scheduleToCloseTimeout: seconds(100),
    ...(prng.chance(0.4) ? { heartbeatTimeout: seconds(15) } : {}),
    retryPolicy: { initialInterval: prng.pick([millis(100), seconds(50)]), backoffCoefficient: 1, maximumAttempts: prng.pick([0, 0, 3]) },
  });
}

function byWorker(prng: Prng): readonly Step[] {
  return prng.pick<readonly Step[]>([
    [call('RespondActivityTaskFailed', { taskToken: '$ATOKEN0', failure: applicationFailure('Soft'), identity: 'worker' })],
    [call('RespondActivityTaskFailed', { taskToken: '$ATOKEN0', failure: applicationFailure('Soft'), identity: 'worker' })],
    [call('RespondActivityTaskCompleted', { taskToken: '$ATOKEN0', result: payloads('r'), identity: 'worker' })],
    [call('RecordActivityTaskHeartbeat', { taskToken: '$ATOKEN0', details: payloads('beat'), identity: 'worker' })],
    [{ op: 'pollActivity', slot: 0 }],
    [signal(), poll(), complete([command('requestCancelActivityTask', { scheduledEventId: 5 })])],
  ]);
}

function operation(prng: Prng): Step {
  const [method, own] = prng.pick<readonly [string, Fields]>([
    ['PauseActivity', { reason: 'wait' }],
    ['PauseActivity', { reason: 'wait', requestId: 'pause-1' }],
    ['UnpauseActivity', optional(prng, { resetAttempts: true, resetHeartbeat: true })],
    ['UnpauseActivity', optional(prng, { resetAttempts: true, resetHeartbeat: true })],
    ['ResetActivity', optional(prng, { resetHeartbeat: true, keepPaused: true, restoreOriginalOptions: true })],
    ['UpdateActivityOptions', options(prng)],
    ['UpdateActivityOptions', options(prng)],
  ]);
  const which = prng.pick<Fields>([{ id: 'act-1' }, { id: 'act-1' }, { type: 'act' }, { type: 'nothing' }, { id: 'nothing' }]);
  const full = { execution: { workflowId: '$W0', runId: prng.pick(['', '$RUN0']) }, identity: 'client', ...which, ...own };
  return call(method, prng.chance(0.2) ? mutated(prng, full) : full);
}

function optional(prng: Prng, fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(() => prng.chance(0.4)));
}

function options(prng: Prng): Fields {
  if (prng.chance(0.15)) return { restoreOriginal: true };
  const activityOptions = {
    taskQueue: { name: prng.pick(['$Q0', '$Q2']) },
    scheduleToCloseTimeout: seconds(prng.pick([90, 200])),
    scheduleToStartTimeout: seconds(80),
    startToCloseTimeout: seconds(30),
    heartbeatTimeout: seconds(25),
    retryPolicy: { initialInterval: seconds(2), backoffCoefficient: 3, maximumInterval: seconds(9), maximumAttempts: 7 },
    priority: { priorityKey: 4 },
  };
  const all = [
    'task_queue.name',
    'schedule_to_close_timeout',
    'schedule_to_start_timeout',
    'start_to_close_timeout',
    'heartbeat_timeout',
    'retry_policy.initial_interval',
    'retry_policy.backoff_coefficient',
    'retry_policy.maximum_interval',
    'retry_policy.maximum_attempts',
    'priority.priority_key',
  ];
  const paths = all.filter(() => prng.chance(0.3));
  return { activityOptions, updateMask: { paths: prng.chance(0.1) ? [...paths, 'startToCloseTimeout'] : paths } };
}
