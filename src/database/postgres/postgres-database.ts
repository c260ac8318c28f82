/**
 * The database port on PostgreSQL.
 *
 * Three pools: checkpoints and loads must not wait behind somebody's count of a million rows, nor reads of dead letters, and they want another
 * planner. Theirs looks up by keys alone, for before the first ANALYZE it takes every table for small and reads it whole; the others may choose.
 */
import { DatabaseError } from '../../actors/database.ts';
import { boundCluster } from './bound-cluster.ts';
import { CheckpointWriter } from './checkpoint-writer.ts';
import { Connections } from './connections.ts';
import { LetterReads } from './letter-reads.ts';
import { migrate } from './migrate.ts';
import { nameOf } from './postgres-name.ts';
import { Reads } from './reads.ts';
import { quoted, schemaName } from './schema-name.ts';
import { SlotClearer } from './slot-clearer.ts';
import { RevocableReads } from './revocable-reads.ts';
import { VisibilityReads } from './visibility-reads.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type {
  Asked,
  Checkpoint,
  Database,
  Fence,
  Fenced,
  HeldJournal,
  HistoryRange,
  HistoryRow,
  JournalId,
  LetterGrouped,
  LetterIdPage,
  LetterList,
  LetterPage,
  LetterWalk,
  Loaded,
  LoadKey,
  MatchingQueue,
  MatchingQueuePage,
  MatchingTaskCount,
  MatchingTaskRange,
  ListedId,
  MatchingTaskRow,
  RebuildReason,
  Restored,
  RunRow,
  SlotClearing,
  SlotsCleared,
  StrayRows,
  TransferTaskRow,
  TimerRow,
  TimerWindow,
  WriteOutcome,
} from '../../actors/database.ts';
import type { LetterGroup } from '../../deadletters/replies.ts';
import type { PostgresOptions } from '../../config/postgres-options.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Condition } from '../../filter/condition.ts';
import type { VisibilityCount, VisibilityList, VisibilityPage, VisibilityRow } from '../../visibility/row.ts';

/** A namespace has two lists and counts under way at most: its slow ones, whom nobody may wait for any more, never take all of these. */
const visibilityConnectionsMax = 4;
/** Whoever looks at dead letters in an incident does not wait behind the lists of others. */
const letterConnectionsMax = 2;

/** Of every session: trimming the journal rests on what a COMMIT promises. */
const durable = ['synchronous_commit=on', 'client_encoding=UTF8', 'DateStyle=ISO', 'jit=off'];
const byKey = ['enable_seqscan=off', 'enable_hashjoin=off', 'enable_mergejoin=off'];

export class PostgresDatabase implements Database {
  readonly name: string;
  readonly #options: PostgresOptions;
  readonly #state: Connections;
  readonly #lists: Connections;
  readonly #ofLetters: Connections;
  readonly #schema: string;
  readonly #reads: Reads;
  readonly #writer: CheckpointWriter;
  readonly #slots: SlotClearer;
  /** Of lists, and of letters. */
  readonly #revocable: readonly [RevocableReads, RevocableReads];
  readonly #visibility: VisibilityReads;
  readonly #letters: LetterReads;
  /** While the tables are looked at. */
  #migrating: { readonly connections: Connections; readonly done: Promise<void> } | undefined;
  #isReady = false;

