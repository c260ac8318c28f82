/**
 * The database port: what a partition's actor needs of PostgreSQL or SQLite, so that its state outgrows memory and its journal can be
 * trimmed.
 *
 *     owner            database
 *       │ restore() ────▶ │  raises the fence: whoever held the old one writes and reads nothing any more
 *       │ ◀── position ───│  the rows are the journal, folded up to that position
 *       │ write() ──────▶ │  one transaction: guard, deletes, upserts, the new position
 *       │ load() ───────▶ │  rows of what is not in memory, with the fence under which they were read
 *
 * Rows of a partition are written by the holder of its fence alone. Its writes form one lane: the next begins when the one before has ended,
 * and windows are read in the same lane. Implementations hold neither promises nor state for a partition beside that.
 *
 * Everything here is plain data; bytes and maps that were given or taken are nobody else's afterwards. Ids of workflows and task bytes are
 * bytes to the database: whatever a client may name fits. Ids of namespaces and runs are UUIDs; what a client names so and is none is
 * simply not there, for `load` and conditions alike. In a row to be written it is refused (`data`), as is a number that is no whole one
 * up to 2^53.
 */
import type { RunKey } from '../kernel/run-key.ts';
import type * as residency from '../history/shard/residency.ts';
import type * as rows from '../history/shard/rows.ts';
import type { LetterGroup, LetterGrouping } from '../deadletters/letter-commands.ts';
import type { LetterRow } from '../deadletters/letter-records.ts';
import type { Condition } from '../filter/condition.ts';
import type { VisibilityCount, VisibilityList, VisibilityPage, VisibilityRow } from './visibility/row.ts';

/** One partition of one journal. `partition` counts from 0; for dead letters it is the number of their queue. */
export type JournalId = { readonly kind: 'history' | 'matching' | 'deadLetters'; readonly partition: number };

/** Grows with each `restore`, to the milliseconds since 1970 at least: so it is new even where a backup replaced a database. 0 = never. */
export type Fence = number;

/** How far a journal's rows go: to the record `lastOffset` and what does not count up to `nextOffset`. */
export type CheckpointPosition = {
  readonly epoch: number;
  /** The sequence of the last record that counted. */
  readonly sequence: number;
  /** Folding goes on here. */
  readonly nextOffset: number;
  /** The last record that counted: it stays in the journal as a witness, and every restore compares its stamp. -1 = none. */
  readonly lastOffset: number;
  readonly timeMs: number;
  /** The schema of the bytes in the rows. */
  readonly schema: number;
  /** What is one for all rows (the last task id …): `perdure.state.v1`. */
  readonly counters: Uint8Array;
  /** Earlier positions, oldest first: how far the journal may be trimmed without losing what is younger than its retention. */
  readonly trimPoints: readonly TrimPoint[];
};

export type TrimPoint = {
  readonly timeMs: number;
  readonly lastOffset: number;
  /** Roughly the bytes of the records between this point and the next one, or the end of the rows. 0: they were not counted. */
  readonly bytes: number;
};

export type Restored = {
  readonly fence: Fence;
  /** undefined: nothing was ever written for this journal. */
  readonly position: CheckpointPosition | undefined;
};

/** Names a row of List. */
export type ListedId = Pick<RunKey, 'namespaceId' | 'runId'>;

/** `state`: `perdure.state.v1.Run` with its format and checksum. */
export type RunRow = rows.RunRow;
export type ChildStartRow = rows.ChildStartRow;

export type HistoryRow = {
  readonly runId: string;
  /** 0 until there is reset; or `WAITING_BRANCH`. */
  readonly branch: number;
  readonly firstEventId: number;
  readonly lastEventId: number;
  /** Each event behind its length (varint). */
  readonly events: Uint8Array;
};

/** No events: journal records that wait for a run whose row cannot be read, numbered from 1, one in a row, as `perdure.state.v1.WaitingRecord`. */
export const WAITING_BRANCH = -1;

/** Tasks that are `aside` are read at every restore. Neither they nor tasks that are `atMatching` belong to a window. */
export type TaskRow = rows.TaskRow;
export type TransferTaskRow = rows.TransferTaskRow;
export type TimerRow = rows.TimerRow;

/**
 * What changed between two checkpoints. Rows replace those of the same key; what is named among the gone may never have been written, and
 * stands among the rows of the same delta never. A run that is retired is gone afterwards, whatever else the delta says of it (a visibility
 * row, its current run): in effect, retirement comes last. Of several visibility rows of one run the newest version stays.
 */
export type HistoryDelta = rows.ShardDelta & { readonly history: readonly HistoryRow[]; readonly visibility: readonly VisibilityRow[] };

