/** Activities: timeouts, retries, heartbeats, and their calls. */
import type { Prng } from '../../simulation/prng.ts';
import { anyOf, mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { applicationFailure, command, millis, payload, payloads, seconds } from './requests.ts';
import { complete, plainStart, poll, times } from './steps.ts';

const ACTIVITY_OPTIONS: readonly Fields[] = [
  { startToCloseTimeout: seconds(20) },
  { scheduleToCloseTimeout: seconds(20) },
  { startToCloseTimeout: seconds(20), retryPolicy: { initialInterval: millis(100), backoffCoefficient: 1, maximumAttempts: 2 } },
  { startToCloseTimeout: seconds(20), retryPolicy: { maximumAttempts: 1 } },
  { startToCloseTimeout: seconds(1), retryPolicy: { maximumAttempts: 1 } },
  { startToCloseTimeout: seconds(20), retryPolicy: { nonRetryableErrorTypes: ['Fatal'] }, heartbeatTimeout: seconds(1) },
  { scheduleToStartTimeout: seconds(1), startToCloseTimeout: seconds(20) },
  { scheduleToCloseTimeout: seconds(1), startToCloseTimeout: millis(900), retryPolicy: { initialInterval: seconds(5) } },
];

export function activities(prng: Prng): readonly Step[] {
  const byId = prng.chance(0.4);
  const who: Fields = byId
    ? { workflowId: '$W0', ...(prng.chance(0.5) ? { runId: '$RUN0' } : {}), activityId: 'act-1' }
    : { taskToken: prng.chance(0.1) ? '$ATOKENOLD0' : '$ATOKEN0' };
  const name = byId ? 'ById' : '';
  const answer = (): readonly Step[] => {
    const failure = anyOf<Fields | undefined>(prng, [
      applicationFailure('Fatal'),
      applicationFailure('Soft'),
      applicationFailure('Soft', { nonRetryable: true }),
      applicationFailure('Soft', { nextRetryDelay: millis(200) }),
      { message: 'bare' },
      { message: 'c', canceledFailureInfo: {} },
      undefined,
    ]);
    return prng.pick<readonly Step[]>([
      [call(`RespondActivityTaskCompleted${name}`, { ...who, result: payloads('done'), identity: 'worker' })],
      [
        call(`RespondActivityTaskFailed${name}`, {
          ...who,
          failure,
          identity: 'worker',
          ...(prng.chance(0.3) ? { lastHeartbeatDetails: payloads('last') } : {}),
        }),
      ],
      [call(`RespondActivityTaskFailed${name}`, { ...who, failure, identity: 'worker' })],
      [call(`RespondActivityTaskCanceled${name}`, { ...who, details: payloads('canceled'), identity: 'worker' })],
      [call(`RecordActivityTaskHeartbeat${name}`, { ...who, details: payloads('beat'), identity: 'worker' })],
      [{ op: 'sleep', ms: 1_300 }],
      [
        call('RequestCancelWorkflowExecution', { workflowExecution: { workflowId: '$W0' } }),
        poll(),
        complete([command('requestCancelActivityTask', { scheduledEventId: 5 })]),
      ],
      [call('TerminateWorkflowExecution', { workflowExecution: { workflowId: '$W0' } })].filter(() => prng.chance(0.3)),
      [call('SignalWorkflowExecution', { workflowExecution: { workflowId: '$W0' }, signalName: 's' }), poll()],
      [poll(), complete([command('completeWorkflowExecution', {})])].filter(() => prng.chance(0.4)),
    ]);
  };
  const schedule = command(
    'scheduleActivityTask',
    {
      activityId: 'act-1',
      activityType: { name: 'act' },
      ...(prng.chance(0.7) ? { taskQueue: { name: '$Q0' } } : {}),
      input: payloads('in'),
      ...prng.pick(ACTIVITY_OPTIONS),
    },
    prng.chance(0.2) ? { userMetadata: { summary: payload('s') } } : {},
  );
  const eager = prng.chance(0.1);
  return [
    plainStart(0, prng.chance(0.3) ? { workflowRunTimeout: seconds(15) } : {}),
    poll(),
    complete([schedule], eager ? { returnNewWorkflowTask: true, forceCreateNewWorkflowTask: true } : {}),
    ...(prng.chance(0.85) ? [{ op: 'pollActivity', slot: 0 } as const] : []),
    ...times(prng.int(1, 4), () => [...answer(), ...(prng.chance(0.5) ? [{ op: 'pollActivity', slot: 0 } as const] : [])]),
    poll(),
  ];
}

/** The activity calls with bent requests. */
export function activityCalls(prng: Prng): readonly Step[] {
  const byToken: Fields = { taskToken: '$ATOKEN0', identity: 'worker' };
  const byId: Fields = { workflowId: '$W0', runId: '$RUN0', activityId: 'act-1', identity: 'worker' };
  const bodies: readonly (readonly [string, Fields])[] = [
    ['RespondActivityTaskCompleted', { result: payloads(1) }],
    ['RespondActivityTaskFailed', { failure: applicationFailure('Soft'), lastHeartbeatDetails: payloads('l') }],
    ['RespondActivityTaskCanceled', { details: payloads(1) }],
    ['RecordActivityTaskHeartbeat', { details: payloads(1) }],
  ];
  const one = (): readonly Step[] => {
    const [method, body] = prng.pick(bodies);
    const direct = prng.chance(0.5);
    const request = { ...(direct ? byToken : byId), ...body };
    return [call(direct ? method : `${method}ById`, prng.chance(0.8) ? mutated(prng, request) : request)];
  };
  const schedule = command('scheduleActivityTask', {
    activityId: 'act-1',
    activityType: { name: 'act' },
    taskQueue: { name: '$Q0' },
    startToCloseTimeout: seconds(20),
  });
  return [plainStart(), poll(), complete([schedule]), { op: 'pollActivity', slot: 0 }, ...times(prng.int(3, 6), one), poll()];
}
