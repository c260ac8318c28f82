/** The requests of the data path. Of a Produce response with one error kafkajs would throw all away, and leave every partition in doubt. */
import { WireReader, WireWriter } from './wire.ts';
import type { PartitionId } from '../../ports/log.ts';

export type WireRequest = { readonly apiKey: number; readonly apiVersion: number; readonly apiName: string; readonly body: Buffer };

/** Groups by topic, as every request wants it. */
function byTopic<T extends PartitionId>(items: readonly T[]): ReadonlyMap<string, readonly T[]> {
  return Map.groupBy(items, ({ topic }) => topic);
}

function topicsSize(topics: ReadonlyMap<string, readonly unknown[]>, bytesPerPartition: number): number {
  let size = 4;
  for (const [topic, partitions] of topics) size += 2 + Buffer.byteLength(topic) + 4 + partitions.length * bytesPerPartition;
  return size;
}

function writeTopics<T>(writer: WireWriter, topics: ReadonlyMap<string, readonly T[]>, write: (partition: T) => void): void {
  writer.int32(topics.size);
  for (const [topic, partitions] of topics) {
    writer.string(topic);
    writer.int32(partitions.length);
    for (const partition of partitions) write(partition);
  }
}

export type ProducedPartition = PartitionId & { readonly errorCode: number; readonly baseOffset: number };

/** Produce v7: transactional id · acks i16 · timeout i32 · [topic [partition i32 · batch bytes]]. */
export function produceRequest(partitions: readonly (PartitionId & { readonly batch: Buffer })[], timeoutMs: number): WireRequest {
  const topics = byTopic(partitions);
  const batches = partitions.reduce((sum, { batch }) => sum + batch.length, 0);
  const writer = new WireWriter(2 + 2 + 4 + topicsSize(topics, 8) + batches);
  writer.int16(-1);
  writer.int16(-1);
  writer.int32(timeoutMs);
  writeTopics(writer, topics, ({ partition, batch }) => {
    writer.int32(partition);
    writer.int32(batch.length);
    writer.raw(batch);
  });
  return { apiKey: 0, apiVersion: 7, apiName: 'Produce', body: writer.bytes };
}

export function produceResponse(payload: Buffer): readonly ProducedPartition[] {
  const reader = new WireReader(payload);
  return readTopics(reader, (topic) => {
    const partition = reader.int32();
    const errorCode = reader.int16();
    const baseOffset = reader.int64();
    reader.at += 16;
    return { topic, partition, errorCode, baseOffset };
  });
}

export type FetchedPartition = { readonly errorCode: number; readonly highWatermark: number; readonly records: Buffer };

/** Fetch v11 of one partition, without waiting: what is there, or nothing. */
export function fetchRequest(id: PartitionId, offset: number, maxBytes: number): WireRequest {
  const topics = byTopic([id]);
  const writer = new WireWriter(4 + 4 + 4 + 4 + 1 + 4 + 4 + topicsSize(topics, 28) + 4 + 2);
  writer.int32(-1);
  writer.int32(0);
  writer.int32(0);
  writer.int32(maxBytes);
  writer.int8(0);
  writer.int32(0);
  writer.int32(-1);
  writeTopics(writer, topics, ({ partition }) => {
    writer.int32(partition);
    writer.int32(-1);
    writer.int64(offset);
    writer.int64(-1);
    writer.int32(maxBytes);
  });
  writer.int32(0);
  writer.string('');
  return { apiKey: 1, apiVersion: 11, apiName: 'Fetch', body: writer.bytes };
}

export function fetchResponse(payload: Buffer): FetchedPartition | undefined {
  const reader = new WireReader(payload);
  reader.int32();
  const errorCode = reader.int16();
  reader.int32();
  const partitions = readTopics(reader, () => {
    reader.int32();
    const partitionError = reader.int16();
    const highWatermark = reader.int64();
    reader.at += 16;
    reader.array(() => (reader.at += 16));
    reader.int32();
    return { errorCode: errorCode === 0 ? partitionError : errorCode, highWatermark, records: reader.view(Math.max(0, reader.int32())) };
  });
  return partitions[0];
}

export type ListedOffset = PartitionId & { readonly errorCode: number; readonly offset: number };

