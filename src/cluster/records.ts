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

/** The journal is to begin later: all that counts is written again behind this, in parts, while changes come and go. `cut`: where it may begin then. */
export type CarryingBegun = { readonly kind: 'carryingBegun'; readonly timeMs: number; readonly cut: number };

export type ClusterCarried = {
  readonly kind: 'clusterCarried';
  readonly timeMs: number;
  readonly identity: Omit<ClusterInitialized, 'kind' | 'timeMs'> | undefined;
  /** All of them, in the order of their numbers. */
  readonly deadLetterQueues: readonly Omit<DeadLetterQueueAdded, 'kind' | 'timeMs'>[];
};

/** Without its search attributes. */
export type NamespaceCarried = {
  readonly kind: 'namespaceCarried';
  readonly timeMs: number;
  readonly id: string;
  readonly name: string;
  readonly registeredName: string;
  readonly description: string;
  readonly ownerEmail: string;
  readonly data: ReadonlyMap<string, string>;
  readonly retentionMs: number;
  readonly createdTimeMs: number;
  readonly isDeprecated: boolean;
  readonly isArchived: boolean;
  readonly archivalUri: string;
  /** undefined: it is not deleted. */
  readonly deletion: { readonly purgeAtMs: number; readonly deleteDelayMs: number; readonly purgedAtMs: number | undefined } | undefined;
};

/** `namespaceId` '' = every namespace. Attributes and columns are all of it, generations may be some. */
export type AttributesCarried = {
  readonly kind: 'attributesCarried';
  readonly timeMs: number;
  readonly namespaceId: string;
  readonly attributes: ReadonlyMap<string, number>;
  readonly columns: readonly AttributeColumn[];
  /** Of every name that there ever was. */
  readonly generations: ReadonlyMap<string, number>;
};

/** What it holds is of the attribute of that name, which may be removed. */
export type AttributeColumn = { readonly slot: string; readonly name: string; readonly isRemoved: boolean };

/** Id → what a namespace was registered as whose entry is gone; some of them, the oldest first. */
export type RemovedNamesCarried = {
  readonly kind: 'removedNamesCarried';
  readonly timeMs: number;
  readonly names: ReadonlyMap<string, string>;
};

/** All of it was written again: what stands before `cut` is needed no longer. */
export type CarryingFinished = { readonly kind: 'carryingFinished'; readonly timeMs: number; readonly cut: number };

type WithoutTime<Record> = Record extends unknown ? Omit<Record, 'timeMs'> : never;

export type CarriedPart = WithoutTime<ClusterCarried | NamespaceCarried | AttributesCarried | RemovedNamesCarried>;

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
  | DeadLetterQueueAdded
  | CarryingBegun
  | ClusterCarried
  | NamespaceCarried
  | AttributesCarried
  | RemovedNamesCarried
  | CarryingFinished;
