/**
 * The database port over one SQLite connection, on the thread that made it: calls return when SQLite does.
 *
 *     lane     │ write: guard, chunk, chunk, chunk, commit │ restore │ window │ write …        one after the other
 *     between  │            load   load   history          │                                    at once
 *
 * A large write would hold up every load behind it, so it goes in chunks, and loads are answered between them: in memory, where there is but this
 * connection. With a file they come to another one (open-sqlite.ts), and only restores and windows wait here. Loads see the rows that the open
 * transaction has written so far; that is right, for what an owner loads is cold, and nothing cold is ever in a write under way. All else waits
 * its turn. The fence is the same all along: a restore waits as well. Restores that wait for the same turn share a commit, and its sync: a start
 * has one for each journal.
 *
 * While another process holds the file's lock, a transaction asks for it again and again, and loads are answered meanwhile.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { DatabaseError } from '../../actors/database.ts';
import { assert, unreachable } from '../../kernel/assert.ts';
import { Connection, databaseFailure, isLocked } from './connection.ts';
import { rewriteVisibilityRows, writeDeadLettersDelta, writeHistoryDelta, writeMatchingDelta, writeVisibilityRows } from './delta.ts';
import { countLetterSteps, letterGroupSteps, letterIdSteps, letterPageSteps } from './letter-queries.ts';
import { noteRebuild, rebuildDue, strayRows } from './list-rebuild.ts';
import { generationOf, moveJournal, readJournal, restoreJournal } from './journal-rows.ts';
import { sqliteName, type SqliteOptions } from './options.ts';
import {
  countMatchingTasks,
  dueRuns,
  history,
  load,
  matchingQueues,
  matchingTasks,
  type PassedOver,
  runIds,
  runs,
  tasksAside,
  timers,
  transferTasks,
} from './state-reads.ts';
import { errorText } from '../../kernel/error-text.ts';
import type { Said } from '../thread/messages.ts';
import { clearVisibilitySlots } from './slot-clearing.ts';
import { Moments } from './moment.ts';
import { heldShards } from '../held-shards.ts';
import { countSteps, listSteps } from './visibility-queries.ts';
import type {
  Asked,
  Checkpoint,
  Database,
  Fence,
  Fenced,
  HeldJournal,
  HistoryRange,
  JournalId,
  LetterGrouped,
  LetterList,
  LetterWalk,
  Loaded,
  LoadKey,
  MatchingQueuePage,
  MatchingTaskRange,
  ListedId,
  Restored,
  SlotClearing,
  SlotsCleared,
  TimerWindow,
  WriteOutcome,
} from '../../actors/database.ts';
import type { Condition } from '../../filter/condition.ts';
import type { VisibilityCount, VisibilityList, VisibilityRow } from '../../visibility/row.ts';

const bindSql = `INSERT OR IGNORE INTO perdure (name, value) VALUES ('cluster', ?)`;
const clusterSql = `SELECT value FROM perdure WHERE name = 'cluster'`;

const defaultQueryTimeoutMs = 10_000;

/** Of rows that cannot be read. */
const toldMax = 1_000;

const notDurable = { isDurable: false };

/** How long another process may hold the file's lock, and how often it is looked at. */
const lockWaitMsMax = 5_000;
const lockLookMs = 20;

/** Of one commit. */
type Restores = {
  readonly journals: JournalId[];
  readonly outcomes: Promise<readonly RestoreOutcome[]>;
  /** Of these restores, as its last: who is asked for something else in between is not overtaken. */
  readonly lane: Promise<unknown>;
  /** The commit has not begun. */
  mayJoin: boolean;
};
type RestoreOutcome = { readonly restored: Restored } | { readonly error: unknown };

export class SqliteDatabase implements Database {
  readonly name: string;
  readonly #options: SqliteOptions;
  /** Opened by the first call, and again after one that was given up. */
  #connection: Connection | undefined;
  #lane: Promise<unknown> = Promise.resolve();
  /** The last step of lists, counts and walks over letters that is to come. */
  #walks: Promise<unknown> = Promise.resolve();
  #restores: Restores | undefined;
  /** A commit failed: what the file holds must be synced before anything rests on it. */
  #isInDoubt = false;
  /** Whose commit failed: until there is another one it reads what stood there before. What is loaded is cold, and so never in that commit. */
  #inDoubt: Connection | undefined;
  #isClosed = false;
  /** For what takes several turns: between them it may have been opened anew. */
  readonly #now = (): Connection => this.#opened();
  readonly #moment = (): Connection | undefined => this.#moments.present();
  readonly #moments: Moments;
  /** Lists and counts that may be given up. */
  readonly #underWay = new Map<Asked, { isGivenUp: boolean }>();
  readonly #say: (said: Said) => void;
  /** Rows that cannot be read, of which somebody has heard. */
  readonly #told = new Set<string>();

