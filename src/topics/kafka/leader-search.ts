/**
 * Those who are ready to append but have no leader to send to: nobody knows who leads their partition, or the connection to it is gone.
 *
 *     add ─▶ homeless ─▶ refresh ─▶ open ─▶ ask where the journal ends ─▶ found
 *               ▲           │        │              │
 *               └── pause ──┴────────┴── no answer ─┘
 *
 * Whatever goes wrong is told and tried again, longer apart from search to search: appends that wait are unsealed, so nothing is in doubt.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { backOffMs } from '../../kernel/back-off.ts';
import { LogError, type PartitionId } from '../../ports/log.ts';
import type { LaneSlot } from '../append-lane.ts';
import type { DataPlane } from './data-plane.ts';

export type LeaderSearchOptions = {
  readonly plane: Pick<DataPlane, 'refresh' | 'open' | 'leader' | 'whyLeaderless'>;
  /** Where the journals end, as their leader says; undefined for those that it cannot answer. */
  readonly ends: (leader: number, ids: readonly PartitionId[]) => Promise<readonly (number | undefined)[]>;
  /** The leader is connected and answers for that partition. */
  readonly found: (slot: LaneSlot, leader: number) => void;
  /** Never throws. */
  readonly failed: (ids: readonly PartitionId[], error: unknown) => void;
};

const pauseMsMin = 40;
const pauseMsMax = 500;

export class LeaderSearch {
  readonly #options: LeaderSearchOptions;
  #homeless: LaneSlot[] = [];
  #searching = false;
  /** Searches in a row that left somebody without a leader: the more, the longer the pause before the next one. */
  #fruitless = 0;
  #closed = false;

  constructor(options: LeaderSearchOptions) {
    this.#options = options;
  }

  /** The slots wait, unsealed, until their leader is found. */
  add(...slots: readonly LaneSlot[]): void {
    this.#homeless.push(...slots);
    if (!this.#searching) void this.#search();
  }

  close(): void {
    this.#closed = true;
  }

  /** Searches until every ready partition has a leader to try. A leader that hangs delays only its own partitions. */
  async #search(): Promise<void> {
    const { plane, failed } = this.#options;
    this.#searching = true;
    while (this.#homeless.length > 0 && !this.#closed) {
      if (this.#fruitless > 0) await pause(backOffMs(this.#fruitless, pauseMsMin, pauseMsMax));
      try {
        await plane.refresh();
      } catch (error) {
        this.#fruitless++;
        failed(this.#homeless.map(partitionOf), error);
        continue;
      }
      const homeless = this.#homeless.filter(({ detached }) => !detached);
      this.#homeless = [];
      for (const [leader, slots] of Map.groupBy(homeless, ({ partition }) => plane.leader(partition))) void this.#settleIn(leader, slots);
    }
    this.#searching = false;
  }

  /** A new broker leads before it knows its partitions, and leaves appends in doubt: so it is asked something harmless first. */
  async #settleIn(leader: number | undefined, slots: readonly LaneSlot[]): Promise<void> {
    const { found } = this.#options;
    const ends = leader === undefined ? this.#leaderless(slots) : await this.#tried(leader, slots);
    const homeless: LaneSlot[] = [];
    for (const [index, slot] of slots.entries()) {
      if (leader !== undefined && ends[index] !== undefined) found(slot, leader);
      else homeless.push(slot);
    }
    if (homeless.length > 0) {
      this.#fruitless++;
      this.add(...homeless);
    } else if (this.#homeless.length === 0) this.#fruitless = 0;
  }

  async #tried(leader: number, slots: readonly LaneSlot[]): Promise<readonly (number | undefined)[]> {
    const { plane, ends, failed } = this.#options;
    const ids = slots.map(partitionOf);
    try {
      await plane.open(leader, 'append');
      return await ends(leader, ids);
    } catch (error) {
      failed(ids, error);
      return [];
    }
  }

  #leaderless(slots: readonly LaneSlot[]): readonly undefined[] {
    const { plane, failed } = this.#options;
    for (const { partition } of slots) failed([partition], new LogError('unavailable', plane.whyLeaderless(partition)));
    return [];
  }
}

function partitionOf({ partition }: LaneSlot): PartitionId {
  return partition;
}
