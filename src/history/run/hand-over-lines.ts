/** Tasks that have failed for good and wait, in one line for each queue of dead letters. Never changed in place: a cut keeps them as they are. */
import { assert, unreachable } from '../../kernel/assert.ts';
import type { CloseOutcome } from '../../kernel/close-outcome.ts';
import type { PendingTask } from './tasks.ts';
import { type AcceptedLetters, failureBytes, type TaskFailure, type TaskSubject } from '../commands/hand-over-commands.ts';

/** `category`: the queue, `transfer`. `sequence`: of this shard's for that queue, from 1 on without a gap. */
export type HandedOverTask = {
  readonly category: string;
  readonly sequence: number;
  readonly task: PendingTask;
  readonly failure: TaskFailure;
  readonly subject: TaskSubject;
};

export type HandOverLine = {
  /** Ever given out. */
  readonly lastSequence: number;
  /** The waiting tasks in the order of their sequences, which end with the last one given. */
  readonly waiting: readonly HandedOverTask[];
};

/** The lines by category. A line that was begun stays, for its last sequence. */
export type HandOverLines = ReadonlyMap<string, HandOverLine>;

const emptyLine: HandOverLine = { lastSequence: 0, waiting: [] };

export function lineOf(lines: HandOverLines | undefined, category: string): HandOverLine {
  return lines?.get(category) ?? emptyLine;
}

export function withTask(lines: HandOverLines | undefined, task: HandedOverTask): HandOverLines {
  const line = lineOf(lines, task.category);
  assert(task.sequence === line.lastSequence + 1, `task ${task.sequence} of ${task.category} follows ${line.lastSequence}`);
  return new Map([...(lines ?? []), [task.category, { lastSequence: task.sequence, waiting: [...line.waiting, task] }]]);
}

export function withoutAccepted(lines: HandOverLines | undefined, { category, sequence }: AcceptedLetters): HandOverLines {
  const { lastSequence, waiting } = lineOf(lines, category);
  return new Map([...(lines ?? []), [category, { lastSequence, waiting: waiting.filter((task) => task.sequence > sequence) }]]);
}

const TASK_BYTES = 4_096;

/** Approximate bytes of the task in memory and in a row. */
export function bytesOf({ task, failure }: HandedOverTask): number {
  const outcome = task.kind === 'notifyParent' ? outcomeBytes(task.outcome) : 0;
  return TASK_BYTES + outcome + failureBytes(failure);
}

export function outcomeBytes(outcome: CloseOutcome): number {
  switch (outcome.kind) {
    case 'completed':
      return outcome.result?.length ?? 0;
    case 'failed':
      return outcome.failure?.length ?? 0;
    case 'canceled':
      return outcome.details?.length ?? 0;
    case 'timedOut':
    case 'terminated':
      return 0;
    default:
      return unreachable(outcome);
  }
}
