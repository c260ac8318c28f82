/**
 * Where an owner stands in its journal: what it folded and what it was confirmed, and what it knows about the journal besides.
 *
 *     offset 0, or a checkpoint                  cursor.offset
 *        ├── folded, or appended and confirmed ──┤── not known yet ──▶
 *                                    ● last record that counted
 */
import { effective, goOnAt, isClaim, type ClaimCodec, type LogCursor, type LogPosition, type Verdict } from './effective.ts';
import type { ClaimInLog, Stretch } from './effective.ts';
import type { CheckpointPosition } from '../../projections/database-port.ts';
import type { RecordPosition, StoredRecord } from '../../ports/log.ts';
import type { Clock } from '../../ports/machine.ts';

const PACE_WHEN_AHEAD = 0.9;

export class OwnerPosition {
  #cursor: LogCursor = { epoch: 0, sequence: 0, offset: 0 };
  #start = 0;
  #last: RecordPosition | undefined;
  /** The last claim that counts: who owns the partition. */
  lastClaim: ClaimInLog | undefined;
  #lastTimeMs = 0;
  /** Where the clock that never jumps stood when the wall clock was first found behind the last record. */
  #behind = { lastTimeMs: 0, monoMs: 0 };
  #witnesses: readonly LogPosition[] = [];

  get cursor(): LogPosition {
    return this.#cursor;
  }

  get last(): RecordPosition | undefined {
    return this.#last;
  }

  /**
   * The wall clock, but never before the last record. Where that is ahead (an earlier clock was wrong) time goes on from there, somewhat
   * slower, until the wall clock has caught up: if it stood still, no timer would fire for as long as that takes.
   */
  nowMs(clock: Pick<Clock, 'wallMs' | 'monoMs'>): number {
    const wallMs = clock.wallMs();
    if (wallMs >= this.#lastTimeMs) return wallMs;
    const monoMs = clock.monoMs();
    if (this.#behind.lastTimeMs !== this.#lastTimeMs) this.#behind = { lastTimeMs: this.#lastTimeMs, monoMs };
    return this.#lastTimeMs + Math.floor((monoMs - this.#behind.monoMs) * PACE_WHEN_AHEAD);
  }

  /** The journal must still hold what was confirmed to us so far and what is known `elsewhere`, be it beyond an older checkpoint. */
  restart(checkpoint: CheckpointPosition | undefined, elsewhere: LogPosition | undefined): void {
    const { epoch, sequence, offset } = this.#cursor;
    // Not where it stepped back to, but where it was.
    const confirmed = { epoch, sequence, offset: Math.max(offset, (this.#last?.offset ?? -1) + 1) };
    const known = [...this.#witnesses.filter((witness) => witness.offset > confirmed.offset), confirmed];
    if (elsewhere !== undefined) known.push(elsewhere);
    this.#witnesses = known.filter((witness) => witness.offset > 0);
    this.#cursor = { epoch: 0, sequence: 0, offset: 0 };
    this.#start = 0;
    this.#last = undefined;
    this.lastClaim = undefined;
    if (checkpoint !== undefined) this.#startAt(checkpoint);
  }

  /** What stands between here and `offset` is gone, with whatever was known of it. */
  goOnAt(offset: number): void {
    goOnAt(this.#cursor, offset);
    this.#start = offset;
    this.#last = undefined;
    this.#witnesses = this.#witnesses.filter((witness) => witness.offset > offset);
  }

  #startAt({ epoch, sequence, nextOffset, lastOffset, timeMs }: CheckpointPosition): void {
    this.#cursor = { epoch, sequence, offset: nextOffset };
    if (lastOffset >= 0) this.#last = { epoch, sequence, offset: lastOffset };
    this.wrote(timeMs);
  }

  step(record: StoredRecord, claims: ClaimCodec): Verdict {
    const verdict = effective(this.#cursor, record, claims);
    if (verdict !== 'claim' && verdict !== 'record') return verdict;
    this.#last = { offset: record.offset, epoch: record.epoch, sequence: record.sequence };
    this.wrote(record.timeMs);
    if (verdict === 'claim') this.lastClaim = { ...claims.decode(record.value), epoch: record.epoch, offset: record.offset };
    return verdict;
  }

  wrote(timeMs: number): void {
    if (timeMs > this.#lastTimeMs) this.#lastTimeMs = timeMs;
  }

  /** `count` records of ours count, the first at `baseOffset`. */
  confirm(count: number, baseOffset: number): void {
    this.#cursor.sequence += count;
    this.#cursor.offset = baseOffset + count;
    this.#last = { offset: baseOffset + count - 1, epoch: this.#cursor.epoch, sequence: this.#cursor.sequence };
  }

  pass(offset: number): void {
    this.#cursor.offset = offset;
  }

  /** Steps back to the last record that counts, so that it is read once more. */
  stepBack(): void {
    this.#cursor.offset = this.#last?.offset ?? this.#start;
  }

  /** False: at the offset of the last record that counts stands another one. */
  passLast(record: StoredRecord, claims: ClaimCodec): boolean {
    if (record.epoch !== this.#last?.epoch || record.sequence !== this.#last.sequence) return false;
    this.pass(record.offset + 1);
    if (isClaim(record)) this.lastClaim = { ...claims.decode(record.value), epoch: record.epoch, offset: record.offset };
    return true;
  }

  /** Our new claim ends the stretch, and nothing of others counts in it. */
  renew(stretch: Stretch, claim: ClaimInLog): void {
    this.#cursor = { ...stretch.cursor };
    this.#last = { offset: claim.offset, epoch: claim.epoch, sequence: 0 };
    this.lastClaim = claim;
  }

  /** Only positions kept elsewhere tell that a log lost its tail, even where it was written over since (T5). It must reach each of them … */
  missing(end: number): string | undefined {
    const beyond = this.#witnesses.find(({ offset }) => offset > end);
    return beyond && `the log ends at ${end}, but offset ${beyond.offset} was seen`;
  }

  /** … and each must be passed with the very stamp that it remembers. `next`: the offset about to be folded. */
  contradiction(next: number): string | undefined {
    for (const { epoch, sequence, offset } of this.#witnesses) {
      if (offset < this.#cursor.offset || offset > next) continue;
      if (epoch !== this.#cursor.epoch || sequence !== this.#cursor.sequence) {
        return `offset ${offset} was seen behind record ${epoch}.${sequence} and is not`;
      }
    }
    return undefined;
  }
}
