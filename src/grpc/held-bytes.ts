import { Tally } from '../kernel/tally.ts';
import { exhaustedCause, exhaustedScope, resourceExhausted } from './errors/details.ts';

export type Held = {
  /** Throws RESOURCE_EXHAUSTED when there is no room. */
  readonly grow: (bytes: number) => void;
  readonly release: () => void;
};

/**
 * The bytes that calls of one kind hold while they wait. A query waits for a worker up to 20 s, and two KiB of gzip may stand for two MiB of
 * arguments; a reset has read a history. A namespace has a part of the room alone.
 */
export class HeldBytes {
  readonly #what: string;
  readonly #bytesMax: number;
  readonly #namespaceBytesMax: number;
  readonly #held = new Tally();

  /** `what`: `queries`, as refusals call them. */
  constructor(what: string, bytesMax: number = 128 * 1024 * 1024, namespaceBytesMax: number = 32 * 1024 * 1024) {
    this.#what = what;
    this.#bytesMax = bytesMax;
    this.#namespaceBytesMax = namespaceBytesMax;
  }

  hold(namespaceId: string): Held {
    let held = 0;
    return {
      grow: (bytes) => {
        this.#take(namespaceId, bytes);
        held += bytes;
      },
      release: () => this.#held.add(namespaceId, -held),
    };
  }

  #take(namespaceId: string, bytes: number): void {
    if (this.#held.of(namespaceId) + bytes > this.#namespaceBytesMax) {
      const message = `the ${this.#what} of this namespace that wait are too large`;
      throw resourceExhausted(message, exhaustedCause.concurrentLimit, exhaustedScope.namespace);
    }
    if (this.#held.total + bytes > this.#bytesMax) {
      throw resourceExhausted(`the ${this.#what} that wait are too large`, exhaustedCause.systemOverloaded, exhaustedScope.system);
    }
    this.#held.add(namespaceId, bytes);
  }
}
