/**
 * One lane per broker, for the appends of all partitions that it leads.
 *
 *     route ─▶ lane of the leader ─ setImmediate ─▶ may it append? ─▶ seal … seal ─▶ one request
 *       ▲ └─ none, or no connection ─▶ leader search      │
 *       └───────────────── not over this connection ──────┘
 *
 * Whoever is to append over another connection than last time looks at its tail before: records may be gone (rule T6).
 */
import { AppendLane, type LaneSlot, type SendBatches } from '../append-lane.ts';
import type { DataPlane } from './data-plane.ts';
import type { LeaderSearch } from './leader-search.ts';

export type BrokerLanesOptions = {
  readonly plane: DataPlane;
  readonly search: Pick<LeaderSearch, 'add'>;
  readonly produce: (nodeId: number, ...request: Parameters<SendBatches>) => void;
};

export class BrokerLanes {
  readonly #options: BrokerLanesOptions;
  readonly #lanes = new Map<number, AppendLane>();
  /** The connection on which everybody in a broker's lane was placed. */
  readonly #connections = new Map<number, string>();
  /** Brokers whose lanes wait because the quota is used up. */
  readonly #resting = new Set<number>();

  constructor(options: BrokerLanesOptions) {
    this.#options = options;
  }

  route(slot: LaneSlot): void {
    const { plane, search } = this.#options;
    const leader = plane.leader(slot.partition);
    if (leader === undefined || !plane.connected(leader, 'append')) search.add(slot);
    else this.place(slot, leader);
  }

  /** Tells it when its way leads over another connection than last time. */
  place(slot: LaneSlot, leader: number): void {
    const connection = this.#options.plane.connectionName(leader);
    const moved = slot.connection !== '' && slot.connection !== connection;
    slot.connection = connection;
    if (moved) slot.source.reconnected?.();
    this.#lane(leader).enqueue(slot);
  }

  #lane(nodeId: number): AppendLane {
    const existing = this.#lanes.get(nodeId);
    if (existing !== undefined) return existing;
    const lane = new AppendLane(
      (...request) => this.#options.produce(nodeId, ...request),
      () => this.#mayAppend(nodeId, lane),
    );
    this.#lanes.set(nodeId, lane);
    return lane;
  }

  /** Called before anything is sealed. Without a connection the lane's partitions look for their leaders again; a quota is waited out. */
  #mayAppend(nodeId: number, lane: AppendLane): boolean {
    const { plane, search } = this.#options;
    if (!plane.connected(nodeId, 'append')) {
      const waiting = lane.drain();
      for (const { partition } of waiting) plane.forget(partition);
      search.add(...waiting);
      return false;
    }
    if (this.#rests(nodeId, lane)) return false;
    const connection = plane.connectionName(nodeId);
    if (this.#connections.get(nodeId) === connection) return true;
    // Another connection than the one by which the last request went: somebody may have waited here since before it was made.
    this.#connections.set(nodeId, connection);
    for (const slot of lane.drain()) if (!slot.detached) this.route(slot);
    return false;
  }

  /** A throttled broker stops reading: a batch that was sent meanwhile would time out, and be in doubt. */
  #rests(nodeId: number, lane: AppendLane): boolean {
    const waitMs = this.#options.plane.throttledForMs(nodeId, 'append');
    if (waitMs === 0) return false;
    if (!this.#resting.has(nodeId)) {
      this.#resting.add(nodeId);
      setTimeout(() => {
        this.#resting.delete(nodeId);
        lane.resume();
      }, waitMs).unref();
    }
    return true;
  }
}
