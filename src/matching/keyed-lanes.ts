/** How many lanes of one fairness key each a host's backlog has, and of which namespaces. */
import { Tally } from '../kernel/tally.ts';
import { hasOwnKey } from './lane-name.ts';
import type { StoredLane } from './stored-lane.ts';

export class KeyedLanes {
  readonly #byNamespace = new Tally();

  came(lane: StoredLane): void {
    if (hasOwnKey(lane.name)) this.#byNamespace.add(lane.of.queue.namespaceId, 1);
  }

  left(lane: StoredLane): void {
    if (hasOwnKey(lane.name)) this.#byNamespace.add(lane.of.queue.namespaceId, -1);
  }

  /** Of a full host a namespace may still have its even share. */
  hasRoom(namespaceId: string, max: number): boolean {
    return this.#byNamespace.total < max || this.#byNamespace.isBelowShare(namespaceId, max);
  }
}
