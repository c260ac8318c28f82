/** The connections whose calls have named one namespace last. Those that have named none yet have one share together. */
export type NamespaceShare<Connection> = {
  readonly namespace: string;
  readonly connections: Set<Connection>;
  /** What the event loop has done for it. Never less than for the others that ask when it begins to ask. */
  workedMs: number;
  /** By what was read lately: most of the work for a call comes in later turns. */
  weight: number;
  costOfTurn: number;
  readAtMs: number;
  /** When a turn last had so much of it that others waited for that turn. */
  crowdedAtMs: number;
};

/** That the event loop was busy and idle since the process began. */
export type LoopTime = { readonly active: number; readonly idle: number };

/** That a namespace may have had more than another one that asks. */
const leadMsMax = 4;
/** Forty calls in one turn. Who is read little by little keeps nobody waiting. */
const crowdCostMin = 2_000;
/** Who was read so long ago does not ask. No rest is longer. */
const latelyMs = 250;
/** An event loop that was busy for less than half of such a stretch keeps nobody waiting. */
export const stretchMs = 3;
const busyMin = 0.5;

/**
 * Which namespaces are not read for a while. Who crowds the event loop and has had more of it than others that ask rests until they have had as much, or do
 * not use what he leaves.
 *
 *     orders     ▇▇▇▇▇▇▇▇▇▇▇▇ rests · · · · · · ▇▇▇▇▇▇▇▇ rests ·          ▇▇▇▇▇▇▇▇▇▇▇▇▇▇
 *     billing              waits ▇ ▇ ▇ ▇ ▇ ▇ ▇   waits  ▇ ▇ ▇ (nothing)
 *
 * It is a matter of time: a call that is refused costs a fraction of one that is committed, and most of either comes long after it was read. Nobody
 * can tell for whom a turn of the event loop has worked, so its time is divided among those who were read in it and in the few before.
 */
export class NamespaceShares<Connection> {
  readonly #shares = new Map<string, NamespaceShare<Connection>>();
  /** Those that were read lately. */
  readonly #asking = new Set<NamespaceShare<Connection>>();
  /** What the one of them has had that has had the least. */
  #leastMs = 0;
  #nowMs = 0;
  #turn: LoopTime;
  #stretch: LoopTime;

  constructor(loop: LoopTime) {
    this.#turn = loop;
    this.#stretch = loop;
  }

  /** Of a connection that joins it. */
  of(namespace: string): NamespaceShare<Connection> {
    const share = this.#shares.get(namespace) ?? newShare(namespace);
    this.#shares.set(namespace, share);
    return share;
  }

  leave(connection: Connection, share: NamespaceShare<Connection>): void {
    share.connections.delete(connection);
    if (share.connections.size > 0) return;
    this.#shares.delete(share.namespace);
    this.#asking.delete(share);
  }

  read(share: NamespaceShare<Connection>, cost: number): void {
    share.weight += cost;
    share.costOfTurn += cost;
    if (this.#asking.has(share)) return;
    this.#asking.add(share);
    share.workedMs = Math.max(share.workedMs, this.#leastMs);
  }

  /** Others ask too. */
  get areMany(): boolean {
    return this.#asking.size > 1;
  }

  /** A turn has ended. */
  turned(loop: LoopTime, nowMs: number): void {
    this.#nowMs = nowMs;
    this.#share(loop.active - this.#turn.active);
    this.#turn = loop;
    const [activeMs, idleMs] = [loop.active - this.#stretch.active, loop.idle - this.#stretch.idle];
    if (activeMs + idleMs < stretchMs) return;
    this.#stretch = loop;
    if (activeMs < busyMin * (activeMs + idleMs)) this.#forgive();
  }

  rests(share: NamespaceShare<Connection>): boolean {
    const isAhead = share.workedMs > this.#leastMs + leadMsMax && share.crowdedAtMs >= this.#nowMs - latelyMs;
    return isAhead && this.areMany && this.#asking.has(share);
  }

  resting(): readonly NamespaceShare<Connection>[] {
    return this.areMany ? [...this.#asking].filter((share) => this.rests(share)) : [];
  }

  #share(workMs: number): void {
    let weights = 0;
    for (const share of this.#asking) weights += share.weight;
    let leastMs = Infinity;
    for (const share of this.#asking) {
      if (share.weight > 0) share.workedMs += (workMs * share.weight) / weights;
      this.#endTurn(share);
      if (share.readAtMs < this.#nowMs - latelyMs) this.#asking.delete(share);
      else leastMs = Math.min(leastMs, share.workedMs);
    }
    if (leastMs < Infinity) this.#leastMs = leastMs;
  }

  #endTurn(share: NamespaceShare<Connection>): void {
    share.weight = share.weight < 1 ? 0 : share.weight / 2;
    if (share.costOfTurn === 0) return;
    share.readAtMs = this.#nowMs;
    if (share.costOfTurn > crowdCostMin) share.crowdedAtMs = this.#nowMs;
    share.costOfTurn = 0;
  }

  #forgive(): void {
    for (const share of this.#asking) share.workedMs = this.#leastMs;
  }
}

function newShare<Connection>(namespace: string): NamespaceShare<Connection> {
  return {
    namespace,
    connections: new Set(),
    workedMs: 0,
    weight: 0,
    costOfTurn: 0,
    readAtMs: -Infinity,
    crowdedAtMs: -Infinity,
  };
}
