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
import type { ExecutionId, RunKey } from '../kernel/run-key.ts';
import type { LetterGrouping } from '../deadletters/commands.ts';
import type { LetterRow } from '../deadletters/letter-row.ts';
import type { LetterGroup } from '../deadletters/replies.ts';
import type { Condition } from '../filter/condition.ts';
import type { VisibilityCount, VisibilityList, VisibilityPage, VisibilityRow } from '../visibility/row.ts';

/** Whose rows: one partition of one journal; `partition` from 0, of dead letters the number of their queue. */
export type JournalId = { readonly kind: 'history' | 'matching' | 'deadLetters'; readonly partition: number };

/**
 * Grows with each `restore` of a journal, to the milliseconds since 1970 at least: where a backup takes the place of a database, the next fence
 * is still one that nobody has had. 0 = never restored.
 */
export type Fence = number;

/** How far a journal's rows go: to the record `lastOffset` and what does not count up to `nextOffset`. */
export type CheckpointPosition = {
  readonly epoch: number;
  /** Of the last record that counted. */
  readonly sequence: number;
  /** Folding goes on here. */
  readonly nextOffset: number;
  /** The last record that counted: it stays in the journal as a witness, and every restore compares its stamp. -1 = none. */
  readonly lastOffset: number;
  /** Of that record. */
  readonly timeMs: number;
  /** Of the rows' bytes. */
  readonly schema: number;
  /** What is one for all rows (the last task id …): `perdure.state.v1`. */
  readonly counters: Uint8Array;
  /** Earlier positions, oldest first: how far the journal may be trimmed without losing what is younger than its retention. */
  readonly trimPoints: readonly TrimPoint[];
};

export type TrimPoint = {
  readonly timeMs: number;
  readonly lastOffset: number;
  /** Of the records behind it, up to the next point or to where the rows go, roughly; 0: they were not counted. */
  readonly bytes: number;
};

export type Restored = {
  readonly fence: Fence;
  /** undefined: nothing was ever written for this journal. */
  readonly position: CheckpointPosition | undefined;
};

/** Of a row of List. */
export type ListedId = Pick<RunKey, 'namespaceId' | 'runId'>;

export type RunRow = RunKey & {
  /** `temporal.api.enums.v1.WorkflowExecutionStatus` */
  readonly status: number;
  /** `perdure.state.v1.Run` with its format and checksum. */
  readonly state: Uint8Array;
  /** A closed run's end of retention; undefined: open. */
  readonly forgetMs: number | undefined;
};

/** The first run that a parent's start made here: a start that is delivered again finds it, until that run is retired. `runId`: the child's. */
export type ChildStartRow = { readonly parentRunId: string; readonly initiatedEventId: number; readonly runId: string };

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

/** `aside`: of a run that the shard cannot go on with; read at every restore, and in no window. */
export type TaskRow = { readonly taskId: number; readonly task: Uint8Array; readonly aside: boolean };
/** `atMatching`: a task for a worker that matching has stored: this shard offers it to nobody, so it is in no window. */
export type TransferTaskRow = TaskRow & { readonly atMatching: boolean };
export type TimerRow = TaskRow & { readonly fireTimeMs: number };

/**
 * What changed between two checkpoints. Rows replace those of the same key; what is named among the gone may never have been written, and
 * stands among the rows of the same delta never. A run that is retired is gone afterwards, whatever else the delta says of it (a visibility
 * row, its current run): in effect, retirement comes last. Of several visibility rows of one run the newest version stays.
 */
export type HistoryDelta = {
  readonly runs: readonly RunRow[];
  /** The newest run of each workflow id. */
  readonly currentRuns: readonly RunKey[];
  readonly childStarts: readonly ChildStartRow[];
  readonly history: readonly HistoryRow[];
  readonly transferTasks: readonly TransferTaskRow[];
  readonly timers: readonly TimerRow[];
  /** Matching has stored them since they were written; those that have no row have ended. None stands among the rows or the gone. */
  readonly tasksAtMatching: readonly number[];
  readonly goneTransferTasks: readonly number[];
  readonly goneTimers: readonly number[];
  /** With their history, visibility and the child starts that made them; the pointer of the workflow id only if it still names this run. */
  readonly retiredRuns: readonly RunKey[];
  readonly visibility: readonly VisibilityRow[];
};

