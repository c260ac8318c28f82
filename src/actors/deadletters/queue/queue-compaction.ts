/**
 * Lets the journal of a queue begin later, so that nothing of what was purged can be read any more, and what is resolved takes no room.
 *
 *     reason ─▶ a claim of our own: the cut ─▶ letters before it, a page at a time ─▶ what came from each shard ─▶ committed, and in the rows ─▶ cut
 *                                               read from the topic, written again                                                    the log forgets
 *
 * The cut lies at a claim, so that a journal without a database's checkpoint can be folded from there; nothing is forgotten before that is so. Letters
 * come and go meanwhile (deadletters/carrying.ts). Whatever does not work is tried again later: the journal keeps all until then.
 */
import type { CarryLetters, DeadLetterCommand } from '../../../deadletters/commands.ts';
import type { LetterRow } from '../../../deadletters/letter-row.ts';
import type { QueueCore } from '../../../deadletters/queue-core.ts';
import type { DeadLetterRecord } from '../../../deadletters/records.ts';
import { backOffMs } from '../../../kernel/back-off.ts';
import { errorText } from '../../../kernel/error-text.ts';
import type { Logger } from '../../../observability/logger.ts';
import type { Checkpointer } from '../../checkpoint/checkpointer.ts';
import type { Database, JournalId } from '../../database.ts';
import type { Log, PartitionId } from '../../log.ts';
import { cutAtClaim } from '../../partition/cut-at-claim.ts';
import type { Tenure } from '../../partition/tenure.ts';
import { LetterContents, type LetterContentsOptions, recordGone } from './letter-contents.ts';

export type QueueCompactionOptions = {
  readonly core: Pick<QueueCore, 'state'>;
  readonly log: Pick<Log, 'read' | 'bounds' | 'truncate'>;
  readonly partition: PartitionId;
  readonly codec: LetterContentsOptions['codec'];
  readonly database: Pick<Database, 'letters'>;
  readonly journal: JournalId;
  readonly checkpointer: Pick<Checkpointer, 'writtenNow'>;
  readonly tenure: Pick<Tenure<DeadLetterCommand>, 'active' | 'after' | 'submit' | 'claimAnew' | 'nowMs'>;
  readonly logger: Logger;
  /** Resolves once the audit was told of all that stands before that offset; absent: nobody audits. */
  readonly audited?: (offset: number) => Promise<void>;
  /** Letters that a purge may have carried at once; beyond it waits for the hour. */
  readonly carryAtOnceMax: () => number;
  readonly timing?: Partial<CompactionTiming>;
  /** How long a purge can be undone: until then its letters are not cut. Absent: not at all. */
  readonly undoWindowMs?: () => number;
};

export type CompactionTiming = {
  /** Behind the last of several purges. */
  readonly quietMs: number;
  /** For what is not urgent. */
  readonly backgroundMs: number;
  readonly retryMs: number;
};

const defaultTiming: CompactionTiming = { quietMs: 1_000, backgroundMs: 30 * 60_000, retryMs: 60_000 };
/** However often somebody purges: after so many undo windows the first of what was purged goes, and all of it. */
const UNDO_WINDOWS_MAX = 24;
/** Likewise with so many letters. */
const UNDOABLE_LETTERS_MAX = 100_000;
/** Of one page; one letter always fits. */
const PAGE_LETTERS = 100;
const PAGE_BYTES = 1024 * 1024;
/** Fewer records are worth no work of their own. */
const DEAD_RECORDS_MIN = 1_000;

type Step =
  | { readonly kind: 'idle' }
  | { readonly kind: 'claiming' }
  | { readonly kind: 'carrying'; readonly cut: number; readonly afterMessageId: number }
  | { readonly kind: 'cutting' };