  constructor(options: PostgresOptions, logger: Logger) {
    this.name = nameOf(options);
    this.#options = options;
    this.#schema = schemaName(options.topicPrefix);
    const before = async (): Promise<void> => (this.#isReady ? undefined : await this.prepare());
    this.#state = new Connections(options, Math.max(1, options.connectionsMax), [...durable, ...byKey], before);
    this.#lists = new Connections(options, visibilityConnectionsMax, durable, before);
    this.#ofLetters = new Connections(options, letterConnectionsMax, durable, before);
    this.#reads = new Reads(this.#state, this.#schema);
    this.#writer = new CheckpointWriter(this.#state, this.#schema, logger);
    this.#slots = new SlotClearer(this.#state, this.#schema);
    this.#revocable = [new RevocableReads(this.#lists, this.#state), new RevocableReads(this.#ofLetters, this.#state)];
    const [lists, ofLetters] = this.#revocable;
    this.#visibility = new VisibilityReads(lists, this.#schema);
    this.#letters = new LetterReads(ofLetters, this.#schema);
  }

  /** The tables are there, and of the age that this program knows. Every call sees to it first, until it has been so once. */
  async prepare(): Promise<void> {
    this.#migrating ??= this.#migrate();
    await this.#migrating.done;
  }

  #migrate(): { readonly connections: Connections; readonly done: Promise<void> } {
    const connections = new Connections(this.#options, 1, durable);
    const done = (async () => {
      try {
        await migrate(connections, { name: this.name, schema: this.#schema, migrate: this.#options.migrate });
        this.#isReady = true;
      } finally {
        this.#migrating = undefined;
        await connections.close();
      }
    })();
    return { connections, done };
  }

  cluster(): Promise<string | undefined> {
    return this.#state.use((session) => boundCluster(session, this.#schema));
  }

  async bind(clusterId: string): Promise<string> {
    return await this.#state.use(async (session) => {
      const text = `INSERT INTO ${quoted(this.#schema)}.perdure (name, value) VALUES ('cluster', $1) ON CONFLICT (name) DO NOTHING`;
      await session.query({ text }, [clusterId]);
      const owner = await boundCluster(session, this.#schema);
      if (owner === undefined) throw new DatabaseError('corrupt', `${this.name} has lost whose it is while it was asked`);
      return owner;
    });
  }

  restore(journal: JournalId): Promise<Restored> {
    return this.#reads.restore(journal);
  }

  position(journal: JournalId): Promise<Restored> {
    return this.#reads.position(journal);
  }

  write(journal: JournalId, fence: Fence, checkpoint: Checkpoint): Promise<WriteOutcome> {
    return this.#writer.write(journal, fence, checkpoint);
  }

  flush(journal: JournalId, fence: Fence, rows: readonly VisibilityRow[], retired: readonly ListedId[]): Promise<'flushed' | 'fenced'> {
    return this.#writer.flush(journal, fence, rows, retired);
  }

  clearSlots(held: readonly HeldJournal[], clearing: SlotClearing): Promise<SlotsCleared> {
    return this.#slots.clear(held, clearing);
  }

  rewrite(journal: JournalId, fence: Fence, nextOffset: number, rows: readonly VisibilityRow[]): Promise<'flushed' | 'fenced' | 'moved'> {
    return this.#writer.rewrite(journal, fence, nextOffset, rows);
  }

  load(journal: JournalId, keys: readonly LoadKey[]): Promise<Fenced<readonly Loaded[]>> {
    return this.#reads.load(journal, keys);
  }

  transferTasks(journal: JournalId, afterTaskId: number, max: number): Promise<Fenced<readonly TransferTaskRow[]>> {
    return this.#reads.transferTasks(journal, afterTaskId, max);
  }

  timers(journal: JournalId, window: TimerWindow): Promise<Fenced<readonly TimerRow[]>> {
    return this.#reads.timers(journal, window);
  }

  tasksAside(
    journal: JournalId,
  ): Promise<Fenced<{ readonly transferTasks: readonly TransferTaskRow[]; readonly timers: readonly TimerRow[] }>> {
    return this.#reads.tasksAside(journal);
  }

  dueRuns(journal: JournalId, untilMs: number, max: number): Promise<Fenced<readonly (RunKey & { readonly forgetMs: number })[]>> {
    return this.#reads.dueRuns(journal, untilMs, max);
  }

  runIds(journal: JournalId, afterRunId: string, max: number): Promise<Fenced<readonly RunKey[]>> {
    return this.#reads.runIds(journal, afterRunId, max);
  }

  runs(journal: JournalId, afterRunId: string, max: number, bytesMax: number): Promise<Fenced<readonly RunRow[]>> {
    return this.#reads.runs(journal, afterRunId, max, bytesMax);
  }

  strayRows(journal: JournalId, after: ListedId | undefined, max: number): Promise<Fenced<StrayRows>> {
    return this.#reads.strayRows(journal, after, max);
  }

  rebuildDue(journal: JournalId): Promise<Fenced<RebuildReason | undefined>> {
    return this.#reads.rebuildDue(journal);
  }

  noteRebuild(journal: JournalId, fence: Fence, isDue: boolean): Promise<'noted' | 'fenced'> {
    return this.#writer.noteRebuild(journal, fence, isDue);
  }

  matchingTasks(journal: JournalId, queue: string, afterTaskId: number, max: number): Promise<Fenced<readonly MatchingTaskRow[]>> {
    return this.#reads.matchingTasks(journal, queue, afterTaskId, max);
  }

  matchingQueues(journal: JournalId, page: MatchingQueuePage): Promise<Fenced<readonly MatchingQueue[]>> {
    return this.#reads.matchingQueues(journal, page);
  }

  countMatchingTasks(journal: JournalId, range: MatchingTaskRange): Promise<Fenced<MatchingTaskCount>> {
    return this.#reads.countMatchingTasks(journal, range);
  }

  letters(journal: JournalId, list: LetterList): Promise<Fenced<LetterPage>> {
    return this.#letters.letters(journal, list);
  }

  letterIds(journal: JournalId, walk: LetterWalk): Promise<Fenced<LetterIdPage>> {
    return this.#letters.letterIds(journal, walk);
  }

  countLetters(journal: JournalId, condition: Condition | undefined, asked?: Asked): Promise<Fenced<number>> {
    return this.#letters.countLetters(journal, condition, asked);
  }

  letterGroups(journal: JournalId, grouped: LetterGrouped): Promise<Fenced<readonly LetterGroup[]>> {
    return this.#letters.letterGroups(journal, grouped);
  }

  history(journal: JournalId, range: HistoryRange): Promise<readonly HistoryRow[]> {
    return this.#reads.history(journal, range);
  }

  list(query: VisibilityList): Promise<VisibilityPage> {
    return this.#visibility.list(query);
  }

  count(query: VisibilityCount): Promise<readonly { readonly status: number | undefined; readonly count: number }[]> {
    return this.#visibility.count(query);
  }

  async giveUp(asked: Asked): Promise<void> {
    await Promise.all(this.#revocable.map((reads) => reads.giveUp(asked)));
  }

  async close(): Promise<void> {
    await Promise.all([this.#state.close(), this.#lists.close(), this.#ofLetters.close(), this.#migrating?.connections.close()]);
  }
}
