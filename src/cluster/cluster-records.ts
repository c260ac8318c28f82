/** The journal `<prefix>.cluster`: facts about the whole cluster. */
import type { ArchivalState } from './archival-state.ts';
import type { NamespaceDeletion } from './deletions.ts';

type Fact<Kind extends string> = { readonly kind: Kind; readonly timeMs: number };

/** What people have said of a namespace, whole. `data`: by their own names. */
export type NamespaceTexts = {
  readonly description: string;
  readonly ownerEmail: string;
  readonly data: ReadonlyMap<string, string>;
  readonly retentionMs: number;
};

export type ClusterIdentity = {
  /** A UUID. */
  readonly clusterId: string;
  readonly clusterName: string;
  /** The HMAC key of task tokens: at least 32 random bytes. */
  readonly tokenKey: Uint8Array;
  readonly historyShards: number;
};

export type ClusterInitialized = Fact<'clusterInitialized'> & ClusterIdentity;

export type NamespaceRegistered = Fact<'namespaceRegistered'> & NamespaceTexts & { readonly id: string; readonly name: string };

/** Holds the new values whole. */
export type NamespaceUpdated = Fact<'namespaceUpdated'> & NamespaceTexts & { readonly id: string };

/** How closed histories of the namespace are archived from now on. */
export type NamespaceArchivalSet = Fact<'namespaceArchivalSet'> & ArchivalState & { readonly id: string };

/** Nothing is started in it any more. */
export type NamespaceDeprecated = Fact<'namespaceDeprecated'> & { readonly id: string };

/** `name`: what it is called from now on, so that its own can be registered again. */
export type NamespaceDeleted = Fact<'namespaceDeleted'> & {
  readonly id: string;
  readonly name: string;
  /** When the purge of what it holds begins. */
  readonly purgeAtMs: number;
  /** How long its entry stays behind that. */
  readonly deleteDelayMs: number;
};

/** `namespaceId` '' = every namespace. Only names that were new. */
export type SearchAttributesAdded = Fact<'searchAttributesAdded'> & {
  readonly namespaceId: string;
  readonly attributes: ReadonlyMap<string, number>;
  /** Name → slot (`Keyword07`). */
  readonly slots: ReadonlyMap<string, string>;
  /** Name → how many of that name were there before; absent: none. */
  readonly generations: ReadonlyMap<string, number>;
};

/** Nothing of removed attributes is left in these slots: others may have them. */
export type SearchAttributesPurged = Fact<'searchAttributesPurged'> & { readonly namespaceId: string; readonly slots: readonly string[] };

/** Its topic is `dlq.<prefix>.<category>.<source cluster>`. The next number is its own for ever, from 1. */
export type KnownDeadLetterQueue = { readonly number: number; readonly category: string; readonly sourceCluster: string };

export type DeadLetterQueueAdded = Fact<'deadLetterQueueAdded'> & KnownDeadLetterQueue;

/** The journal is to begin later: all that counts is written again behind this, in parts, while changes come and go. `cut`: where it may begin then. */
export type CarryingBegun = Fact<'carryingBegun'> & { readonly cut: number };

export type ClusterCarried = Fact<'clusterCarried'> & {
  readonly identity: ClusterIdentity | undefined;
  /** All of them, in the order of their numbers. */
  readonly deadLetterQueues: readonly KnownDeadLetterQueue[];
};

/** A namespace without its search attributes. */
export type NamespaceCarried = Fact<'namespaceCarried'> &
  NamespaceTexts & {
    readonly id: string;
    readonly name: string;
    readonly registeredName: string;
    readonly createdTimeMs: number;
    readonly isDeprecated: boolean;
    readonly isArchived: boolean;
    readonly archivalUri: string;
    /** undefined: it is not deleted. */
    readonly deletion: Omit<NamespaceDeletion, 'id'> | undefined;
  };

/** `namespaceId` '' = every namespace. Attributes and columns are all of it, generations may be some. */
export type AttributesCarried = Fact<'attributesCarried'> & {
  readonly namespaceId: string;
  readonly attributes: ReadonlyMap<string, number>;
  readonly columns: readonly AttributeColumn[];
  /** The generations of all names that ever were. */
  readonly generations: ReadonlyMap<string, number>;
};

/** What it holds is of the attribute of that name, which may be removed. */
export type AttributeColumn = { readonly slot: string; readonly name: string; readonly isRemoved: boolean };

/** Id → what a namespace was registered as whose entry is gone; some of them, the oldest first. */
export type RemovedNamesCarried = Fact<'removedNamesCarried'> & { readonly names: ReadonlyMap<string, string> };

/** All of it was written again: what stands before `cut` is needed no longer. */
export type CarryingFinished = Fact<'carryingFinished'> & { readonly cut: number };

type WithoutTime<Record> = Record extends unknown ? Omit<Record, 'timeMs'> : never;

export type CarriedPart = WithoutTime<ClusterCarried | NamespaceCarried | AttributesCarried | RemovedNamesCarried>;

export type ClusterRecord =
  | ClusterInitialized
  | NamespaceRegistered
  | NamespaceUpdated
  | NamespaceArchivalSet
  | NamespaceDeprecated
  | NamespaceDeleted
  | SearchAttributesAdded
  | SearchAttributesPurged
  | DeadLetterQueueAdded
  | CarryingBegun
  | ClusterCarried
  | NamespaceCarried
  | AttributesCarried
  | RemovedNamesCarried
  | CarryingFinished
  /** Nothing of what it held is left. */
  | (Fact<'namespacePurged'> & { readonly id: string })
  /** Its entry is gone. */
  | (Fact<'namespaceRemoved'> & { readonly id: string })
  /** Only names that were there. */
  | (Fact<'searchAttributesRemoved'> & { readonly namespaceId: string; readonly names: readonly string[] });

/** What a record costs whoever reads the journal, in bytes, roughly: most of them are small, and cost what a record costs. */

const RECORD_BYTES = 1_024;
/** A name in a list, with what is said of it. */
const ENTRY_BYTES = 64;

export function recordWeight(record: ClusterRecord | CarriedPart): number {
  switch (record.kind) {
    case 'namespaceRegistered':
    case 'namespaceUpdated':
      return RECORD_BYTES + record.description.length + record.ownerEmail.length + textLength(record.data);
    case 'namespaceArchivalSet':
      return RECORD_BYTES + record.uri.length;
    case 'namespaceCarried':
      return RECORD_BYTES + record.description.length + record.ownerEmail.length + textLength(record.data) + record.archivalUri.length;
    case 'searchAttributesAdded':
      return RECORD_BYTES + namesLength(record.attributes) + namesLength(record.slots) + namesLength(record.generations);
    case 'searchAttributesRemoved':
      return record.names.reduce((length, name) => length + name.length, RECORD_BYTES);
    case 'removedNamesCarried':
      return RECORD_BYTES + textLength(record.names);
    case 'attributesCarried':
      return RECORD_BYTES + namesLength(record.attributes) + ENTRY_BYTES * record.columns.length + namesLength(record.generations);
    case 'clusterCarried':
      return RECORD_BYTES + ENTRY_BYTES * record.deadLetterQueues.length;
    default:
      return RECORD_BYTES;
  }
}

function textLength(texts: ReadonlyMap<string, string>): number {
  let length = 0;
  for (const [key, text] of texts) length += ENTRY_BYTES + key.length + text.length;
  return length;
}

function namesLength(names: ReadonlyMap<string, unknown>): number {
  let length = 0;
  for (const name of names.keys()) length += ENTRY_BYTES + name.length;
  return length;
}