export type MatchingTaskRow = { readonly taskId: number; readonly queue: string; readonly task: Uint8Array };
/**
 * A queue with its first tasks, by task id, and the id of its last one. `storedName`: as it stands there, for the page that goes on behind it;
 * `queue` is what it says. Of one that says nothing (damaged) `queue` tells its bytes, is that of no other, and names no task queue.
 */
export type MatchingQueue = {
  readonly queue: string;
  readonly storedName: Uint8Array;
  readonly lastTaskId: number;
  readonly tasks: readonly MatchingTaskRow[];
};
export type MatchingDelta = { readonly tasks: readonly MatchingTaskRow[]; readonly goneTasks: readonly number[] };

/** `goneLetters`: message ids of what was merged or purged. */
export type DeadLettersDelta = { readonly letters: readonly LetterRow[]; readonly goneLetters: readonly number[] };

export type Checkpoint = {
  readonly position: CheckpointPosition;
  /**
   * The next offset of the checkpoint that this one goes on from; 0: there was none. Where another one stands there (a backup was restored while
   * its owner went on, with the very fence that it had then) nothing is written: changes make sense on that one alone. Absent: on whatever
   * stands there.
   */
  readonly base?: number;
} & CheckpointRows;

export type CheckpointRows =
  | { readonly kind: 'history'; readonly delta: HistoryDelta }
  | { readonly kind: 'matching'; readonly delta: MatchingDelta }
  | { readonly kind: 'deadLetters'; readonly delta: DeadLettersDelta };

export type WriteOutcome =
  | { readonly kind: 'written' }
  /** Another has restored since, or the row is gone, or not what we have left there, or further than we are: nothing was written. */
  | { readonly kind: 'fenced' }
  /** The connection was lost during COMMIT: `position` tells what became of it. */
  | { readonly kind: 'unknown'; readonly reason: string };

/** A history shard's, and the fence with which it was restored. */
export type HeldJournal = { readonly journal: JournalId; readonly fence: Fence };

export type SlotClearing = {
  readonly namespaceId: string;
  /** `Keyword07`; at least one. */
  readonly slots: readonly string[];
  readonly afterRunId: string;
  readonly max: number;
};

/** What removed search attributes have left in rows of List. */
export type SlotsLeft = { readonly namespaceIds: readonly string[]; readonly slots: readonly string[] };

export type SlotsCleared =
  | { readonly kind: 'fenced' }
  /** `lastRunId`: the next rows stand behind it, all of them where others kept it from looking at any; undefined: there are none. */
  | { readonly kind: 'cleared'; readonly lastRunId: string | undefined };

/** What a decision or a fold needs in memory. */
export type LoadKey = residency.LoadKey;

/** The answer to one key. Answers come in the order of the keys. */
export type Loaded = {
  /** The current run of the workflow id, for `current` and `run`; undefined: there is none. For a child start: the run that was started. */
  readonly currentRunId: string | undefined;
  /**
   * `current`: that run. `run`: the one that the key names, if it is of the workflow id that the key names. For a child start, and if it is not
   * there: undefined. One that cannot be read is a row without state; so is what a current run or a child start names where that cannot be read,
   * without a current run id then.
   */
  readonly run: RunRow | undefined;
};

/** `last`: of all that were looked at; undefined: there are no more. */
export type StrayRows = { readonly strays: readonly ListedId[]; readonly last: ListedId | undefined };

/** `asked`: by `noteRebuild`. `lost`: there are runs, and the first of them, up to `RUNS_PROBED`, have no visibility rows. */
export type RebuildReason = 'asked' | 'lost';
export const RUNS_PROBED = 20;

/**
 * `fence`, `nextOffset`: under which this was read, and of which checkpoint, all of one moment; `nextOffset` 0: nothing was ever written. What
 * carries another fence than the owner's is dropped. Beside a write that is under way it may be of that one already.
 */
export type Fenced<Rows> = { readonly fence: Fence; readonly nextOffset: number; readonly rows: Rows };

export type TimerWindow = rows.TimerPage;

export type MatchingQueuePage = {
  /** `storedName` of the last queue of the page before; undefined: from the first. */
  readonly afterName: Uint8Array | undefined;
  /** How many tasks of each queue are read. */
  readonly tasksMax: number;
  /** How many tasks are read in all: the queue that reaches this number is the last of the page. A page with fewer tasks is the last page. */
  readonly tasksOfAllMax: number;
};

export type MatchingTaskRange = {
  readonly queue: string;
  readonly afterTaskId: number;
  readonly untilTaskId: number;
  readonly max: number;
};

export type MatchingTaskCount = { readonly count: number; readonly lastTaskId: number };

/** Names a read that its caller may give up (`giveUp`); undefined: nobody does. Lists and counts have numbers, dead letters names. */
export type Asked = number | string;

