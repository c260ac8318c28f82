/**
 * A claim takes the partition from the server that owns it, so a start that will be refused must be refused before it has changed anything.
 *
 *     topics exist ─▶ identity ─▶ layout ─▶ journals complete ─▶ previous owner gone ─▶ database fits ─▶ claims
 */
import { isOutage } from '../projections/database-port.ts';
import { clusterTopic, historyTopic, matchingTopic } from '../topics/catalogue.ts';
import { readKnownCluster, type KnownCluster } from './known-cluster.ts';
import { ignoredPartitions } from './layout.ts';
import { ClusterDatabase, type CheckpointedJournal } from './cluster-database.ts';
import { waitForPreviousOwner } from './previous-owner.ts';
import { checkWholeJournals } from './whole-journals.ts';
import type { ClaimCodec } from '../actors/ownership/effective.ts';
import type { PartitionId } from '../ports/log.ts';
import type { ServerOptions } from '../config/server-options.ts';
import type { OpenLog } from './open-log.ts';
import type { OpenState } from './open-state.ts';

export type StartToInspect = {
  readonly log: OpenLog;
  /** Undefined if there is no database. */
  readonly state: OpenState | undefined;
  readonly claims: ClaimCodec;
  readonly options: Pick<ServerOptions, 'clusterName' | 'historyShards' | 'matchingPartitions' | 'logger' | 'onProgress'>;
};

export type Inspected = {
  readonly known: KnownCluster;
  /** The database of `state`; it is this cluster's, or is checked again when it answers. */
  readonly state: ClusterDatabase | undefined;
};

/** Throws LogError or DatabaseError, with what is wrong and how to repair it, or AnotherServerError. */
export async function inspectBeforeClaiming({ log: opened, state, claims, options }: StartToInspect): Promise<Inspected> {
  const { log, topics, prefix } = opened;
  const known = await readKnownCluster(log, prefix, claims);
  for (const { topic, found, served } of ignoredPartitions({ prefix, identity: known.identity, configured: options, topics })) {
    options.logger.warn('partitions that were added to a topic are ignored: the number of partitions of a cluster never changes', {
      topic,
      found,
      served,
    });
  }
  const journals = checkpointedJournals(prefix, options);
  const partitions = journals.map(({ partition }) => partition);
  await checkWholeJournals({ log, claims, known, partitions, clusterTopic: clusterTopic(prefix) });
  // If nobody else can append, nobody else can serve.
  if (known.owner !== undefined && !log.exclusive) await waitForPreviousOwner(known.owner, prefix, options.logger);
  return { known, state: state === undefined ? undefined : await inspectState(state, opened, known, journals, options) };
}

const PROGRESS_INTERVAL_MS = 5_000;
const LONG_WORK_MS = 10_000;
const longWork = 'the database is still being checked: tables of an older version are migrated first, which takes minutes for large tables';

async function inspectState(
  { database, isNew, mayComeBack }: OpenState,
  { log, name }: OpenLog,
  { identity }: KnownCluster,
  journals: readonly CheckpointedJournal[],
  { logger, onProgress = () => {} }: StartToInspect['options'],
): Promise<ClusterDatabase> {
  const state = new ClusterDatabase({ database, isNew, logName: name, clusterId: identity?.clusterId });
  // Waits for a database have their own limits, except a migration of tables: a start that works on one is not stuck.
  const working = setInterval(onProgress, PROGRESS_INTERVAL_MS);
  const told = setTimeout(() => logger.info(longWork, { database: database.name }), LONG_WORK_MS);
  try {
    await state.checkOwner();
    await state.checkJournals(log, journals);
    await state.makeOurs();
  } catch (error) {
    if (!mayComeBack || !isOutage(error)) throw error;
    logger.warn('the database does not answer: no workflow is served until it does', { reason: error.message });
  } finally {
    clearInterval(working);
    clearTimeout(told);
  }
  return state;
}

export function checkpointedJournals(
  prefix: string,
  { historyShards, matchingPartitions }: Pick<ServerOptions, 'historyShards' | 'matchingPartitions'>,
): readonly CheckpointedJournal[] {
  return [
    ...Array.from({ length: historyShards }, (_, partition) => journalOf('history', { topic: historyTopic(prefix), partition })),
    ...Array.from({ length: matchingPartitions }, (_, partition) => journalOf('matching', { topic: matchingTopic(prefix), partition })),
  ];
}

function journalOf(kind: 'history' | 'matching', partition: PartitionId): CheckpointedJournal {
  return { journal: { kind, partition: partition.partition }, partition };
}
