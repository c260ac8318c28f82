import type { Prng } from '../../simulation/prng.ts';
import { mutated, thinned } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { applicationFailure, command, commands, millis, payloads, startNeeds, startRequest } from './requests.ts';
import { cancel, complete, describe, poll, signal, times } from './steps.ts';

const CRONS = [
  '@every 1s',
  '@every 1s',
  '@every 2s',
  '0 0 1 1 *',
  '@yearly',
  'CRON_TZ=Europe/London 0 0 1 1 *',
  '* * *',
  'x',
  '@every x',
  '61 * * * *',
];

/** Runs that follow one another: retries, cron, continue-as-new; first tasks that come with the start, or later. */
export function lives(prng: Prng): readonly Step[] {
  let request: Fields = {
    ...thinned(prng, startRequest(), startNeeds),
    workflowStartDelay: prng.chance(0.15) ? millis(300) : undefined,
    requestId: 'request-1',
    ...(prng.chance(0.6) ? { retryPolicy: retryPolicy(prng) } : {}),
    ...(prng.chance(0.35) ? { cronSchedule: prng.pick(CRONS) } : {}),
    ...(prng.chance(0.2) ? { requestEagerExecution: true } : {}),
  };
  if (prng.chance(0.2)) request = mutated(prng, request);
  return [
    call('StartWorkflowExecution', request, { slot: 0 }),
    ...times(prng.int(1, 4), () => [...(prng.chance(0.8) ? [poll()] : []), ...step(prng)]),
    poll(),
    describe(),
  ];
}

function retryPolicy(prng: Prng): Fields {
  return {
    initialInterval: millis(prng.pick([100, 200, 300])),
    backoffCoefficient: prng.pick([1, 2, 0, 0.5]),
    ...(prng.chance(0.4) ? { maximumInterval: millis(prng.pick([300, 100])) } : {}),
    maximumAttempts: prng.pick([0, 1, 2, 3]),
    ...(prng.chance(0.4) ? { nonRetryableErrorTypes: ['Fatal'] } : {}),
  };
}

function step(prng: Prng): readonly Step[] {
  const again = commands['continueAsNewWorkflowExecution']?.(0) ?? {};
  return prng.pick<readonly Step[]>([
    [complete([command('failWorkflowExecution', { failure: failure(prng) })])],
    [complete([command('failWorkflowExecution', { failure: failure(prng) })])],
    [complete([command('completeWorkflowExecution', { result: payloads('r') })])],
    [complete([command('cancelWorkflowExecution', {})])],
    [
      complete([
        command('continueAsNewWorkflowExecution', {
          ...thinned(prng, { ...again, backoffStartInterval: millis(400), retryPolicy: retryPolicy(prng) }, ['workflowType', 'taskQueue']),
          ...(prng.chance(0.2) ? { failure: applicationFailure('Again'), lastCompletionResult: payloads('l') } : {}),
          ...(prng.chance(0.3) ? { initiator: `CONTINUE_AS_NEW_INITIATOR_${prng.pick(['RETRY', 'CRON_SCHEDULE', 'WORKFLOW'])}` } : {}),
        }),
      ]),
    ],
    [signal()],
    [cancel()],
    [complete([])],
    [{ op: 'sleep', ms: 1_100 }],
  ]);
}

function failure(prng: Prng): Fields {
  return prng.pick([
    applicationFailure('Soft'),
    applicationFailure('Soft'),
    applicationFailure('Fatal'),
    applicationFailure('Soft', { nonRetryable: true }),
    applicationFailure('Soft', { nextRetryDelay: millis(500) }),
    { message: 'timed out', timeoutFailureInfo: { timeoutType: 'TIMEOUT_TYPE_START_TO_CLOSE' } },
    { message: 'canceled', canceledFailureInfo: {} },
    { message: 'bare' },
  ]);
}
