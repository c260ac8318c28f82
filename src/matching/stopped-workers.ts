/** Workers that have said that they stop: their polls that come in later end empty, for they would wait in vain for the ends of these. */
import { Tally } from '../kernel/tally.ts';
import { type HostParts, Life } from './loaded-queue.ts';
import { taskQueuePartitionKey, type TaskQueuePartition } from '../kernel/task-queue.ts';

type Stopped = { readonly untilMs: number; readonly namespaceId: string };

export class StoppedWorkers<T> extends Life<HostParts<T>> {
  /** Stopped workers by partition and worker, the oldest first. */
  readonly #stopped = new Map<string, Stopped>();
  readonly #byNamespace = new Tally();

  add(queue: TaskQueuePartition, workerInstanceKey: string): void {
    const { decision, limits } = this.parts;
    const { namespaceId } = queue;
    this.#dropOver();
    const key = keyOf(queue, workerInstanceKey);
    this.#drop(key);
    if (this.#stopped.size >= limits.stoppedWorkersPerHostMax) this.#makeRoom(namespaceId);
    this.#stopped.set(key, { untilMs: decision.nowMs + limits.stoppedWorkerMs, namespaceId });
    this.#byNamespace.add(namespaceId, 1);
  }

  has(queue: TaskQueuePartition, workerInstanceKey: string): boolean {
    this.#dropOver();
    return this.#stopped.size > 0 && workerInstanceKey !== '' && this.#stopped.has(keyOf(queue, workerInstanceKey));
  }

  /** Drops stops that are over, so that no poll looks for any once all are: each is known for as long, and whoever stops again begins anew. */
  #dropOver(): void {
    for (const [oldest, { untilMs }] of this.#stopped) {
      if (untilMs > this.parts.decision.nowMs) return;
      this.#drop(oldest);
    }
  }

  /** The oldest of the namespace that has the most goes: whoever stops workers without end forgets its own. Where many have as many, of the own one. */
  #makeRoom(namespaceId: string): void {
    const most = this.#byNamespace.most(namespaceId);
    for (const [key, stopped] of this.#stopped) if (stopped.namespaceId === most) return this.#drop(key);
  }

  #drop(key: string): void {
    const stopped = this.#stopped.get(key);
    if (stopped === undefined) return;
    this.#stopped.delete(key);
    this.#byNamespace.add(stopped.namespaceId, -1);
  }
}

function keyOf(queue: TaskQueuePartition, workerInstanceKey: string): string {
  return `${workerInstanceKey.length}/${workerInstanceKey}/${taskQueuePartitionKey(queue)}`;
}
