/** Children, and signals and cancellations for other workflows. */
import type { Prng } from '../../simulation/prng.ts';
import { thinned } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { applicationFailure, command, commands, payloads } from './requests.ts';
import { complete, plainStart, poll, settle, times } from './steps.ts';

export function children(prng: Prng): readonly Step[] {
  const child = (): Fields => {
    const full = commands['startChildWorkflowExecution']?.(0) ?? {};
    return command('startChildWorkflowExecution', {
      ...thinned(prng, full, ['workflowId', 'workflowType', 'taskQueue']),
      ...(prng.chance(0.6)
        ? { parentClosePolicy: `PARENT_CLOSE_POLICY_${prng.pick(['UNSPECIFIED', 'TERMINATE', 'ABANDON', 'REQUEST_CANCEL'])}` }
        : {}),
    });
  };
  const external = (): Fields => {
    const name = prng.pick(['requestCancelExternalWorkflowExecution', 'signalExternalWorkflowExecution']);
    const target = prng.pick(['$W0', '$W1', '$W5']);
    const childWorkflowOnly = prng.chance(0.3);
    const runId = prng.pick(['', '$RUN1', '']);
    return command(
      name,
      name === 'signalExternalWorkflowExecution'
        ? {
            namespace: 'default',
            execution: { workflowId: target, runId },
            signalName: 'out',
            input: payloads('o'),
            childWorkflowOnly,
            control: 'c',
          }
        : { namespace: 'default', workflowId: target, runId, childWorkflowOnly, reason: 'r', control: 'c' },
    );
  };
  const inChild = (): readonly Step[] =>
    prng.pick<readonly Step[]>([
      [poll(1), complete([command('completeWorkflowExecution', { result: payloads('c') })], {}, 1)],
      [poll(1), complete([command('failWorkflowExecution', { failure: applicationFailure('Child') })], {}, 1)],
      [poll(1), complete([command('cancelWorkflowExecution', {})], {}, 1)],
      [
        poll(1),
        complete([command('continueAsNewWorkflowExecution', { workflowType: { name: 'next' }, taskQueue: { name: '$Q1' } })], {}, 1),
      ],
      [call('TerminateWorkflowExecution', { workflowExecution: { workflowId: '$W1' } })],
      [],
    ]);
  const inParent = (): readonly Step[] => {
    const list = prng.pick<readonly Fields[]>([
      [child()],
      [external()],
      [command('completeWorkflowExecution', {})],
      [child(), command('completeWorkflowExecution', {})],
      [command('continueAsNewWorkflowExecution', { workflowType: { name: 'next' }, taskQueue: { name: '$Q0' } })],
      [],
    ]);
    return [poll(), complete(list), settle, { op: 'sleep', ms: 100 }];
  };
  const other = prng.chance(0.25) ? [plainStart(1)] : [];
  const begun = complete([prng.chance(0.7) ? child() : external()]);
  const middle = times(prng.int(2, 4), () => (prng.chance(0.5) ? inChild() : inParent()));
  return [
    ...other,
    plainStart(),
    poll(),
    begun,
    settle,
    { op: 'sleep', ms: 100 },
    ...middle,
    // What is told of the child comes first, and the first task of a run that has waited out its second.
    settle,
    { op: 'sleep', ms: JSON.stringify(middle).includes('continueAsNew') ? 1_600 : 100 },
    settle,
    call('SignalWorkflowExecution', { workflowExecution: { workflowId: '$W0' }, signalName: 'end' }),
    ...(prng.chance(0.5) ? [call('TerminateWorkflowExecution', { workflowExecution: { workflowId: '$W0' } })] : []),
    settle,
    { op: 'sleep', ms: 150 },
  ];
}
