/**
 * Which workers there are: the last heartbeat of each. It is in the memory of one process and nowhere else, as in Temporal: after a restart it
 * fills again within a minute, for that is how often workers send.
 *
 *     heartbeat ─▶ newest of its namespace ─ ─ ─ no heartbeat for `ttlMs` ─▶ forgotten
 *                            │
 *                            └─ the worker shuts down ─▶ forgotten at once
 *
 * Where the registry is full, the namespace that has the most bytes gives up its oldest workers. So a namespace never loses a worker while it
 * has no more than its fair part of the registry (all of it, divided by the namespaces), whatever the others send.
 */
import { LinkedList, type Linked } from '../kernel/linked-list.ts';
import type { Worker } from './worker.ts';

export type RegistryLimits = {
  /** How long a worker without heartbeats stays. */
  readonly ttlMs: number;
  readonly workersMax: number;
  /** Of all heartbeats, with what it costs to hold them. */
  readonly bytesMax: number;
};

/** The object of a worker with its fields, its place in a map and in a list. */
const entryBytes = 600;

type Entry = Linked<Entry> & {
  worker: Worker;
  bytes: number;
  seenAtMs: number;
};

class NamespaceWorkers {
  readonly byKey = new Map<string, Entry>();
  /** By their last heartbeat, the oldest first. */
  readonly oldestFirst = new LinkedList<Entry>();
  bytes = 0;
}

export class WorkerRegistry {
  readonly #limits: () => RegistryLimits;
  readonly #namespaces = new Map<string, NamespaceWorkers>();
  #workers = 0;
  #bytes = 0;
  #sweptAtMs = 0;

  constructor(limits: () => RegistryLimits) {
    this.#limits = limits;
  }

  /** How many there are, and what they take. */
  get size(): { readonly workers: number; readonly bytes: number } {
    return { workers: this.#workers, bytes: this.#bytes };
  }

  record(namespaceId: string, worker: Worker, nowMs: number): void {
    const workers = this.#namespaces.get(namespaceId) ?? new NamespaceWorkers();
    this.#namespaces.set(namespaceId, workers);
    const key = worker.fields.instanceKey;
    const known = workers.byKey.get(key);
    if (known !== undefined) this.#remove(workers, known);
    const bytes = worker.heartbeat.length + entryBytes;
    const entry: Entry = { worker, bytes, seenAtMs: nowMs, prev: undefined, next: undefined, linked: false };
    workers.byKey.set(key, entry);
    workers.oldestFirst.push(entry);
    workers.bytes += bytes;
    this.#workers += 1;
    this.#bytes += bytes;
    this.#sweep(nowMs);
    this.#makeRoom();
  }

  /** It has shut down. */
  remove(namespaceId: string, instanceKey: string): void {
    const workers = this.#namespaces.get(namespaceId);
    const known = workers?.byKey.get(instanceKey);
    if (workers === undefined || known === undefined) return;
    this.#remove(workers, known);
    this.#dropEmpty(namespaceId, workers);
  }

  /** undefined: it is not known. */
  find(namespaceId: string, instanceKey: string, nowMs: number): Worker | undefined {
    this.#expire(namespaceId, nowMs);
    return this.#namespaces.get(namespaceId)?.byKey.get(instanceKey)?.worker;
  }

  /** Those there are now. */
  workersOf(namespaceId: string, nowMs: number): readonly Worker[] {
    this.#expire(namespaceId, nowMs);
    return [...(this.#namespaces.get(namespaceId)?.byKey.values() ?? [])].map(({ worker }) => worker);
  }

  /** Namespaces that nobody asks for are looked at once in each life of an entry. */
  #sweep(nowMs: number): void {
    const { ttlMs } = this.#limits();
    if (nowMs >= this.#sweptAtMs && nowMs - this.#sweptAtMs < ttlMs) return;
    this.#sweptAtMs = nowMs;
    for (const namespaceId of this.#namespaces.keys()) this.#expire(namespaceId, nowMs);
  }

  #expire(namespaceId: string, nowMs: number): void {
    const workers = this.#namespaces.get(namespaceId);
    if (workers === undefined) return;
    const { ttlMs } = this.#limits();
    for (;;) {
      const oldest = workers.oldestFirst.first;
      if (oldest === undefined || nowMs - oldest.seenAtMs < ttlMs) break;
      this.#remove(workers, oldest);
    }
    this.#dropEmpty(namespaceId, workers);
  }

  #makeRoom(): void {
    const { workersMax, bytesMax } = this.#limits();
    while (this.#workers > workersMax || this.#bytes > bytesMax) {
      const [namespaceId, workers] = this.#largest();
      const oldest = workers.oldestFirst.first;
      if (oldest === undefined) return;
      this.#remove(workers, oldest);
      this.#dropEmpty(namespaceId, workers);
    }
  }

  #largest(): readonly [string, NamespaceWorkers] {
    let largest: readonly [string, NamespaceWorkers] = ['', new NamespaceWorkers()];
    for (const each of this.#namespaces) if (each[1].bytes > largest[1].bytes) largest = each;
    return largest;
  }

  #remove(workers: NamespaceWorkers, entry: Entry): void {
    workers.byKey.delete(entry.worker.fields.instanceKey);
    workers.oldestFirst.remove(entry);
    workers.bytes -= entry.bytes;
    this.#workers -= 1;
    this.#bytes -= entry.bytes;
  }

  #dropEmpty(namespaceId: string, workers: NamespaceWorkers): void {
    if (workers.byKey.size === 0) this.#namespaces.delete(namespaceId);
  }
}
