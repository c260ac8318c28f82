/** The durable state of a matching host: the stored tasks of its queues, as the fold of its journal. Changed by `evolve` alone. */
import { assert } from '../kernel/assert.ts';
import { taskIdentity, type MatchingTask } from './tasks.ts';
import type { MatchingRecord, SpilledTask } from './records.ts';
import { taskQueuePartitionKey, type TaskQueuePartition } from './task-queue.ts';

export type StoredTask = { readonly id: number; readonly queue: StoredQueue; readonly task: MatchingTask; readonly storedAtMs: number };

export type StoredQueue = {
  readonly key: string;
  readonly queue: TaskQueuePartition;
  /** By id, in rising order. */
  readonly tasks: Map<number, StoredTask>;
  /** By identity: history offers what it is not sure of again, after each of its takeovers. */
  readonly ids: Map<string, number>;
};

/** Whoever notes what changes, for a checkpoint. */
export interface ChangeNotes {
  taskStored(stored: StoredTask): void;
  taskRemoved(id: number): void;
}

export class Backlog {
  /** The highest id ever given. */
  lastId = 0;
  /** Of the last record. */
  timeMs = 0;
  readonly queues = new Map<string, StoredQueue>();
  readonly #tasks = new Map<number, StoredTask>();
  /** undefined: there are no checkpoints. */
  notes: ChangeNotes | undefined = undefined;

  get size(): number {
    return this.#tasks.size;
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
  }

  /** Out of a row, behind those with lower ids. */
  installTask(spilled: SpilledTask, storedAtMs: number): StoredTask {
    this.lastId = spilled.id;
    return this.#store(spilled, storedAtMs);
  }

  /** Of the latest copy of this task that is stored. */
  idOf(queueKey: string, task: MatchingTask): number | undefined {
    return this.queues.get(queueKey)?.ids.get(taskIdentity(task));
  }

  /** Equal for equal states, whatever way led there. */
  canonical(): string {
    const queues = [...this.queues.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
    const tasksOf = ({ tasks }: StoredQueue) => Array.from(tasks.values(), ({ id, task, storedAtMs }) => ({ id, task, storedAtMs }));
    return JSON.stringify([this.lastId, this.timeMs, queues.map((stored) => [stored.key, tasksOf(stored)])]);
  }

  #store({ id, queue, task }: SpilledTask, storedAtMs: number): StoredTask {
    const storedQueue = this.#storedQueue(queue);
    const stored: StoredTask = { id, queue: storedQueue, task, storedAtMs };
    storedQueue.tasks.set(id, stored);
    storedQueue.ids.set(taskIdentity(task), id);
    this.#tasks.set(id, stored);
    return stored;
  }

  #storedQueue(queue: TaskQueuePartition): StoredQueue {
    const key = taskQueuePartitionKey(queue);
    let stored = this.queues.get(key);
    if (stored === undefined) {
      stored = { key, queue, tasks: new Map(), ids: new Map() };
      this.queues.set(key, stored);
    }
    return stored;
  }

  /** A removal of what is not stored removes nothing: a task is removed twice when an owner goes before it has seen its own removal. */
  #remove(id: number): void {
    const stored = this.#tasks.get(id);
    if (stored === undefined) return;
    const { queue, task } = stored;
    this.#tasks.delete(id);
    queue.tasks.delete(id);
    const identity = taskIdentity(task);
    // A later copy may be stored.
    if (queue.ids.get(identity) === id) queue.ids.delete(identity);
    if (queue.tasks.size === 0) this.queues.delete(queue.key);
    this.notes?.taskRemoved(id);
  }
}
