/** One step of a purge, or of its undoing: what is asked of the queue, and what its answer says of each letter. */
import type { PurgeLetters, RestoreLetters } from '../../../deadletters/commands.ts';
import type { Job } from '../../../deadletters/jobs/job.ts';
import type { LettersPurged, LettersRestored } from '../../../deadletters/replies.ts';
import type { SeenLetter } from './jobs-letters.ts';
import type { LetterOutcome } from './jobs-tally.ts';

export function stepOf(
  { jobId, operation, purgedBy, actor: who, reason: why }: Job,
  batch: readonly SeenLetter[],
): PurgeLetters | RestoreLetters {
  if (operation === 'restore') {
    return {
      kind: 'restoreLetters',
      jobId,
      who,
      why,
      messageIds: batch.map(({ messageId }) => messageId),
      ...(purgedBy === undefined ? {} : { purgedBy }),
    };
  }
  return { kind: 'purgeLetters', jobId, who, why, letters: batch.map(({ messageId, generation }) => ({ messageId, generation })) };
}

/** `rest`: they are asked for once more; where nothing is settled, nothing of them is left to do, and whose doing that is has to be looked at. */
type StepOutcomes = { readonly settled: ReadonlyMap<number, LetterOutcome>; readonly rest: readonly SeenLetter[] };

export function outcomesOf(batch: readonly SeenLetter[], answer: LettersPurged | LettersRestored): StepOutcomes {
  const settled = new Map<number, LetterOutcome>();
  for (const id of answer.ids) settled.set(id, { kind: answer.kind });
  if (answer.kind === 'purged') {
    // It was there a moment ago, and only a merge of an earlier job can have it.
    for (const id of answer.gone) settled.set(id, skipped(id, 'being-merged'));
    for (const id of answer.merged) settled.set(id, { kind: 'merged' });
    for (const id of answer.executing) settled.set(id, skipped(id, executing));
    return { settled, rest: [] };
  }
  for (const id of answer.lost) settled.set(id, skipped(id, 'undo-window-over'));
  // Some did not fit beside these.
  return { settled, rest: batch.filter(({ messageId }) => !settled.has(messageId)) };
}

/** Its shard has not said that it will not be. */
const executing = 'being-executed: what came of its last merge is not known, or its shard is away; purge it again later';

function skipped(messageId: number, reason: string): LetterOutcome {
  return { kind: 'skipped', skip: { messageId, reason } };
}
