/** START_TIMER and CANCEL_TIMER. */
import { assert } from '../../kernel/assert.ts';
import type { RunDraft } from '../draft/draft.ts';
import { utf8Bytes } from '../../kernel/utf8.ts';
import { bad, commandMeta, type CommandFailure, type CommandOfType, type Completion, exceedsId } from '../steps/completion.ts';

export function startTimer(completion: Completion, command: CommandOfType<'startTimer'>): CommandFailure | undefined {
  const cause = 'badStartTimerAttributes';
  const { run } = completion;
  const a = command.attributes;
  if (a === undefined) return bad(cause, 'StartTimerCommandAttributes is not set on StartTimerCommand.');
  const { timerId, startToFireTimeoutMs } = a;
  if (timerId === '') return bad(cause, 'TimerId is not set on StartTimerCommand.');
  if (exceedsId(completion, timerId)) return bad(cause, tooLongTimerId(completion, timerId, 'StartTimerCommand'));
  if (startToFireTimeoutMs < 0) {
    return bad(cause, `An invalid StartToFireTimeout is set on StartTimerCommand: negative duration. TimerId=${timerId}`);
  }
  if (run.run.timers.has(timerId))
    return bad('startTimerDuplicateId', `invalid history builder state for action: add-timer-started-event, TimerID: ${timerId}`);
  const attributes = { timerId, startToFireTimeoutMs, workflowTaskCompletedEventId: completion.completedEventId };
  run.add('timerStarted', attributes, commandMeta(command));
  armUserTimer(run, timerId);
  return undefined;
}

export function armUserTimer(run: RunDraft, timerId: string): void {
  const timer = run.run.timers.get(timerId);
  assert(timer !== undefined, 'a timer that is armed is pending');
  const { startedEventId, fireTimeMs } = timer;
  run.addTask({ kind: 'userTimer', fireTimeMs, timerId, startedEventId });
}

export function cancelTimer(completion: Completion, command: CommandOfType<'cancelTimer'>): CommandFailure | undefined {
  const cause = 'badCancelTimerAttributes';
  const { run } = completion;
  const a = command.attributes;
  if (a === undefined) return bad(cause, 'CancelTimerCommandAttributes is not set on CancelTimerCommand.');
  const { timerId } = a;
  if (timerId === '') return bad(cause, 'TimerId is not set on CancelTimerCommand.');
  if (exceedsId(completion, timerId)) return bad(cause, tooLongTimerId(completion, timerId, 'CancelTimerCommand'));
  const timer = run.run.timers.get(timerId);
  let startedEventId = timer?.startedEventId;
  if (timer !== undefined) run.finishTask(timer.taskId);
  else {
    // It has fired, but its event is still buffered, so the workflow does not know: it counts as cancelled in time.
    for (const event of run.run.buffered) {
      if (event.type === 'timerFired' && event.attributes.timerId === timerId) startedEventId = event.attributes.startedEventId;
    }
    if (startedEventId === undefined)
      return bad(cause, `invalid history builder state for action: add-timer-canceled-event, TimerID: ${timerId}`);
    run.addFact({ kind: 'timerFiredUnbuffered', timerId });
    completion.unhandledEvents = completion.unhandledEvents && run.run.buffered.length > 0;
  }
  const { completedEventId: workflowTaskCompletedEventId, request } = completion;
  const attributes = { timerId, startedEventId: startedEventId ?? 0, workflowTaskCompletedEventId, identity: request.identity };
  run.add('timerCanceled', attributes, commandMeta(command));
  return undefined;
}

function tooLongTimerId(completion: Completion, timerId: string, where: string): string {
  return `TimerId on ${where} exceeds length limit. TimerId=${timerId} Length=${utf8Bytes(timerId)} Limit=${completion.run.draft.limits.idBytesMax}`;
}
