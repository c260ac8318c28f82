import type { SealedBatch } from '../actors/log.ts';

/** What one append may weigh. Topics allow 8 MiB, so that a legal batch never meets the broker's limit. */
export const batchBytesMax = 6 * 1024 * 1024;
/** What one Produce request, or one transaction of the embedded log, carries of all its partitions together. */
export const requestBytesMax = 32 * 1024 * 1024;

/** Headers, lengths, offsets and numbers of one record, generously. */
const recordOverheadBytes = 192;

/** An upper bound of what a batch takes on the wire as long as its names are ASCII; names in other scripts are counted by their length. */
export function sealedBytes(batch: SealedBatch): number {
  let bytes = 0;
  for (const record of batch.records) {
    const text = record.key.length + record.type.length + record.namespace.length + record.workflowId.length + record.runId.length;
    bytes += recordOverheadBytes + text + record.value.byteLength;
  }
  return bytes;
}
