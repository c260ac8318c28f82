import { partitionName, type PartitionId } from '../../actors/log.ts';
import type { Logger } from '../../observability/logger.ts';
import { OutageReport, steadyWallMs } from '../../observability/outage-report.ts';

/** Whoever waits for Kafka tries again much sooner than this. */
const abandonedAfterMs = 20_000;

/** `brokers`: as they advertise themselves. */
export function kafkaOutages(logger: Logger, brokers: () => string, nowMs = steadyWallMs): OutageReport<PartitionId> {
  return new OutageReport({
    logger,
    nowMs,
    nameOf: partitionName,
    abandonedAfterMs,
    messages: {
      waits: 'partitions wait for Kafka',
      over: 'Kafka serves all partitions again',
      nobodyAsks: 'no partition asks Kafka any more',
    },
    details: () => ({ brokers: brokers() }),
  });
}