/** Reads the dead letters of a queue by id. `condition` is over their columns (`tables/letter-columns.ts`); undefined: all of them. */
export type LetterWalk = {
  readonly condition: Condition | undefined;
  readonly asked?: Asked | undefined;
  /** The page begins behind this message; -1: at the first one. */
  readonly afterMessageId: number;
  readonly max: number;
};
/** A page of a walk: letters are given as long as their texts fit, and the first one however large. */
export type LetterList = LetterWalk & { readonly bytesMax: number };
/** `isLast`: none stands behind them. Otherwise there may be some, or none. */
export type LetterPage = { readonly letters: readonly LetterRow[]; readonly isLast: boolean };
export type LetterId = Pick<LetterRow, 'messageId' | 'generation'>;
export type LetterIdPage = { readonly ids: readonly LetterId[]; readonly isLast: boolean };

export type LetterGrouped = {
  readonly condition: Condition | undefined;
  readonly by: LetterGrouping;
  readonly max: number;
  readonly asked?: Asked | undefined;
};
export type HistoryRange = {
  readonly runId: string;
  readonly branch: number;
  readonly firstEventId: number;
  readonly lastEventId: number;
  /** Limits the bytes of `events` of all rows together. The first row is given however large it is. */
  readonly bytesMax: number;
};

/** What the database knows of the cluster that it belongs to. */
export interface ClusterPort {
  /** The id of the cluster that owns the database; undefined: nobody owns it yet. */
  cluster(): Promise<string | undefined>;
  /** Claims the database for this cluster, if it is nobody's: the id of whose it is then, ours or another's. */
  bind(clusterId: string): Promise<string>;
}

/** Checkpoints of journals: rows of shards and of matching's partitions, and how far they go. */
export interface StatePort {
  restore(journal: JournalId): Promise<Restored>;
  /** The current position, without raising the fence. A journal that was never restored has fence 0 and no position. */
  position(journal: JournalId): Promise<Restored>;
  /**
   * Writes if `fence` is still the journal's, neither the epoch nor the next offset that it has is beyond this position's, and its checkpoint is
   * the one that this one goes on from. The same checkpoint may be written again. A visibility row that does not fit is left out; any other
   * stops the write (`data`), and nothing is written.
   */
  write(journal: JournalId, fence: Fence, checkpoint: Checkpoint): Promise<WriteOutcome>;
  load(journal: JournalId, keys: readonly LoadKey[]): Promise<Fenced<readonly Loaded[]>>;
  /** By task id, behind `afterTaskId`, without tasks that are aside or at matching. Costs what it gives, not what it leaves out. */
  transferTasks(journal: JournalId, afterTaskId: number, max: number): Promise<Fenced<readonly TransferTaskRow[]>>;
  /** Reads in the order of (fire time, task id), behind the given one and up to `untilMs`, without timers that are aside. */
  timers(journal: JournalId, window: TimerWindow): Promise<Fenced<readonly TimerRow[]>>;
  /** Transfer tasks and timers of runs that were put aside, each by task id. */
  tasksAside(
    journal: JournalId,
  ): Promise<Fenced<{ readonly transferTasks: readonly TransferTaskRow[]; readonly timers: readonly TimerRow[] }>>;
  /** Closed runs whose retention ended by `untilMs`, by (end, run id). */
  dueRuns(journal: JournalId, untilMs: number, max: number): Promise<Fenced<readonly (RunKey & { readonly forgetMs: number })[]>>;
  /** The keys of all runs in the order of their ids, behind `afterRunId` ('' = from the first), for the filter of workflow ids. */
  runIds(journal: JournalId, afterRunId: string, max: number): Promise<Fenced<readonly RunKey[]>>;
  /** Runs with their state, from which derived data is rebuilt: as many as fit into `bytesMax`, and at least one. */
  runs(journal: JournalId, afterRunId: string, max: number, bytesMax: number): Promise<Fenced<readonly RunRow[]>>;
  /** Rows that hold any of the events, in order. */
  history(journal: JournalId, range: HistoryRange): Promise<readonly HistoryRow[]>;
  /** Reads the tasks of one queue in the order of their ids, behind `afterTaskId`. */
  matchingTasks(journal: JournalId, queue: string, afterTaskId: number, max: number): Promise<Fenced<readonly MatchingTaskRow[]>>;
  /** Queues that have tasks, in the order of their names' bytes, with their first tasks. Costs what it gives, however many tasks there are. */
  matchingQueues(journal: JournalId, page: MatchingQueuePage): Promise<Fenced<readonly MatchingQueue[]>>;
  /** Counts the first `max` tasks of one queue within a range, and gives the id of the last one (`afterTaskId` if there is none). */
  countMatchingTasks(journal: JournalId, range: MatchingTaskRange): Promise<Fenced<MatchingTaskCount>>;
}

