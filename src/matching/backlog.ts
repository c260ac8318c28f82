/**
 * The durable state of a matching host: the stored tasks of its queues and their configurations, as the fold of its journal. Changed by `evolve` alone.
 *
 * The tasks of a queue stand in lanes (lane-name.ts). Where there is a database, of a long lane a window is in memory, and what is not written. The
 * rest are rows alone: they are *cold*.
 *
 *     tasks       │ cold                        │ newer
 *     1 2 3 … 900 │ 901 … 1,000,000: rows alone │ 1,000,001 …           ids of one lane, in the order in which they are offered
 *            ◀─load                             │◀─leave── once they are written
 *
 * Only what stands in `tasks` is offered. So nothing but a fold removes a cold one, and that by its id, without a look. A takeover reads the
 * first rows of each lane and the id of its last one: how many lie between is counted afterwards (`ColdCount`).
 */
import { assert } from '../kernel/assert.ts';
import { isUnread, type UnreadTask } from './checkpoint/read-rows.ts';
import { ConfigTable } from './config-table.ts';
import { hasOwnKey, isKeyed } from './lane-name.ts';
import { taskBytes, taskIdentity, type MatchingTask } from './matching-tasks.ts';
import { laneOfSpilled, type MatchingRecord, type SpilledTask } from './matching-records.ts';
import { coldHint, hasCold, isUncounted } from './stored-lane.ts';
import type { ColdTasks, IdRange, StoredLane, StoredQueue, StoredTask } from './stored-lane.ts';
import type { MatchingLimits } from './matching-limits.ts';
import { Tally } from '../kernel/tally.ts';
import { taskQueuePartitionKey, type TaskQueuePartition, type LaneName, laneKey, parseLaneKey } from '../kernel/task-queue.ts';
import type { TaskState } from './checkpoint/backlog-wire.ts';

/** How many of the stored tasks that may be offered are in memory. */
export type WindowLimits = Pick<
  MatchingLimits,
  'windowTasksPerLaneMax' | 'windowTasksPerHostMax' | 'windowBytesPerHostMax' | 'windowTasksPerLaneMin' | 'windowTasksPerKeyedLaneMin'
>;

/** A read of cold tasks: what was known of them when it began. */
export type ColdRead = Readonly<Pick<ColdTasks, 'afterId' | 'untilId' | 'count' | 'left'>> & {
  readonly max: number;
  /** What so many take in memory, if they are as large as those in windows. */
  readonly bytesMax: number;
};

/** Whoever notes what changes, for a checkpoint. */
export interface ChangeNotes {
  taskStored(stored: StoredTask): void;
  taskRemoved(id: number): void;
}

export class Backlog {
  /** The highest id ever given. */
  lastId = 0;
  /** The time of the last record. */
  timeMs = 0;
  readonly queues = new Map<string, StoredQueue>();
  readonly lanes = new Map<string, StoredLane>();
  /** Lanes of one fairness key each, by namespace. */
  readonly keyedLanes = new Tally();
  readonly configs = new ConfigTable();
  /** undefined: there is no database, and all is in memory. */
  readonly #limits: WindowLimits | undefined;
  readonly #tasks = new Map<number, StoredTask>();
  #newerCount = 0;
  #windowBytes = 0;
  #coldCount = 0;
  /** Rows that are being read: they will be in memory. A slow database must not be asked for a window of each queue at once. */
  #awaited = 0;
  #awaitedBytes = 0;
  /** Removed in a fold, while in no window: rows that a checkpoint has yet to remove. As many at most as the journal behind it tells of. */
  readonly #goneCold = new Set<number>();
  readonly #goneNewer = new Set<number>();
  #goneInCut: readonly number[] = none;
  #goneRows: readonly number[] = none;
  readonly #uncounted = new Set<StoredLane>();
  /** Tasks whose rows cannot be read: at which lanes these stand. */
  readonly #unread = new Map<number, string>();
  /** undefined: there are no checkpoints. */
  notes: ChangeNotes | undefined = undefined;

