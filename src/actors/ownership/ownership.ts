/** What the parts of a partition's owner (partition-owner.ts) share, and what any of them may find out, upon which the owner acts. */
import type { Logger } from '../../observability/logger.ts';
import type { Clock, Random } from '../../ports/machine.ts';
import type { Restored } from '../../projections/database-port.ts';
import type { AppendTrouble } from './append-trouble.ts';
import type { ClaimCodec, ClaimInLog, LogPosition } from './effective.ts';
import type { JournalNotices } from './journal-notices.ts';
import type { LogSilence } from './log-silence.ts';
import type { Log, LogRecord, OffsetRange, PartitionId, RecordPosition, StoredRecord } from '../../ports/log.ts';
import type { OwnerPosition } from './owner-position.ts';
import type { PartitionLife } from './partition-life.ts';
import type { Retries } from './retries.ts';
import type { ReadBarrier } from './read-barrier.ts';

/** Who claims, and what a claim and a takeover need besides the log. */
export type ClaimantOptions = {
  readonly claims: ClaimCodec;
  /** Who we are, for people: host, port, process. */
  readonly owner: string;
  readonly clock: Clock;
  readonly random: Random;
  /** What is known elsewhere of this journal, and the log must still hold (T5). Nothing of the server knows it yet; a projection will. */
  readonly witness?: () => LogPosition | undefined;
};

export type Ownership = {
  readonly partition: PartitionId;
  /** `<topic>/<partition>` */
  readonly name: string;
  readonly log: Log;
  readonly logger: Logger;
  readonly claims: ClaimCodec;
  readonly life: PartitionLife;
  readonly position: OwnerPosition;
  readonly memory: OwnedMemory;
  readonly barrier: ReadBarrier;
  readonly retries: Retries;
  readonly trouble: AppendTrouble;
  readonly silence: LogSilence;
  readonly notices: JournalNotices;
  readonly findings: OwnerFindings;
};

export interface OwnerFindings {
  statusChanged(): void;
  /** An append may be in the log, or may land later. */
  doubt(reason: string): void;
  /** A rival's claim counts: nothing of ours will. */
  lost(rival: ClaimInLog): void;
  /** Acknowledged records are gone, or were written over: the log broke its promise, and no answer may rest on it (I18). */
  vanished(found: string): void;
  fail(reason: string, error: unknown): void;
  /** Lets go, without a reason to tell of afterwards. */
  close(why: string): void;
  /** What it throws fails the partition, unless the term of ownership is over by then. */
  background(work: Promise<void>): void;
}

/** What stands on the journal: state, and what is decided and not committed. Called for one partition, never while it is calling. */
export interface OwnedMemory {
  /** New and empty, of a journal that begins at that offset, or behind the checkpoint; then comes every record that counts, in order. */
  create(journalStart: number): void;
  /** Before the first record: reads the rows of a checkpoint, and takes the fence under which they are its own. Rejects if unreadable. */
  install(restored: Restored): Promise<void>;
  /** These come next, those that count. With a pause after each. */
  decodeAhead(records: readonly StoredRecord[]): Iterable<undefined>;
  /** Brings in what those change; undefined: nothing is lacking. `fenced`: another has restored since. Rejects if rows cannot be read. */
  ahead(): Promise<'fenced' | undefined> | undefined;
  /** Throws what cannot be applied. */
  fold(record: StoredRecord): void;
  /** These are gone: what counts of them was written again behind them, or is lost. Throws where nothing can be served without it. */
  recordsLost(lost: readonly OffsetRange[]): void;
  /** Complete, and ours: it may act. */
  activated(epoch: number): void;
  /** Drops this memory with all that was not committed, and fails all who wait for it. */
  drop(message: string): void;
  openRecords(): number;
  /** The oldest of them, stamped from `sequence` on; as many as one append takes. */
  seal(epoch: number, sequence: number): readonly LogRecord[];
  /** The oldest `count` records that were sealed are in the log for good, one behind the other. */
  committed(count: number, first: RecordPosition): void;
  /** Lets out what may go, however much it is, until `stopped` says otherwise. */
  releaseAll(stopped: () => boolean): void;
  /** What follows every change: releases, goes on deciding, asks to append, asks for proof. */
  settleTurn(): void;
  /** Nothing was let out for so long that whoever waits is told `message`. */
  logSilent(message: string, seconds: number): void;
  /** The mark of a read that waits for proof. */
  waitingMark(): number | undefined;
  /** Nothing waits to be decided, committed or let out. */
  drained(): boolean;
}
