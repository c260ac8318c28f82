/**
 * The pending timers of a shard, by (fire time, task id).
 *
 * The map is the truth and is what is hashed; the heap is an index over it. A timer that is removed (its activity completed, its
 * workflow closed) leaves its heap entry behind, which is passed over when it comes to the top. When more than half of the heap is
 * such leftovers it is built anew, so that a day-long timeout of a workflow that took a second does not stay for a day.
 *
 * A timer that cannot be decided is postponed: its entry moves back in the heap, and those behind it fire meanwhile. That is no part of the
 * truth: the task keeps its fire time.
 *
 * Up to its horizon the queue holds all timers of the shard; of those beyond it some, the others are in a database alone (residency/timer-window.ts).
 * Without a database it has no horizon. Ends of retention follow their runs into memory and out of it, whenever they are, and do not count here;
 * nor do tasks that are run beside the shard, once they were due.
 */
import type { TaskPlace } from '../commands/shard-task-commands.ts';
import { runsBeside, type TimerTask } from './tasks.ts';

const behindAll: TaskPlace = { fireTimeMs: Infinity, taskId: Infinity };
export const beforeAll: TaskPlace = { fireTimeMs: -Infinity, taskId: -Infinity };

/** `next` drops heap entries that no longer count: nothing that anyone could see. */
export type TimerView = Readonly<
  Pick<TimerQueue, 'size' | 'get' | 'values' | 'next' | 'due' | 'firstDue' | 'horizon' | 'near' | 'far' | 'isFar' | 'placeOf'>
>;

const heapEntriesKept = 1024;
/** Enough to know a place among all within a few percent. */
const samplesMax = 1024;

export class TimerQueue {
  readonly #tasks = new Map<number, TimerTask>();
  #heap: TaskPlace[] = [];
  /** Task id -> the time of the heap entry that counts. Nearly always empty. */
  readonly #postponed = new Map<number, number>();
  /** All timers up to there are here. */
  horizon = behindAll;
  /** How many are here up to the horizon, and beyond it. */
  near = 0;
  far = 0;

  get size(): number {
    return this.#tasks.size;
  }

  get(taskId: number): TimerTask | undefined {
    return this.#tasks.get(taskId);
  }

  values(): IterableIterator<TimerTask> {
    return this.#tasks.values();
  }

  add(task: TimerTask): void {
    this.#tasks.set(task.taskId, task);
    this.#count(task, 1);
    this.#heap.push(task);
    this.#up(this.#heap.length - 1);
  }

