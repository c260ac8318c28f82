/**
 * Decides which of two servers continues when both claim partitions of one prefix: the one that owns the cluster's partition. A server claims that
 * partition first and the others afterwards, so a rival that takes another partition has owned the cluster's before. Either it still does, or this
 * server has taken it since:
 *
 *     a partition is lost ─▶ does this server still own the cluster's partition?
 *                              no   its claims name the rival, and this process ends (census.ts)
 *                              yes  the rival has lost the cluster's partition and ends: the partition is taken back
 *
 * The question is a read that proves ownership, so its answer is newer than the loss. Without this rule two servers that start at the same moment
 * would each take some partitions from the other, and both would end.
 */
import { isAskFailure, ownWork } from '../actors/asks/asks.ts';
import { partitionName } from '../ports/log.ts';
import { backOffMs } from '../kernel/back-off.ts';
import type { Asker } from '../actors/asks/router.ts';
import type { PartitionId } from '../ports/log.ts';
import type { ClaimInLog } from '../actors/ownership/effective.ts';
import type { Clock, Timer } from '../ports/machine.ts';
import type { Logger } from '../observability/logger.ts';

export type TakenBackOptions = {
  readonly asker: Pick<Asker, 'askCluster'>;
  readonly clock: Pick<Clock, 'after' | 'monoMs'>;
  readonly logger: Logger;
  /** Takes the partition over, like a start. */
  readonly start: (partition: PartitionId) => void;
};

const ANSWER_TIMEOUT_MS = 10_000;
/** The pause while the cluster's partition does not answer, and the first pause before a partition is taken back again. */
const PAUSE_MS = 250;
const PAUSE_MS_MAX = 10_000;

export class TakenBack {
  readonly #options: TakenBackOptions;
  /** How often each partition was lost, by name. The more often one is lost, the longer the pause before it is taken back. */
  readonly #losses = new Map<string, number>();
  readonly #timers = new Set<Timer>();
  #isStopped = false;

  constructor(options: TakenBackOptions) {
    this.#options = options;
  }

  /** Called when a rival took a partition other than the cluster's. */
  lost(partition: PartitionId, rival: ClaimInLog): void {
    const name = partitionName(partition);
    const losses = (this.#losses.get(name) ?? 0) + 1;
    this.#losses.set(name, losses);
    if (losses === 1) this.#ask(partition, rival, 1);
    else this.#later(losses - 1, () => this.#ask(partition, rival, 1));
  }

  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) timer.cancel();
    this.#timers.clear();
  }

  #ask(partition: PartitionId, rival: ClaimInLog, attempt: number): void {
    if (this.#isStopped) return;
    const { asker, clock, logger, start } = this.#options;
    asker.askCluster({ kind: 'syncCluster' }, ownWork(clock.monoMs() + ANSWER_TIMEOUT_MS), (answer) => {
      if (this.#isStopped) return;
      // The partition is no longer ours, and the process is about to end; or its broker does not answer.
      if (isAskFailure(answer)) return this.#later(attempt, () => this.#ask(partition, rival, attempt + 1));
      logger.warn('a partition is taken back: this server owns the partition of the cluster, and its rival does not', {
        partition: partitionName(partition),
        rival: rival.owner,
        epoch: rival.epoch,
        offset: rival.offset,
      });
      start(partition);
    });
  }

  #later(attempt: number, action: () => void): void {
    if (this.#isStopped) return;
    const timer = this.#options.clock.after(backOffMs(attempt, PAUSE_MS, PAUSE_MS_MAX), () => {
      this.#timers.delete(timer);
      action();
    });
    this.#timers.add(timer);
  }
}
