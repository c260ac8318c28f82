/** What the roles of one process share. Each role gets all of it, so that something that all of them need is added only here. */
import type { Router } from '../actors/asks/router.ts';
import type { CheckpointOptions } from '../projections/checkpoints/partition-checkpoints.ts';
import type { ClusterLayout } from '../actors/history/transfer/transfer-shard.ts';
import type { LoopTurns } from '../ports/loop-turns.ts';
import type { Census } from '../actors/ownership/census.ts';
import type { ActorOptions } from '../actors/partition/partition-actor.ts';
import type { DynamicConfig } from '../config/dynamic-config.ts';
import type { ServerOptions, StateLimits } from '../config/server-options.ts';
import type { HistoryLimits } from '../history/run/history-limits.ts';
import type { MetricsRegistry } from '../observability/metrics/metrics.ts';
import type { ClusterDatabase } from '../start/cluster-database.ts';
import type { OpenLog } from '../start/open-log.ts';

export type ProcessParts = {
  readonly options: ServerOptions;
  /** Options of every actor: clock, log, limits. */
  readonly common: CommonOptions;
  readonly prefix: string;
  readonly layout: ClusterLayout;
  readonly router: Router;
  readonly census: Census;
  readonly dynamicConfig: DynamicConfig;
  readonly metrics: MetricsRegistry | undefined;
  readonly node: string;
  /** The factor for limits on a machine with little memory: 1 or less. */
  readonly share: number;
  readonly stateLimits: StateLimits;
  readonly historyLimits: HistoryLimits;
  /** The database with the rows of List. Without a database for state it is in memory, and its thread starts with the first write or list. */
  readonly database: ClusterDatabase['database'];
  /** Undefined if state is only in memory and in the journals. */
  readonly checkpoints: CheckpointOptions | undefined;
};

type CommonOptions = Required<Omit<ActorOptions<never, never>, 'topic' | 'codec' | 'sink' | 'onStatus'>> & {
  readonly log: OpenLog['log'];
  readonly turns: LoopTurns;
};
