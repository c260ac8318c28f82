/**
 * What the front needs of the rest of the server. Its handlers translate: a request becomes a command for one actor, a reply becomes
 * an answer. They keep no state, know no partition and never touch a log.
 */
import type { HistoryCommand, RunKey } from '../history/commands.ts';
import type { HistoryReplyTo, Rejection, StartedActivityTask, StartedWorkflowTask } from '../history/replies.ts';
import type { MatchingRejection, MatchingReplyTo } from '../matching/replies.ts';
import type { MatchingRequest } from '../matching/commands.ts';
import type { Logger } from '../observability/logger.ts';
import type { TaskQueuePartition } from '../matching/task-queue.ts';

/** How an ask ended. Exactly one of these, once, unless the ask was cancelled. */
export type AskOutcome<Reply, Rejection> =
  | { readonly kind: 'reply'; readonly reply: Reply }
  | { readonly kind: 'rejected'; readonly rejection: Rejection }
  /** The actor is moving, or the log is away: whether the command took effect is not known. Clients try again. */
  | { readonly kind: 'unavailable'; readonly message: string }
  | { readonly kind: 'deadlineExceeded' };

export type Settle<Reply, Rejection> = (outcome: AskOutcome<Reply, Rejection>) => void;

export type StartedTask = StartedWorkflowTask | StartedActivityTask;

/** A namespace as the cluster's journal has it. */
export type NamespaceView = {
  readonly id: string;
  readonly name: string;
  readonly state: 'registered' | 'deprecated' | 'deleted';
  readonly description: string;
  readonly ownerEmail: string;
  readonly data: ReadonlyMap<string, string>;
  readonly retentionMs: number;
  /** System and custom attributes: name -> IndexedValueType. The same map as long as it has not changed. */
  readonly searchAttributeTypes: ReadonlyMap<string, number>;
  readonly customSearchAttributes: ReadonlyMap<string, number>;
};

/** What this process has folded of the cluster's journal so far. */
export interface ClusterView {
  namespaceByName(name: string): NamespaceView | undefined;
  namespaceById(id: string): NamespaceView | undefined;
  /** By name, ascending. */
  namespaces(): readonly NamespaceView[];
  readonly systemSearchAttributes: ReadonlyMap<string, number>;
}

export type ClusterRequest =
  | {
      readonly kind: 'registerNamespace';
      readonly id: string;
      readonly name: string;
      readonly description: string;
      readonly ownerEmail: string;
      readonly data: ReadonlyMap<string, string>;
      readonly retentionMs: number;
    }
  | { readonly kind: 'addSearchAttributes'; readonly namespaceId: string; readonly attributes: ReadonlyMap<string, number> }
  | { readonly kind: 'removeSearchAttributes'; readonly namespaceId: string; readonly names: readonly string[] }
  /** The read barrier: answered when this process has folded everything that was committed before it was asked. */
  | { readonly kind: 'syncCluster' };

export type ClusterRejection = {
  readonly reason: 'namespace-exists' | 'namespace-not-found' | 'invalid-argument' | 'failed-precondition';
  readonly message: string;
};

export interface FrontPorts {
  readonly nowMs: () => number;
  /** A new UUID. */
  readonly newId: () => string;
  /** Uniform in [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly server: ServerInfo;
  /** At least 32 bytes, the same in every process and after every restart. */
  readonly tokenKey: () => Uint8Array;
  readonly cluster: ClusterView;

  /** Each ask answers its id for `cancel`, or 0 when it was settled before it returned. `deadlineMs` is absolute. */
  askHistory<Command extends HistoryCommand>(
    shardOf: { readonly namespaceId: string; readonly workflowId: string },
    command: Command,
    deadlineMs: number,
    settle: Settle<HistoryReplyTo[Command['kind']], Rejection>,
  ): number;
  askMatching<Request extends MatchingRequest>(
    queue: TaskQueuePartition,
    request: Request,
    deadlineMs: number,
    settle: Settle<MatchingReplyTo<StartedTask>[Request['kind']], MatchingRejection>,
  ): number;
  /** A change is answered after its commit and after this process has folded it. */
  askCluster(request: ClusterRequest, deadlineMs: number, settle: Settle<void, ClusterRejection>): number;
  /** The caller no longer waits: nothing is settled afterwards, and a waiting poll must not be given a task. */
  cancel(askId: number): void;

  /** Partitions of a normal task queue; polls may go to any of them. */
  readonly taskQueuePartitions: number;
  /**
   * Encoded events `firstEventId … lastEventId` of a run, as many as the limits allow but at least one; committed events only. At
   * once when they are in memory. `[]` when the run is not known.
   */
  historyEvents(key: RunKey, firstEventId: number, lastEventId: number, eventsMax: number, bytesMax: number): readonly Uint8Array[] | Promise<readonly Uint8Array[]>;
}

export type ServerInfo = {
  /** Semantic, 1.x: clients refuse others. */
  readonly version: string;
  readonly clusterId: string;
  readonly clusterName: string;
  readonly historyShards: number;
  /** What holds histories: `embedded` or `kafka`. */
  readonly persistenceStore: string;
};
