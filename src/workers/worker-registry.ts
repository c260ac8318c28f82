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
import { type HeapNode, IndexedHeap } from '../kernel/indexed-heap.ts';
import { LinkedList, type Linked } from '../kernel/linked-list.ts';
import { SortedKeys } from '../kernel/sorted-keys.ts';
import type { Worker } from './worker.ts';

export type RegistryLimits = {
  /** How long a worker without heartbeats stays. */
  readonly ttlMs: number;
  readonly workersMax: number;
  /** The bytes of all heartbeats and of what is read of them, with what it costs to hold them. */
  readonly bytesMax: number;
};

/** The object of a worker with its fields, its place in a map and in a list. */
const entryBytes = 600;

type Entry = Linked<Entry> & {
  worker: Worker;
  bytes: number;
  seenAtMs: number;
};

/** A text of a heartbeat is there twice, as it came and read; two bytes a character, for some have no other letters. */
function bytesOf({ fields, heartbeat }: Worker): number {
  const { instanceKey, identity, hostName, taskQueue, deploymentName, buildId, sdkName, sdkVersion } = fields;
  const texts = [instanceKey, identity, hostName, taskQueue, deploymentName, buildId, sdkName, sdkVersion];
  return texts.reduce((bytes, text) => bytes + 2 * text.length, heartbeat.length + entryBytes);
}

class NamespaceWorkers implements HeapNode {
  readonly namespaceId: string;
  readonly byKey = new Map<string, Entry>();
  /** Workers by their last heartbeat, the oldest first. */
  readonly oldestFirst = new LinkedList<Entry>();
  readonly keys = new SortedKeys();
  bytes = 0;
  heapIndex = -1;

  constructor(namespaceId: string) {
    this.namespaceId = namespaceId;
  }
}

export class WorkerRegistry {
  readonly #limits: () => RegistryLimits;
  readonly #namespaces = new Map<string, NamespaceWorkers>();
  readonly #largestFirst = new IndexedHeap<NamespaceWorkers>((one, other) => one.bytes > other.bytes);
  #workers = 0;
  #bytes = 0;
  #sweptAtMs = 0;

  constructor(limits: () => RegistryLimits) {
    this.#limits = limits;
  }

  get size(): { readonly workers: number; readonly bytes: number } {
    return { workers: this.#workers, bytes: this.#bytes };
  }

  record(namespaceId: string, worker: Worker, nowMs: number): void {
    const workers = this.#namespaces.get(namespaceId) ?? new NamespaceWorkers(namespaceId);
    this.#namespaces.set(namespaceId, workers);
    const key = worker.fields.instanceKey;
    const known = workers.byKey.get(key);
    if (known === undefined) workers.keys.add(key);
    else this.#leave(workers, known);
    const bytes = bytesOf(worker);
    const entry: Entry = { worker, bytes, seenAtMs: nowMs, prev: undefined, next: undefined, linked: false };
    workers.byKey.set(key, entry);
    workers.oldestFirst.push(entry);
    workers.bytes += bytes;
    this.#workers += 1;
    this.#bytes += bytes;
    this.#largestFirst.place(workers);
    this.#sweep(nowMs);
    this.#makeRoom();
  }

  remove(namespaceId: string, instanceKey: string): void {
    const workers = this.#namespaces.get(namespaceId);
    const known = workers?.byKey.get(instanceKey);
    if (workers === undefined || known === undefined) return;
    this.#remove(workers, known);
  }

  find(namespaceId: string, instanceKey: string, nowMs: number): Worker | undefined {
    this.#expire(namespaceId, nowMs);
    return this.#namespaces.get(namespaceId)?.byKey.get(instanceKey)?.worker;
  }

  /** The workers that there are now, in the order of their keys: at most `max` behind that key. */
  workersAfter(namespaceId: string, instanceKey: string | undefined, max: number, nowMs: number): readonly Worker[] {
    this.#expire(namespaceId, nowMs);
    const workers = this.#namespaces.get(namespaceId);
    if (workers === undefined) return [];
    return workers.keys.after(instanceKey, max).flatMap((key) => workers.byKey.get(key)?.worker ?? []);
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
  }

  #makeRoom(): void {
    const { workersMax, bytesMax } = this.#limits();
    while (this.#workers > workersMax || this.#bytes > bytesMax) {
      const workers = this.#largestFirst.first();
      const oldest = workers?.oldestFirst.first;
      if (workers === undefined || oldest === undefined) return;
      this.#remove(workers, oldest);
    }
  }

  #remove(workers: NamespaceWorkers, entry: Entry): void {
    this.#leave(workers, entry);
    workers.keys.delete(entry.worker.fields.instanceKey);
    if (workers.byKey.size > 0) return this.#largestFirst.place(workers);
    this.#largestFirst.remove(workers);
    this.#namespaces.delete(workers.namespaceId);
  }

  /** A worker is gone, or comes again at once. */
  #leave(workers: NamespaceWorkers, entry: Entry): void {
    workers.byKey.delete(entry.worker.fields.instanceKey);
    workers.oldestFirst.remove(entry);
    workers.bytes -= entry.bytes;
    this.#workers -= 1;
    this.#bytes -= entry.bytes;
  }
}