  remove(taskId: number): boolean {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return false;
    this.#tasks.delete(taskId);
    this.#count(task, -1);
    if (this.#postponed.size > 0) this.#postponed.delete(taskId);
    if (this.#heap.length > heapEntriesKept && this.#heap.length > 2 * this.#tasks.size) this.#rebuild();
    return true;
  }

  isFar(task: TimerTask): boolean {
    return task.kind !== 'retention' && byPlace(task, this.horizon) > 0;
  }

  /** Whoever moves it further has brought all up to there. */
  moveHorizon(place: TaskPlace): void {
    this.horizon = place;
    this.near = 0;
    this.far = 0;
    for (const task of this.#tasks.values()) this.#count(task, 1);
  }

  /** Behind about that share of those that are here; undefined: there are none. */
  placeOf(share: number): TaskPlace | undefined {
    const places: TaskPlace[] = [];
    const step = Math.max(1, Math.floor(this.#heap.length / samplesMax));
    for (let at = 0; at < this.#heap.length; at += step) {
      const task = this.#tasks.get(this.#heap[at]?.taskId ?? 0);
      if (task !== undefined && task.kind !== 'retention') places.push(task);
    }
    const place = places.sort(byPlace)[Math.floor(share * places.length)];
    return place === undefined ? undefined : { fireTimeMs: place.fireTimeMs, taskId: place.taskId };
  }

  /** The timer does not fire before that time, whenever it was due. */
  postpone(taskId: number, untilMs: number): void {
    const task = this.#tasks.get(taskId);
    if (task === undefined) return;
    if (runsBeside(task) && !this.#postponed.has(taskId)) this.#count(task, -1);
    this.#postponed.set(taskId, untilMs);
    this.#heap.push({ fireTimeMs: untilMs, taskId });
    this.#up(this.#heap.length - 1);
  }

  next(): TaskPlace | undefined {
    for (;;) {
      const top = this.#heap[0];
      if (top === undefined) return undefined;
      if (this.#counts(top)) return { fireTimeMs: top.fireTimeMs, taskId: top.taskId };
      this.#pop();
    }
  }

  /** All that are due, in no order; undefined: to find them takes more than `visitsMax` looks, or they are not all here. */
  due(nowMs: number, visitsMax: number): ReadonlySet<TimerTask> | undefined {
    if (this.#postponed.size > visitsMax || this.horizon.fireTimeMs <= nowMs) return undefined;
    // One that was removed and added again has two entries; so has one that was postponed, or the later one alone.
    const due = new Set<TimerTask>();
    for (const taskId of this.#postponed.keys()) {
      const task = this.#tasks.get(taskId);
      if (task !== undefined && task.fireTimeMs <= nowMs) due.add(task);
    }
    // Below an entry that is not due, none is.
    const unvisited = [0];
    for (let visits = this.#postponed.size, at = unvisited.pop(); at !== undefined; at = unvisited.pop()) {
      const entry = this.#heap[at];
      if (entry === undefined || entry.fireTimeMs > nowMs) continue;
      if (++visits > visitsMax) return undefined;
      const task = this.#tasks.get(entry.taskId);
      if (task !== undefined) due.add(task);
      unvisited.push(2 * at + 1, 2 * at + 2);
    }
    return due;
  }

  /** The first that are due, in their order. `max` is a few hundred: the search among what may come next is linear. */
  firstDue(nowMs: number, max: number): readonly TimerTask[] {
    const due: TimerTask[] = [];
    const next = [0];
    for (let visits = 0; next.length > 0 && due.length < max && visits < 4 * max; visits++) {
      let first = 0;
      for (let index = 1; index < next.length; index++) if (this.#comesBefore(next[index], next[first])) first = index;
      const at = next[first] ?? 0;
      const entry = this.#heap[at];
      if (entry === undefined || entry.fireTimeMs > nowMs) return due;
      next[first] = 2 * at + 1;
      next.push(2 * at + 2);
      const task = this.#counts(entry) ? this.#tasks.get(entry.taskId) : undefined;
      // One that was removed and added again has two entries, one behind the other.
      if (task !== undefined && task !== due.at(-1)) due.push(task);
    }
    return due;
  }

  /** What is not there comes last. */
  #comesBefore(one = 0, other = 0): boolean {
    const [a, b] = [this.#heap[one], this.#heap[other]];
    return a !== undefined && (b === undefined || byPlace(a, b) < 0);
  }

  #count(task: TimerTask, by: 1 | -1): void {
    // One that is being run, or was: however many do not get done, the window brings what comes behind them.
    if (task.kind === 'retention' || (runsBeside(task) && this.#postponed.has(task.taskId))) return;
    if (byPlace(task, this.horizon) > 0) this.far += by;
    else this.near += by;
  }

  #counts({ fireTimeMs, taskId }: TaskPlace): boolean {
    if (!this.#tasks.has(taskId)) return false;
    const postponedMs = this.#postponed.size > 0 ? this.#postponed.get(taskId) : undefined;
    return postponedMs === undefined || postponedMs === fireTimeMs;
  }

  #rebuild(): void {
    const entries: TaskPlace[] = [...this.#tasks.values()];
    for (const [taskId, fireTimeMs] of this.#postponed) entries.push({ fireTimeMs, taskId });
    this.#heap = entries;
    for (let at = (entries.length >> 1) - 1; at >= 0; at--) this.#down(at);
  }

  #pop(): void {
    const last = this.#heap.pop();
    if (last === undefined || this.#heap.length === 0) return;
    this.#heap[0] = last;
    this.#down(0);
  }

  #up(from: number): void {
    const heap = this.#heap;
    const task = heap[from] as TaskPlace;
    let at = from;
    while (at > 0) {
      const parentAt = (at - 1) >> 1;
      const parent = heap[parentAt] as TaskPlace;
      if (byPlace(parent, task) <= 0) break;
      heap[at] = parent;
      at = parentAt;
    }
    heap[at] = task;
  }

  #down(from: number): void {
    const heap = this.#heap;
    const task = heap[from] as TaskPlace;
    let at = from;
    for (;;) {
      let childAt = 2 * at + 1;
      if (childAt >= heap.length) break;
      const right = heap[childAt + 1];
      if (right !== undefined && byPlace(right, heap[childAt] as TaskPlace) < 0) childAt++;
      const child = heap[childAt] as TaskPlace;
      if (byPlace(task, child) <= 0) break;
      heap[at] = child;
      at = childAt;
    }
    heap[at] = task;
  }
}

export function byPlace(a: TaskPlace, b: TaskPlace): number {
  return a.fireTimeMs - b.fireTimeMs || a.taskId - b.taskId;
}
