/** Workflow tasks: the commands that complete them, and whatever else becomes of them. */
import type { Prng } from '../../simulation/prng.ts';
import { mutated } from '../mutate.ts';
import type { Fields, Step } from '../program.ts';
import { call } from '../program.ts';
import { applicationFailure, command, commands, payloads, seconds } from './requests.ts';
import { complete, plainStart, poll, times } from './steps.ts';

/** One workflow task after another, each with one or two bent commands: the texts and causes of 3.4. */
export function commandChecks(prng: Prng): readonly Step[] {
  const names = Object.keys(commands);
  const one = (): readonly Step[] => {
    const list = Array.from({ length: prng.pick([1, 1, 1, 2]) }, () => {
      const name = prng.pick(names);
      const full = commands[name]?.(0) ?? {};
      const bent = prng.chance(0.06) ? undefined : mutated(prng, prng.chance(0.3) ? mutated(prng, full) : full);
      return command(name, bent);
    });
    return [
      poll(),
      complete(list),
      { op: 'sleep', ms: 60 },
      call('TerminateWorkflowExecution', { workflowExecution: { workflowId: '$W1' } }),
    ];
  };
  return [plainStart(), ...times(prng.int(1, 2), one)];
}

/** Workflow tasks: failures, attempts, heartbeats, buffered events, sticky queues, wrong tokens. */
export function tasks(prng: Prng): readonly Step[] {
  const signal = (): Step =>
    call('SignalWorkflowExecution', { workflowExecution: { workflowId: '$W0' }, signalName: prng.pick(['a', 'b']), identity: 'client' });
  const sticky = {
    workerTaskQueue: { name: '$Q0-sticky', kind: 'TASK_QUEUE_KIND_STICKY', normalName: '$Q0' },
    scheduleToStartTimeout: seconds(2),
  };
  const answer = (): Step => {
    const kind = prng.int(0, 9);
    const more: Fields = {
      ...(prng.chance(0.3) ? { returnNewWorkflowTask: true } : {}),
      ...(prng.chance(0.3) ? { forceCreateNewWorkflowTask: true } : {}),
      ...(prng.chance(0.3) ? { stickyAttributes: sticky } : {}),
      ...(prng.chance(0.15) ? { sdkMetadata: { langUsedFlags: [1, 2], sdkName: 'diff', sdkVersion: '1.0.0' } } : {}),
      ...(prng.chance(0.1) ? { binaryChecksum: 'checksum' } : {}),
      ...(prng.chance(0.1) ? { taskToken: '$TOKENOLD0' } : {}),
    };
    if (kind === 0) return complete([command('completeWorkflowExecution', { result: payloads(1) })], more);
    if (kind === 1) return complete([command('completeWorkflowExecution', {}), command('recordMarker', { markerName: 'late' })], more);
    if (kind === 2) return complete([command('startTimer', { timerId: 't1', startToFireTimeout: seconds(60) })], more);
    if (kind === 3) return complete([command('cancelTimer', { timerId: 't1' })], more);
    if (kind === 4 || kind === 5)
      return call('RespondWorkflowTaskFailed', {
        taskToken: prng.chance(0.1) ? '$TOKENOLD0' : '$TOKEN0',
        cause: `WORKFLOW_TASK_FAILED_CAUSE_${prng.pick(['WORKFLOW_WORKER_UNHANDLED_FAILURE', 'NON_DETERMINISTIC_ERROR', 'RESET_STICKY_WORKFLOW_TASK_QUEUE', 'UNHANDLED_COMMAND', 'UNSPECIFIED', 'RESET_STICKY_TASK_QUEUE', 'PAYLOADS_TOO_LARGE', 'GRPC_MESSAGE_TOO_LARGE'].filter((name) => !name.includes('STICKY_WORKFLOW')))}`,
        failure: prng.chance(0.8) ? applicationFailure('Task') : undefined,
        identity: 'worker',
        binaryChecksum: prng.chance(0.3) ? 'checksum' : '',
      });
    if (kind === 6) return complete([command('recordMarker', { markerName: 'm', details: { a: payloads(1) } })], more);
    return complete([], more);
  };
  const between = (): readonly Step[] =>
    prng.pick<readonly Step[]>([
      [],
      [signal()],
      [signal(), signal()],
      [call('RequestCancelWorkflowExecution', { workflowExecution: { workflowId: '$W0' }, identity: 'client', reason: 'r' })],
      [call('ResetStickyTaskQueue', { execution: { workflowId: '$W0' } })],
      [call('TerminateWorkflowExecution', { workflowExecution: { workflowId: '$W0' } })].filter(() => prng.chance(0.3)),
    ]);
  const step = (): readonly Step[] => [
    ...(prng.chance(0.4) ? between() : []),
    ...(prng.chance(0.3) ? [{ op: 'poll', slot: 0, sticky: true } as const] : [poll()]),
    ...(prng.chance(0.5) ? between() : []),
    answer(),
  ];
  return [plainStart(), ...times(prng.int(2, 6), step), signal()];
}
