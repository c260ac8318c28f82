/**
 * Workers that have said that they stop: the polls that they had sent before, and that come in later, end empty. A worker that waits for
 * the ends of its polls would wait in vain for these.
 */
import type { HostParts } from './host-parts.ts';
import { taskQueuePartitionKey, type TaskQueuePartition } from './task-queue.ts';

export class StoppedWorkers<T> {
  readonly #parts: HostParts<T>;
  /** By partition and worker: until when. The oldest first. */
  readonly #untilMs = new Map<string, number>();

  constructor(parts: HostParts<T>) {
    this.#parts = parts;
  }

  add(queue: TaskQueuePartition, workerInstanceKey: string): void {
    const { decision, limits } = this.#parts;
    this.#dropOver();
    const key = keyOf(queue, workerInstanceKey);
    this.#untilMs.delete(key);
    this.#untilMs.set(key, decision.nowMs + limits.stoppedWorkerMs);
    const [oldest] = this.#untilMs.keys();
    if (this.#untilMs.size > limits.stoppedWorkersPerHostMax && oldest !== undefined) this.#untilMs.delete(oldest);
  }

  has(queue: TaskQueuePartition, workerInstanceKey: string): boolean {
    this.#dropOver();
    return this.#untilMs.size > 0 && workerInstanceKey !== '' && this.#untilMs.has(keyOf(queue, workerInstanceKey));
  }

  /** So that no poll looks for any once all are over: each is known for as long, and whoever stops again begins anew. */
  #dropOver(): void {
    for (const [oldest, untilMs] of this.#untilMs) {
      if (untilMs > this.#parts.decision.nowMs) return;
      this.#untilMs.delete(oldest);
    }
  }
}

function keyOf(queue: TaskQueuePartition, workerInstanceKey: string): string {
  return `${workerInstanceKey.length}/${workerInstanceKey}/${taskQueuePartitionKey(queue)}`;
}
