/** Tasks on their way to a queue of dead letters, as `perdure.journal.v1.HandedOverTask`: in a record of the journal, and in the counters of a checkpoint. */
import { LogError } from '../../actors/log.ts';
import type { HandedOverTask, HandOverLines } from '../../history/hand-over/hand-over-lines.ts';
import type { TaskFailure } from '../../history/hand-over/hand-over-commands.ts';
import type * as journal from '../../wire/generated/journal/history.ts';
import * as state from '../../wire/generated/state/history.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { taskFromMessage, taskToMessage } from './state/task-message.ts';

export function handedOverToWire({ category, sequence, task, failure, subject }: HandedOverTask): journal.HandedOverTask {
  return { category, sequence, task: state.encodePendingTask(taskToMessage(task)), ...failure, ...subject };
}

export function handedOverFromWire(wire: journal.HandedOverTask): HandedOverTask {
  const { category, sequence, task: bytes, namespace, targetNamespaceId, targetNamespace, workflowType, originOffset, ...failure } = wire;
  const task = taskFromMessage(state.decodePendingTask(bytes, ownLimits));
  const subject = { namespace, targetNamespaceId, targetNamespace, workflowType, originOffset };
  return { category, sequence, task, failure: knownFailure(failure), subject };
}

/** As it is stored; a cause that nobody knows is damage. */
export function knownFailure({ cause, disposition, ...failure }: journal.TaskFailure): TaskFailure {
  return { ...failure, cause: causeOf(cause), disposition: dispositionOf(disposition) };
}

function causeOf(cause: string): TaskFailure['cause'] {
  if (cause === 'retries-exhausted' || cause === 'permanent-error' || cause === 'namespace-deleted') return cause;
  throw new LogError('corrupt', `a task was handed over for the unknown cause ${cause}`);
}

const dispositions: readonly TaskFailure['disposition'][] = ['poison', 'exhausted', 'systemic', 'target-gone', 'operator'];

/** A later version may know more of them. */
export function dispositionOf(disposition: string): TaskFailure['disposition'] {
  return dispositions.find((known) => known === disposition) ?? '';
}

export function linesToWire(lines: HandOverLines | undefined): readonly state.HandOverLine[] {
  return Array.from(lines ?? [], ([category, { lastSequence, waiting }]) => ({
    category,
    lastSequence,
    waiting: waiting.map(handedOverToWire),
  }));
}

/** Undefined: there are none. */
export function linesFromWire(lines: readonly state.HandOverLine[]): HandOverLines | undefined {
  if (lines.length === 0) return undefined;
  return new Map(
    lines.map(({ category, lastSequence, waiting }) => [category, { lastSequence, waiting: waiting.map(handedOverFromWire) }]),
  );
}
