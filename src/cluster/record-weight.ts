/** What a record costs whoever reads the journal, in bytes, roughly: most of them are small, and cost what a record costs. */
import type { CarriedPart, ClusterRecord } from './records.ts';

const RECORD_BYTES = 1_024;
/** Of a name in a list, with what is told of it. */
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
