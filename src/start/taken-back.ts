/**
 * Which of two servers goes on when both claim partitions of one prefix: the one that holds the cluster's partition. A server claims that
 * partition first and the others once it has it, so a rival that takes another partition has held the cluster's before. It still does, or this
 * server has taken it since:
 *
 *     a partition is lost ─▶ is the cluster's partition still ours?
 *                              no   its claims name the rival, and this process ends (census.ts)
 *                              yes  the rival has lost the cluster's partition and ends: the partition is taken back
 *
 * The question is a read behind the barrier, so its answer is newer than the loss. Without this rule two servers that start at the same moment
 * each take some partitions from the other, and both end.
 */
import { isAskFailure } from '../actors/asks/asks.ts';
import { partitionName } from '../actors/log.ts';
import { backOffMs } from '../kernel/back-off.ts';
import type { Asker } from '../actors/asks/router.ts';
import type { PartitionId } from '../actors/log.ts';
import type { ClaimInLog } from '../actors/ownership/log-stretch.ts';
import type { Clock, Timer } from '../actors/ports.ts';
import type { Logger } from '../observability/logger.ts';

export type TakenBackOptions = {
  readonly asker: Pick<Asker, 'askCluster'>;
  readonly clock: Pick<Clock, 'after' | 'monoMs'>;
  readonly logger: Logger;
  /** Takes the partition over, as a start does. */
  readonly start: (partition: PartitionId) => void;
};

const ANSWER_TIMEOUT_MS = 10_000;
/** While the cluster's partition does not answer, and between the times that one partition is taken back. */
const PAUSE_MS = 250;
const PAUSE_MS_MAX = 10_000;

export class TakenBack {
  readonly #options: TakenBackOptions;
  /** How often each was lost, by name: something that takes a partition again and again is answered ever more rarely. */
  readonly #losses = new Map<string, number>();
  readonly #timers = new Set<Timer>();
  #isStopped = false;

  constructor(options: TakenBackOptions) {
    this.#options = options;
  }

  /** A rival took a partition that is not the cluster's. */
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
    asker.askCluster({ kind: 'syncCluster' }, clock.monoMs() + ANSWER_TIMEOUT_MS, (answer) => {
      if (this.#isStopped) return;
      // Not ours any more, and the process is about to end; or its broker is away.
      if (isAskFailure(answer)) return this.#later(attempt, () => this.#ask(partition, rival, attempt + 1));
      logger.warn('a partition is taken back: this server holds the partition of the cluster, the rival does not', {
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