export class QueueCompaction {
  readonly #options: QueueCompactionOptions;
  readonly #timing: CompactionTiming;
  #step: Step = { kind: 'idle' };
  #start = 0;
  #end = 0;
  #next: { readonly isUrgent: boolean } | undefined;
  /** Of purges that are not cut; undefined: there are none, or nobody knows. */
  #firstPurgeMs: number | undefined;
  #lastPurgeMs: number | undefined;
  #failures = 0;
  /** Behind a failure. */
  #rests = false;

  constructor(options: QueueCompactionOptions) {
    this.#options = options;
    this.#timing = { ...defaultTiming, ...options.timing };
  }

  activated(): void {
    void this.#quietly(async () => {
      const { log, partition } = this.#options;
      const { start, end } = await log.bounds(partition);
      this.#start = start;
      this.#end = Math.max(this.#end, end);
      this.#consider();
    });
  }

  committed(record: DeadLetterRecord, offset: number): void {
    this.#end = offset + 1;
    if (record.kind !== 'resolved') return;
    if (record.how === 'purged') {
      this.#firstPurgeMs ??= record.timeMs;
      this.#lastPurgeMs = record.timeMs;
    }
    this.#consider();
  }

  /** The effect of its commands. */
  carried(cut: number | undefined): void {
    const step = this.#step;
    if (step.kind !== 'carrying') return;
    void this.#quietly(async () => await (cut === undefined ? this.#carryPage(step) : this.#cut(cut)));
  }

  /** One of its commands could not be decided, or its record not be written. It has been logged. */
  failed(reason: string): void {
    this.#giveUp(reason);
  }

  // ── When ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #consider(): void {
    const { core, tenure, carryAtOnceMax } = this.#options;
    if (!tenure.active || this.#step.kind !== 'idle' || this.#rests) return;
    if (this.#isUncut) return this.#soon(true, 0);
    const letters = core.state.ids.count('open') + core.state.ids.count('quarantined');
    const dead = this.#end - this.#start - letters;
    const isWorthwhile = dead >= DEAD_RECORDS_MIN && dead > letters;
    const hasPurged = core.state.uncutPurges > 0;
    if (hasPurged && letters <= carryAtOnceMax()) this.#soon(true, this.#timing.quietMs);
    else if (hasPurged || isWorthwhile) this.#soon(false, this.#timing.backgroundMs);
  }

  /** Until what was purged last, and all before it, can be undone no longer. */
  get #undoRestMs(): number {
    const { core, tenure, undoWindowMs = () => 0 } = this.#options;
    const { uncutPurges, lastTimeMs } = core.state;
    if (uncutPurges === 0 || uncutPurges > UNDOABLE_LETTERS_MAX) return 0;
    const windowMs = undoWindowMs();
    // Of purges in front of a checkpoint nobody knows when they were: before its last record.
    const lastMs = this.#lastPurgeMs ?? lastTimeMs;
    const endMs = Math.min(lastMs + windowMs, (this.#firstPurgeMs ?? lastMs) + UNDO_WINDOWS_MAX * windowMs);
    return Math.max(0, endMs - tenure.nowMs());
  }

  /** What was carried is not cut: the log refused, or the owner before us has gone meanwhile. */
  get #isUncut(): boolean {
    return this.#options.core.state.cut > this.#start;
  }

  /** An urgent one is put off as long as there is more of the same; one that is not begins in its time. */
  #soon(isUrgent: boolean, delayMs: number): void {
    if (this.#next !== undefined && (!isUrgent || this.#next.isUrgent)) return;
    const next = { isUrgent };
    this.#next = next;
    this.#options.tenure.after(delayMs, () => {
      if (this.#next !== next) return;
      this.#next = undefined;
      this.#begin();
    });
  }

  // ── How ────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  #begin(): void {
    const { tenure } = this.#options;
    if (!tenure.active || this.#step.kind !== 'idle') return;
    const restMs = this.#undoRestMs;
    if (restMs > 0) return this.#soon(true, restMs);
    if (this.#isUncut) return void this.#quietly(async () => await this.#cut(this.#options.core.state.cut));
    this.#step = { kind: 'claiming' };
    tenure.claimAnew((cut) => {
      this.#step = { kind: 'carrying', cut, afterMessageId: -1 };
      this.#submit({ kind: 'beginCarrying' });
    });
  }

  async #carryPage(step: Extract<Step, { kind: 'carrying' }>): Promise<void> {
    const { database, journal, checkpointer } = this.#options;
    // All that stands before the cut is in the rows then.
    if (step.afterMessageId < 0) await checkpointer.writtenNow();
    const { afterMessageId, cut } = step;
    const { log, partition } = this.#options;
    const { start } = await log.bounds(partition);
    const { rows } = await database.letters(journal, { condition: undefined, afterMessageId, max: PAGE_LETTERS, bytesMax: PAGE_BYTES });
    const before = rows.letters.filter((row) => row.offset < cut);
    const gone = before.find((row) => row.offset < start);
    if (gone !== undefined) throw unreadable(gone, recordGone);
    const { letters, lastId } = await this.#read(before);
    if (this.#step !== step) return;
    if (letters.length === 0 && lastId === undefined && rows.isLast) return this.#submit({ kind: 'finishCarrying', cut });
    this.#step = { kind: 'carrying', cut, afterMessageId: lastId ?? rows.letters.at(-1)?.messageId ?? afterMessageId };
    this.#submit({ kind: 'carryLetters', letters });
  }

  /** As many as fit into a page. `lastId`: of those that were looked at, where not all were. */
  async #read(rows: readonly LetterRow[]): Promise<{ readonly letters: CarryLetters['letters']; readonly lastId: number | undefined }> {
    const contents = new LetterContents(this.#options);
    const letters: CarryLetters['letters'][number][] = [];
    let bytes = 0;
    for (const [index, row] of rows.entries()) {
      const content = await contents.of(row, rows[index + 1]);
      // Written again behind the cut, or gone.
      if (content === 'moved') continue;
      if (content.letter === undefined) {
        throw unreadable(row, content.problem);
      }
      bytes += content.value.byteLength;
      if (letters.length > 0 && bytes > PAGE_BYTES) return { letters, lastId: letters.at(-1)?.messageId };
      letters.push({ messageId: row.messageId, letter: content.letter });
    }
    return { letters, lastId: undefined };
  }

  /** Whoever restores from the rows begins behind it. */
  async #cut(cut: number): Promise<void> {
    const { log, partition, checkpointer, logger, audited } = this.#options;
    // Somebody has purged since it began: of those letters not all were carried.
    const restMs = this.#undoRestMs;
    if (restMs > 0) {
      this.#step = { kind: 'idle' };
      return this.#soon(true, restMs);
    }
    this.#step = { kind: 'cutting' };
    await audited?.(cut);
    await checkpointer.writtenNow();
    await cutAtClaim(log, partition, cut);
    logger.info('the journal of a dead letter queue begins later', { offset: cut, records: cut - this.#start });
    this.#start = cut;
    this.#firstPurgeMs = undefined;
    this.#step = { kind: 'idle' };
    this.#failures = 0;
    this.#consider();
  }

  /** Not accepted: the partition is let go, and the next owner begins anew. */
  #submit(command: DeadLetterCommand): void {
    this.#options.tenure.submit(command);
  }

  async #quietly(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#giveUp(errorText(error));
    }
  }

  #giveUp(reason: string): void {
    const { tenure, logger } = this.#options;
    this.#step = { kind: 'idle' };
    if (!tenure.active) return;
    this.#failures += 1;
    this.#rests = true;
    logger.warn('the journal of a dead letter queue cannot be cut: what was purged can still be read in the topic', { reason });
    tenure.after(backOffMs(this.#failures, this.#timing.retryMs, this.#timing.backgroundMs), () => {
      this.#rests = false;
      this.#consider();
    });
  }
}

function unreadable({ messageId }: LetterRow, problem: string): Error {
  return new Error(`message ${messageId} cannot be read (${problem}), so it cannot be written again: purge it`);
}
