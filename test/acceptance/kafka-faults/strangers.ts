/** What others write into a journal's topic. They share no code with Perdure. */
import assert from 'node:assert/strict';
import kafkajs from 'kafkajs';
import { consumeAll } from '../kafka-admin.ts';
import type { IHeaders, Kafka, Message } from 'kafkajs';

const { CompressionCodecs, CompressionTypes } = kafkajs;

/** Into every partition of a topic. */
async function writeAll(
  kafka: Kafka,
  topic: string,
  partitions: number,
  make: (partition: number) => readonly Message[],
  compression = CompressionTypes.None,
): Promise<void> {
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  const messages = Array.from({ length: partitions }, (_, partition) =>
    make(partition).map((message) => ({ ...message, partition })),
  ).flat();
  await producer.send({ topic, messages, compression });
  await producer.disconnect();
}

const plain: readonly Message[] = [{ key: 'a stranger', value: 'who took the wrong topic' }];

export async function writeTransactions(kafka: Kafka, topic: string, partitions: number): Promise<void> {
  const producer = kafka.producer({ transactionalId: crypto.randomUUID(), idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  for (const ending of ['commit', 'abort'] as const) {
    const transaction = await producer.transaction();
    const messages = Array.from({ length: partitions }, (_, partition) => plain.map((message) => ({ ...message, partition }))).flat();
    await transaction.send({ topic, messages });
    await transaction[ending]();
  }
  await producer.disconnect();
}

/** Also for keys that are in the journal. */
export async function writeTombstones(kafka: Kafka, topic: string, partitions: number): Promise<void> {
  const keys = new Set((await consumeAll(kafka, topic)).map(({ message }) => message.key?.toString() ?? ''));
  await writeAll(kafka, topic, partitions, () => [...keys].slice(0, 20).map((key) => ({ key, value: null })));
}

export async function writeCompressed(kafka: Kafka, topic: string, partitions: number): Promise<void> {
  CompressionCodecs[CompressionTypes.Snappy] = () => ({
    compress: async ({ buffer }: { buffer: Buffer }) => snappy(buffer),
    decompress: never,
  });
  CompressionCodecs[CompressionTypes.LZ4] = () => ({ compress: async ({ buffer }: { buffer: Buffer }) => lz4(buffer), decompress: never });
  for (const compression of [CompressionTypes.GZIP, CompressionTypes.Snappy, CompressionTypes.LZ4]) {
    await writeAll(kafka, topic, partitions, () => plain, compression);
  }
}

/** Claims whose value is no claim, and copies of a real one with an epoch that would end all others. */
export async function writeClaims(kafka: Kafka, topic: string, partitions: number): Promise<void> {
  const real = (await consumeAll(kafka, topic)).find(({ message }) => message.key?.toString() === '@claim')?.message;
  assert.ok(real !== undefined, 'there is a claim');
  await writeAll(kafka, topic, partitions, () => {
    const headers = (epoch: string): IHeaders => ({ ...real.headers, 'perdure.epoch': epoch });
    return [
      { key: '@claim', value: Buffer.from([0xff, 0xff, 0xff]), headers: headers('1000') },
      { key: '@claim', value: 'give it to me' },
      { key: '@claim', value: real.value, headers: headers(String(2 ** 53 - 1)) },
    ];
  });
}

/** The frame of snappy's raw format with one literal: uncompressed, and valid. */
function snappy(bytes: Buffer): Buffer {
  const parts: Buffer[] = [varint(bytes.length)];
  for (let at = 0; at < bytes.length; at += 60) {
    const literal = bytes.subarray(at, at + 60);
    parts.push(Buffer.from([(literal.length - 1) << 2]), literal);
  }
  return Buffer.concat(parts);
}

/** An LZ4 frame with one stored block of at most 64 KiB. */
function lz4(bytes: Buffer): Buffer {
  const header = Buffer.from([0x04, 0x22, 0x4d, 0x18, 0x60, 0x40, 0x82]);
  const size = Buffer.alloc(4);
  size.writeUInt32LE((0x80000000 | bytes.length) >>> 0);
  return Buffer.concat([header, size, bytes, Buffer.alloc(4)]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let rest = value;
  for (; rest >= 0x80; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return Buffer.from([...bytes, rest]);
}

async function never(): Promise<never> {
  throw new Error('nothing is read here');
}
