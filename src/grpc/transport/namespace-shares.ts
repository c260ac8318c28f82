/** The connections whose calls have named one namespace last. Those that have named none yet have one share together. */
export type NamespaceShare<Connection> = {
  readonly namespace: string;
  readonly connections: Set<Connection>;
  /** Milliseconds that the event loop has worked for it. Never less than the least of those that ask when it begins to ask. */
  workedMs: number;
  /** How much was read lately: most of the work for a call comes in later turns. */
  weight: number;
  costOfTurn: number;
  readAtMs: number;
  /** When it last took more than `crowdCostMin` of one turn. */
  crowdedAtMs: number;
};

/** Milliseconds that the event loop was busy, and idle, since the process began. */
export type LoopTime = { readonly active: number; readonly idle: number };

/** A namespace may be ahead of another one that asks by so much. */
const leadMsMax = 4;
/** Forty calls in one turn. What is read little by little keeps nobody waiting. */
const crowdCostMin = 2_000;
/** A namespace that was read so long ago does not ask. No rest is longer. */
const latelyMs = 250;
/** What is left of a weight from turn to turn: thousands of calls that came at once are dealt with in some dozens of turns. */
const weightKept = 0.96;
/** An event loop that was busy for less than half of such a stretch keeps nobody waiting. */
export const stretchMs = 3;
const busyMin = 0.5;

/**
 * Which namespaces are not read for a while. One that crowds the event loop, and has had more of it than others that ask, rests until the others have had as
 * much or leave the event loop idle.
 *
 *     orders     ▇▇▇▇▇▇▇▇▇▇▇▇ rests · · · · · · ▇▇▇▇▇▇▇▇ rests ·          ▇▇▇▇▇▇▇▇▇▇▇▇▇▇
 *     billing              waits ▇ ▇ ▇ ▇ ▇ ▇ ▇   waits  ▇ ▇ ▇ (nothing)
 *
 * It is a matter of time: a call that is refused costs a fraction of one that is committed, and most of either comes long after it was read. Nobody
 * can tell for whom a turn of the event loop has worked, so its time is divided among those that were read in it and in the few before.
 *
 * For connections that have named no namespace yet nobody rests: each begins with such a call, and so do probes of health.
 */
export class NamespaceShares<Connection> {
  readonly #shares = new Map<string, NamespaceShare<Connection>>();
  /** Namespaces that were read lately. One whose connections have gone stays for as long: it may come back, and is no newcomer then. */
  readonly #asking = new Set<NamespaceShare<Connection>>();
  /** How many namespaces of those that were read lately others rest for. */
  #others = 0;
  /** The least time that any namespace has had for which others rest. */
  #leastMs = 0;
  #nowMs = 0;
  #turn: LoopTime;
  #stretch: LoopTime;

  constructor(loop: LoopTime) {
    this.#turn = loop;
    this.#stretch = loop;
  }

  of(namespace: string): NamespaceShare<Connection> {
    const share = this.#shares.get(namespace) ?? newShare(namespace);
    this.#shares.set(namespace, share);
    return share;
  }

  leave(connection: Connection, share: NamespaceShare<Connection>): void {
    const wasOther = this.#isOther(share);
    share.connections.delete(connection);
    if (share.connections.size > 0) return;
    if (!this.#asking.has(share)) this.#shares.delete(share.namespace);
    else if (wasOther) this.#others -= 1;
  }

  read(share: NamespaceShare<Connection>, cost: number): void {
    share.weight += cost;
    share.costOfTurn += cost;
    if (this.#asking.has(share)) return;
    this.#asking.add(share);
    if (this.#isOther(share)) this.#others += 1;
    share.workedMs = Math.max(share.workedMs, this.#leastMs);
  }

  isBesideOthers(share: NamespaceShare<Connection>): boolean {
    return this.#others > (this.#asking.has(share) && this.#isOther(share) ? 1 : 0);
  }

  #isOther({ namespace, connections }: NamespaceShare<Connection>): boolean {
    return namespace !== '' && connections.size > 0;
  }

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
    return isAhead && this.#asking.has(share) && this.isBesideOthers(share);
  }

  resting(): readonly NamespaceShare<Connection>[] {
    return this.#others > 0 ? [...this.#asking].filter((share) => this.rests(share)) : [];
  }

  #share(workMs: number): void {
    let weights = 0;
    for (const share of this.#asking) weights += share.weight;
    let leastMs = Infinity;
    this.#others = 0;
    for (const share of this.#asking) {
      if (share.weight > 0) share.workedMs += (workMs * share.weight) / weights;
      this.#endTurn(share);
      if (share.readAtMs < this.#nowMs - latelyMs) this.#forget(share);
      else if (this.#isOther(share)) {
        this.#others += 1;
        leastMs = Math.min(leastMs, share.workedMs);
      }
    }
    if (leastMs < Infinity) this.#leastMs = leastMs;
    // Nobody rests for it, so it saves nothing up.
    const unnamed = this.#shares.get('');
    if (unnamed !== undefined) unnamed.workedMs = Math.max(unnamed.workedMs, this.#leastMs);
  }

  #endTurn(share: NamespaceShare<Connection>): void {
    share.weight = share.weight < 1 ? 0 : share.weight * weightKept;
    if (share.costOfTurn === 0) return;
    share.readAtMs = this.#nowMs;
    if (share.costOfTurn > crowdCostMin) share.crowdedAtMs = this.#nowMs;
    share.costOfTurn = 0;
  }

  #forget(share: NamespaceShare<Connection>): void {
    this.#asking.delete(share);
    if (share.connections.size === 0) this.#shares.delete(share.namespace);
  }

  #forgive(): void {
    for (const share of this.#asking) share.workedMs = Math.min(share.workedMs, this.#leastMs);
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
