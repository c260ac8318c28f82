/**
 * Answers what is asked of the index of a queue.
 *
 *     a request that is decided, behind the barrier ─▶ a place ─▶ all that is committed is written ─▶ rows ─▶ contents from the topic ─▶ answer
 *                                                        └ waits while READS_MAX others are read
 *
 * Who goes away gives his place up, and what the database walks over for him. So an answer shows what was answered before it was asked for. A database that is away costs whoever asks an UNAVAILABLE, and nobody else anything.
 */
import { assert, unreachable } from '../../../kernel/assert.ts';
import { asError, errorMessage } from '../../../kernel/error-text.ts';
import { deadLetterLimits, type ListedLetter } from '../../../deadletters/letter-commands.ts';
import type { GroupLetters, IndexRequest, ListLetters, ReadLetter, LetterGroup } from '../../../deadletters/letter-commands.ts';
import type { LetterGrouping, DeadLetterRejected, DeadLetterReply, IndexReply, LetterRead } from '../../../deadletters/letter-commands.ts';
import type { Logger } from '../../../observability/logger.ts';
import { internalError, type AskFailure } from '../../asks/asks.ts';
import type { ReplySink } from '../../asks/switchboard.ts';
import type { Checkpointer } from '../../../projections/checkpoints/checkpointer.ts';
import { DatabaseError, type Database, type Fenced, type JournalId } from '../../../projections/database-port.ts';
import { LogError, type Log } from '../../../ports/log.ts';
import type { DeadLetterRecord, LetterRow } from '../../../deadletters/letter-records.ts';
import type { QueueMetrics } from './queue-metrics.ts';
import type { QueueCheckpoints } from './queue-checkpoints.ts';
import { contentBytes, goneContent, GoneRecords, LetterContents, type LetterContentsOptions } from './letter-contents.ts';
import type { CommitSubscriber } from '../../../ports/commit-subscriber.ts';

export type QueueIndexOptions = LetterContentsOptions & {
  readonly log: Pick<Log, 'read' | 'bounds'>;
  readonly database: Pick<Database, 'letters' | 'letterIds' | 'countLetters' | 'letterGroups' | 'giveUp'>;
  readonly journal: JournalId;
  readonly checkpointer: Pick<Checkpointer, 'writtenNow' | 'fence' | 'isSuperseded'>;
  readonly unwritten: Pick<QueueCheckpoints, 'pending'>;
  readonly sink: ReplySink<DeadLetterReply>;
  readonly logger: Logger;
  readonly metrics?: Pick<QueueMetrics, 'timed'>;
};

/** Requests that read at the same time; a database has as many connections for them. */
const READS_MAX = 2;
/** Beyond, whoever asks is told so at once: he would wait for longer than he can. */
const WAITING_MAX = 1_000;
/** Fewer letters are counted at once. */
const COUNTED_AHEAD_MIN = 10_000;
/** What `groups` and the list of queues show. */
const countedAhead = ['fingerprint', 'errorType'] as const;
/** A letter that is written again while it is read. */
const ATTEMPTS_MAX = 3;

/** `asked`: by which the database knows it. Undefined: it is not given up. */
type Reading = { readonly asked: string | undefined; isGivenUp: boolean };

const ownReading = (): Reading => ({ asked: undefined, isGivenUp: false });

export class QueueIndex {
  readonly #options: QueueIndexOptions;
  readonly #waiting = new Map<number, IndexRequest>();
  readonly #reading = new Map<number, Reading>();
  readonly #keptGroups = new KeptGroups();
  #countingAhead: Promise<void> | undefined;

  constructor(options: QueueIndexOptions) {
    this.#options = options;
  }

  read(askId: number, request: IndexRequest): void {
    if (this.#waiting.size >= WAITING_MAX) {
      return this.#options.sink.fail(askId, { kind: 'busy', message: `${WAITING_MAX} other requests are reading this queue` });
    }
    this.#waiting.set(askId, request);
    this.#next();
  }

