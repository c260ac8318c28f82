/** The durable state of a matching host: the stored tasks of its queues, as the fold of its journal. Changed by `evolve` alone. */
import { assert } from '../kernel/assert.ts';
import { taskIdentity, type MatchingTask } from './tasks.ts';
import type { MatchingRecord } from './records.ts';
import { taskQueuePartitionKey, type TaskQueuePartition } from './task-queue.ts';

export type StoredTask = { readonly id: number; readonly task: MatchingTask; readonly storedAtMs: number };

export type StoredQueue = {
  readonly key: string;
  readonly queue: TaskQueuePartition;
  /** By id, in rising order. */
  readonly tasks: Map<number, StoredTask>;
  /** By identity: history offers what it is not sure of again, after each of its takeovers. */
  readonly ids: Map<string, number>;
};

export class Backlog {
  /** The highest id ever given. */
  lastId = 0;
  readonly queues = new Map<string, StoredQueue>();
  readonly #queueOf = new Map<number, StoredQueue>();

  get size(): number {
    return this.#queueOf.size;
  }

  evolve(record: MatchingRecord): void {
    for (const { id, queue, task } of record.spilled) {
      assert(id > this.lastId, `stored task ids rise: ${id} after ${this.lastId}`);
      this.lastId = id;
      const stored = this.#storedQueue(queue);
      stored.tasks.set(id, { id, task, storedAtMs: record.timeMs });
      stored.ids.set(taskIdentity(task), id);
      this.#queueOf.set(id, stored);
    }
    for (const id of record.removed) this.#remove(id);
  }

  /** Of the latest copy of this task that is stored. */
  idOf(queueKey: string, task: MatchingTask): number | undefined {
    return this.queues.get(queueKey)?.ids.get(taskIdentity(task));
  }

  /** Equal for equal states, whatever way led there. */
  canonical(): string {
    const queues = [...this.queues.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
    return JSON.stringify([this.lastId, queues.map((stored) => [stored.key, [...stored.tasks]])]);
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

  /** A removal of what an earlier, trimmed part of the journal stored removes nothing. */
  #remove(id: number): void {
    const stored = this.#queueOf.get(id);
    if (stored === undefined) return;
    this.#queueOf.delete(id);
    const removed = stored.tasks.get(id);
    stored.tasks.delete(id);
    const identity = removed === undefined ? '' : taskIdentity(removed.task);
    // A later copy may be stored.
    if (stored.ids.get(identity) === id) stored.ids.delete(identity);
    if (stored.tasks.size === 0) this.queues.delete(stored.key);
  }
}
