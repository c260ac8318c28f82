import { createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { silentLogger } from '../../src/observability/logger.ts';
import { connectKafkaLog } from '../../src/topics/kafka/kafka-log.ts';
import type { AppendOutcome, Log, LogRecord } from '../../src/actors/log.ts';

const topic = 't';

/**
 * Two brokers in a few lines, as far as an append needs them. The first led the partition and was cut off from the second: it goes on telling
 * that it leads. The second leads, and does not count the first among the living.
 */
class CutOff {
  readonly asked = new Map<string, number>();
  readonly #appendError: number;
  readonly #servers: Server[] = [];
  readonly #sockets: Socket[] = [];

  constructor(appendError: number) {
    this.#appendError = appendError;
  }

  get addresses(): readonly string[] {
    return [1, 2].map((id) => `127.0.0.1:${this.#port(id)}`);
  }

  async listen(): Promise<this> {
    for (const id of [1, 2]) {
      const server = createServer((socket) => this.#serve(id, socket));
      this.#servers.push(server);
      await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
    }
    return this;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    for (const server of this.#servers) server.close();
  }

  #port(id: number): number {
    const address = this.#servers[id - 1]?.address();
    if (typeof address !== 'object' || address === null) throw new Error(`broker ${id} does not listen`);
    return address.port;
  }

  #serve(id: number, socket: Socket): void {
    this.#sockets.push(socket);
    socket.on('error', () => {});
    let bytes = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      while (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE(0)) {
        const end = 4 + bytes.readInt32BE(0);
        const answer = Buffer.concat([bytes.subarray(8, 12), ...this.#answer(id, bytes.readInt16BE(4))]);
        bytes = bytes.subarray(end);
        socket.write(Buffer.concat([i32(answer.length), answer]));
      }
    });
  }

  #answer(id: number, apiKey: number): readonly Buffer[] {
    switch (apiKey) {
      case 0: {
        this.#count(`produce ${id}`);
        const outcome = id === 1 ? [i16(this.#appendError), i64(-1)] : [i16(0), i64(0)];
        return [i32(1), text(topic), i32(1), i32(0), ...outcome, i64(-1), i64(0), i32(0)];
      }
      case 2:
        return [i32(0), i32(1), text(topic), i32(1), i32(0), i16(0), i64(-1), i64(0)];
      case 3: {
        this.#count(`metadata ${id}`);
        const alive = id === 1 ? [1, 2] : [2];
        const brokers = alive.flatMap((each) => [i32(each), text('127.0.0.1'), i32(this.#port(each)), i16(-1)]);
        const partition = [i16(0), i32(0), i32(id), i32(1), i32(id), i32(1), i32(id)];
        return [i32(0), i32(alive.length), ...brokers, i16(-1), i32(2), i32(1), i16(0), text(topic), Buffer.of(0), i32(1), ...partition];
      }
      case 18: {
        const apis = [0, 1, 2, 3, 18].flatMap((key) => [i16(key), i16(0), i16([7, 11, 3, 6][key] ?? 2)]);
        return [i16(0), i32(5), ...apis, i32(0)];
      }
      default:
        throw new Error(`nobody asks for ${apiKey} here`);
    }
  }

  #count(what: string): void {
    this.asked.set(what, (this.asked.get(what) ?? 0) + 1);
  }
}

function i16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

function i32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}

function i64(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

function text(value: string): Buffer {
  return Buffer.concat([i16(value.length), Buffer.from(value)]);
}

let log: Log | undefined;
let brokers: CutOff | undefined;
afterEach(async () => {
  await log?.close();
  brokers?.close();
});

test.each([
  ['NOT_LEADER_OR_FOLLOWER', 6],
  ['REQUEST_TIMED_OUT', 7],
  ['NOT_ENOUGH_REPLICAS', 19],
])(
  'a leader that is cut off from the others and answers %s is not believed for ever: somebody else is asked who leads',
  async (_, code) => {
    brokers = await new CutOff(code).listen();
    const kafka = {
      brokers: brokers.addresses,
      topicPrefix: topic,
      replicationFactor: 1,
      autoCreateTopics: false,
      tls: undefined,
      sasl: undefined,
    };
    log = await connectKafkaLog({ kafka, topics: [{ name: topic, partitions: 1, purpose: '' }], logger: silentLogger });
    const outcomes: AppendOutcome['kind'][] = [];
    const appended = Promise.withResolvers<void>();
    const names = { key: 'k', type: 'T', namespace: '', workflowId: '', runId: '' };
    const record: LogRecord = { ...names, schema: 1, epoch: 1, sequence: 0, timeMs: 1, value: Buffer.of(1) };
    const attachment = log.attach(
      { topic, partition: 0 },
      {
        seal: () => ({ generation: outcomes.length, records: [record] }),
        settle: ({ kind }) => {
          outcomes.push(kind);
          if (kind === 'appended') appended.resolve();
          else attachment.ready();
        },
      },
    );
    attachment.ready();
    await appended.promise;
    expect(outcomes[0]).not.toBe('appended');
    expect(brokers.asked.get('produce 2')).toBe(1);
  },
);
