/** How many lanes of fairness keys a host's backlog has, and of which namespaces. */
import type { StoredLane } from './stored-lane.ts';

export class KeyedLanes {
  #count = 0;
  readonly #byNamespace = new Map<string, number>();

  came(lane: StoredLane): void {
    if (isKeyed(lane)) this.#add(lane.of.queue.namespaceId, 1);
  }

  left(lane: StoredLane): void {
    if (isKeyed(lane)) this.#add(lane.of.queue.namespaceId, -1);
  }

  #add(namespaceId: string, more: number): void {
    this.#count += more;
    const count = (this.#byNamespace.get(namespaceId) ?? 0) + more;
    if (count === 0) this.#byNamespace.delete(namespaceId);
    else this.#byNamespace.set(namespaceId, count);
  }

  /** Of a full host a namespace may still have its even share: so n namespaces have at most 1 + 1/2 + … + 1/n times as many. */
  hasRoom(namespaceId: string, max: number): boolean {
    if (this.#count < max) return true;
    const own = this.#byNamespace.get(namespaceId) ?? 0;
    const namespaces = this.#byNamespace.size + (own === 0 ? 1 : 0);
    return own < Math.max(1, Math.floor(max / namespaces));
  }
}

function isKeyed({ name }: StoredLane): boolean {
  return name.fairnessKey !== '';
}
