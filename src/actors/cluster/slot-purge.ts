/**
 * Sees to it that slots of removed search attributes can be used again.
 *
 *     searchAttributesRemoved ─▶ rows of all shards are made without it ─▶ their columns are cleared ─▶ searchAttributesPurged
 *
 * Where it stands is in the journal alone: what is removed and not purged is cleared again after a crash, by whoever owns the cluster's
 * partition then. Clearing twice harms nobody, for until the record nobody has the slot; and it is done under the fences of all shards, so a
 * process that is no owner any more clears nothing behind its successor, which may have given the slot to another attribute.
 */
import { ownWork } from '../asks/asks.ts';
import type { ClusterSnapshot } from '../../cluster/cluster-state.ts';
import type { Asker } from '../asks/router.ts';
import type { HeldJournal, SlotsLeft } from '../../projections/database-port.ts';
import type { ClockAndLogger } from '../../ports/machine.ts';
import { Rounds } from './rounds.ts';

export type SlotPurgeOptions = ClockAndLogger & {
  readonly cluster: { readonly view: Pick<ClusterSnapshot, 'position' | 'namespaces' | 'slotsToClear'> };
  /** From the rows of all shards, which are held with these fences. False: not now. Rejects with DatabaseError. */
  readonly clear: (left: SlotsLeft, held: readonly HeldJournal[]) => Promise<boolean>;
  readonly historyShards: number;
  readonly asker: Pick<Asker, 'askCluster' | 'askHistory'>;
};

const ANSWER_TIMEOUT_MS = 30_000;
const RETRY_DELAY_MS_MAX = 10_000;
const QUIET_TRIES = 12;

export function slotPurge(options: SlotPurgeOptions): Rounds {
  const { cluster, clock, logger } = options;
  const rounds: Rounds = new Rounds({
    dueInMs: () => (cluster.view.slotsToClear().size === 0 ? Infinity : 0),
    round: async () =>
      (await purgeAll(options, () => rounds.isClosed)) ? undefined : 'they were not cleared, or that could not be recorded',
    retryDelayMsMax: RETRY_DELAY_MS_MAX,
    quietTries: QUIET_TRIES,
    clock,
    logger,
    // Whoever adds attributes is told to try again later: somebody has to know why that is of no use.
    tellWaiting: (tries) => {
      const slots = [...cluster.view.slotsToClear().values()].flat().length;
      const why = 'all shards must be served here, and their database must accept writes';
      logger.warn(`slots of removed search attributes wait to be cleared: ${why}`, { slots, tries });
    },
    failed: 'the values of removed search attributes cannot be cleared yet, so their slots cannot be reused',
  });
  return rounds;
}

/** False: one of them is not cleared, or whether that is recorded is not known. */
async function purgeAll(options: SlotPurgeOptions, isClosed: () => boolean): Promise<boolean> {
  const { cluster, clear, asker, clock } = options;
  const { view } = cluster;
  for (const [namespaceId, slots] of view.slotsToClear()) {
    const namespaceIds = namespaceId === '' ? view.namespaces().map(({ id }) => id) : [namespaceId];
    const held = await heldRows(options, view.position);
    if (held === undefined || !(await clear({ namespaceIds, slots }, held)) || isClosed()) return false;
    const command = { kind: 'purgeSearchAttributes', namespaceId, slots } as const;
    const isRecorded = await new Promise<boolean>((resolve) => {
      asker.askCluster(command, ownWork(clock.monoMs() + ANSWER_TIMEOUT_MS), ({ kind }) => resolve(kind === 'done'));
    });
    if (!isRecorded) return false;
  }
  return true;
}

/** The fences of all shards, whose rows are made with so much of the registry. undefined: one of them is not served, or not so far. */
async function heldRows(
  { asker, clock, historyShards }: SlotPurgeOptions,
  registryPosition: number,
): Promise<readonly HeldJournal[] | undefined> {
  const held = Array.from({ length: historyShards }, (_, partition) => {
    return new Promise<HeldJournal | undefined>((resolve) => {
      asker.askHistory(partition + 1, { kind: 'holdRows', registryPosition }, ownWork(clock.monoMs() + ANSWER_TIMEOUT_MS), (answer) =>
        resolve(answer.kind === 'rowsHeld' ? { journal: { kind: 'history', partition }, fence: answer.fence } : undefined),
      );
    });
  });
  const known = (await Promise.all(held)).filter((each) => each !== undefined);
  return known.length === historyShards ? known : undefined;
}
