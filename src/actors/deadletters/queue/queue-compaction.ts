/**
 * Lets the journal of a queue begin later, so that nothing of what was purged can be read any more, and what is resolved takes no room.
 *
 *     reason ─▶ a claim of our own: the cut ─▶ letters before it, a page at a time ─▶ what came from each shard ─▶ committed, and in the rows ─▶ cut
 *                                               read from the topic, written again                                                    the log forgets
 *
 * The cut lies at a claim, so that a journal without a database's checkpoint can be folded from there; nothing is forgotten before that is so. Letters
 * come and go meanwhile (deadletters/carrying.ts). Whatever does not work is tried again later: the journal keeps all until then.
 */
import type { CarryLetters, DeadLetterCommand, FindPurged, PutBack, RestoreLetters } from '../../../deadletters/letter-commands.ts';
import type { DeadLetterReply, PurgedFound, ReadPurged } from '../../../deadletters/letter-commands.ts';
import type { QueueCore } from '../../../deadletters/queue-core.ts';
import type { DeadLetterRecord, LetterRow } from '../../../deadletters/letter-records.ts';
import { backOffMs } from '../../../kernel/back-off.ts';
import { asError, errorMessage, errorText } from '../../../kernel/error-text.ts';
import type { Logger } from '../../../observability/logger.ts';
import type { Checkpointer } from '../../../projections/checkpoints/checkpointer.ts';
import type { Database, JournalId } from '../../../projections/database-port.ts';
import { LogError, type Log, type PartitionId } from '../../../ports/log.ts';
import { cutAtClaim } from '../../partition/journal-compaction.ts';
import type { Tenure } from '../../partition/partition-core.ts';
import { LetterContents, recordGone, type LetterContentsOptions } from './letter-contents.ts';
import { unreachable } from '../../../kernel/assert.ts';
import { internalError } from '../../asks/asks.ts';
import type { ReplySink } from '../../asks/switchboard.ts';
import { JournalReader, type JournalReaderOptions } from '../../partition/journal-reader.ts';

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
  readonly audited?: (offset: number) => Promise<void>;
  /** Letters that a purge may have carried at once; beyond it waits for the hour. */
  readonly carryAtOnceMax: () => number;
  readonly timing?: Partial<CompactionTiming>;
  /** How long a purge can be undone: until then its letters are not cut. Absent: not at all. */
  readonly undoWindowMs?: () => number;
};

export type CompactionTiming = { readonly quietMs: number; readonly backgroundMs: number; readonly retryMs: number };

const defaultTiming: CompactionTiming = { quietMs: 1_000, backgroundMs: 30 * 60_000, retryMs: 60_000 };
/** However often somebody purges: after so many undo windows the first of what was purged goes, and all of it. */
const UNDO_WINDOWS_MAX = 24;
/** With more letters, what was purged cannot be undone. */
const UNDOABLE_LETTERS_MAX = 100_000;
const PAGE_LETTERS = 100;
const PAGE_BYTES = 1024 * 1024;
const DEAD_RECORDS_MIN = 1_000;

type Step =
  | { readonly kind: 'idle' | 'claiming' | 'cutting' }
  | { readonly kind: 'carrying'; readonly cut: number; readonly afterMessageId: number };

export class QueueCompaction {
  readonly #options: QueueCompactionOptions;
  readonly #timing: CompactionTiming;
  #step: Step = { kind: 'idle' };
  #start = 0;
  #end = 0;
  #next: { readonly isUrgent: boolean } | undefined;
  /** Times of purges that are not cut; undefined: there are none, or their times are not known. */
  #firstPurgeMs: number | undefined;
  #lastPurgeMs: number | undefined;
  #failures = 0;
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
    const { tenure, logger } = this.#options;
    this.#step = { kind: 'idle' };
    if (!tenure.active) return;
    this.#failures += 1;
    this.#rests = true;
    logger.warn('the journal of a dead letter queue cannot be compacted: purged dead letters can still be read in the topic', { reason });
    tenure.after(backOffMs(this.#failures, this.#timing.retryMs, this.#timing.backgroundMs), () => {
      this.#rests = false;
      this.#consider();
    });
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