  constructor(options: SqliteOptions, say: (said: Said) => void = () => {}) {
    this.#options = options;
    this.#moments = new Moments(options);
    this.#say = say;
    this.name = sqliteName(options);
  }

  cluster(): Promise<string | undefined> {
    return this.#inLane((connection) => boundTo(connection));
  }

  bind(clusterId: string): Promise<string> {
    return this.#transaction((connection) => {
      connection.statement(bindSql).run(clusterId);
      return String(boundTo(connection));
    });
  }

  async restore(journal: JournalId): Promise<Restored> {
    if (this.#restores?.lane !== this.#lane || !this.#restores.mayJoin) this.#restores = this.#nextRestores();
    const { journals, outcomes } = this.#restores;
    const nth = journals.push(journal) - 1;
    const outcome = (await outcomes)[nth];
    assert(outcome !== undefined, 'who joins has an outcome');
    if ('error' in outcome) throw databaseFailure(outcome.error, this.#options);
    return outcome.restored;
  }

  position(journal: JournalId) {
    return this.#inLane((connection) => readJournal(connection, journal));
  }

  async write(journal: JournalId, fence: Fence, checkpoint: Checkpoint): Promise<WriteOutcome> {
    try {
      return await this.#transaction(async (connection) => {
        if (!moveJournal(connection, journal, fence, checkpoint)) return { kind: 'fenced' };
        for (const _ of chunksOf(connection, journal, checkpoint)) await othersTurn(connection);
        return { kind: 'written' };
      });
    } catch (error) {
      if (error instanceof CommitFailure) return { kind: 'unknown', reason: error.message };
      throw error;
    }
  }

  flush(journal: JournalId, fence: Fence, rows: readonly VisibilityRow[], retired: readonly ListedId[]): Promise<'flushed' | 'fenced'> {
    return this.#transaction(async (connection) => {
      if (!holdsFence(connection, journal, fence)) return 'fenced';
      for (const _ of writeVisibilityRows(connection, rows, retired)) await othersTurn(connection);
      return 'flushed';
    }, notDurable);
  }

  clearSlots(held: readonly HeldJournal[], clearing: SlotClearing): Promise<SlotsCleared> {
    return this.#transaction((connection) => {
      if (!held.every(({ journal, fence }) => holdsFence(connection, journal, fence))) return { kind: 'fenced' };
      return { kind: 'cleared', lastRunId: clearVisibilitySlots(connection, heldShards(held), clearing) };
    });
  }

  async rewrite(journal: JournalId, fence: Fence, nextOffset: number, rows: readonly VisibilityRow[]) {
    return await this.#transaction(async (connection) => {
      if (!holdsFence(connection, journal, fence)) return 'fenced';
      if ((readJournal(connection, journal).position?.nextOffset ?? 0) !== nextOffset) return 'moved';
      for (const _ of rewriteVisibilityRows(connection, rows)) await othersTurn(connection);
      return 'flushed';
    }, notDurable);
  }

  load(journal: JournalId, keys: readonly LoadKey[]): Promise<Fenced<readonly Loaded[]>> {
    return this.#atOnce((connection) => fenced(connection, journal, () => load(connection, journal.partition, keys)));
  }

  history(journal: JournalId, range: HistoryRange) {
    return this.#atOnce((connection) => history(connection, journal.partition, range));
  }

  transferTasks(journal: JournalId, afterTaskId: number, max: number) {
    return this.#window(journal, (connection) => transferTasks(connection, journal.partition, afterTaskId, max));
  }

  timers(journal: JournalId, window: TimerWindow) {
    return this.#window(journal, (connection) => timers(connection, journal.partition, window));
  }

  tasksAside(journal: JournalId) {
    return this.#window(journal, (connection) => tasksAside(connection, journal.partition));
  }

  dueRuns(journal: JournalId, untilMs: number, max: number) {
    return this.#window(journal, (connection) => dueRuns(connection, journal.partition, untilMs, max, this.#passedOver(journal)));
  }

  runIds(journal: JournalId, afterRunId: string, max: number) {
    return this.#window(journal, (connection) => runIds(connection, journal.partition, afterRunId, max, this.#passedOver(journal)));
  }

  runs(journal: JournalId, afterRunId: string, max: number, bytesMax: number) {
    return this.#window(journal, (connection) =>
      runs(connection, journal.partition, afterRunId, { max, bytesMax }, this.#passedOver(journal)),
    );
  }

  strayRows(journal: JournalId, after: ListedId | undefined, max: number) {
    return this.#window(journal, (connection) => strayRows(connection, journal.partition, after, max));
  }

  rebuildDue(journal: JournalId) {
    return this.#window(journal, (connection) => rebuildDue(connection, journal.partition));
  }

  noteRebuild(journal: JournalId, fence: Fence, isDue: boolean): Promise<'noted' | 'fenced'> {
    return this.#transaction((connection) => {
      if (!holdsFence(connection, journal, fence)) return 'fenced';
      noteRebuild(connection, journal.partition, isDue);
      return 'noted';
    });
  }

  matchingTasks(journal: JournalId, queue: string, afterTaskId: number, max: number) {
    return this.#window(journal, (connection) => matchingTasks(connection, journal.partition, queue, afterTaskId, max));
  }

  matchingQueues(journal: JournalId, page: MatchingQueuePage) {
    return this.#window(journal, (connection) => matchingQueues(connection, journal.partition, page));
  }

  countMatchingTasks(journal: JournalId, range: MatchingTaskRange) {
    return this.#window(journal, (connection) => countMatchingTasks(connection, journal.partition, range));
  }

  letters(journal: JournalId, list: LetterList) {
    return this.#inSteps(letterPageSteps(this.#now, journal, list), list.asked);
  }

  letterIds(journal: JournalId, walk: LetterWalk) {
    return this.#inSteps(letterIdSteps(this.#now, journal, walk), walk.asked);
  }

  countLetters(journal: JournalId, condition: Condition | undefined, asked?: Asked) {
    return this.#inSteps(countLetterSteps(this.#now, this.#moment, journal, condition), asked);
  }

  letterGroups(journal: JournalId, grouped: LetterGrouped) {
    return this.#inSteps(letterGroupSteps(this.#now, this.#moment, journal, grouped), grouped.asked);
  }

  list(query: VisibilityList) {
    return this.#inSteps(listSteps(this.#now, query), query.asked);
  }

  count(query: VisibilityCount) {
    return this.#inSteps(countSteps(this.#now, query, this.#moment), query.asked);
  }

  async giveUp(asked: Asked): Promise<void> {
    const underWay = this.#underWay.get(asked);
    if (underWay !== undefined) underWay.isGivenUp = true;
  }

  /** What is under way ends first. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#lane;
    this.#giveUp();
  }

  #nextRestores(): Restores {
    const journals: JournalId[] = [];
    const outcomes = this.#inLane(async (connection) => {
      // What was asked for at the same time is in the thread's queue now.
      await new Promise((resolve) => setImmediate(resolve));
      restores.mayJoin = false;
      return await this.#transact(connection, () => journals.map((journal) => restoreOutcome(connection, journal)));
    });
    const restores: Restores = { journals, outcomes, lane: this.#lane, mayJoin: true };
    const isOver = (): void => void (restores.mayJoin = false);
    outcomes.then(isOver, isOver);
    return restores;
  }

  #passedOver({ partition }: JournalId): PassedOver {
    return (runId, error) => {
      const row = `${partition} ${runId}`;
      if (this.#told.has(row) || this.#told.size >= toldMax) return;
      this.#told.add(row);
      const message = 'a row of the table runs cannot be read: it is passed over; put it back from a backup';
      this.#say({ level: 'error', message, fields: { database: this.name, partition, runId, reason: errorText(error) } });
    };
  }

  #window<Rows>(journal: JournalId, read: (connection: Connection) => Rows): Promise<Fenced<Rows>> {
    return this.#inLane((connection) => fenced(connection, journal, () => read(connection)));
  }

  #transaction<Result>(work: (connection: Connection) => Result | Promise<Result>, how = { isDurable: true }): Promise<Result> {
    return this.#inLane((connection) => this.#transact(connection, () => work(connection), how));
  }

  /** In the lane. */
  async #transact<Result>(connection: Connection, work: () => Result | Promise<Result>, how = { isDurable: true }): Promise<Result> {
    await this.#begin(connection, how);
    let result: Result;
    try {
      result = await work();
    } catch (error) {
      this.#undo(connection);
      throw error;
    }
    this.#commit(connection);
    return result;
  }

  /** Between two looks at the lock others get their turns. */
  async #begin(connection: Connection, how: { readonly isDurable: boolean }): Promise<void> {
    for (const endMs = performance.now() + lockWaitMsMax; ;) {
      try {
        return connection.begin(how);
      } catch (error) {
        if (!isLocked(error) || this.#isClosed || performance.now() >= endMs) throw error;
      }
      await delay(lockLookMs);
    }
  }

  /** A failed commit is never tried again: nobody knows what it left. The next connection finds what is there. */
  #commit(connection: Connection): void {
    try {
      connection.commit();
    } catch (error) {
      this.#isInDoubt = true;
      this.#leaveInDoubt(connection);
      throw new CommitFailure(databaseFailure(error, this.#options));
    }
  }

  #undo(connection: Connection): void {
    try {
      connection.rollback();
    } catch {
      // Closing ends the transaction as well.
      this.#giveUp();
    }
  }

  /** After all that was asked before, and alone. */
  async #inLane<Result>(work: (connection: Connection) => Result | Promise<Result>): Promise<Result> {
    this.#checkOpen();
    const turn = this.#lane.then(() => work(this.#opened()));
    this.#lane = turn.catch(() => {});
    try {
      return await turn;
    } catch (error) {
      throw databaseFailure(error, this.#options);
    }
  }

  /**
   * Each step in the lane: what was asked meanwhile has its turn before the next, and so has what comes in only then. Behind their first steps walks
   * take turns with one another, so that whoever writes waits for a step of one of them, however many there are.
   */
  async #inSteps<Result>(steps: Generator<void, Result>, asked?: Asked): Promise<Result> {
    const { queryTimeoutMs = defaultQueryTimeoutMs } = this.#options;
    const endMs = performance.now() + queryTimeoutMs;
    const underWay = { isGivenUp: false };
    if (asked !== undefined) this.#underWay.set(asked, underWay);
    try {
      for (let isFirst = true; ; isFirst = false) {
        const step = () => this.#inLane(() => steps.next());
        const { done, value } = await (isFirst ? step() : this.#inTurn(step));
        if (done === true) return value;
        if (performance.now() >= endMs) throw new DatabaseError('overtime', `the query did not end within ${queryTimeoutMs} ms`);
        await new Promise((resolve) => setImmediate(resolve));
        if (underWay.isGivenUp) throw new DatabaseError('overtime', 'whoever asked has given it up');
      }
    } finally {
      if (asked !== undefined) this.#underWay.delete(asked);
      steps[Symbol.dispose]();
    }
  }

  async #inTurn<Result>(step: () => Promise<Result>): Promise<Result> {
    const turn = this.#walks.then(step);
    this.#walks = turn.catch(() => {});
    return await turn;
  }

  async #atOnce<Result>(read: (connection: Connection) => Result): Promise<Result> {
    this.#checkOpen();
    try {
      return read(this.#inDoubt ?? this.#opened());
    } catch (error) {
      throw databaseFailure(error, this.#options);
    }
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new DatabaseError('closed', `${this.name} is closed`);
  }

  #opened(): Connection {
    this.#connection ??= new Connection(this.#options, { mustSync: this.#isInDoubt });
    this.#isInDoubt = false;
    this.#inDoubt?.close();
    this.#inDoubt = undefined;
    return this.#connection;
  }

  #leaveInDoubt(connection: Connection): void {
    this.#undo(connection);
    this.#inDoubt = this.#connection;
    this.#connection = undefined;
  }

  #giveUp(): void {
    const connections = [this.#connection, this.#inDoubt];
    this.#connection = this.#inDoubt = undefined;
    for (const connection of connections) connection?.close();
  }
}