export type MatchingTaskRow = { readonly taskId: number; readonly queue: string; readonly task: Uint8Array };
/**
 * Of one queue: its first tasks, by task id, and the id of its last one. `storedName`: as it stands there, for the page that goes on behind it;
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

export type SlotsCleared =
  | { readonly kind: 'fenced' }
  /** `lastRunId`: the next rows stand behind it, all of them where others kept it from looking at any; undefined: there are none. */
  | { readonly kind: 'cleared'; readonly lastRunId: string | undefined };

/** What a decision or a fold needs in memory. */
export type LoadKey =
  | ({ readonly kind: 'current' } & ExecutionId)
  | ({ readonly kind: 'run' } & RunKey)
  | { readonly kind: 'childStart'; readonly parentRunId: string; readonly initiatedEventId: number };

/** In the order of the keys. */
export type Loaded = {
  /** Of the workflow id, for `current` and `run`; undefined: none is there. For a child start: the run that was made. */
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

export type TimerWindow = {
  readonly afterFireTimeMs: number;
  readonly afterTaskId: number;
  readonly untilMs: number;
  readonly max: number;
};

export type MatchingQueuePage = {
  /** `storedName` of the last queue of the page before; undefined: from the first. */
  readonly afterName: Uint8Array | undefined;
  /** Of each queue. */
  readonly tasksMax: number;
  /** Of all: the queue with which there are as many is the last one. With fewer there is no other. */
  readonly tasksOfAllMax: number;
};

export type MatchingTaskRange = {
  readonly queue: string;
  readonly afterTaskId: number;
  readonly untilTaskId: number;
  readonly max: number;
};

export type MatchingTaskCount = { readonly count: number; readonly lastTaskId: number };

/** By this whoever asked may give a read up (`giveUp`); undefined: nobody does. Lists and counts have numbers, reads of letters names. */
export type Asked = number | string;

/** Of one queue, in the order of their ids. `condition`: on the columns of letters (`database/letter-columns.ts`); undefined: all. */
export type LetterWalk = {
  readonly condition: Condition | undefined;
  readonly asked?: Asked | undefined;
  /** From behind this one; -1: from the first. */
  readonly afterMessageId: number;
  readonly max: number;
};
/** Letters are given as long as their texts fit, and the first one however large. */
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
  /** Of the rows' `events` together: rows are given as long as they fit, and the first one however large. */
  readonly bytesMax: number;
};

/**
 * Every method rejects with DatabaseError alone. What fails has changed nothing, except where an outcome says otherwise.
 */
