/** What `<prefix>.cluster` says about the cluster, read without claiming it. */
import { readJournal } from './read-journal.ts';
import { ClusterState, type ClusterIdentity } from '../cluster/cluster-state.ts';
import { clusterTopic } from '../topics/catalogue.ts';
import { clusterCodec } from '../topics/codec/cluster-codec.ts';
import { decodeClaim, type Claim } from '../wire/generated/journal/claim.ts';
import type { ClaimCodec } from '../actors/claim.ts';
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
  await readJournal({
    log,
    claims,
    partition: { topic: clusterTopic(prefix), partition: 0 },
    onCounted: (record, verdict) => {
      if (verdict === 'claim') owner = decodeClaim(record.value);
      else state.evolve(clusterCodec.decode(record.value, record.schema));
      return 'go on';
    },
  });
  return { identity: state.identity, owner };
}
