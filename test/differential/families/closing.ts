/** Runs that end while things happen: unhandled commands, timeouts, chains of runs. */
import type { Prng } from '../../simulation/prng.ts';
import { thinned } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { applicationFailure, command, commands, millis, payloads, seconds } from './requests.ts';
import { complete, plainStart, poll } from './steps.ts';

export function closing(prng: Prng): readonly Step[] {
  const close = (): Fields =>
    prng.pick([
      command('completeWorkflowExecution', { result: payloads(1) }),
      command('failWorkflowExecution', { failure: applicationFailure('X') }),
      command('cancelWorkflowExecution', { details: payloads(1) }),
      command(
        'continueAsNewWorkflowExecution',
        thinned(prng, commands['continueAsNewWorkflowExecution']?.(0) ?? {}, ['workflowType', 'taskQueue']),
      ),
    ]);
  const disturb = (): readonly Step[] =>
    prng.pick<readonly Step[]>([
      [],
      [call('SignalWorkflowExecution', { workflowExecution: { workflowId: '$W0' }, signalName: 's' })],
      [call('RequestCancelWorkflowExecution', { workflowExecution: { workflowId: '$W0' } })],
      [call('UpdateWorkflowExecutionOptions', {})].slice(1),
    ]);
  const short = prng.chance(0.3);
  return [
    plainStart(0, short ? { workflowRunTimeout: seconds(1), workflowExecutionTimeout: seconds(prng.pick([1, 30])) } : {}),
    ...(prng.chance(0.2)
      ? [
          poll(),
          complete([
            command('startTimer', { timerId: 't', startToFireTimeout: millis(30_000) }),
            command('upsertWorkflowSearchAttributes', commands['upsertWorkflowSearchAttributes']?.(0)),
          ]),
        ]
      : []),
    poll(),
    ...disturb(),
    ...(short ? [{ op: 'sleep', ms: 1_400 } as const] : []),
    complete([...(prng.chance(0.3) ? [command('startTimer', { timerId: 't2', startToFireTimeout: seconds(9) })] : []), close()]),
    ...disturb(),
    poll(),
    complete([close()]),
    poll(),
    complete([close()], { returnNewWorkflowTask: true }),
    call('GetWorkflowExecutionHistory', {
      execution: { workflowId: '$W0', runId: '$RUN0' },
      historyEventFilterType: 'HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT',
    }),
  ];
}
