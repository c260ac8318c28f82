/**
 * An append is in doubt: it may be in the log, or land there later. A claim of the next epoch settles it. Once that is in the log, what was
 * sent belongs to an older epoch, so a copy that lands behind the claim is void for ever, and what stands before it no longer changes:
 *
 *     only the batch         confirmed                                                          ┐ memory is what the log says, and what
 *     nothing that counts    the records go again, under the new epoch, before all that is open ┘ is still to be appended: it stays
 *     a rival, or records    memory is dropped and folded again from the log; so it is where another has raised the fence of the checkpoints
 *     that are not ours      meanwhile: memory and its rows no longer belong together
 *
 * So a record is in the log more than once only if the log took one send twice, and even then it counts once: its copies bear the same
 * epoch and sequence, or the epoch of all but one is over.
 */
import { assert } from '../../kernel/assert.ts';
import type { LogRecord } from '../log.ts';
import type { ClaimInLog, Stretch } from './log-stretch.ts';
import type { Doubt, OwnClaim } from './partition-life.ts';

export type Settlement =
  | { readonly kind: 'vanished'; readonly found: string }
  /** `again`: to be appended before all that is open, the first one first. */
  | { readonly kind: 'memoryStays'; readonly claim: ClaimInLog; readonly again: readonly (readonly LogRecord[])[] }
  | { readonly kind: 'foldAgain' }
  | { readonly kind: 'lost'; readonly rival: ClaimInLog };

/** `stretch`: from the last record that was confirmed to our claim. A batch that was found there counts, whatever becomes of memory. */
export function settleDoubt(stretch: Stretch, doubt: Doubt, own: OwnClaim): Settlement {
  if (!stretch.intact) return { kind: 'vanished', found: 'the last confirmed record was replaced' };
  const { owner, found } = stretch;
  assert(owner !== undefined, 'our claim, or the one that beat it, stands in the stretch');
  if (owner.ownerNonce !== own.claim.ownerNonce) return { kind: 'lost', rival: owner };
  if (stretch.foreign || stretch.rival !== undefined || doubt.dropsMemory) return { kind: 'foldAgain' };
  const goesAgain = found === undefined && doubt.sent.length > 0;
  return { kind: 'memoryStays', claim: owner, again: goesAgain ? [doubt.sent, ...doubt.again] : doubt.again };
}
