/**
 * Checks that the journals belong to one cluster. Every partition is claimed before the cluster gets its identity, and only claims are
 * written before that, so two states are possible only after a loss:
 *
 *     identity known,  a partition empty         its topic was deleted and created again
 *     no identity,     a partition with records  the cluster's topic was
 *
 * A start that continued would silently serve an empty cluster in place of one that lost its workflows.
 */
import { LogError, partitionName } from '../ports/log.ts';
import { readJournal } from './read-journal.ts';
import type { Census } from '../actors/ownership/census.ts';
import type { ClaimCodec } from '../actors/ownership/effective.ts';
import type { Log, PartitionId } from '../ports/log.ts';
import type { KnownCluster } from './known-cluster.ts';

export type JournalsToCheck = {
  readonly log: Log;
  readonly claims: ClaimCodec;
  readonly known: KnownCluster;
  /** The partitions of workflows and task queues, without the cluster's own. */
  readonly partitions: readonly PartitionId[];
  readonly clusterTopic: string;
};

/** Throws LogError `corrupt`, which says what is missing. */
export async function checkWholeJournals(check: JournalsToCheck): Promise<void> {
  const { log, known, partitions } = check;
  const ends = await Promise.all(partitions.map((id) => log.end(id)));
  if (known.identity === undefined) {
    await Promise.all(partitions.map(async (id, index) => (ends[index] === 0 ? undefined : await onlyClaims(check, id))));
    return;
  }
  const empty = partitions.filter((_, index) => ends[index] === 0).map(partitionName);
  if (empty.length === 0) return;
  throw new LogError(
    'corrupt',
    `${empty.join(', ')} ${empty.length === 1 ? 'is' : 'are'} empty, though the cluster "${known.identity.clusterName}" has served from ` +
      `there: the topic was deleted and created again, and what it held is gone. ${wayOut}`,
  );
}

async function onlyClaims({ log, claims, clusterTopic }: JournalsToCheck, partition: PartitionId): Promise<void> {
  const served = (what: string): LogError =>
    new LogError(
      'corrupt',
      `${partitionName(partition)} ${what}, but ${clusterTopic} knows of no cluster: it was ` +
        `deleted and created again, and namespaces, search attributes and the key of task tokens are gone. ${wayOut}`,
    );
  const { start } = await log.bounds(partition);
  if (start > 0) throw served(`starts at offset ${start}, as a journal that was trimmed behind a checkpoint does`);
  await readJournal({
    log,
    partition,
    claims,
    onCounted: (record, verdict) => {
      if (verdict === 'claim') return;
      throw served(`holds records (${record.type} at offset ${record.offset})`);
    },
  });
}

/** Before the identity is written, for later starts would take an empty partition for a lost one. Throws if a first start serves not all. */
export function checkFirstStart(census: Pick<Census, 'neverActive'>): void {
  const [first, ...others] = census.neverActive();
  if (first === undefined) return;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  throw new Error(
    `a first start needs every partition, but ${first.partition}${more} cannot be served: ${first.reason === '' ? `it is ${first.state}` : first.reason}`,
  );
}

const wayOut =
  'Restore the topic; or start a new cluster under another perdure.kafka.topicPrefix; or, if all workflows may go, delete the topics of this prefix';
