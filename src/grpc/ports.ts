/**
 * What the frontend needs of the rest of the server. Its handlers translate: a request becomes a command for one actor, a reply becomes
 * an answer. They keep no state, know no partition and never touch a log.
 */
import type { RunKey } from '../kernel/run-key.ts';
import type { TaskCategory } from '../history/hand-over/task-types.ts';
import type { ArchivalPort } from '../actors/archiver.ts';
import type { RebuildAnswer, ShardReport } from '../actors/history/shard-report.ts';
import type { PurgeReport } from '../actors/cluster/namespace-purge.ts';
import type { MatchingReport } from '../actors/matching/matching-report.ts';
import type { ServerCondition } from '../actors/ownership/census.ts';
import type { Database } from '../actors/database.ts';
import type { LoopTurns } from '../actors/loop-turns.ts';
import type { Clock } from '../actors/ports.ts';
import type { AskFailure } from '../actors/asks/asks.ts';
import type { Asker, AuditAsker } from '../actors/asks/router.ts';
import type { ClusterSnapshot } from '../cluster/cluster-state.ts';
import type { JobsRejected, JobsReplyTo, JobsRequest } from '../deadletters/jobs/commands.ts';
import type { LetterSettings } from '../deadletters/letter-settings.ts';
import type { HistoryLimits } from '../history/limits.ts';
import type { TaskQueuePartition } from '../matching/task-queue.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import type { WorkerRegistry } from '../workers/worker-registry.ts';
import type { LimitsOfNamespace } from './limits/namespace-limits.ts';
import type { CallbackLimits } from './validation/callbacks.ts';
import type { Logger } from '../observability/logger.ts';

export interface FrontendPorts {
  readonly clock: Pick<Clock, 'wallMs' | 'monoMs'>;
  /** Of the process: calls that compute share them with its partitions. */
  readonly turns: Pick<LoopTurns, 'sliceOfCall' | 'over'>;
  /** A new UUID. */
  readonly newId: () => string;
  /** The same with its time in front: runs that start one after the other are neighbours in every index of a database. */
  readonly newRunId: () => string;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  /** absent: nobody scrapes them. */
  readonly metrics?: Metrics;
  readonly server: ServerInfo;
  /** What of this server is not served, for health. */
  readonly condition: ServerCondition;
  /** The partitions, and what is kept of them. */
  readonly state: () => StateReport;
  /** The rows of List are built again from the runs, of each shard. Never rejects. */
  readonly rebuildList: () => Promise<readonly RebuildAnswer[]>;
  /** The same as the shards have. */
  readonly limits: HistoryLimits;

  readonly asker: Asker;
  /** Absent: nobody carries out jobs over dead letters. */
  readonly jobs?: JobsAsker;
  /** Absent: nobody audits. */
  readonly audit?: AuditAsker;
  /** The topic of a queue. */
  readonly deadLetterTopic: (category: string, sourceCluster: string) => string;
  /** Why a queue that this server shall have is not there, and what that means; undefined: nothing has gone wrong with it. */
  readonly whyNoQueue: (category: string, sourceCluster: string) => string | undefined;
  /** One of another cluster's tasks is to be there. False: it is not served yet. */
  readonly openDeadLetterQueue: (queue: { readonly category: string; readonly sourceCluster: string }) => boolean;
  /** As of now. */
  readonly letterSettings: () => JobSettings;
  /** Completion callbacks: what a namespace may attach, and whether the circuit breaker of a destination is open. */
  readonly callbacks: {
    readonly limitsOf: (namespace: string) => CallbackLimits;
    readonly isBlocked: (namespaceId: string, callback: Uint8Array) => boolean;
  };
  /** By the name of a namespace: what it may ask of this process. As of now. */
  readonly limitsOfNamespace: (namespace: string) => LimitsOfNamespace;
  /** Those that send heartbeats. */
  readonly workers: {
    readonly registry: WorkerRegistry;
    /** By the name of a namespace: its workers are told to send them, and they are kept. */
    readonly isEnabled: (namespace: string) => boolean;
    /** Likewise: they are told that ShutdownWorker ends their polls. */
    readonly waitForPolls: (namespace: string) => boolean;
  };
  /** Batch operations of a namespace, as of now. */
  readonly batchSettings: (namespace: string) => BatchSettings;
  /** Of a deletion that says nothing of it, as of now. */
  readonly deletionSettings: () => { readonly graceMs: number; readonly deleteDelayMs: number };
  /** As of now. */
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
  /** Absent: the cluster archives no histories. */
  readonly archival?: ArchivalPort;
  /** At least 32 bytes, the same in every process and after every restart. */
  readonly tokenKey: () => Uint8Array;
}

/** The actor of jobs over dead letters. Replies come as with `Asker`. */
export type JobsAsker = {
  askJobs<Request extends JobsRequest>(
    request: Request,
    deadlineMs: number,
    onReply: (answer: JobsReplyTo[Request['kind']] | JobsRejected | AskFailure) => void,
  ): number;
};

/** What holds for jobs over dead letters where a request says nothing. */
export type JobSettings = Pick<LetterSettings, 'mergeRps' | 'mergeConcurrency' | 'mergeTaskTimeoutMs' | 'requiresReason'>;

export type BatchSettings = {
  readonly perSecondMax: number;
  readonly concurrencyMax: number;
  /** That run at a time. */
  readonly jobsMax: number;
  /** Of a list. */
  readonly executionsMax: number;
};

export type StateReport = {
  readonly memory: MemoryReport;
  readonly shards: readonly ShardReport[];
  readonly matching: readonly MatchingReport[];
  /** Of deleted namespaces. */
  readonly purges: readonly PurgeReport[];
};

/** Of the whole process. */
export type MemoryReport = {
  /** What of the heap and of the machine state may take. */
  readonly stateBytes: number;
  /** In force, by their keys in the server file; without a database only the cache of histories has one. */
  readonly limits: {
    readonly hotStateBytesMax?: number;
    readonly historyCacheBytesMax: number;
    readonly unwrittenStateBytesMax?: number;
  };
};

/** The rows of all runs. */
export type VisibilityStore = Pick<Database, 'list' | 'count' | 'giveUp'>;

export type ServerInfo = {
  /** Semantic, 1.x: clients refuse others. */
  readonly version: string;
  readonly clusterId: string;
  readonly clusterName: string;
  /** Of this process, with the port of its frontend: it has all partitions. */
  readonly hostName: string;
  readonly historyShards: number;
  /** What holds histories: `embedded` or `kafka`. */
  readonly persistenceStore: string;
  /** What lists workflows: `sqlite` or `postgres`. The web UI shows filters only for names that it knows. */
  readonly visibilityStore: string;
};
