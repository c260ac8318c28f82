/**
 * Sees to it that slots of removed search attributes can be used again.
 *
 *     searchAttributesRemoved ─▶ rows of all shards are made without it ─▶ their columns are cleared ─▶ searchAttributesPurged
 *
 * Where it stands is in the journal alone: what is removed and not purged is cleared again after a crash, by whoever owns the cluster's
 * partition then. Clearing twice harms nobody, for until the record nobody has the slot; and it is done under the fences of all shards, so a
 * process that is no owner any more clears nothing behind its successor, which may have given the slot to another attribute.
 */
import { backOffMs } from '../../kernel/back-off.ts';
import type { ClusterSnapshot } from '../../cluster/cluster-state.ts';
import type { PurgeSearchAttributes } from '../../cluster/commands.ts';
import type { Asker } from '../asks/router.ts';
import { isOutage } from '../database.ts';
import { NowAndThen } from '../now-and-then.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock, Timer } from '../ports.ts';

export type SlotPurgeOptions = {
  /** As of now. */
  readonly cluster: { readonly view: Pick<ClusterSnapshot, 'position' | 'namespaces' | 'slotsToClear'> };
  /** False: not now. Rejects with DatabaseError. */
  readonly clear: (left: {
    readonly namespaceIds: readonly string[];
    readonly slots: readonly string[];
    readonly registryPosition: number;
  }) => Promise<boolean>;
  readonly asker: Pick<Asker, 'askCluster'>;
  readonly clock: Clock;
  readonly logger: Logger;
};

const ANSWER_TIMEOUT_MS = 30_000;
const RETRY_DELAY_MS = 50;
const RETRY_DELAY_MS_MAX = 10_000;
const WARN_INTERVAL_MS = 60_000;
/** At a start, and after a move, shards are not served for a moment. With the pauses between them, these take about 50 s. */
const QUIET_TRIES = 12;

export class SlotPurge {
  readonly #options: SlotPurgeOptions;
  readonly #warnings: NowAndThen;
  #timer: Timer | undefined;
  #isRunning = false;
  #isClosed = false;
  /** One after the other. */
  #failures = 0;

  constructor(options: SlotPurgeOptions) {
    this.#options = options;
    this.#warnings = new NowAndThen(options.clock, WARN_INTERVAL_MS);
  }

  /** Attributes may have been removed. Cheap where there is nothing to do. */
  look(): void {
    if (this.#isRunning || this.#isClosed || this.#options.cluster.view.slotsToClear().size === 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#isRunning = true;
    void this.#run();
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  async #run(): Promise<void> {
    const isDone = await this.#purgeAll();
    this.#isRunning = false;
    if (this.#isClosed) return;
    this.#failures = isDone ? 0 : this.#failures + 1;
    this.#tellWaiting();
    // Others were removed meanwhile.
    if (isDone) this.look();
    else this.#timer = this.#options.clock.after(backOffMs(this.#failures, RETRY_DELAY_MS, RETRY_DELAY_MS_MAX), () => this.look());
  }

  async #purgeAll(): Promise<boolean> {
    const { view } = this.#options.cluster;
    for (const [namespaceId, slots] of view.slotsToClear()) {
      if (!(await this.#purge(namespaceId, slots, view))) return false;
    }
    return true;
  }

  async #purge(namespaceId: string, slots: readonly string[], view: SlotPurgeOptions['cluster']['view']): Promise<boolean> {
    const { clear } = this.#options;
    const namespaceIds = namespaceId === '' ? view.namespaces().map(({ id }) => id) : [namespaceId];
    try {
      if (!(await clear({ namespaceIds, slots, registryPosition: view.position })) || this.#isClosed) return false;
      return await this.#recorded({ kind: 'purgeSearchAttributes', namespaceId, slots });
    } catch (error) {
      this.#failed(error);
      return false;
    }
  }

  /** False: whether it is recorded is not known. */
  #recorded(command: PurgeSearchAttributes): Promise<boolean> {
    const { asker, clock } = this.#options;
    return new Promise((resolve) => {
      asker.askCluster(command, clock.monoMs() + ANSWER_TIMEOUT_MS, ({ kind }) => resolve(kind === 'done'));
    });
  }

  /** Whoever adds attributes is told to try again later: somebody has to know why that is of no use. */
  #tellWaiting(): void {
    if (this.#failures < QUIET_TRIES || !this.#warnings.now()) return;
    const slots = [...this.#options.cluster.view.slotsToClear().values()].flat().length;
    const why = 'all shards have to be served here, and their database has to take what is written';
    this.#options.logger.warn(`slots of removed search attributes wait to be cleared: ${why}`, { slots, tries: this.#failures });
  }

  #failed(error: unknown): void {
    if (this.#isClosed || isOutage(error) || !this.#warnings.now()) return;
    const problem = error instanceof Error ? error : String(error);
    this.#options.logger.warn('what removed search attributes have left cannot be cleared, and their slots wait', { error: problem });
  }
}
