/** What is told of a letter whose task was to be executed. */
import type { MergeOutcome } from '../../../deadletters/letter-commands.ts';
import type { LetterReason } from '../../../deadletters/attempts.ts';
import { failureFingerprint } from '../../../deadletters/failure-fingerprint.ts';
import type { Letter, LetterFailure } from '../../../deadletters/letter.ts';
import { saidError } from '../../../deadletters/task-failure.ts';
import type { LetterOutcome } from '../../../history/run/letter-marks.ts';
import type { PendingTask } from '../../../history/run/tasks.ts';
import type { Clock } from '../../../ports/machine.ts';

/** Translates between the values of letters, tasks, and what shards are asked. */
export type LetterTasks = {
  /** Throws what cannot be decoded. */
  readonly decode: (value: { readonly valueType: string; readonly value: Uint8Array }) => PendingTask;
  readonly encode: (task: PendingTask) => Uint8Array;
};

export function ownFailure(
  { clock, node, build }: { readonly clock: Pick<Clock, 'wallMs'>; readonly node: string; readonly build: string },
  letter: Letter,
  why: LetterReason,
  errorType: string,
  message: string,
): LetterFailure {
  const { namespaceId, namespace, targetNamespace, workflowId, runId, taskType } = letter.task;
  const error = saidError(errorType, message);
  const fingerprint = failureFingerprint(error, taskType, [namespaceId, namespace, targetNamespace, workflowId, runId]);
  const timeMs = clock.wallMs();
  const times = { firstFailureTimeMs: timeMs, lastFailureTimeMs: timeMs };
  return { ...why, ...error, fingerprint, attempts: 1, ...times, handler: 'LetterExecution', node, build };
}

export function mergedBy(outcome: Exclude<LetterOutcome, { readonly kind: 'failed' }>, generation: number): MergeOutcome {
  return outcome.kind === 'applied'
    ? { kind: 'merged', how: 'merged', generation }
    : { kind: 'merged', how: 'merged-noop', generation, detail: outcome.detail };
}

export const refusedForGood: LetterReason = { cause: 'permanent-error', disposition: 'poison' };

export const errorTypes = { internal: 'Internal', tooLarge: 'TooLarge', dataLoss: 'DataLoss' } as const;

export function outcomeUnknown({ letter, taskTimeoutMs }: { readonly letter: Letter; readonly taskTimeoutMs: number }): MergeOutcome {
  const errorMessage = `its shard did not report an outcome within ${taskTimeoutMs} ms: the queue keeps asking, and nothing is executed twice`;
  return { kind: 'unsettled', error: { errorType: 'OutcomeUnknown', errorMessage }, letter, isUnknown: true };
}

export function decoded({ task }: Letter, tasks: LetterTasks): PendingTask | undefined {
  try {
    return tasks.decode(task);
  } catch {
    return undefined;
  }
}
