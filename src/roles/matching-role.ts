/** The matching hosts, one for each partition of `<prefix>.matching`. */
import { MatchingHost, type MatchingReport } from '../actors/matching/matching-host.ts';
import { windowLimitsOf } from '../matching/matching-limits.ts';
import { matchingTopic } from '../topics/catalogue.ts';
import { matchingCodec } from '../codec/matching-codec.ts';
import { matchingStateCodec } from '../codec/matching-state-codec.ts';
import { OwnedPartitions } from './owned-partitions.ts';
import type { ProcessParts } from './process-parts.ts';

export class MatchingRole {
  readonly partitions: OwnedPartitions<MatchingHost>;

  constructor({ common, prefix, layout, router, census, share, checkpoints }: ProcessParts) {
    const topic = matchingTopic(prefix);
    const { matchingPartitions, taskQueuePartitions } = layout;
    const shared = {
      ...common,
      topic,
      codec: matchingCodec,
      matchingPartitions,
      taskQueuePartitions,
      limits: windowLimitsOf(share),
      ...(checkpoints === undefined ? {} : { checkpoints: { ...checkpoints, stateWire: matchingStateCodec } }),
      router,
    };
    const hosts = Array.from({ length: matchingPartitions }, (_, partition) => {
      const host = new MatchingHost({
        ...shared,
        partition,
        sink: router.matching.sink(partition),
        onStatus: census.register(topic, partition),
      });
      router.matching.attach(partition, host.actor);
      return host;
    });
    this.partitions = new OwnedPartitions(hosts);
  }

  /** Ends open polls, empty or with the task that is being started for them. */
  endPolls(): void {
    for (const host of this.partitions.hosts) host.endPolls();
  }

  report(): readonly MatchingReport[] {
    return this.partitions.hosts.map((host) => host.report());
  }
}
