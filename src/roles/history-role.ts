/** The history shards (partitions of `<prefix>.history`), and what they share in one process. */
import type { BatchOperations } from '../ports/batch-operations.ts';
import { HotState } from '../actors/history/durable/hot-state.ts';
import { HistoryShard, type ShardReport } from '../actors/history/history-shard.ts';
import { batchRunner } from '../actors/history/side-tasks/batch-steps.ts';
import { ProcessVisibility } from '../projections/list/process-visibility.ts';
import { systemClock } from '../ports/system-ports.ts';
import { oneAtATime } from '../kernel/one-at-a-time.ts';
import { type Archival, archivalOf } from '../start/archival.ts';
import { type Callbacks, callbacksOf } from '../start/callbacks.ts';
import { taskCapture } from '../start/task-capture.ts';
import { historyTopic } from '../topics/catalogue.ts';
import { historyCodec } from '../codec/history-codec.ts';
import { historyWire } from '../codec/history-wire.ts';
import { stateCodecBesideHistory } from '../codec/state-codec.ts';
import type { ClusterRole } from './cluster-role.ts';
import { OwnedPartitions } from './owned-partitions.ts';
import type { ProcessParts } from './process-parts.ts';

export class HistoryRole {
  /** The partitions; shard numbers start at 1. */
  readonly partitions: OwnedPartitions<HistoryShard>;
  readonly visibility: ProcessVisibility;
  readonly archival: Archival;
  readonly callbacks: Callbacks;

  /** `batchOperations` performs what batch jobs do to workflows, like calls of clients; undefined if batch jobs do not run. */
  constructor(parts: ProcessParts, { registry }: ClusterRole, batchOperations: () => Promise<BatchOperations> | undefined) {
    const { options, common, layout, router, census, dynamicConfig, metrics, stateLimits, checkpoints } = parts;
    const { historyShards } = layout;
    const topic = historyTopic(parts.prefix);
    this.visibility = new ProcessVisibility({ ...common, database: parts.database });
    this.callbacks = callbacksOf(dynamicConfig, metrics?.of('history'));
    const capture = taskCapture({ ...parts, cluster: registry, devFaults: options.devFaults ?? [] });
    this.archival = archivalOf({ options: options.archival, cluster: registry, router, historyShards, capture });
    const batchStep = batchRunner({ router, historyShards, operations: batchOperations, clock: systemClock });
    const shared = {
      ...common,
      topic,
      codec: historyCodec,
      wire: historyWire,
      limits: parts.historyLimits,
      registry,
      visibility: this.visibility,
      capture,
      isArchiving: this.archival.isArchiving,
      sideRunners: { ...this.archival.runners, batchStep },
      callbacks: this.callbacks.ofShards,
      ...(checkpoints === undefined ? {} : { checkpoints: { ...checkpoints, ...besideState(stateLimits) } }),
      ...(options.heap === undefined ? {} : { heap: options.heap }),
      cacheBytesMax: stateLimits.historyCacheBytesMax / historyShards,
      layout,
      router,
    };
    const shards = Array.from({ length: historyShards }, (_, partition) => {
      const shard = partition + 1;
      const host = new HistoryShard({ ...shared, shard, sink: router.history.sink(shard), onStatus: census.register(topic, partition) });
      router.history.attach(shard, host);
      return host;
    });
    this.partitions = new OwnedPartitions(shards);
  }

  get runsAside(): number {
    return this.partitions.hosts.reduce((sum, shard) => sum + shard.runsAside, 0);
  }

  report(): readonly ShardReport[] {
    return this.partitions.hosts.map((shard) => shard.report());
  }
}

function besideState({ hotStateBytesMax }: ProcessParts['stateLimits']) {
  return { stateWire: stateCodecBesideHistory, hotState: new HotState(systemClock, hotStateBytesMax), backgroundReads: oneAtATime() };
}
