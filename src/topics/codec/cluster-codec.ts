/** Records of `<prefix>.cluster` as bytes. Schema 1: `perdure.journal.v1.ClusterRecord`. */
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

const schema = 1;

export const clusterCodec = {
  encode(record: ClusterRecord): EncodedRecord {
    const { timeMs } = record;
    const value = encodeClusterRecord({ ...emptyClusterRecord(), timeMs, ...changeOf(record) });
    const name = nameOf(record);
    return {
      key: name,
      schema,
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
    if (recordSchema !== schema) throw new LogError('corrupt', `cluster records have schema ${schema}, found ${recordSchema}`);
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
    default:
      return unreachable(record);
  }
}

const clusterKey = '@cluster';

/** The namespace's name where the record has it, its id otherwise. */
function nameOf(record: ClusterRecord): string {
  switch (record.kind) {
    case 'clusterInitialized':
    case 'deadLetterQueueAdded':
      return clusterKey;
    case 'namespaceRegistered':
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
      return record.namespaceId === '' ? clusterKey : record.namespaceId;
    default:
      return unreachable(record);
  }
}