/** Rows of List and Count, and how they are built anew. */
export interface VisibilityPort {
  /**
   * Visibility rows alone, between two checkpoints, by the holder of the fence; rows of retired runs go, last. `fenced`: nothing was written.
   * One that does not fit is left out, as in `write`; one that fits and is refused all the same ends the flush (`data`), nothing is written.
   * What ends this process too (the power of its machine) may undo it, but none behind the next `write` that is written: what it tells is in
   * the journal until then, and a restart tells it again. A crash of the database alone may not: nobody would write it again.
   */
  flush(journal: JournalId, fence: Fence, rows: readonly VisibilityRow[], retired: readonly ListedId[]): Promise<'flushed' | 'fenced'>;
  /**
   * Writes rows as `flush` does, which are true whatever stands there: they replace newer ones as well, for such a one is wrong. They are what
   * the checkpoint with this next offset says (0: there is none). `moved`: there is another one by now, and nothing was written.
   */
  rewrite(journal: JournalId, fence: Fence, nextOffset: number, rows: readonly VisibilityRow[]): Promise<'flushed' | 'fenced' | 'moved'>;
  /**
   * Takes what removed attributes have left in these slots out of visibility rows of a namespace, those of the shards whose journals are held.
   * At most `max` rows are looked at, in the order of run ids, from behind `afterRunId` ('' = from the first); nothing is written to those
   * journals meanwhile. On the disk when it is answered. `fenced`: one of the fences is raised, and nothing was changed.
   */
  clearSlots(held: readonly HeldJournal[], clearing: SlotClearing): Promise<SlotsCleared>;
  /** Visibility rows of this shard whose run the table does not have, among the next `max` rows of all shards. In an order of its own. */
  strayRows(journal: JournalId, after: ListedId | undefined, max: number): Promise<Fenced<StrayRows>>;
  /** Whether the visibility rows of this shard have to be built again from its runs. */
  rebuildDue(journal: JournalId): Promise<Fenced<RebuildReason | undefined>>;
  /** Notes on disk, together with all that was flushed before, whether the rows of List have to be rebuilt. For the holder of the fence. */
  noteRebuild(journal: JournalId, fence: Fence, isDue: boolean): Promise<'noted' | 'fenced'>;
  /** Rows of any shard. Neither asks for a fence. */
  list(query: VisibilityList): Promise<VisibilityPage>;
  count(query: VisibilityCount): Promise<readonly { readonly status: number | undefined; readonly count: number }[]>;
}

/** The index of dead letters; its rows are written by checkpoints. */
export interface DeadLettersPort {
  /** Letters that fit the condition, each as it stood when the walk came by, none twice. Fence and next offset are of the last of them. */
  letters(journal: JournalId, list: LetterList): Promise<Fenced<LetterPage>>;
  /** Reads ids and generations alone. */
  letterIds(journal: JournalId, walk: LetterWalk): Promise<Fenced<LetterIdPage>>;
  countLetters(journal: JournalId, condition: Condition | undefined, asked?: Asked): Promise<Fenced<number>>;
  /** The groups with the most letters come first; of equally large ones that with the lowest id. */
  letterGroups(journal: JournalId, grouped: LetterGrouped): Promise<Fenced<readonly LetterGroup[]>>;
}

/** All reject with DatabaseError alone, and have changed nothing then. A method is in its port, database-methods.ts and both databases. */
export interface Database extends ClusterPort, StatePort, VisibilityPort, DeadLettersPort {
  /** Names the database for people: `sqlite x.db-state`, `postgres host:5432/perdure`. */
  readonly name: string;
  /** Nobody waits for that list, count or read of letters any more: it ends soon, as `overtime`, if it has not ended. */
  giveUp(asked: Asked): Promise<void>;
  /** Afterwards every method rejects with `closed`, but this one. */
  close(): Promise<void>;
}

export type DatabaseErrorCode =
  /** The database is not reached, too slow, full or read-only: trying again later may help. */
  | 'unavailable'
  /** What walks over many rows (a List, a Count, letters) did not end in its time: it reads too much, and says nothing of the database. */
  | 'overtime'
  /** Something in a row is refused by its type or size: trying again would meet it again. */
  | 'data'
  /** The database is of another kind, age or owner than it must be; somebody must look at it. */
  | 'misconfigured'
  /** What was read cannot be what was written. */
  | 'corrupt'
  | 'closed';

export class DatabaseError extends Error {
  override readonly name = 'DatabaseError';
  readonly code: DatabaseErrorCode;

  constructor(code: DatabaseErrorCode, message: string, options: { readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.code = code;
  }

  get recoverable(): boolean {
    return this.code === 'unavailable';
  }
}

/** The database is away. People are told of it once for all who ask, where it was opened; whoever asked tries again. */
export function isOutage(error: unknown): error is DatabaseError {
  return error instanceof DatabaseError && error.recoverable;
}
