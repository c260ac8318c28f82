/** Records of `<prefix>.cluster` as bytes: `perdure.journal.v1.ClusterRecord`, whose changes are called as the kinds of records are. */
import { LogError } from '../ports/log.ts';
import type { EncodedRecord, RecordCodec } from '../actors/partition/partition-core.ts';
import type { ClusterRecord } from '../cluster/cluster-records.ts';
import { pascalCase } from '../kernel/pascal-case.ts';
import { decodeClusterRecord, emptyClusterRecord, encodeClusterRecord } from '../wire/generated/journal/cluster.ts';
import type { ClusterRecord as WireRecord } from '../wire/generated/journal/cluster.ts';
import { ownLimits } from '../wire/wire-limits.ts';
import { checkRecordSchema, recordSchema } from './record-schema.ts';

type Kind = ClusterRecord['kind'];
type RecordOf<OfKind extends Kind> = Extract<ClusterRecord, { readonly kind: OfKind }>;
type ChangeOf<OfKind extends Kind> = NonNullable<WireRecord[OfKind]>;
type FromWire<OfKind extends Kind> = ChangeOf<OfKind> & { readonly kind: OfKind; readonly timeMs: number };

/** `never` where a message lacks what its record has, or a record what its message has: then the table below does not compile. */
type KeyOf<OfKind extends Kind> =
  RecordOf<OfKind> extends ChangeOf<OfKind>
    ? FromWire<OfKind> extends RecordOf<OfKind>
      ? (record: RecordOf<OfKind>) => string
      : never
    : never;

const clusterKey = '@cluster';
const ofCluster = (): string => clusterKey;
const byId = ({ id }: { readonly id: string }): string => id;
const byName = ({ name }: { readonly name: string }): string => name;
const byNamespace = ({ namespaceId }: { readonly namespaceId: string }): string => (namespaceId === '' ? clusterKey : namespaceId);

/** The namespace's name where the record has it, its id otherwise. */
const keys: { readonly [OfKind in Kind]: KeyOf<OfKind> } = {
  clusterInitialized: ofCluster,
  namespaceRegistered: byName,
  namespaceUpdated: byId,
  namespaceArchivalSet: byId,
  namespaceDeprecated: byId,
  namespaceDeleted: byId,
  namespacePurged: byId,
  namespaceRemoved: byId,
  searchAttributesAdded: byNamespace,
  searchAttributesRemoved: byNamespace,
  searchAttributesPurged: byNamespace,
  deadLetterQueueAdded: ofCluster,
  carryingBegun: ofCluster,
  clusterCarried: ofCluster,
  namespaceCarried: byName,
  attributesCarried: byNamespace,
  removedNamesCarried: ofCluster,
  carryingFinished: ofCluster,
};

const kinds = Object.keys(keys) as readonly Kind[];

export const clusterCodec = {
  encode(record: ClusterRecord): EncodedRecord {
    const { timeMs, kind } = record;
    const keyOf = keys[kind] as (record: ClusterRecord) => string;
    const key = keyOf(record);
    return {
      key,
      schema: recordSchema,
      // What people see in the topic: `NamespaceRegistered` and the like.
      type: pascalCase(kind),
      namespace: key === clusterKey ? '' : key,
      workflowId: '',
      runId: '',
      timeMs,
      value: encodeClusterRecord({ ...emptyClusterRecord(), timeMs, [kind]: record }),
    };
  },

  decode(value: Uint8Array, schema: number): ClusterRecord {
    checkRecordSchema(schema);
    const wire = decodeClusterRecord(value, ownLimits);
    const kind = kinds.find((each) => wire[each] !== undefined);
    if (kind === undefined) throw new LogError('corrupt', 'a cluster record holds no change that this version knows');
    return { ...wire[kind], kind, timeMs: wire.timeMs } as ClusterRecord;
  },
} satisfies RecordCodec<ClusterRecord>;
