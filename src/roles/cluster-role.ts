/** The registry of namespaces, search attributes and dead letter queues (the one partition of `<prefix>.cluster`), and its followers. */
import { CLUSTER_ACTOR } from '../actors/asks/router.ts';
import { ClusterHost } from '../actors/cluster/cluster-host.ts';
import { clusterTopic } from '../topics/catalogue.ts';
import { clusterCodec } from '../codec/cluster-codec.ts';
import { OwnedPartitions } from './owned-partitions.ts';
import type { ProcessParts } from './process-parts.ts';

export class ClusterRole {
  readonly registry: ClusterHost;
  readonly partitions: OwnedPartitions<ClusterHost>;
  readonly #followers: (() => void)[] = [];

  constructor({ common, prefix, router, census }: ProcessParts) {
    const topic = clusterTopic(prefix);
    const options = {
      ...common,
      topic,
      codec: clusterCodec,
      sink: router.cluster.sink(CLUSTER_ACTOR),
      onStatus: census.register(topic, 0),
    };
    this.registry = new ClusterHost(options, () => {
      for (const follower of this.#followers) follower();
    });
    this.partitions = new OwnedPartitions([this.registry]);
    router.cluster.attach(CLUSTER_ACTOR, this.registry.actor);
  }

  /** `follower` is called when namespaces or search attributes were removed, now or before this process took over. */
  follow(follower: () => void): void {
    this.#followers.push(follower);
  }
}
