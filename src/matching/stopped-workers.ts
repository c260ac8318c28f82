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
    const key = keyOf(queue, workerInstanceKey);
    this.#untilMs.delete(key);
    this.#untilMs.set(key, decision.nowMs + limits.stoppedWorkerMs);
    for (const [oldest, untilMs] of this.#untilMs) {
      if (untilMs > decision.nowMs && this.#untilMs.size <= limits.stoppedWorkersPerHostMax) break;
      this.#untilMs.delete(oldest);
    }
  }

  has(queue: TaskQueuePartition, workerInstanceKey: string): boolean {
    if (this.#untilMs.size === 0 || workerInstanceKey === '') return false;
    return (this.#untilMs.get(keyOf(queue, workerInstanceKey)) ?? 0) > this.#parts.decision.nowMs;
  }
}

function keyOf(queue: TaskQueuePartition, workerInstanceKey: string): string {
  return JSON.stringify([taskQueuePartitionKey(queue), workerInstanceKey]);
}