  constructor(limits?: WindowLimits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#tasks.size + this.#coldCount;
  }

  get inMemory(): number {
    return this.#tasks.size;
  }

  /** A lane whose rows may be counted now; none while rows of removed tasks stand. */
  get toCount(): StoredLane | undefined {
    return this.#goneCold.size > 0 ? undefined : this.#uncounted.values().next().value;
  }

  evolve(record: MatchingRecord): void {
    this.timeMs = record.timeMs;
    for (const spilled of record.spilled) {
      assert(spilled.id > this.lastId, `stored task ids rise: ${spilled.id} after ${this.lastId}`);
      this.lastId = spilled.id;
      const stored = this.#store(spilled, record.timeMs);
      this.notes?.taskStored(stored);
    }
    for (const id of record.removed) this.#remove(id);
    for (const configured of record.configured) this.configs.set(configured);
    for (const namespaceId of record.forgotten) this.configs.forgetNamespace(namespaceId);
  }

  /** The row of a task that comes now cannot be read: it goes when the task ends. */
  leaveUnread({ taskId, laneKey: key }: UnreadTask): void {
    this.#installed(taskId);
    this.#unread.set(taskId, key);
  }

  /** Nobody will end these: as many of a namespace whose tasks all go. */
  unreadOf(namespaceId: string): readonly number[] {
    if (this.#unread.size === 0) return none;
    return [...this.#unread].flatMap(([id, key]) => (parseLaneKey(key)?.queue.namespaceId === namespaceId ? [id] : []));
  }

  /** The id of the latest copy of this task in memory. A copy of a cold task is stored once more, and history refuses it when its turn comes. */
  idOf(queueKey: string, task: MatchingTask): number | undefined {
    return this.queues.get(queueKey)?.ids.get(taskIdentity(task));
  }

  /** Equal for equal states, whatever way led there. `rows`: those of the table; what is cold is taken from them. */
  canonical(rows: readonly TaskState[] = []): string {
    const byLane = Map.groupBy(rows, ({ spilled }) => laneKey(spilled.queue, laneOfSpilled(spilled)));
    const tasksOf = ({ key, tasks, cold, newer }: StoredLane) => {
      const isCold = ({ spilled: { id } }: TaskState): boolean =>
        cold !== undefined && id > cold.afterId && id <= cold.untilId && !this.#goneCold.has(id) && !this.#goneNewer.has(id);
      const fromRows = (byLane.get(key) ?? []).filter(isCold).map(({ spilled, storedAtMs }) => ({ ...spilled, storedAtMs }));
      return [...tasks.values(), ...fromRows, ...newer.values()].map(({ id, task, storedAtMs }) => ({ id, task, storedAtMs }));
    };
    const lanes = Array.from(this.lanes.values(), (stored) => [stored.key, tasksOf(stored)] as const);
    const held = lanes.filter(([, tasks]) => tasks.length > 0).toSorted(([one], [other]) => (one < other ? -1 : 1));
    return JSON.stringify([this.lastId, this.timeMs, held, this.configs.canonical()]);
  }

  #store(spilled: SpilledTask, storedAtMs: number): StoredTask {
    const { id, task } = spilled;
    const lane = this.#storedLane(spilled.queue, laneOfSpilled(spilled));
    const stored: StoredTask = { id, lane, task, storedAtMs };
    if (lane.cold === undefined && !this.hasRoom(lane.key)) this.#endWindow(lane, id);
    if (lane.cold === undefined) this.#intoWindow(stored);
    else {
      lane.newer.set(id, stored);
      this.#newerCount++;
    }
    this.#remember(stored);
    return stored;
  }

  #intoWindow(stored: StoredTask): void {
    stored.lane.tasks.set(stored.id, stored);
    stored.lane.windowUpToId = stored.id;
    this.#windowBytes += taskBytes(stored.task);
  }

