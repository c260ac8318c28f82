/**
 * Sees to it that slots of removed search attributes can be used again.
 *
 *     searchAttributesRemoved ─▶ rows of all shards are made without it ─▶ their columns are cleared ─▶ searchAttributesPurged
 *
 * Where it stands is in the journal alone: what is removed and not purged is cleared again after a crash, by whoever owns the cluster's
 * partition then. Clearing twice harms nobody, for until the record nobody has the slot; and it is done under the fences of all shards, so a
 * process that is no owner any more clears nothing behind its successor, which may have given the slot to another attribute.
 */
import type { ClusterSnapshot } from '../../cluster/cluster-state.ts';
import type { PurgeSearchAttributes } from '../../cluster/commands.ts';
import type { Asker } from '../asks/router.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../ports.ts';
import { Rounds } from './rounds.ts';

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
const RETRY_DELAY_MS_MAX = 10_000;
const QUIET_TRIES = 12;

export class SlotPurge {
  readonly #options: SlotPurgeOptions;
  readonly #rounds: Rounds;

  constructor(options: SlotPurgeOptions) {
    this.#options = options;
    this.#rounds = new Rounds({
      dueInMs: () => (options.cluster.view.slotsToClear().size === 0 ? Infinity : 0),
      round: async () => ((await this.#purgeAll()) ? undefined : 'they are not cleared, or that is not recorded'),
      retryDelayMsMax: RETRY_DELAY_MS_MAX,
      quietTries: QUIET_TRIES,
      clock: options.clock,
      logger: options.logger,
      tellWaiting: (tries) => this.#tellWaiting(tries),
      failed: 'what removed search attributes have left cannot be cleared, and their slots wait',
    });
  }

  /** Attributes may have been removed. Cheap where there is nothing to do. */
  look(): void {
    this.#rounds.look();
  }

  close(): void {
    this.#rounds.close();
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
    if (!(await clear({ namespaceIds, slots, registryPosition: view.position })) || this.#rounds.isClosed) return false;
    return await this.#recorded({ kind: 'purgeSearchAttributes', namespaceId, slots });
  }

  /** False: whether it is recorded is not known. */
  #recorded(command: PurgeSearchAttributes): Promise<boolean> {
    const { asker, clock } = this.#options;
    return new Promise((resolve) => {
      asker.askCluster(command, clock.monoMs() + ANSWER_TIMEOUT_MS, ({ kind }) => resolve(kind === 'done'));
    });
  }

  /** Whoever adds attributes is told to try again later: somebody has to know why that is of no use. */
  #tellWaiting(tries: number): void {
    const slots = [...this.#options.cluster.view.slotsToClear().values()].flat().length;
    const why = 'all shards have to be served here, and their database has to take what is written';
    this.#options.logger.warn(`slots of removed search attributes wait to be cleared: ${why}`, { slots, tries });
  }
}
