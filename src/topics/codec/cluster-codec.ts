/** Records of `<prefix>.cluster` as bytes: `perdure.journal.v1.ClusterRecord`. Schema 2: what counts is written again, and the journal begins later. */
import { LogError } from '../../actors/log.ts';
import type { EncodedRecord, RecordCodec } from '../../actors/partition/partition-core.ts';
import type { ClusterRecord } from '../../cluster/records.ts';
import { unreachable } from '../../kernel/assert.ts';
import { pascalCase } from '../../kernel/pascal-case.ts';
import {
  decodeClusterRecord,
  emptyClusterRecord,
  encodeClusterRecord,
  type ClusterRecord as WireRecord,
} from '../../wire/generated/journal/cluster.ts';
import { ownLimits } from '../../wire/wire-limits.ts';

const plain = 1;
const carrying = 2;

export const clusterCodec = {
  encode(record: ClusterRecord): EncodedRecord {
    const { timeMs } = record;
    const value = encodeClusterRecord({ ...emptyClusterRecord(), timeMs, ...changeOf(record) });
    const name = nameOf(record);
    return {
      key: name,
      schema: schemaOf(record),
      // What people see in the topic: `NamespaceRegistered` and the like.
      type: pascalCase(record.kind),
      namespace: name === clusterKey ? '' : name,
      workflowId: '',
      runId: '',
      timeMs,
      value,
    };
  },

  decode(value: Uint8Array, recordSchema: number): ClusterRecord {
    if (recordSchema !== plain && recordSchema !== carrying) {
      throw new LogError('corrupt', `cluster records have schema ${plain} or ${carrying}, found ${recordSchema}`);
    }
    const wire = decodeClusterRecord(value, ownLimits);
    const { timeMs } = wire;
    if (wire.clusterInitialized !== undefined) return { kind: 'clusterInitialized', timeMs, ...wire.clusterInitialized };
    if (wire.namespaceRegistered !== undefined) return { kind: 'namespaceRegistered', timeMs, ...wire.namespaceRegistered };
    if (wire.namespaceUpdated !== undefined) return { kind: 'namespaceUpdated', timeMs, ...wire.namespaceUpdated };
    if (wire.namespaceArchivalSet !== undefined) return { kind: 'namespaceArchivalSet', timeMs, ...wire.namespaceArchivalSet };
    if (wire.namespaceDeprecated !== undefined) return { kind: 'namespaceDeprecated', timeMs, ...wire.namespaceDeprecated };
    if (wire.namespaceDeleted !== undefined) return { kind: 'namespaceDeleted', timeMs, ...wire.namespaceDeleted };
    if (wire.namespacePurged !== undefined) return { kind: 'namespacePurged', timeMs, ...wire.namespacePurged };
    if (wire.namespaceRemoved !== undefined) return { kind: 'namespaceRemoved', timeMs, ...wire.namespaceRemoved };
    if (wire.searchAttributesAdded !== undefined) return { kind: 'searchAttributesAdded', timeMs, ...wire.searchAttributesAdded };
    if (wire.searchAttributesRemoved !== undefined) return { kind: 'searchAttributesRemoved', timeMs, ...wire.searchAttributesRemoved };
    if (wire.searchAttributesPurged !== undefined) return { kind: 'searchAttributesPurged', timeMs, ...wire.searchAttributesPurged };
    if (wire.deadLetterQueueAdded !== undefined) return { kind: 'deadLetterQueueAdded', timeMs, ...wire.deadLetterQueueAdded };
    if (wire.carryingBegun !== undefined) return { kind: 'carryingBegun', timeMs, ...wire.carryingBegun };
    if (wire.clusterCarried !== undefined) return { kind: 'clusterCarried', timeMs, ...wire.clusterCarried };
    if (wire.namespaceCarried !== undefined) return { kind: 'namespaceCarried', timeMs, ...wire.namespaceCarried };
    if (wire.attributesCarried !== undefined) return { kind: 'attributesCarried', timeMs, ...wire.attributesCarried };
    if (wire.removedNamesCarried !== undefined) return { kind: 'removedNamesCarried', timeMs, ...wire.removedNamesCarried };
    if (wire.carryingFinished !== undefined) return { kind: 'carryingFinished', timeMs, ...wire.carryingFinished };
    throw new LogError('corrupt', 'a cluster record holds no change that this version knows');
  },
} satisfies RecordCodec<ClusterRecord>;

function changeOf(record: ClusterRecord): Partial<WireRecord> {
  switch (record.kind) {
    case 'clusterInitialized':
      return { clusterInitialized: record };
    case 'namespaceRegistered':
      return { namespaceRegistered: record };
    case 'namespaceUpdated':
      return { namespaceUpdated: record };
    case 'namespaceArchivalSet':
      return { namespaceArchivalSet: record };
    case 'namespaceDeprecated':
      return { namespaceDeprecated: record };
    case 'namespaceDeleted':
      return { namespaceDeleted: record };
    case 'namespacePurged':
      return { namespacePurged: record };
    case 'namespaceRemoved':
      return { namespaceRemoved: record };
    case 'searchAttributesAdded':
      return { searchAttributesAdded: record };
    case 'searchAttributesRemoved':
      return { searchAttributesRemoved: record };
    case 'searchAttributesPurged':
      return { searchAttributesPurged: record };
    case 'deadLetterQueueAdded':
      return { deadLetterQueueAdded: record };
    case 'carryingBegun':
      return { carryingBegun: record };
    case 'clusterCarried':
      return { clusterCarried: record };
    case 'namespaceCarried':
      return { namespaceCarried: record };
    case 'attributesCarried':
      return { attributesCarried: record };
    case 'removedNamesCarried':
      return { removedNamesCarried: record };
    case 'carryingFinished':
      return { carryingFinished: record };
    default:
      return unreachable(record);
  }
}

function schemaOf({ kind }: ClusterRecord): number {
  switch (kind) {
    case 'carryingBegun':
    case 'clusterCarried':
    case 'namespaceCarried':
    case 'attributesCarried':
    case 'removedNamesCarried':
    case 'carryingFinished':
      return carrying;
    default:
      return plain;
  }
}

const clusterKey = '@cluster';

/** The namespace's name where the record has it, its id otherwise. */
function nameOf(record: ClusterRecord): string {
  switch (record.kind) {
    case 'clusterInitialized':
    case 'deadLetterQueueAdded':
    case 'carryingBegun':
    case 'clusterCarried':
    case 'removedNamesCarried':
    case 'carryingFinished':
      return clusterKey;
    case 'namespaceRegistered':
    case 'namespaceCarried':
      return record.name;
    case 'namespaceUpdated':
    case 'namespaceArchivalSet':
    case 'namespaceDeprecated':
    case 'namespaceDeleted':
    case 'namespacePurged':
    case 'namespaceRemoved':
      return record.id;
    case 'searchAttributesAdded':
    case 'searchAttributesRemoved':
    case 'searchAttributesPurged':
    case 'attributesCarried':
      return record.namespaceId === '' ? clusterKey : record.namespaceId;
    default:
      return unreachable(record);
  }
}
