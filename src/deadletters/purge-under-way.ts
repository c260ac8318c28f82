/**
 * Letters of one purge that an earlier merge may still have executed: their shards are asked first.
 *
 *     purgeLetters ─▶ withdrawLetter ─▶ finishWithdrawal ─┬─ withdrawn, or failed ─▶ purged
 *                                                         ├─ merged ───────────────▶ merged: it was executed
 *                                                         └─ nobody can say ───────▶ executing: it stays
 */
import { unreachable } from '../kernel/assert.ts';
import type { MergeOutcome, WithdrawalOutcome } from './letter-commands.ts';
import type { Authorship, ResolvedRecord } from './letter-records.ts';

/** All of them are letters of one command; its answer leaves when nothing waits any more. */
export type PurgeUnderWay = {
  askId: number;
  readonly waiting: Set<number>;
  readonly ids: number[];
  readonly gone: readonly number[];
  readonly merged: number[];
  readonly executing: number[];
};

/** What the tombstone says of a merged letter. */
export function resolvedByMerge(outcome: Extract<MergeOutcome, { kind: 'merged' }>) {
  const { how, generation } = outcome;
  return outcome.how === 'merged' ? { how, generation } : { how, generation, detail: outcome.detail };
}

/** A merge that failed has had no effect: there is nothing to withdraw. Undefined: it may be executed. */
export function resolvedByPurge(
  messageId: number,
  outcome: WithdrawalOutcome,
  authorship: Authorship,
  timeMs: number,
): ResolvedRecord | undefined {
  const common = { kind: 'resolved', timeMs, messageId, ...authorship } as const;
  switch (outcome.kind) {
    case 'withdrawn':
      return { ...common, how: 'purged', generation: outcome.generation };
    case 'failed':
      return { ...common, how: 'purged', generation: outcome.letter.generation - 1 };
    case 'merged':
      return { ...common, ...resolvedByMerge(outcome) };
    case 'unsettled':
    case 'notBegun':
    case 'skipped':
      return undefined;
    default:
      return unreachable(outcome);
  }
}
