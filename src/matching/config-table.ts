/** Durable: the configurations of a host's queues, each at its latest. Changed by the folds of `Backlog` alone. */
import { configBytes, type ConfiguredQueue, type TaskQueueConfig } from './task-queue-config.ts';
import { taskQueuePartitionKey, type TaskQueuePartition } from '../kernel/task-queue.ts';

export class ConfigTable {
  readonly #byKey = new Map<string, ConfiguredQueue>();
  /** Bytes of the root partitions' configurations, which bound those of the others. */
  #bytes = 0;
  readonly #bytesByNamespace = new Map<string, number>();

  values(): Iterable<ConfiguredQueue> {
    return this.#byKey.values();
  }

  get(queueKey: string): TaskQueueConfig | undefined {
    return this.#byKey.get(queueKey)?.config;
  }

  set(configured: ConfiguredQueue): void {
    const key = taskQueuePartitionKey(configured.queue);
    this.#count(configured.queue, this.#moreBytes(key, configured));
    this.#byKey.set(key, configured);
  }

  hasNamespace(namespaceId: string): boolean {
    for (const { queue } of this.#byKey.values()) if (queue.namespaceId === namespaceId) return true;
    return false;
  }

  /** The share of the namespace is that of the others then. */
  forgetNamespace(namespaceId: string): void {
    for (const [key, { queue }] of this.#byKey) if (queue.namespaceId === namespaceId) this.#byKey.delete(key);
    this.#bytes -= this.#bytesByNamespace.get(namespaceId) ?? 0;
    this.#bytesByNamespace.delete(namespaceId);
  }

  #moreBytes(key: string, configured: ConfiguredQueue): number {
    const known = this.#byKey.get(key);
    return configBytes(configured) - (known === undefined ? 0 : configBytes(known));
  }

  #count({ namespaceId, partition }: TaskQueuePartition, more: number): void {
    if (partition !== 0) return;
    this.#bytes += more;
    this.#bytesByNamespace.set(namespaceId, (this.#bytesByNamespace.get(namespaceId) ?? 0) + more);
  }

  /** Where all of them take more than `bytesMax`, a namespace may still have its even share. */
  hasRoom(configured: ConfiguredQueue, bytesMax: number): boolean {
    const { namespaceId } = configured.queue;
    const more = this.#moreBytes(taskQueuePartitionKey(configured.queue), configured);
    if (more <= 0 || this.#bytes + more <= bytesMax) return true;
    const own = this.#bytesByNamespace.get(namespaceId) ?? 0;
    const namespaces = this.#bytesByNamespace.size + (own === 0 ? 1 : 0);
    return own + more <= bytesMax / namespaces;
  }

  /** Equal for equal states. */
  canonical(): readonly ConfiguredQueue[] {
    return Array.from(this.#byKey)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .map(([, configured]) => configured);
  }
}
