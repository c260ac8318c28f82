/**
 * What is looked at before the first claim. A claim takes the partition from whoever serves it, so a start that will be refused must be
 * refused here, where it has changed nothing and harmed nobody.
 *
 *     topics there ─▶ identity ─▶ layout ─▶ journals whole ─▶ whoever claimed last is gone ─▶ database ours, and not behind them ─▶ claims
 */
import { isOutage } from '../actors/database.ts';
import { clusterTopic, historyTopic, matchingTopic } from '../topics/catalogue.ts';
import { readKnownCluster, type KnownCluster } from './known-cluster.ts';
import { ignoredPartitions } from './layout.ts';
import { ClusterDatabase, type CheckpointedJournal } from './cluster-database.ts';
import { waitForPreviousOwner } from './previous-owner.ts';
import { checkWholeJournals } from './whole-journals.ts';
import { newerState } from '../actors/history/durable/history-checkpoints.ts';
import { newerBacklog } from '../actors/matching/matching-checkpoints.ts';
import type { ClaimCodec } from '../actors/ownership/claim.ts';
import type { PartitionId } from '../actors/log.ts';
import type { ServerOptions } from '../config/server-options.ts';
import type { OpenLog } from './open-log.ts';
import type { OpenState } from './open-state.ts';

export type StartToInspect = {
  readonly log: OpenLog;
  /** undefined: there is no database. */
  readonly state: OpenState | undefined;
  readonly claims: ClaimCodec;
  readonly options: Pick<ServerOptions, 'clusterName' | 'historyShards' | 'matchingPartitions' | 'logger' | 'onProgress'>;
};

export type Inspected = {
  readonly known: KnownCluster;
  /** Of `state`: found to be this cluster's, or looked at again when it answers. */
  readonly state: ClusterDatabase | undefined;
};

/** Throws LogError or DatabaseError with what is wrong and what mends it, or AnotherServerError. */
export async function inspectBeforeClaiming({ log: opened, state, claims, options }: StartToInspect): Promise<Inspected> {
  const { log, topics, prefix } = opened;
  const known = await readKnownCluster(log, prefix, claims);
  for (const { topic, found, served } of ignoredPartitions({ prefix, identity: known.identity, configured: options, topics })) {
    options.logger.warn('partitions that somebody added are ignored: the cluster was made with fewer, for ever', { topic, found, served });
  }
  const journals = checkpointedJournals(prefix, options);
  const partitions = journals.map(({ partition }) => partition);
  await checkWholeJournals({ log, claims, known, partitions, clusterTopic: clusterTopic(prefix) });
  // Where nobody else can append, nobody else can serve.
  if (known.owner !== undefined && !log.exclusive) await waitForPreviousOwner(known.owner, prefix, options.logger);
  return { known, state: state === undefined ? undefined : await inspectState(state, opened, known, journals, options) };
}

const PROGRESS_INTERVAL_MS = 5_000;
const LONG_WORK_MS = 10_000;
const longWork =
  'the database is looked at still: tables of an older version are brought up to date first, which takes minutes where they are large';

async function inspectState(
  { database, isNew, mayComeBack }: OpenState,
  { log, name }: OpenLog,
  { identity }: KnownCluster,
  journals: readonly CheckpointedJournal[],
  { logger, onProgress = () => {} }: StartToInspect['options'],
): Promise<ClusterDatabase> {
  const state = new ClusterDatabase({ database, isNew, logName: name, clusterId: identity?.clusterId });
  // Each wait for a database has an end of its own, but that for older tables which are brought up to date: a start that works on them is not stuck.
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

/** Of workflows and task queues. */
export function checkpointedJournals(
  prefix: string,
  { historyShards, matchingPartitions }: Pick<ServerOptions, 'historyShards' | 'matchingPartitions'>,
): readonly CheckpointedJournal[] {
  return [
    ...Array.from({ length: historyShards }, (_, partition) =>
      journalOf('history', { topic: historyTopic(prefix), partition }, newerState),
    ),
    ...Array.from({ length: matchingPartitions }, (_, partition) =>
      journalOf('matching', { topic: matchingTopic(prefix), partition }, newerBacklog),
    ),
  ];
}

function journalOf(kind: 'history' | 'matching', partition: PartitionId, newer: CheckpointedJournal['newer']): CheckpointedJournal {
  return { journal: { kind, partition: partition.partition }, partition, newer };
}