/** ListOffsets v3. `read uncommitted`: the end is the high watermark. */
export function listOffsetsRequest(partitions: readonly PartitionId[], which: 'start' | 'end'): WireRequest {
  const topics = byTopic(partitions);
  const writer = new WireWriter(4 + 1 + topicsSize(topics, 12));
  writer.int32(-1);
  writer.int8(0);
  writeTopics(writer, topics, ({ partition }) => {
    writer.int32(partition);
    writer.int64(which === 'start' ? -2 : -1);
  });
  return { apiKey: 2, apiVersion: 3, apiName: 'ListOffsets', body: writer.bytes };
}

export function listOffsetsResponse(payload: Buffer): readonly ListedOffset[] {
  const reader = new WireReader(payload);
  reader.int32();
  return readTopics(reader, (topic) => {
    const partition = reader.int32();
    const errorCode = reader.int16();
    reader.at += 8;
    return { topic, partition, errorCode, offset: reader.int64() };
  });
}

export function deleteRecordsRequest(id: PartitionId, beforeOffset: number, timeoutMs: number): WireRequest {
  const topics = byTopic([id]);
  const writer = new WireWriter(topicsSize(topics, 12) + 4);
  writeTopics(writer, topics, ({ partition }) => {
    writer.int32(partition);
    writer.int64(beforeOffset);
  });
  writer.int32(timeoutMs);
  return { apiKey: 21, apiVersion: 1, apiName: 'DeleteRecords', body: writer.bytes };
}

export function deleteRecordsResponse(payload: Buffer): number | undefined {
  const reader = new WireReader(payload);
  reader.int32();
  return readTopics(reader, () => {
    reader.at += 12;
    return reader.int16();
  })[0];
}

export type ClusterMetadata = {
  /** A broker that the cluster takes for alive, and where it says that it listens. */
  readonly brokers: readonly { readonly nodeId: number; readonly host: string; readonly port: number }[];
  readonly partitions: readonly (PartitionId & { readonly errorCode: number; readonly leader: number })[];
  /** Topics that the broker will not speak about: missing, or this user may not describe them. */
  readonly refusedTopics: ReadonlyMap<string, number>;
};

/** Metadata v4 of the topics named: who leads what, also while some partitions have no leader. Never makes a topic that is missing. */
export function metadataRequest(topics: readonly string[]): WireRequest {
  const writer = new WireWriter(4 + topics.reduce((sum, topic) => sum + 2 + Buffer.byteLength(topic), 0) + 1);
  writer.int32(topics.length);
  for (const topic of topics) writer.string(topic);
  writer.int8(0);
  return { apiKey: 3, apiVersion: 4, apiName: 'Metadata', body: writer.bytes };
}

export function metadataResponse(payload: Buffer): ClusterMetadata {
  const reader = new WireReader(payload);
  reader.int32();
  const brokers = reader.array(() => {
    const broker = { nodeId: reader.int32(), host: reader.string(), port: reader.int32() };
    reader.string();
    return broker;
  });
  reader.string();
  reader.int32();
  const refusedTopics = new Map<string, number>();
  const partitions = reader
    .array(() => {
      const topicError = reader.int16();
      const topic = reader.string();
      if (topicError !== 0) refusedTopics.set(topic, topicError);
      reader.int8();
      return reader.array(() => {
        const errorCode = reader.int16();
        const partition = reader.int32();
        const leader = reader.int32();
        reader.array(() => reader.int32());
        reader.array(() => reader.int32());
        return { topic, partition, errorCode, leader };
      });
    })
    .flat();
  return { brokers, partitions, refusedTopics };
}

/** How long the broker wants to hear nothing more on this connection, because a quota is used up. */
export function throttleMs({ apiName }: Pick<WireRequest, 'apiName'>, payload: Buffer): number {
  if (payload.length < 4) return 0;
  return apiName === 'Produce' ? payload.readInt32BE(payload.length - 4) : payload.readInt32BE(0);
}

function readTopics<T>(reader: WireReader, partition: (topic: string) => T): readonly T[] {
  return reader
    .array(() => {
      const topic = reader.string();
      return reader.array(() => partition(topic));
    })
    .flat();
}