  #remember(stored: StoredTask): void {
    stored.lane.of.ids.set(taskIdentity(stored.task), stored.id);
    this.#tasks.set(stored.id, stored);
  }

  #storedLane(queue: TaskQueuePartition, name: LaneName): StoredLane {
    const key = laneKey(queue, name);
    let stored = this.lanes.get(key);
    if (stored === undefined) {
      const of = this.#storedQueue(queue);
      stored = { key, of, name, tasks: new Map(), windowUpToId: 0, cold: undefined, newer: new Map() };
      this.lanes.set(key, stored);
      of.lanes.set(key, stored);
      if (hasOwnKey(name)) this.keyedLanes.add(queue.namespaceId, 1);
    }
    return stored;
  }

  #storedQueue(queue: TaskQueuePartition): StoredQueue {
    const key = taskQueuePartitionKey(queue);
    let stored = this.queues.get(key);
    if (stored === undefined) {
      stored = { key, queue, lanes: new Map(), ids: new Map() };
      this.queues.set(key, stored);
    }
    return stored;
  }

  /** A removal of what is not stored removes nothing: a task is removed twice when an owner goes before it has seen its own removal. */
  #remove(id: number): void {
    const stored = this.#tasks.get(id);
    if (stored === undefined) {
      const wasUnread = this.#unread.delete(id);
      if (!wasUnread && this.#coldCount === 0) return;
      if (!wasUnread) this.#goneCold.add(id);
      return this.notes?.taskRemoved(id);
    }
    // In a fold, it may have a row among those that will be cold.
    if (stored.lane.newer.has(id)) this.#goneNewer.add(id);
    this.#forget(stored);
    this.#settle(stored.lane);
    this.notes?.taskRemoved(id);
  }

  /** The task is not in memory any more. */
  #forget({ id, lane, task }: StoredTask): void {
    this.#tasks.delete(id);
    if (lane.tasks.delete(id)) this.#windowBytes -= taskBytes(task);
    else if (lane.newer.delete(id)) this.#newerCount--;
    const identity = taskIdentity(task);
    const { ids } = lane.of;
    // A later copy may be stored.
    if (ids.get(identity) === id) ids.delete(identity);
  }

  #settle(stored: StoredLane): void {
    if (stored.cold !== undefined && !hasCold(stored.cold) && stored.newer.size === 0) stored.cold = undefined;
    if (stored.cold !== undefined || stored.tasks.size > 0) return;
    this.lanes.delete(stored.key);
    if (hasOwnKey(stored.name)) this.keyedLanes.add(stored.of.queue.namespaceId, -1);
    stored.of.lanes.delete(stored.key);
    if (stored.of.lanes.size === 0) this.queues.delete(stored.of.key);
  }

  // ── What is in memory ─────────────────────────────────────────────────────────────────────────────────────────────────────────

  /** Room in its window behind `ahead` others, whosever windows those go to: an offer out of what `evolve` makes cold would be counted for ever. */
  hasRoom(key: string, ahead = 0, bytesAhead = 0): boolean {
    const stored = this.lanes.get(key);
    return stored?.cold === undefined && (stored?.tasks.size ?? 0) + ahead < this.#windowMax(stored?.name, ahead, bytesAhead);
  }

  #windowMax(name: LaneName | undefined, ahead: number, bytesAhead: number): number {
    if (this.#limits === undefined) return Infinity;
    const { windowTasksPerHostMax, windowBytesPerHostMax, windowTasksPerLaneMax, windowTasksPerLaneMin: min } = this.#limits;
    const tasks = this.#inWindows + this.#awaited + ahead;
    const bytes = this.#windowBytes + this.#awaitedBytes + bytesAhead;
    if (tasks < windowTasksPerHostMax && bytes < windowBytesPerHostMax) return windowTasksPerLaneMax;
    return name !== undefined && isKeyed(name) ? Math.min(this.#limits.windowTasksPerKeyedLaneMin, min) : min;
  }

  get #inWindows(): number {
    return this.#tasks.size - this.#newerCount;
  }

  /** Before that task: what comes is not for its window. */
  #endWindow(stored: StoredLane, id: number): ColdTasks {
    const last = stored.tasks.get(stored.windowUpToId);
    stored.cold = { afterId: id - 1, untilId: id - 1, count: 0, left: 0, sinceMs: last?.storedAtMs ?? this.timeMs, uncounted: undefined };
    return stored.cold;
  }

  /** How many tasks of one lane may be in its window. */
  get windowTasksMax(): number {
    return this.#windowMax(undefined, 0, 0);
  }

  /** Out of a row, into a window with room, behind those of its lane with lower ids. */
  installTask(spilled: SpilledTask, storedAtMs: number): void {
    this.#installed(spilled.id);
    this.#store(spilled, storedAtMs);
  }

  /** Installs a lane whose window ends at `afterId`: the others, up to `untilId`, are rows alone. */
  installCold(queue: TaskQueuePartition, name: LaneName, { afterId, untilId }: IdRange): void {
    this.#installed(untilId);
    const stored = this.#storedLane(queue, name);
    const cold = this.#endWindow(stored, afterId + 1);
    cold.untilId = untilId;
    cold.uncounted = { afterId, untilId };
    this.#uncounted.add(stored);
    this.#coldCount += coldHint(cold);
  }

  /** Behind the last lane: where nothing before a cold task could be read, it is as old as the checkpoint for all that is known. */
  installCounters(lastId: number, timeMs: number): void {
    assert(lastId >= this.lastId, `the last stored task was ${lastId}, and there is a row of task ${this.lastId}`);
    this.lastId = lastId;
    this.timeMs = timeMs;
    for (const { cold } of this.#uncounted) if (cold?.sinceMs === 0) cold.sinceMs = timeMs;
  }

  #installed(id: number): void {
    this.lastId = Math.max(this.lastId, id);
  }

  /** Up to `upToId` there are as many as that. Answers how many more are known of. */
  counted(stored: StoredLane, { afterId, untilId }: IdRange, count: number): number {
    const { cold } = stored;
    // A read of rows was faster: the rest is counted anew.
    if (cold?.uncounted?.afterId !== afterId) return 0;
    const before = coldHint(cold);
    cold.count += count;
    this.#countedUpTo(stored, cold, untilId);
    const more = coldHint(cold) - before;
    this.#coldCount += more;
    return more;
  }

  #countedUpTo(stored: StoredLane, cold: ColdTasks, afterId: number): void {
    const { uncounted } = cold;
    if (uncounted === undefined || afterId <= uncounted.afterId) return;
    cold.uncounted = afterId < uncounted.untilId ? { afterId, untilId: uncounted.untilId } : undefined;
    if (cold.uncounted === undefined) this.#uncounted.delete(stored);
  }

  /** No read of its rows is under way. Where they were counted and there are none, nothing is waited for. */
  settleCounted(stored: StoredLane): void {
    const { cold } = stored;
    if (cold === undefined || coldHint(cold) > 0) return;
    cold.afterId = cold.untilId;
    this.#settle(stored);
  }

  /** Rows have them: some leave memory, `budget` at most. A window's worth stays, unless there are cold ones before. Answers how many left. */
  shed(stored: StoredLane, writtenUpToId: number, budget: number): number {
    const { cold, newer } = stored;
    if (cold === undefined || (!hasCold(cold) && newer.size <= this.#windowMax(stored.name, 0, 0))) return 0;
    let left = 0;
    for (const task of newer.values()) {
      if (left >= budget || task.id > writtenUpToId) break;
      this.#forget(task);
      cold.untilId = task.id;
      cold.count++;
      cold.left++;
      left++;
    }
    this.#coldCount += left;
    return left;
  }

  /** Where nothing is cold, the oldest of the newer ones come into the window. `waiting`: as many of it are not given out yet. */
  takeNewer(stored: StoredLane, waiting: number): void {
    const { cold, newer } = stored;
    assert(cold !== undefined && !hasCold(cold), 'what is cold comes first');
    let room = Math.max(1, this.#windowMax(stored.name, 0, 0) - waiting);
    for (const task of newer.values()) {
      if (room-- <= 0) break;
      newer.delete(task.id);
      this.#newerCount--;
      this.#intoWindow(task);
      cold.afterId = cold.untilId = task.id;
    }
    this.#settle(stored);
  }

  /** What the next read of rows brings, until `installRead` or `notRead`. What is given out is not counted: it would hold the others up. */
  nextColdRead({ name, cold }: StoredLane, waiting: number): ColdRead {
    assert(cold !== undefined && hasCold(cold), 'what is cold is read');
    const { afterId, untilId, count, left } = cold;
    const max = Math.max(1, this.#windowMax(name, 0, 0) - waiting);
    const inWindows = this.#inWindows;
    const bytesMax = inWindows === 0 ? 0 : (max * this.#windowBytes) / inWindows;
    this.#awaited += max;
    this.#awaitedBytes += bytesMax;
    return { afterId, untilId, count, left, max, bytesMax };
  }

  notRead(read: ColdRead): void {
    this.#notAwaited(read);
    this.#forgetGone();
  }

  #notAwaited({ max, bytesMax }: ColdRead): void {
    this.#awaited -= max;
    // Sums of fractions: they begin anew where there are none.
    this.#awaitedBytes = this.#awaited === 0 ? 0 : this.#awaitedBytes - bytesMax;
  }

  /** A lower bound of how many rows there are of such tasks. */
  surelyCold({ count }: ColdRead): number {
    return Math.max(0, count - this.#goneCold.size);
  }

  /** In order. Answers how many fewer come than were thought cold: removed by a fold, or unreadable. Negative: some that nobody had counted came. */
  installRead(stored: StoredLane, read: ColdRead, rows: readonly (TaskState | UnreadTask)[]): number {
    const { cold } = stored;
    assert(cold !== undefined && cold.afterId === read.afterId, `rows behind ${read.afterId} are awaited, not behind ${cold?.afterId}`);
    this.#notAwaited(read);
    const before = coldHint(cold);
    let loaded = 0;
    for (const row of rows) {
      const id = idOfRow(row);
      if (id > read.untilId) break;
      cold.afterId = id;
      if (this.#goneNewer.delete(id)) continue;
      if (!isUncounted(cold, id)) cold.count--;
      if (this.#goneCold.delete(id)) continue;
      if (isUnread(row)) {
        this.#unread.set(id, row.laneKey);
        continue;
      }
      cold.sinceMs = row.storedAtMs;
      const task: StoredTask = { id, lane: stored, task: row.spilled.task, storedAtMs: row.storedAtMs };
      this.#intoWindow(task);
      this.#remember(task);
      loaded++;
    }
    const isEnd = rows.length < read.max || idOfRow(rows.at(-1)!) >= read.untilId;
    // What left memory meanwhile is behind it.
    if (isEnd) [cold.afterId, cold.count] = [read.untilId, cold.left - read.left];
    this.#countedUpTo(stored, cold, cold.afterId);
    const fewer = before - coldHint(cold);
    this.#coldCount -= fewer;
    this.#settle(stored);
    this.#forgetGone();
    return fewer - loaded;
  }

  // ── Rows of what a fold has removed ───────────────────────────────────────────────────────────────────────────────────────────

  /** A checkpoint is cut: it removes the rows of tasks that are gone. */
  cut(): void {
    const isNone = this.#goneCold.size === 0 && this.#goneNewer.size === 0;
    this.#goneInCut = isNone ? none : [...this.#goneCold, ...this.#goneNewer];
  }

  /** The checkpoint that was cut last is durable: those rows are gone. */
  durable(): void {
    this.#goneRows = this.#goneInCut;
    this.#goneInCut = none;
    this.#forgetGone();
  }

  /** A read that began before may still bring them. */
  #forgetGone(): void {
    if (this.#awaited > 0 || this.#goneRows.length === 0) return;
    for (const id of this.#goneRows) {
      this.#goneCold.delete(id);
      this.#goneNewer.delete(id);
    }
    this.#goneRows = none;
  }
}

const none: readonly number[] = [];

function idOfRow(row: TaskState | UnreadTask): number {
  return isUnread(row) ? row.taskId : row.spilled.id;
}
