/** What the frontend needs of the rest of the server. */
import type { RunKey } from '../kernel/run-key.ts';
import type { TaskCategory } from '../history/run/task-types.ts';
import type { ArchivalPort } from '../ports/archiver.ts';
import type { ShardReport } from '../actors/history/history-shard.ts';
import type { PurgeReport } from '../actors/cluster/namespace-purge.ts';
import type { MatchingReport } from '../actors/matching/matching-host.ts';
import type { ServerCondition } from '../actors/ownership/census.ts';
import type { Database } from '../projections/database-port.ts';
import type { LoopTurns } from '../ports/loop-turns.ts';
import type { Clock } from '../ports/machine.ts';
import type { Asker, AuditAsker, JobsAsker } from '../actors/asks/router.ts';
import type { ClusterSnapshot } from '../cluster/cluster-state.ts';
import type { LetterSettings } from '../deadletters/letter-settings.ts';
import type { HistoryLimits } from '../history/run/history-limits.ts';
import type { TaskQueuePartition } from '../kernel/task-queue.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import type { WorkerRegistry } from '../workers/worker-registry.ts';
import type { LimitsOfNamespace } from './limits/namespace-limits.ts';
import type { CallbackLimits } from './validation/callbacks.ts';
import type { Logger } from '../observability/logger.ts';

export interface FrontendPorts {
  readonly clock: Pick<Clock, 'wallMs' | 'monoMs'>;
  /** Turns of the event loop: calls that compute share them with the partitions of the process. */
  readonly turns: Pick<LoopTurns, 'sliceOfCall' | 'over'>;
  readonly newId: () => string;
  /** A new UUID with its time in front: runs that start one after the other are neighbours in every index of a database. */
  readonly newRunId: () => string;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  readonly server: ServerInfo;
  readonly condition: ServerCondition;
  readonly state: () => StateReport;
  readonly limits: HistoryLimits;

  readonly asker: Asker;
  /** Absent: nobody carries out dead letter jobs. */
  readonly jobs?: JobsAsker;
  readonly audit?: AuditAsker;
  readonly deadLetterTopic: (category: string, sourceCluster: string) => string;
  /** Why a queue that this server shall have is not there, and what that means; undefined: nothing has gone wrong with it. */
  readonly whyNoQueue: (category: string, sourceCluster: string) => string | undefined;
  /** A queue of another cluster's tasks is to be there. False: it is not served yet. */
  readonly openDeadLetterQueue: (queue: { readonly category: string; readonly sourceCluster: string }) => boolean;
  readonly letterSettings: () => JobSettings;
  /** Completion callbacks: what a namespace may attach, and whether the circuit breaker of a destination is open. */
  readonly callbacks: {
    readonly limitsOf: (namespace: string) => CallbackLimits;
    readonly isBlocked: (namespaceId: string, callback: Uint8Array) => boolean;
  };
  readonly limitsOfNamespace: (namespace: string) => LimitsOfNamespace;
  readonly workers: {
    readonly registry: WorkerRegistry;
    /** Whether the workers of a namespace, by its name, are told to send heartbeats, which are kept. */
    readonly isEnabled: (namespace: string) => boolean;
    /** Whether the workers of a namespace, by its name, are told that ShutdownWorker ends their polls. */
    readonly waitForPolls: (namespace: string) => boolean;
  };
  readonly batchSettings: (namespace: string) => BatchSettings;
  readonly deletionSettings: () => { readonly graceMs: number; readonly deleteDelayMs: number };
  readonly adminSettings: () => { readonly listsHistoryTasks: boolean };
  /** A history task as Temporal stores it, as shards are asked to add it. Throws Undecodable. */
  readonly taskToAdd: (category: TaskCategory, info: Uint8Array) => { readonly key: RunKey; readonly task: Uint8Array };
  readonly historyShardOf: (namespaceId: string, workflowId: string) => number;
  readonly matchingPartitionOf: (queue: TaskQueuePartition) => number;
  /** Partitions of a normal task queue; polls may go to any of them. */
  readonly taskQueuePartitions: number;

  /** What this process has folded of the cluster's journal so far. */
  readonly cluster: ClusterSnapshot;
  readonly visibility: VisibilityStore;
  readonly archival?: ArchivalPort;
  /** At least 32 bytes, the same in every process and after every restart. */
  readonly tokenKey: () => Uint8Array;
}

/** What holds for dead letter jobs where a request says nothing. */
export type JobSettings = Pick<LetterSettings, 'mergeRps' | 'mergeConcurrency' | 'mergeTaskTimeoutMs' | 'requiresReason'>;

export type BatchSettings = {
  readonly perSecondMax: number;
  readonly concurrencyMax: number;
  /** Jobs of a namespace that run at a time. */
  readonly jobsMax: number;
  readonly executionsMax: number;
};

export type StateReport = {
  readonly memory: MemoryReport;
  readonly shards: readonly ShardReport[];
  readonly matching: readonly MatchingReport[];
  readonly purges: readonly PurgeReport[];
};

export type MemoryReport = {
  /** What of the heap and of the machine state may take. */
  readonly stateBytes: number;
  /** The limits in force, by their keys in the server file; without a database only the cache of histories has one. */
  readonly limits: {
    readonly hotStateBytesMax?: number;
    readonly historyCacheBytesMax: number;
    readonly unwrittenStateBytesMax?: number;
  };
};

export type VisibilityStore = Pick<Database, 'list' | 'count' | 'giveUp'>;

export type ServerInfo = {
  /** Semantic, 1.x: clients refuse others. */
  readonly version: string;
  readonly clusterId: string;
  readonly clusterName: string;
  /** The host of this process, with the port of its frontend: it has all partitions. */
  readonly hostName: string;
  readonly historyShards: number;
  /** What holds histories: `embedded` or `kafka`. */
  readonly persistenceStore: string;
  /** What lists workflows: `sqlite` or `postgres`. The web UI shows filters only for names that it knows. */
  readonly visibilityStore: string;
};
