import { APPEND_BYTES_MAX, type SealedBatch } from '../ports/log.ts';

/** What one Produce request, or one transaction of the embedded log, carries of all its partitions together. */
export const requestBytesMax = 32 * 1024 * 1024;

/** Headers, lengths, offsets and numbers of one record, generously. */
const recordOverheadBytes = 192;

/** Lengths of the name and the text of one more header. */
const headerOverheadBytes = 8;

/** A lower bound: on Kafka each record of ours has at least three headers, whose names alone have 43 bytes. */
const recordBytesMin = 32;
/** A batch with more records is not ours. */
export const batchRecordsMax = APPEND_BYTES_MAX / recordBytesMin;

/** An upper bound of what a batch takes on the wire. */
export function sealedBytes({ records }: SealedBatch): number {
  let bytes = 0;
  for (const { key, type, namespace, workflowId, runId, value, headers } of records) {
    // Three bytes are the most that UTF-8 needs for one unit of a string.
    const text = key.length + type.length + namespace.length + workflowId.length + runId.length;
    bytes += recordOverheadBytes + 3 * text + value.byteLength;
    if (headers !== undefined) for (const [name, text] of headers) bytes += headerOverheadBytes + name.length + 3 * text.length;
  }
  return bytes <= APPEND_BYTES_MAX ? bytes : exactBytes(records);
}

/** Only near the limit is it worth looking at every character. */
function exactBytes(records: SealedBatch['records']): number {
  let bytes = 0;
  for (const { key, type, namespace, workflowId, runId, value, headers = [] } of records) {
    bytes += recordOverheadBytes + value.byteLength;
    for (const text of [key, type, namespace, workflowId, runId]) bytes += Buffer.byteLength(text);
    for (const [name, text] of headers) bytes += headerOverheadBytes + name.length + Buffer.byteLength(text);
  }
  return bytes;
}