export interface Database {
  /** For people: `sqlite x.db-state`, `postgres host:5432/perdure`. */
  readonly name: string;
  /** Whose it is: the id of a cluster; undefined: nobody's yet. */
  cluster(): Promise<string | undefined>;
  /** Claims the database for this cluster, if it is nobody's: the id of whose it is then, ours or another's. */
  bind(clusterId: string): Promise<string>;
  restore(journal: JournalId): Promise<Restored>;
  /** As it is now, with no new fence. A journal that was never restored: fence 0, no position. */
  position(journal: JournalId): Promise<Restored>;
  /**
   * Writes if `fence` is still the journal's, neither the epoch nor the next offset that it has is beyond this position's, and its checkpoint is
   * the one that this one goes on from. The same checkpoint may be written again. A visibility row that does not fit is left out; any other
   * stops the write (`data`), and nothing is written.
   */
  write(journal: JournalId, fence: Fence, checkpoint: Checkpoint): Promise<WriteOutcome>;
  /**
   * Visibility rows alone, between two checkpoints, by the holder of the fence; rows of retired runs go, last. `fenced`: nothing was written.
   * One that does not fit is left out, as in `write`; one that fits and is refused all the same ends the flush (`data`), nothing is written.
   * What ends this process too (the power of its machine) may undo it, but none behind the next `write` that is written: what it tells is in
   * the journal until then, and a restart tells it again. A crash of the database alone may not: nobody would write it again.
   */
  flush(journal: JournalId, fence: Fence, rows: readonly VisibilityRow[], retired: readonly ListedId[]): Promise<'flushed' | 'fenced'>;
  /**
   * Likewise, of rows that are true whatever stands there: they replace newer ones as well, for such a one is wrong. They are what the checkpoint
   * says with this next offset (0: there is none). `moved`: there is another one by now, and nothing was written.
   */
  rewrite(journal: JournalId, fence: Fence, nextOffset: number, rows: readonly VisibilityRow[]): Promise<'flushed' | 'fenced' | 'moved'>;
  /**
   * Takes what removed attributes have left in these slots out of visibility rows of a namespace, those of the shards whose journals are held.
   * At most `max` rows are looked at, in the order of run ids, from behind `afterRunId` ('' = from the first); nothing is written to those
   * journals meanwhile. On the disk when it is answered. `fenced`: one of the fences is raised, and nothing was changed.
   */
  clearSlots(held: readonly HeldJournal[], clearing: SlotClearing): Promise<SlotsCleared>;
  load(journal: JournalId, keys: readonly LoadKey[]): Promise<Fenced<readonly Loaded[]>>;
  /** By task id, from behind `afterTaskId`; none that is aside or at matching. Costs what it gives, however many those are. */
  transferTasks(journal: JournalId, afterTaskId: number, max: number): Promise<Fenced<readonly TransferTaskRow[]>>;
  /** By (fire time, task id), from behind the given one up to `untilMs`; none that is aside. */
  timers(journal: JournalId, window: TimerWindow): Promise<Fenced<readonly TimerRow[]>>;
  /** Transfer tasks and timers of runs that were put aside, each by task id. */
  tasksAside(
    journal: JournalId,
  ): Promise<Fenced<{ readonly transferTasks: readonly TransferTaskRow[]; readonly timers: readonly TimerRow[] }>>;
  /** Closed runs whose retention ended by `untilMs`, by (end, run id). */
  dueRuns(journal: JournalId, untilMs: number, max: number): Promise<Fenced<readonly (RunKey & { readonly forgetMs: number })[]>>;
  /** Which runs there are, in the order of their ids, from behind `afterRunId` ('' = from the first): for the filter of keys. */
  runIds(journal: JournalId, afterRunId: string, max: number): Promise<Fenced<readonly RunKey[]>>;
  /** The same with their state, to build anew what is derived. No more than fit into `bytesMax`, but one at least. */
  runs(journal: JournalId, afterRunId: string, max: number, bytesMax: number): Promise<Fenced<readonly RunRow[]>>;
  /** Visibility rows of this shard whose run the table does not have, among the next `max` rows of all shards. In an order of its own. */
  strayRows(journal: JournalId, after: ListedId | undefined, max: number): Promise<Fenced<StrayRows>>;
  /** Whether the visibility rows of this shard have to be built again from its runs. */
  rebuildDue(journal: JournalId): Promise<Fenced<RebuildReason | undefined>>;
  /** That they have to be, or not any more, by the holder of the fence; on the disk, with all that was flushed before. */
  noteRebuild(journal: JournalId, fence: Fence, isDue: boolean): Promise<'noted' | 'fenced'>;
  /** Of one queue, by task id, from behind `afterTaskId`. */
  matchingTasks(journal: JournalId, queue: string, afterTaskId: number, max: number): Promise<Fenced<readonly MatchingTaskRow[]>>;
  /** Queues that have tasks, in the order of their names' bytes, with their first tasks. Costs what it gives, however many tasks there are. */
  matchingQueues(journal: JournalId, page: MatchingQueuePage): Promise<Fenced<readonly MatchingQueue[]>>;
  /** Of one queue, the first `max` tasks within a range: how many they are, and the id of the last of them (`afterTaskId`: there is none). */
  countMatchingTasks(journal: JournalId, range: MatchingTaskRange): Promise<Fenced<MatchingTaskCount>>;
  /**
   * Letters that fit the condition. A walk over many may be of several moments: of each letter it gives what stood there when it came by, and none
   * twice. Fence and next offset are of the last of them.
   */
  letters(journal: JournalId, list: LetterList): Promise<Fenced<LetterPage>>;
  /** The same, ids and generations alone. */
  letterIds(journal: JournalId, walk: LetterWalk): Promise<Fenced<LetterIdPage>>;
  countLetters(journal: JournalId, condition: Condition | undefined, asked?: Asked): Promise<Fenced<number>>;
  /** Those with the most letters first, of as many the one with the lowest id. */
  letterGroups(journal: JournalId, grouped: LetterGrouped): Promise<Fenced<readonly LetterGroup[]>>;
  /** Rows that hold any of the events, in order. */
  history(journal: JournalId, range: HistoryRange): Promise<readonly HistoryRow[]>;
  /** Rows of any shard. Neither asks for a fence. */
  list(query: VisibilityList): Promise<VisibilityPage>;
  count(query: VisibilityCount): Promise<readonly { readonly status: number | undefined; readonly count: number }[]>;
  /** Nobody waits for that list, count or read of letters any more: it ends soon, as `overtime`, if it has not ended. */
  giveUp(asked: Asked): Promise<void>;
  /** Afterwards every method rejects with `closed`, but this one. */
  close(): Promise<void>;
}

export type DatabaseErrorCode =
  /** Not reached, too slow, full, read-only: trying again later may help. */
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
