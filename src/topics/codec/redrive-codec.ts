/** Letters that are executed again: in records of the journal, and their marks in the counters of a checkpoint. */
import { LogError } from '../../actors/log.ts';
import type { BegunLetter, EndedLetter, LetterMark, LetterOutcome } from '../../history/redrive/letter-marks.ts';
import type { LetterName } from '../../history/redrive/redrive-commands.ts';
import type { PendingTask } from '../../history/tasks.ts';
import { unreachable } from '../../kernel/assert.ts';
import type * as journal from '../../wire/generated/journal/history.ts';
import * as state from '../../wire/generated/state/history.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { knownFailure } from './hand-over-codec.ts';
import { taskFromMessage, taskToMessage } from './state/task-message.ts';

/** As whoever asks for the execution of a letter sends its task. */
export function encodeLetterTask(task: PendingTask): Uint8Array {
  return state.encodePendingTask(taskToMessage(task));
}

export function begunToWire({ letter, task }: BegunLetter): journal.BegunLetter {
  return { letter, task: encodeLetterTask(task) };
}

export function begunFromWire({ letter, task }: journal.BegunLetter): BegunLetter {
  return { letter: named(letter), task: taskFromMessage(state.decodePendingTask(task, ownLimits)) };
}

export function endedToWire({ letter, outcome }: EndedLetter): journal.EndedLetter {
  return { letter, ...outcomeToWire(outcome) };
}

export function endedFromWire({ letter, ...outcome }: journal.EndedLetter): EndedLetter {
  return { letter: named(letter), outcome: outcomeFromWire(outcome) };
}

export function marksToWire(marks: readonly LetterMark[]): readonly state.LetterMark[] {
  return marks.map(({ letter, taskId, outcome }) => ({
    letter,
    taskId,
    ...(outcome === undefined ? pending : outcomeToWire(outcome)),
  }));
}

export function markFromWire({ letter, taskId, ...outcome }: state.LetterMark): LetterMark {
  return { letter: named(letter), taskId, outcome: outcome.outcome === '' ? undefined : outcomeFromWire(outcome) };
}

type WireOutcome = Omit<journal.EndedLetter, 'letter'>;

const pending: WireOutcome = { outcome: '', detail: '', failure: undefined };

function outcomeToWire(outcome: LetterOutcome): WireOutcome {
  switch (outcome.kind) {
    case 'applied':
      return { ...pending, outcome: outcome.kind };
    case 'noop':
      return { ...pending, outcome: outcome.kind, detail: outcome.detail };
    case 'failed':
      return { ...pending, outcome: outcome.kind, failure: outcome.failure };
    default:
      return unreachable(outcome);
  }
}

function outcomeFromWire({ outcome, detail, failure }: WireOutcome): LetterOutcome {
  if (outcome === 'applied') return { kind: outcome };
  if (outcome === 'noop') return { kind: outcome, detail };
  if (outcome === 'failed' && failure !== undefined) return { kind: outcome, failure: knownFailure(failure) };
  throw new LogError('corrupt', `a letter ended with the unknown outcome ${outcome}`);
}

function named(letter: LetterName | undefined): LetterName {
  if (letter === undefined) throw new LogError('corrupt', 'a letter that was executed has no name');
  return letter;
}
