/** The journal `<prefix>.cluster`: facts about the whole cluster. */

export type ClusterInitialized = {
  readonly kind: 'clusterInitialized';
  readonly timeMs: number;
  readonly clusterId: string;
  readonly clusterName: string;
  readonly tokenKey: Uint8Array;
  readonly historyShards: number;
};

export type NamespaceRegistered = {
  readonly kind: 'namespaceRegistered';
  readonly timeMs: number;
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly ownerEmail: string;
  readonly data: ReadonlyMap<string, string>;
  readonly retentionMs: number;
};

/** Holds the new values whole. */
export type NamespaceUpdated = {
  readonly kind: 'namespaceUpdated';
  readonly timeMs: number;
  readonly id: string;
  readonly description: string;
  readonly ownerEmail: string;
  readonly data: ReadonlyMap<string, string>;
  readonly retentionMs: number;
};

/** Of its histories, from now on. */
export type NamespaceArchivalSet = {
  readonly kind: 'namespaceArchivalSet';
  readonly timeMs: number;
  readonly id: string;
  readonly isEnabled: boolean;
  readonly uri: string;
};

/** Nothing is started in it any more. */
export type NamespaceDeprecated = { readonly kind: 'namespaceDeprecated'; readonly timeMs: number; readonly id: string };

/** `name`: what it is called from now on, so that its own can be registered again. */
export type NamespaceDeleted = {
  readonly kind: 'namespaceDeleted';
  readonly timeMs: number;
  readonly id: string;
  readonly name: string;
  /** When the purge of what it holds begins; 0: at once, as for those that were deleted before there was one. */
  readonly purgeAtMs: number;
  /** How long its entry stays behind that. */
  readonly deleteDelayMs: number;
};

/** Nothing of what it held is left. */
export type NamespacePurged = { readonly kind: 'namespacePurged'; readonly timeMs: number; readonly id: string };

/** Its entry is gone. */
export type NamespaceRemoved = { readonly kind: 'namespaceRemoved'; readonly timeMs: number; readonly id: string };

/** `namespaceId` '' = every namespace. Only names that were new. */
export type SearchAttributesAdded = {
  readonly kind: 'searchAttributesAdded';
  readonly timeMs: number;
  readonly namespaceId: string;
  readonly attributes: ReadonlyMap<string, number>;
  /** Name → slot (`Keyword07`). Records of before have none: the fold gives them theirs. */
  readonly slots: ReadonlyMap<string, string>;
  /** Name → how many of that name were there before; absent: none, or the record is of before that was counted. */
  readonly generations: ReadonlyMap<string, number>;
};

/** Only names that were there. */
export type SearchAttributesRemoved = {
  readonly kind: 'searchAttributesRemoved';
  readonly timeMs: number;
  readonly namespaceId: string;
  readonly names: readonly string[];
};

/** Nothing of removed attributes is left in these slots: others may have them. */
export type SearchAttributesPurged = {
  readonly kind: 'searchAttributesPurged';
  readonly timeMs: number;
  readonly namespaceId: string;
  readonly slots: readonly string[];
};

/** The next number is its own for ever, from 1. */
export type DeadLetterQueueAdded = {
  readonly kind: 'deadLetterQueueAdded';
  readonly timeMs: number;
  readonly number: number;
  readonly category: string;
  readonly sourceCluster: string;
  /** Its letters name this cluster. False: an older version added it, and letters that name none are of this one. */
  readonly namesCluster: boolean;
};

export type ClusterRecord =
  | ClusterInitialized
  | NamespaceRegistered
  | NamespaceUpdated
  | NamespaceArchivalSet
  | NamespaceDeprecated
  | NamespaceDeleted
  | NamespacePurged
  | NamespaceRemoved
  | SearchAttributesAdded
  | SearchAttributesRemoved
  | SearchAttributesPurged
  | DeadLetterQueueAdded;
