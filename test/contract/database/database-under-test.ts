/** One database for many tests: each takes journals and namespaces of its own. */
import type {
  Checkpoint,
  Database,
  Fence,
  HistoryDelta,
  HistoryRow,
  JournalId,
  MatchingDelta,
  MatchingQueuePage,
  MatchingTaskRow,
  Restored,
  RunRow,
  TaskRow,
  TimerRow,
  WriteOutcome,
} from '../../../src/projections/database-port.ts';
import type { LetterRow } from '../../../src/deadletters/letter-records.ts';
import type { ListedRow } from '../../../src/projections/visibility/row.ts';
import type { DatabaseFixture } from './describe-database.ts';
import { emptyDelta, positionAt, uuid } from './samples.ts';

export class DatabaseUnderTest {
  readonly database: Database;
  /** A second owner's connection; the same one where there is but one. */
  readonly other: Database;
  readonly #fixture: DatabaseFixture;
  #partitions = 0;

  static async open(fixture: DatabaseFixture): Promise<DatabaseUnderTest> {
    return new DatabaseUnderTest(fixture, (await fixture.again?.()) ?? fixture.database);
  }

  private constructor(fixture: DatabaseFixture, other: Database) {
    this.#fixture = fixture;
    this.database = fixture.database;
    this.other = other;
  }

  freshJournal(kind: JournalId['kind'] = 'history'): JournalId {
    return { kind, partition: this.#partitions++ };
  }

  /** A journal that was restored just now. */
  async freshOwner(kind: JournalId['kind'] = 'history', database = this.database): Promise<Owner> {
    return Owner.restore(database, this.freshJournal(kind));
  }

  async close(): Promise<void> {
    if (this.other !== this.database) await this.other.close();
    await this.#fixture.close();
  }
}

/** Who holds a fence of a journal, or once held it; its positions go up by ten. */
export class Owner {
  readonly database: Database;
  readonly journal: JournalId;
  readonly fence: Fence;
  readonly restored: Restored;
  /** A namespace that no other test knows. */
  readonly namespaceId = uuid();
  nextOffset: number;

  static async restore(database: Database, journal: JournalId): Promise<Owner> {
    return new Owner(database, journal, await database.restore(journal));
  }

  private constructor(database: Database, journal: JournalId, restored: Restored) {
    this.database = database;
    this.journal = journal;
    this.restored = restored;
    this.fence = restored.fence;
    this.nextOffset = restored.position?.nextOffset ?? 0;
  }

  async write(delta: Partial<HistoryDelta>): Promise<WriteOutcome> {
    this.nextOffset += 10;
    return this.checkpoint({ position: positionAt(this.nextOffset), kind: 'history', delta: { ...emptyDelta, ...delta } });
  }

  async writeMatching(delta: Partial<MatchingDelta>): Promise<WriteOutcome> {
    this.nextOffset += 10;
    return this.checkpoint({ position: positionAt(this.nextOffset), kind: 'matching', delta: { tasks: [], goneTasks: [], ...delta } });
  }

  async writeLetters(letters: readonly LetterRow[], goneLetters: readonly number[] = []): Promise<WriteOutcome> {
    this.nextOffset += 10;
    return this.checkpoint({ position: positionAt(this.nextOffset), kind: 'deadLetters', delta: { letters, goneLetters } });
  }

  checkpoint(checkpoint: Checkpoint): Promise<WriteOutcome> {
    return this.database.write(this.journal, this.fence, checkpoint);
  }

  /** Writes, or fails the test. */
  async written(delta: Partial<HistoryDelta>): Promise<void> {
    const outcome = await this.write(delta);
    if (outcome.kind !== 'written') throw new Error(`expected a write, got ${JSON.stringify(outcome)}`);
  }

  async matchingWritten(delta: Partial<MatchingDelta>): Promise<void> {
    const outcome = await this.writeMatching(delta);
    if (outcome.kind !== 'written') throw new Error(`expected a write, got ${JSON.stringify(outcome)}`);
  }

  async lettersWritten(letters: readonly LetterRow[], goneLetters: readonly number[] = []): Promise<void> {
    const outcome = await this.writeLetters(letters, goneLetters);
    if (outcome.kind !== 'written') throw new Error(`expected a write, got ${JSON.stringify(outcome)}`);
  }

  /** All rows of the journal that can be found without their keys, and the listed rows of `namespaceId`. */
  async everything(runIds: readonly string[] = []): Promise<Everything> {
    const { database, journal } = this;
    const aside = await database.tasksAside(journal);
    const history = await Promise.all(
      runIds.map((runId) =>
        database.history(journal, { runId, branch: 0, firstEventId: 1, lastEventId: Number.MAX_SAFE_INTEGER, bytesMax: 2 ** 30 }),
      ),
    );
    return {
      position: await database.position(journal),
      runs: (await database.runs(journal, '', 100_000, Infinity)).rows,
      dueRuns: (await database.dueRuns(journal, Number.MAX_SAFE_INTEGER, 100_000)).rows,
      transferTasks: (await database.transferTasks(journal, -1, 100_000)).rows,
      timers: (await database.timers(journal, { ...allTimers, max: 100_000 })).rows,
      transferTasksAside: aside.rows.transferTasks,
      timersAside: aside.rows.timers,
      history: history.flat(),
      matching: (await database.matchingQueues(journal, allQueues)).rows
        .flatMap(({ tasks }) => tasks)
        .toSorted((one, other) => one.taskId - other.taskId),
      listed: await this.listed(),
    };
  }

  async listed(): Promise<readonly ListedRow[]> {
    const { namespaceId } = this;
    return (await this.database.list({ namespaceId, condition: undefined, after: undefined, max: 100_000 })).rows;
  }
}

/** Page after page, each from behind the last row of the one before, until one is empty. */
export async function allPages<Row>(next: (last: Row | undefined) => Promise<readonly Row[]>): Promise<readonly Row[]> {
  const all: Row[] = [];
  for (let pages = 0; pages < 1000; pages++) {
    const page = await next(all.at(-1));
    if (page.length === 0) return all;
    all.push(...page);
  }
  throw new Error('the pages do not end');
}

/** With all their tasks. */
export const allQueues: MatchingQueuePage = { afterName: undefined, tasksMax: 100_000, tasksOfAllMax: 100_000 };

export const allTimers = {
  afterFireTimeMs: Number.MIN_SAFE_INTEGER,
  afterTaskId: Number.MIN_SAFE_INTEGER,
  untilMs: Number.MAX_SAFE_INTEGER,
};

export type Everything = {
  readonly position: Restored;
  readonly runs: readonly RunRow[];
  readonly dueRuns: readonly { readonly runId: string; readonly forgetMs: number }[];
  readonly transferTasks: readonly TaskRow[];
  readonly timers: readonly TimerRow[];
  readonly transferTasksAside: readonly TaskRow[];
  readonly timersAside: readonly TimerRow[];
  readonly history: readonly HistoryRow[];
  readonly matching: readonly MatchingTaskRow[];
  readonly listed: readonly ListedRow[];
};
