/** What the cluster actor is asked. Ids come with the command; durations are integer milliseconds, 0 = not set. */

import type { ArchivalChange } from './archival-state.ts';
import type { ClusterIdentity, KnownDeadLetterQueue, NamespaceTexts } from './cluster-records.ts';

/** Reply: Done; rejected: namespace-exists, invalid-argument. */
export type RegisterNamespace = NamespaceTexts & {
  readonly kind: 'registerNamespace';
  readonly id: string;
  readonly name: string;
  /** undefined: the cluster archives nothing, and says so of the namespace. */
  readonly archival?: ArchivalChange | undefined;
};

/**
 * What is undefined stays as it is; `data` is merged key by key. In a deprecated namespace nothing is started, and it is not registered
 * again. Reply: Done; rejected: namespace-not-found, invalid-argument.
 */
export type UpdateNamespace = { readonly [Text in keyof NamespaceTexts]: NamespaceTexts[Text] | undefined } & {
  readonly kind: 'updateNamespace';
  readonly id: string;
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

export type ClusterCommand =
  | RegisterNamespace
  | UpdateNamespace
  | DeleteNamespace
  | AddSearchAttributes
  | RemoveSearchAttributes
  /**
   * Nothing is left of what a deleted namespace held: all shards and task queues were looked at, behind its grace time. Its entry goes when its
   * delay is over: asked before that, again later. What is not deleted, or is gone, stays as it is. Reply: Done.
   */
  | { readonly kind: 'endNamespace'; readonly id: string }
  /** These columns hold nothing any more: rows of all shards were looked at. What is in use, or was purged, stays as it is. Reply: Done. */
  | { readonly kind: 'purgeSearchAttributes'; readonly namespaceId: string; readonly slots: readonly string[] }
  /**
   * A queue of dead letters whose topic is there. One that is known changes nothing. Reply: Done; rejected: invalid-argument
   * (a category or cluster whose name no topic could have), failed-precondition (too many).
   */
  | (Omit<KnownDeadLetterQueue, 'number'> & { readonly kind: 'addDeadLetterQueue' })
  /** The first one is kept for ever, later ones change nothing. Reply: Done. */
  | (ClusterIdentity & { readonly kind: 'initializeCluster' })
  /** Reply: Done, behind the read barrier: whoever has it has folded everything that was committed before. */
  | { readonly kind: 'syncCluster' };

/**
 * The actor's own: some more of what counts is written again, or the rest of it. `isFirst`: nothing is, and the journal may begin at `cut`, a claim of
 * ours behind which this stands, once all of it is.
 */
export type CarryCluster = { readonly kind: 'carryCluster'; readonly cut: number; readonly isFirst: boolean };

export type ClusterRejection = {
  readonly reason:
    /** ALREADY_EXISTS + NamespaceAlreadyExistsFailure */
    | 'namespace-exists'
    /** NOT_FOUND + NamespaceNotFoundFailure */
    | 'namespace-not-found'
    /** INVALID_ARGUMENT */
    | 'invalid-argument'
    /** FAILED_PRECONDITION */
    | 'failed-precondition'
    /** RESOURCE_EXHAUSTED: later it is possible */
    | 'resource-exhausted';
  readonly message: string;
};

export type ClusterRejected = { readonly kind: 'rejected'; readonly rejection: ClusterRejection };

export type Done = { readonly kind: 'done' };

export type ClusterReply = Done | ClusterRejected;

/** `isAll`: everything that counts is written again behind the cut. */

export type ClusterEffect = { readonly kind: 'carried'; readonly cut: number; readonly isAll: boolean };
