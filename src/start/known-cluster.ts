/** What `<prefix>.cluster` says about the cluster, read without claiming it. */
import { withoutCluster } from '../actors/ownership/census.ts';
import { LogError, partitionName } from '../actors/log.ts';
import { readJournal } from './read-journal.ts';
import { ClusterState, type ClusterIdentity } from '../cluster/cluster-state.ts';
import { clusterTopic } from '../topics/catalogue.ts';
import { clusterCodec } from '../topics/codec/cluster-codec.ts';
import { decodeClaim, type Claim } from '../wire/generated/journal/claim.ts';
import type { ClaimCodec } from '../actors/ownership/claim.ts';
import type { Log } from '../actors/log.ts';

export type KnownCluster = {
  /** Undefined until a first start has gone through: it is written when every partition has been claimed once. */
  readonly identity: ClusterIdentity | undefined;
  /** The last claim that counts; undefined when nobody has ever claimed. */
  readonly owner: Claim | undefined;
};

export async function readKnownCluster(log: Log, prefix: string, claims: ClaimCodec): Promise<KnownCluster> {
  const state = new ClusterState();
  let owner: Claim | undefined;
  const partition = { topic: clusterTopic(prefix), partition: 0 };
  try {
    await readJournal({
      log,
      claims,
      partition,
      onCounted: (record, verdict) => {
        if (verdict === 'claim') owner = decodeClaim(record.value);
        else state.evolve(clusterCodec.decode(record.value, record.schema));
      },
    });
  } catch (error) {
    if (!(error instanceof Error) || (error instanceof LogError && error.recoverable)) throw error;
    throw withoutCluster(partitionName(partition), error);
  }
  return { identity: state.identity, owner };
}