/** What is wrong with the row of one journal is not wrong with the others. */
function restoreOutcome(connection: Connection, journal: JournalId): RestoreOutcome {
  try {
    return { restored: restoreJournal(connection, journal) };
  } catch (error) {
    if (!connection.isInTransaction) throw error;
    return { error };
  }
}

function boundTo(connection: Connection): string | undefined {
  const row = connection.statement(clusterSql).get();
  return row === undefined ? undefined : String(row['value']);
}

class CommitFailure extends DatabaseError {
  constructor({ code, message, cause }: DatabaseError) {
    super(code, message, { cause });
  }
}

function chunksOf(connection: Connection, { kind, partition }: JournalId, checkpoint: Checkpoint): Iterable<void> {
  assert(kind === checkpoint.kind, `a checkpoint of ${checkpoint.kind} is written to a journal of ${kind}`);
  switch (checkpoint.kind) {
    case 'history':
      return writeHistoryDelta(connection, partition, checkpoint.delta);
    case 'matching':
      return writeMatchingDelta(connection, partition, checkpoint.delta);
    case 'deadLetters':
      return writeDeadLettersDelta(connection, partition, checkpoint.delta);
    default:
      return unreachable(checkpoint);
  }
}

function holdsFence(connection: Connection, journal: JournalId, fence: Fence): boolean {
  return fence !== 0 && generationOf(connection, journal).fence === fence;
}

function fenced<Rows>(connection: Connection, journal: JournalId, read: () => Rows): Fenced<Rows> {
  return connection.snapshot(() => ({ ...generationOf(connection, journal), rows: read() }));
}

/** Answers what has come in. A read that met a broken disk meanwhile may have ended the transaction: what follows would stand alone. */
async function othersTurn(connection: Connection): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
  if (!connection.isInTransaction) throw new DatabaseError('unavailable', 'the write was rolled back by the failure of a read beside it');
}