  committed(record: DeadLetterRecord): void {
    this.#keptGroups.committed(record);
  }

  /** What the first who ask want to know is counted before, where there is much to count: behind a restart nothing of it is in memory. */
  activated(letters: number): void {
    if (letters >= COUNTED_AHEAD_MIN) this.#countingAhead = this.#countAhead();
  }

  /** One behind the other, and whoever asks meanwhile waits for it. Never rejects: whoever asks hears of what is wrong. */
  async #countAhead(): Promise<void> {
    try {
      for (const by of countedAhead) {
        await this.#groupsOfAll({ kind: 'groupLetters', condition: undefined, by, max: KEPT_GROUPS_MAX }, ownReading());
      }
    } catch {
      // It is counted when it is asked for.
    }
    this.#countingAhead = undefined;
  }

  /** Reads a letter with its content for the owner itself. Rejects as the database and the log do. */
  async letter(messageId: number): Promise<LetterRead | DeadLetterRejected> {
    // Nobody's letters wait for a checkpoint, where memory or the last one tells of them: merges come by the thousand.
    const row = this.#options.unwritten.pending(messageId) ?? (await this.rowOf(messageId));
    const found = row === undefined ? 'moved' : await this.#letterAt(row, new GoneRecords());
    if (found !== 'moved') return found;
    const read = await this.#read({ kind: 'readLetter', messageId }, ownReading());
    assert(read.kind === 'letter' || read.kind === 'rejected', 'a letter was asked for');
    return read;
  }

  /** Reads a letter and those behind it, as many as fit. Empty if the letter has no row, or is being written again. */
  async lettersFrom(messageId: number, max: number): Promise<readonly ListedLetter[]> {
    const { database, journal, unwritten } = this.#options;
    const { listedBytesMax: bytesMax } = deadLetterLimits;
    const rows: LetterRow[] = [];
    for (let row = unwritten.pending(messageId); row !== undefined && rows.length < max; row = unwritten.pending(messageId + rows.length)) {
      rows.push(row);
    }
    if (rows.length === 0) {
      const page = { condition: undefined, afterMessageId: messageId - 1, max, bytesMax };
      const { letters } = await this.#ours(database.letters(journal, page));
      rows.push(...letters.map((row) => unwritten.pending(row.messageId) ?? row));
    }
    return rows[0]?.messageId === messageId ? (await this.#withContents(rows, bytesMax, new GoneRecords())).letters : [];
  }

  giveUp(askId: number): void {
    this.#waiting.delete(askId);
    const reading = this.#reading.get(askId);
    if (reading === undefined) return;
    reading.isGivenUp = true;
    // Should it not hear of it, it ends as it would have ended.
    if (reading.asked !== undefined) this.#options.database.giveUp(reading.asked).catch(() => {});
  }

  /** Whoever still asks was told already. */
  close(): void {
    this.#waiting.clear();
    for (const askId of this.#reading.keys()) this.giveUp(askId);
  }

  #next(): void {
    for (const [askId, request] of this.#waiting) {
      if (this.#reading.size >= READS_MAX) return;
      this.#waiting.delete(askId);
      const reading = { asked: `letters/${this.#options.journal.partition}/${askId}`, isGivenUp: false };
      this.#reading.set(askId, reading);
      void this.#answer(askId, request, reading);
    }
  }

  async #answer(askId: number, request: IndexRequest, reading: Reading): Promise<void> {
    const { sink, logger } = this.#options;
    try {
      sink.answer(askId, await this.#read(request, reading));
    } catch (error) {
      const failure = failureOf(error);
      if (failure.kind === 'internal') logger.error('the index of dead letters could not be read', { error: asError(error) });
      sink.fail(askId, failure);
    }
    this.#reading.delete(askId);
    this.#next();
  }

  async #read(request: IndexRequest, reading: Reading): Promise<IndexReply | DeadLetterRejected> {
    return request.kind === 'groupLetters' ? await this.#groups(request, reading) : await this.#written(request, reading);
  }

  async #groups(request: GroupLetters, reading: Reading): Promise<IndexReply | DeadLetterRejected> {
    const { condition, by } = request;
    const max = Math.min(request.max, deadLetterLimits.groupsMax);
    if (condition !== undefined) return await this.#written({ ...request, max }, reading);
    if (countedAhead.some((each) => each === by)) await this.#countingAhead;
    return await this.#groupsOfAll({ ...request, max }, reading);
  }

  async #groupsOfAll({ by, max, ...request }: GroupLetters, reading: Reading): Promise<IndexReply | DeadLetterRejected> {
    const kept = this.#keptGroups.of(by, max);
    if (kept !== undefined) return { kind: 'groups', groups: kept };
    const { changes } = this.#keptGroups;
    const asked = Math.max(max, KEPT_GROUPS_MAX);
    const found = await this.#written({ ...request, by, max: asked }, reading);
    if (found.kind !== 'groups') return found;
    this.#keptGroups.keep(changes, by, asked, found.groups);
    return { kind: 'groups', groups: found.groups.slice(0, max) };
  }

  async #written(request: IndexRequest, reading: Reading): Promise<IndexReply | DeadLetterRejected> {
    const gone = await this.#goneRecords(request);
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
      await this.#options.checkpointer.writtenNow();
      if (reading.isGivenUp) throw new DatabaseError('overtime', 'the caller has given up');
      const reply = await this.#counted(request, () => this.#readOnce(request, reading, gone));
      if (reply !== 'moved') return reply;
    }
    throw new DatabaseError('unavailable', 'the queue is being compacted: try again');
  }

  async #counted<Reply>({ kind }: IndexRequest, read: () => Promise<Reply>): Promise<Reply> {
    const { metrics } = this.#options;
    if (metrics === undefined || (kind !== 'listLetters' && kind !== 'readLetter')) return await read();
    return await metrics.timed('PersistenceReadMessagesFromDLQ', read);
  }

  /** Journals begin later when letters stand elsewhere, and their rows say so, never before. */
  async #goneRecords({ kind }: IndexRequest): Promise<GoneRecords> {
    if (kind !== 'listLetters' && kind !== 'readLetter') return new GoneRecords();
    return new GoneRecords((await this.#options.log.bounds(this.#options.partition)).start);
  }

  async #readOnce(request: IndexRequest, { asked }: Reading, gone: GoneRecords): Promise<IndexReply | DeadLetterRejected | 'moved'> {
    const { database, journal } = this.#options;
    const { foundMax } = deadLetterLimits;
    switch (request.kind) {
      case 'listLetters':
        return await this.#list(request, asked, gone);
      case 'readLetter':
        return await this.#readLetter(request, gone);
      case 'findLetters': {
        const max = Math.min(request.max, foundMax);
        return { kind: 'letterIds', ...(await this.#ours(database.letterIds(journal, { ...request, max, asked }))) };
      }
      case 'countMatching':
        return { kind: 'matched', count: await this.#ours(database.countLetters(journal, request.condition, asked)) };
      case 'groupLetters':
        return { kind: 'groups', groups: await this.#ours(database.letterGroups(journal, { ...request, asked })) };
      default:
        return unreachable(request);
    }
  }

  async #list(request: ListLetters, asked: string | undefined, gone: GoneRecords): Promise<IndexReply | 'moved'> {
    const { database, journal } = this.#options;
    const { listedMax, listedBytesMax } = deadLetterLimits;
    const max = Math.min(request.max, listedMax);
    const bytesMax = Math.min(request.bytesMax, listedBytesMax);
    const page = await this.#ours(database.letters(journal, { ...request, max, bytesMax, asked }));
    if (!request.withContent) {
      const letters = page.letters.map((row) => ({ row, content: gone.has(row) ? goneContent : undefined }));
      return { kind: 'letters', letters, isLast: page.isLast };
    }
    const { letters, hasMoved } = await this.#withContents(page.letters, bytesMax, gone);
    if (hasMoved) return 'moved';
    return { kind: 'letters', letters, isLast: page.isLast && letters.length === page.letters.length };
  }

  /** As many letters as fit, and the first one however large, without letters that are being written again. */
  async #withContents(rows: readonly LetterRow[], bytesMax: number, gone: GoneRecords) {
    const contents = new LetterContents(this.#options);
    const letters: ListedLetter[] = [];
    let bytes = 0;
    let hasMoved = false;
    for (const [index, row] of rows.entries()) {
      const content = gone.has(row) ? goneContent : await contents.of(row, rows[index + 1]);
      if (content === 'moved') {
        hasMoved = true;
        gone.missed(row);
        continue;
      }
      bytes += contentBytes(content);
      if (letters.length > 0 && bytes > bytesMax) break;
      letters.push({ row, content });
    }
    return { letters, hasMoved };
  }

  /** The row in the database; undefined: there is none. Rejects with DatabaseError. */
  async rowOf(messageId: number): Promise<LetterRow | undefined> {
    const { database, journal } = this.#options;
    const first = { condition: undefined, afterMessageId: messageId - 1, max: 1, bytesMax: 1 };
    const [row] = (await this.#ours(database.letters(journal, first))).letters;
    return row?.messageId === messageId ? row : undefined;
  }

  async #readLetter({ messageId }: ReadLetter, gone: GoneRecords): Promise<IndexReply | DeadLetterRejected | 'moved'> {
    const row = await this.rowOf(messageId);
    if (row === undefined) {
      return { kind: 'rejected', rejection: { reason: 'not-in-queue', message: `message ${messageId} was merged or purged just now` } };
    }
    return await this.#letterAt(row, gone);
  }

  async #letterAt(row: LetterRow, gone: GoneRecords): Promise<LetterRead | 'moved'> {
    const content = gone.has(row) ? goneContent : await new LetterContents(this.#options).of(row, undefined);
    if (content !== 'moved') return { kind: 'letter', letter: { row, content } };
    gone.missed(row);
    return content;
  }

  /** Rows that were read under another fence are another's; or they were in memory, and are lost with it. */
  async #ours<Rows>(read: Promise<Fenced<Rows>>): Promise<Rows> {
    const { checkpointer } = this.#options;
    const { fence, rows } = await read;
    if (fence === checkpointer.fence) return rows;
    await checkpointer.isSuperseded();
    throw new DatabaseError('unavailable', 'the index of this queue was lost, or another owner has it: it is being rebuilt');
  }
}

function failureOf(error: unknown): AskFailure {
  const message = errorMessage(error);
  if (!(error instanceof DatabaseError || error instanceof LogError)) return internalError(message);
  if (error.code === 'corrupt') return { kind: 'dataLoss', message };
  return { kind: error.code === 'overtime' ? 'busy' : 'unavailable', message };
}

/**
 * Groups of all letters of a queue, as they were counted last: lists of queues and dashboards ask for the same again and again, and to count a
 * hundred thousand letters takes a tenth of a second.
 *
 *     asked ─▶ nothing was committed since ─▶ the same groups
 *                 └ something was ─▶ counted anew, and kept if nothing came meanwhile
 */

/** Groups kept of each grouping: more are seldom asked for. */
const KEPT_GROUPS_MAX = 100;

type Kept = { readonly changes: number; readonly groups: readonly LetterGroup[]; readonly areAll: boolean };

class KeptGroups {
  readonly #kept = new Map<LetterGrouping, Kept>();
  /** How often something was committed that may change what groups there are. */
  changes = 0;

  committed({ kind }: DeadLetterRecord): void {
    if (kind !== 'head' && kind !== 'handedOver') this.changes += 1;
  }

  /** undefined: they have to be counted. */
  of(by: LetterGrouping, max: number): readonly LetterGroup[] | undefined {
    const kept = this.#kept.get(by);
    if (kept?.changes !== this.changes) return undefined;
    return kept.areAll || max <= kept.groups.length ? kept.groups.slice(0, max) : undefined;
  }

  /** `changes`: before they were counted. `asked`: there are more where there are as many. */
  keep(changes: number, by: LetterGrouping, asked: number, groups: readonly LetterGroup[]): void {
    if (changes !== this.changes) return;
    const areAll = groups.length < asked && groups.length <= KEPT_GROUPS_MAX;
    this.#kept.set(by, { changes, groups: groups.slice(0, KEPT_GROUPS_MAX), areAll });
  }
}

/**
 * Letters as their merges need them, read a page at a time: jobs ask for them in the order of their ids.
 *
 *     read 5 ─▶ 5 6 7 8 from rows and topic ─▶ 5    read 6, 7, 8 ─▶ at once    read 9 ─▶ a larger page
 *
 * What a record changes meanwhile is read again.
 */

const PAGE_LETTERS_MAX = 256;
/** What is read ahead and not asked for yet. What was read first goes first. */
const AHEAD_LETTERS_MAX = 1_024;
const AHEAD_BYTES_MAX = 8 * 1024 * 1024;

export class LettersAhead implements CommitSubscriber<DeadLetterRecord> {
  readonly #index: Pick<QueueIndex, 'letter' | 'lettersFrom'>;
  /** Letters by their ids, in the order in which they were read. */
  readonly #ahead = new Map<number, ListedLetter>();
  #aheadBytes = 0;
  /** Letters taken since the last page: if few of a page are asked for, the next one is smaller. */
  #hits = 0;
  /** Ids that changed while a page is read. */
  readonly #changed = new Set<number>();
  #underWay = 0;

  constructor(index: Pick<QueueIndex, 'letter' | 'lettersFrom'>) {
    this.#index = index;
  }

  /** Rejects as the index does. */
  async read(messageId: number): Promise<LetterRead | DeadLetterRejected> {
    const found = this.#taken(messageId) ?? (await this.#paged(messageId));
    return found === undefined ? await this.#index.letter(messageId) : { kind: 'letter', letter: found };
  }

  committed(record: DeadLetterRecord): void {
    if (!('messageId' in record)) return;
    this.#forget(record.messageId);
    if (this.#underWay > 0) this.#changed.add(record.messageId);
  }

  #taken(messageId: number): ListedLetter | undefined {
    const found = this.#ahead.get(messageId);
    this.#forget(messageId);
    if (found !== undefined) this.#hits += 1;
    return found;
  }

  async #paged(messageId: number): Promise<ListedLetter | undefined> {
    const max = Math.min(PAGE_LETTERS_MAX, 2 * (this.#hits + 1));
    this.#hits = 0;
    this.#underWay += 1;
    try {
      const page = await this.#index.lettersFrom(messageId, max);
      for (const letter of page) if (!this.#changed.has(letter.row.messageId)) this.#keep(letter);
    } finally {
      this.#underWay -= 1;
      if (this.#underWay === 0) this.#changed.clear();
    }
    return this.#taken(messageId);
  }

  #keep(letter: ListedLetter): void {
    const { messageId } = letter.row;
    this.#forget(messageId);
    this.#ahead.set(messageId, letter);
    this.#aheadBytes += bytesOf(letter);
    for (const first of this.#ahead.keys()) {
      if (this.#ahead.size <= AHEAD_LETTERS_MAX && this.#aheadBytes <= AHEAD_BYTES_MAX) return;
      if (first !== messageId) this.#forget(first);
    }
  }

  #forget(messageId: number): void {
    const letter = this.#ahead.get(messageId);
    if (letter === undefined) return;
    this.#ahead.delete(messageId);
    this.#aheadBytes -= bytesOf(letter);
  }
}

const LETTER_BYTES = 2_048;

function bytesOf({ content }: ListedLetter): number {
  return LETTER_BYTES + (content === undefined ? 0 : contentBytes(content));
}
