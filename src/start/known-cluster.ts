/** Reads what `<prefix>.cluster` says about the cluster, without claiming it. */
import { withoutCluster } from '../actors/ownership/census.ts';
import { LogError, partitionName } from '../ports/log.ts';
import { readJournal } from './read-journal.ts';
import type { ClusterIdentity } from '../cluster/cluster-records.ts';
import { ClusterState } from '../cluster/cluster-state.ts';
import { clusterTopic } from '../topics/catalogue.ts';
import { clusterCodec } from '../codec/cluster-codec.ts';
import { decodeClaim, type Claim } from '../wire/generated/journal/claim.ts';
import type { ClaimCodec } from '../actors/ownership/effective.ts';
import type { Log, PartitionId } from '../ports/log.ts';

export type KnownCluster = {
  /** Undefined until a first start is complete: it is written once every partition has been claimed. */
  readonly identity: ClusterIdentity | undefined;
  /** The last effective claim; undefined if there was never one. */
  readonly owner: Claim | undefined;
};

/** A running server may trim the journal while it is read. */
const READINGS_MAX = 5;

export async function readKnownCluster(log: Log, prefix: string, claims: ClaimCodec): Promise<KnownCluster> {
  const partition = { topic: clusterTopic(prefix), partition: 0 };
  for (let reading = 1; ; reading++) {
    try {
      return await readOnce(log, partition, claims);
    } catch (error) {
      if (error instanceof LogError && error.code === 'out-of-range' && reading < READINGS_MAX) continue;
      if (!(error instanceof Error) || (error instanceof LogError && error.recoverable)) throw error;
      throw withoutCluster(partitionName(partition), error);
    }
  }
}

async function readOnce(log: Log, partition: PartitionId, claims: ClaimCodec): Promise<KnownCluster> {
  let state = new ClusterState();
  let owner: Claim | undefined;
  await readJournal({
    log,
    claims,
    partition,
    onCut: (start) => {
      state = new ClusterState(start);
    },
    onCounted: (record, verdict) => {
      if (verdict === 'claim') owner = decodeClaim(record.value);
      else state.evolve(clusterCodec.decode(record.value, record.schema));
    },
  });
  if (state.lacking !== undefined) throw new LogError('corrupt', `${partitionName(partition)}: ${state.lacking}`);
  return { identity: state.identity, owner };
}