  /** How long the last purge, and all before it, can still be undone. */
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
      tenure.submit({ kind: 'beginCarrying' });
    });
  }

  async #carryPage(step: Extract<Step, { kind: 'carrying' }>): Promise<void> {
    const { database, journal, checkpointer, tenure, log, partition } = this.#options;
    // All that stands before the cut is in the rows then.
    if (step.afterMessageId < 0) await checkpointer.writtenNow();
    const { afterMessageId, cut } = step;
    const { start } = await log.bounds(partition);
    const { rows } = await database.letters(journal, { condition: undefined, afterMessageId, max: PAGE_LETTERS, bytesMax: PAGE_BYTES });
    const before = rows.letters.filter((row) => row.offset < cut);
    const gone = before.find((row) => row.offset < start);
    if (gone !== undefined) throw unreadable(gone, recordGone);
    const { letters, lastId } = await this.#read(before);
    if (this.#step !== step) return;
    if (letters.length === 0 && lastId === undefined && rows.isLast) return void tenure.submit({ kind: 'finishCarrying', cut });
    this.#step = { kind: 'carrying', cut, afterMessageId: lastId ?? rows.letters.at(-1)?.messageId ?? afterMessageId };
    tenure.submit({ kind: 'carryLetters', letters });
  }

  /** As many letters as fit into a page. `lastId`: the last one that was looked at, if not all were. */
  async #read(rows: readonly LetterRow[]): Promise<{ readonly letters: CarryLetters['letters']; readonly lastId: number | undefined }> {
    const contents = new LetterContents(this.#options);
    const letters: CarryLetters['letters'][number][] = [];
    let bytes = 0;
    for (const [index, row] of rows.entries()) {
      const content = await contents.of(row, rows[index + 1]);
      // Written again behind the cut, or gone.
      if (content === 'moved') continue;
      if (content.letter === undefined) throw unreadable(row, content.problem);
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
    logger.info('the journal of a dead letter queue was compacted', { offset: cut, records: cut - this.#start });
    this.#start = cut;
    this.#firstPurgeMs = undefined;
    this.#step = { kind: 'idle' };
    this.#failures = 0;
    this.#consider();
  }

  #quietly(work: () => Promise<void>): Promise<void> {
    return work().catch((error: unknown) => this.failed(errorText(error)));
  }
}

function unreadable({ messageId }: LetterRow, problem: string): Error {
  return new Error(`message ${messageId} cannot be read (${problem}), so it cannot be written again: purge it`);
}

/**
 * Letters that were purged, as long as that can be undone: they stand in the journal until it is cut, and nowhere else.
 *
 *     journal   41  42  ✝41  43  ✝42 │ scanned so far          41: where its letter stands, when and by which job it was purged
 *
 * Nothing of this is kept while nobody asks. Whoever asks first has the journal scanned, whoever comes later what has come since; a while after the
 * last one it is forgotten.
 */

type QueueUndoOptions = JournalReaderOptions<DeadLetterRecord> & {
  readonly core: Pick<QueueCore, 'state'>;
  readonly sink: ReplySink<DeadLetterReply>;
  readonly tenure: Pick<Tenure<DeadLetterCommand>, 'active' | 'after' | 'submit' | 'nowMs'>;
  readonly logger: Logger;
  readonly undoWindowMs: () => number;
};

const FORGET_AFTER_MS = 60_000;
/** Bytes of the letters that one command puts back. One letter always fits. */
const PUT_BACK_BYTES = 1024 * 1024;

export class QueueUndo {
  readonly #options: QueueUndoOptions;
  #journal: JournalReader<DeadLetterRecord> | undefined;
  readonly #letters = new Map<number, number>();
  readonly #purged = new Map<number, { readonly offset: number; readonly timeMs: number; readonly jobId: string }>();
  /** One behind the other. */
  #turn: Promise<void> = Promise.resolve();
  #asks = 0;

  constructor(options: QueueUndoOptions) {
    this.#options = options;
  }

  read({ askId, request }: ReadPurged): void {
    const ask = (this.#asks += 1);
    this.#turn = this.#turn.then(async () => await this.#answer(askId, request));
    this.#options.tenure.after(FORGET_AFTER_MS, () => {
      if (this.#asks === ask) this.#turn = this.#turn.then(() => this.#forget());
    });
  }

  #forget(): void {
    this.#journal = undefined;
    this.#letters.clear();
    this.#purged.clear();
  }

  async #answer(askId: number, request: ReadPurged['request']): Promise<void> {
    const { sink, logger, tenure } = this.#options;
    try {
      await this.#scan();
      switch (request.kind) {
        case 'findPurged':
          return void sink.answer(askId, this.#found(request));
        case 'restoreLetters': {
          const failure = tenure.submit(await this.#toPutBack(askId, request));
          return failure === undefined ? undefined : sink.fail(askId, failure);
        }
        default:
          return unreachable(request);
      }
    } catch (error) {
      this.#forget();
      if (error instanceof LogError) return sink.fail(askId, { kind: 'unavailable', message: errorMessage(error) });
      logger.error('purged dead letters could not be read', { error: asError(error) });
      sink.fail(askId, internalError('purged dead letters could not be read'));
    }
  }

  async #scan(): Promise<void> {
    const { log, partition, tenure } = this.#options;
    this.#journal ??= await JournalReader.behind(this.#options, -1);
    const { end } = await log.bounds(partition);
    while (tenure.active && this.#journal.offset < end) await this.#journal.read(end, (record, offset) => this.#note(record, offset));
  }

  #note(record: DeadLetterRecord, offset: number): void {
    if (record.kind === 'letter' || record.kind === 'damaged') {
      this.#letters.set(record.messageId, offset);
      this.#purged.delete(record.messageId);
    }
    if (record.kind !== 'resolved') return;
    const { messageId, how, timeMs, jobId } = record;
    const stands = this.#letters.get(messageId);
    this.#letters.delete(messageId);
    if (how === 'purged' && stands !== undefined) this.#purged.set(messageId, { offset: stands, timeMs, jobId });
  }

  #found({ ids, purgedBy }: FindPurged): PurgedFound {
    const { core, tenure, undoWindowMs } = this.#options;
    const restorable: number[] = [];
    const lost: number[] = [];
    for (const { from, to } of ids) {
      for (let id = from; id <= Math.min(to, core.state.ids.nextId - 1); id++) {
        if (core.state.ids.statusOf(id) !== 'purged') continue;
        const purged = this.#purged.get(id);
        if (purged !== undefined && purgedBy !== undefined && purged.jobId !== purgedBy) continue;
        const isInTime = purged !== undefined && tenure.nowMs() - purged.timeMs < undoWindowMs();
        (isInTime ? restorable : lost).push(id);
      }
    }
    return { kind: 'purgedFound', ids: restorable, lost };
  }

  async #toPutBack(askId: number, { jobId, who, why, messageIds, purgedBy }: RestoreLetters): Promise<PutBack> {
    const { core, tenure, undoWindowMs } = this.#options;
    const contents = new LetterContents(this.#options);
    const letters: PutBack['letters'][number][] = [];
    const lost: number[] = [];
    let bytes = 0;
    for (const messageId of messageIds) {
      if (core.state.ids.statusOf(messageId) !== 'purged') continue;
      const purged = this.#purged.get(messageId);
      if (purgedBy !== undefined && purged?.jobId !== purgedBy) continue;
      const isInTime = purged !== undefined && tenure.nowMs() - purged.timeMs < undoWindowMs();
      const content = isInTime ? await contents.of({ messageId, offset: purged.offset }, undefined) : 'moved';
      if (content === 'moved' || content.letter === undefined) {
        lost.push(messageId);
        continue;
      }
      bytes += content.value.byteLength;
      if (letters.length > 0 && bytes > PUT_BACK_BYTES) break;
      letters.push({ messageId, letter: { ...content.letter, jobId } });
    }
    return { kind: 'putBack', askId, authorship: { jobId, who, why }, letters, lost };
  }
}
