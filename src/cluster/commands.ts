/** What the cluster actor is asked. Ids come with the command; durations are integer milliseconds, 0 = not set. */

import type { ArchivalChange } from './archival-state.ts';

/** Reply: Done; rejected: namespace-exists, invalid-argument. */
export type RegisterNamespace = {
  readonly kind: 'registerNamespace';
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly ownerEmail: string;
  readonly data: ReadonlyMap<string, string>;
  readonly retentionMs: number;
  /** undefined: the cluster archives nothing, and says so of the namespace. */
  readonly archival?: ArchivalChange | undefined;
};

/**
 * What is undefined stays as it is; `data` is merged key by key. In a deprecated namespace nothing is started, and it is not registered
 * again. Reply: Done; rejected: namespace-not-found, invalid-argument.
 */
export type UpdateNamespace = {
  readonly kind: 'updateNamespace';
  readonly id: string;
  readonly description: string | undefined;
  readonly ownerEmail: string | undefined;
  readonly data: ReadonlyMap<string, string> | undefined;
  readonly retentionMs: number | undefined;
  readonly state: 'registered' | 'deprecated' | undefined;
  readonly archival?: ArchivalChange | undefined;
};

/**
 * It can no longer be called, and its name is free again. `graceMs` later what it holds is purged, and `deleteDelayMs` behind that its entry goes.
 * One that is deleted stays as it is. Reply: Done; rejected: namespace-not-found.
 */
export type DeleteNamespace = {
  readonly kind: 'deleteNamespace';
  readonly id: string;
  readonly graceMs: number;
  readonly deleteDelayMs: number;
};

/**
 * Nothing is left of what a deleted namespace held: all shards and task queues were looked at, behind its grace time. Its entry goes when its
 * delay is over: asked before that, again later. What is not deleted, or is gone, stays as it is. Reply: Done.
 */
export type EndNamespace = { readonly kind: 'endNamespace'; readonly id: string };

/**
 * Names that exist are left as they are. `namespaceId` '' = every namespace, those to come included. Reply: Done; rejected:
 * namespace-not-found, invalid-argument (reserved name, unknown type, too many), resource-exhausted (too many until removed ones are purged).
 */
export type AddSearchAttributes = {
  readonly kind: 'addSearchAttributes';
  readonly namespaceId: string;
  /** Name -> IndexedValueType. */
  readonly attributes: ReadonlyMap<string, number>;
};

/** Unknown names are ignored. Reply: Done; rejected: namespace-not-found, invalid-argument (system attribute). */
export type RemoveSearchAttributes = {
  readonly kind: 'removeSearchAttributes';
  readonly namespaceId: string;
  readonly names: readonly string[];
};

/**
 * The columns of these slots hold nothing any more, and nothing comes into them: rows of all shards were looked at. What is in use, or was
 * purged, stays as it is. Reply: Done.
 */
export type PurgeSearchAttributes = {
  readonly kind: 'purgeSearchAttributes';
  readonly namespaceId: string;
  readonly slots: readonly string[];
};

/**
 * A queue of dead letters whose topic is there. One that is known changes nothing. Reply: Done; rejected: invalid-argument
 * (a category or cluster whose name no topic could have), failed-precondition (too many).
 */
export type AddDeadLetterQueue = {
  readonly kind: 'addDeadLetterQueue';
  readonly category: string;
  readonly sourceCluster: string;
};

/** The first one is kept for ever, later ones change nothing. Reply: Done. */
export type InitializeCluster = {
  readonly kind: 'initializeCluster';
  /** A UUID. */
  readonly clusterId: string;
  readonly clusterName: string;
  /** At least 32 random bytes: the HMAC key of task tokens. */
  readonly tokenKey: Uint8Array;
  readonly historyShards: number;
};

/** Reply: Done, behind the read barrier: whoever has it has folded everything that was committed before. */
export type SyncCluster = { readonly kind: 'syncCluster' };

export type ClusterCommand =
  | RegisterNamespace
  | UpdateNamespace
  | DeleteNamespace
  | EndNamespace
  | AddSearchAttributes
  | RemoveSearchAttributes
  | PurgeSearchAttributes
  | AddDeadLetterQueue
  | InitializeCluster
  | SyncCluster;

/**
 * The actor's own: some more of what counts is written again, or the rest of it. `isFirst`: nothing is, and the journal may begin at `cut`, a claim of
 * ours behind which this stands, once all of it is.
 */
export type CarryCluster = { readonly kind: 'carryCluster'; readonly cut: number; readonly isFirst: boolean };
