/** Tasks on their way to a queue of dead letters, and those that are executed again: in records of the journal, and in counters of checkpoints. */
import type * as journal from '../wire/generated/journal/history.ts';
import * as state from '../wire/generated/state/history.ts';
import { LogError } from '../ports/log.ts';
import type { HandedOverTask, HandOverLines } from '../history/run/hand-over-lines.ts';
import type { TaskFailure } from '../history/commands/hand-over-commands.ts';
import { ownLimits } from '../wire/wire-limits.ts';
import { taskFromMessage, taskToMessage } from './state/task-message.ts';
import type { BegunLetter, EndedLetter, LetterMark, LetterOutcome } from '../history/run/letter-marks.ts';
import type { LetterName } from '../history/commands/redrive-commands.ts';
import type { Words } from '../kernel/words.ts';
import type { PendingTask } from '../history/run/tasks.ts';
import { unreachable } from '../kernel/assert.ts';
import { letterCauses, letterDispositions } from '../kernel/letter-words.ts';

export function handedOverToWire({ category, sequence, task, failure, subject }: HandedOverTask): journal.HandedOverTask {
  return { category, sequence, task: state.encodePendingTask(taskToMessage(task)), ...failure, ...subject };
}

export function handedOverFromWire(wire: journal.HandedOverTask): HandedOverTask {
  const { category, sequence, task: bytes, namespace, targetNamespaceId, targetNamespace, workflowType, originOffset, ...failure } = wire;
  const task = taskFromMessage(state.decodePendingTask(bytes, ownLimits));
  const subject = { namespace, targetNamespaceId, targetNamespace, workflowType, originOffset };
  return { category, sequence, task, failure: knownFailure(failure), subject };
}

/** The failure as it is stored; a cause that nobody knows is damage. */
function knownFailure({ cause, disposition, ...failure }: journal.TaskFailure): TaskFailure {
  const why = known(letterCauses, cause, 'for the unknown cause');
  return { ...failure, cause: why, disposition: known(letterDispositions, disposition, 'with the unknown disposition') };
}

function known<Name extends string>(names: Words<Name>, stored: string, what: string): Name {
  const found = names.find(stored);
  if (found === undefined) throw new LogError('corrupt', `a task was handed over ${what} ${stored}`);
  return found;
}

export function linesToWire(lines: HandOverLines | undefined): readonly state.HandOverLine[] {
  return Array.from(lines ?? [], ([category, { waiting, ...line }]) => ({ category, ...line, waiting: waiting.map(handedOverToWire) }));
}

/** Undefined: there are none. */
export function linesFromWire(lines: readonly state.HandOverLine[]): HandOverLines | undefined {
  if (lines.length === 0) return undefined;
  return new Map(
    lines.map(({ category, lastSequence, waiting }) => [category, { lastSequence, waiting: waiting.map(handedOverFromWire) }]),
  );
}

// ── Executed again ────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** The form in which whoever asks for the execution of a letter sends its task. */
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
  return marks.map(({ letter, taskId, outcome }) => ({ letter, taskId, ...(outcome === undefined ? pending : outcomeToWire(outcome)) }));
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
  throw new LogError('corrupt', `a dead letter ended with the unknown outcome ${outcome}`);
}

function named(letter: LetterName | undefined): LetterName {
  if (letter === undefined) throw new LogError('corrupt', 'an executed dead letter has no name');
  return letter;
}
