import { exhaustedCause, exhaustedScope, resourceExhausted } from '../errors/details.ts';

/**
 * The bytes of the queries that wait for workers, in one process. Commands are counted until they are decided, and a query is decided at
 * once: then it waits up to 20 s, and two KiB of gzip may stand for two MiB of arguments. A namespace has a part of the room alone.
 */
export class QueryBytes {
  readonly #bytesMax: number;
  readonly #namespaceBytesMax: number;
  readonly #byNamespace = new Map<string, number>();
  #bytes = 0;

  constructor(bytesMax: number = 128 * 1024 * 1024, namespaceBytesMax: number = 32 * 1024 * 1024) {
    this.#bytesMax = bytesMax;
    this.#namespaceBytesMax = namespaceBytesMax;
  }

  /** RESOURCE_EXHAUSTED when there is no room; otherwise what gives it back. */
  take(namespaceId: string, bytes: number): () => void {
    const ofNamespace = this.#byNamespace.get(namespaceId) ?? 0;
    if (ofNamespace + bytes > this.#namespaceBytesMax) {
      throw resourceExhausted(
        'the queries of this namespace that wait are too large',
        exhaustedCause.concurrentLimit,
        exhaustedScope.namespace,
      );
    }
    if (this.#bytes + bytes > this.#bytesMax) {
      throw resourceExhausted('the queries that wait are too large', exhaustedCause.systemOverloaded, exhaustedScope.system);
    }
    this.#bytes += bytes;
    this.#byNamespace.set(namespaceId, ofNamespace + bytes);
    return () => this.#giveBack(namespaceId, bytes);
  }

  #giveBack(namespaceId: string, bytes: number): void {
    this.#bytes -= bytes;
    const left = (this.#byNamespace.get(namespaceId) ?? bytes) - bytes;
    if (left === 0) this.#byNamespace.delete(namespaceId);
    else this.#byNamespace.set(namespaceId, left);
  }
}
