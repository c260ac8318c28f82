/**
 * Owners that the server can work without are started again after they were lost to a rival, which may be gone, or have failed, because
 * the cause may be repaired.
 *
 *     lost, failed ─▶ a pause ─▶ takes over again ┬─▶ active ─ for long ─▶ the next pause is short again
 *          ▲                                      │
 *          └──────────── a longer pause ──────────┘
 *
 * Two servers that compete for a partition take it from each other less and less often. (taken-back.ts decides about partitions that a server
 * cannot work without.)
 */
import type { PartitionStatus } from '../actors/ownership/partition-owner.ts';
import type { Clock, Timer } from '../ports/machine.ts';
import { backOffMs } from '../kernel/back-off.ts';

export type RevivalTiming = {
  readonly pauseMs: number;
  readonly pauseMsMax: number;
  /** After serving for this long, an owner starts with the first pause again. */
  readonly steadyMs: number;
};

const defaultTiming: RevivalTiming = { pauseMs: 10_000, pauseMsMax: 10 * 60_000, steadyMs: 10 * 60_000 };

export type OwnerRevivalOptions = {
  readonly clock: Pick<Clock, 'after' | 'monoMs'>;
  readonly start: () => void;
  readonly timing?: Partial<RevivalTiming>;
};

export class OwnerRevival {
  readonly #options: OwnerRevivalOptions;
  readonly #timing: RevivalTiming;
  #state: PartitionStatus['state'] | undefined;
  #activeSinceMs: number | undefined;
  #pauses = 0;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(options: OwnerRevivalOptions) {
    this.#options = options;
    this.#timing = { ...defaultTiming, ...options.timing };
  }

  told({ state }: Pick<PartitionStatus, 'state'>): void {
    if (state === this.#state) return;
    this.#state = state;
    if (state === 'active') this.#activeSinceMs = this.#options.clock.monoMs();
    if (state === 'failed' || state === 'unassigned') this.#startLater();
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #startLater(): void {
    if (this.#isStopped) return;
    const { clock, start } = this.#options;
    const { pauseMs, pauseMsMax, steadyMs } = this.#timing;
    const servedMs = this.#activeSinceMs === undefined ? 0 : clock.monoMs() - this.#activeSinceMs;
    this.#activeSinceMs = undefined;
    this.#pauses = servedMs >= steadyMs ? 1 : this.#pauses + 1;
    this.#timer = clock.after(backOffMs(this.#pauses, pauseMs, pauseMsMax), () => {
      if (!this.#isStopped) start();
    });
  }
}
