/**
 * Kafka brokers on loopback in a few lines, as far as an append needs them: ApiVersions, Metadata, ListOffsets and Produce of one topic.
 * What they say of leaders and what becomes of an append is the test's.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { WireReader } from '../../src/topics/kafka/wire.ts';
import type { KafkaOptions } from '../../src/config/kafka-options.ts';

export const topic = 't';

/** What one broker answers for one partition. */
export type Produced = { readonly partition: number; readonly errorCode: number; readonly baseOffset: number };

export type Play = {
  readonly partitions: number;
  /** Node ids, from 1. */
  readonly brokers: number;
  /** Those that this broker counts among the living, and whom it names leader of all partitions; the broker itself unless said otherwise. */
  readonly metadata?: (id: number) => { readonly alive: readonly number[]; readonly leader: number };
  readonly produce: (
    id: number,
    partitions: readonly number[],
    socket: Socket,
  ) => { readonly outcomes: readonly Produced[]; readonly throttleMs?: number };
};

export class FakeBrokers {
  /** How often each broker was asked: `produce 1`. */
  readonly asked = new Map<string, number>();
  /** Connections that are open, by broker. */
  readonly connections = new Map<number, Set<Socket>>();
  readonly #play: Play;
  readonly #servers: Server[] = [];

  static async play(play: Play): Promise<FakeBrokers> {
    const brokers = new FakeBrokers(play);
    for (let id = 1; id <= play.brokers; id++) await brokers.#listen(id);
    return brokers;
  }

  private constructor(play: Play) {
    this.#play = play;
  }

  /** `bootstrap`: the brokers that the configuration names. */
  options(...bootstrap: readonly number[]): KafkaOptions {
    const brokers = bootstrap.map((id) => `127.0.0.1:${this.#port(id)}`);
    return { brokers, topicPrefix: topic, replicationFactor: 1, autoCreateTopics: false, tls: undefined, sasl: undefined };
  }

  count(what: string): number {
    return this.asked.get(what) ?? 0;
  }

  close(): void {
    for (const sockets of this.connections.values()) for (const socket of sockets) socket.destroy();
    for (const server of this.#servers) server.close();
  }

  async #listen(id: number): Promise<void> {
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
      this.#serve(id, socket);
    });
    this.connections.set(id, sockets);
    this.#servers.push(server);
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  }

  #port(id: number): number {
    const address = this.#servers[id - 1]?.address();
    if (typeof address !== 'object' || address === null) throw new Error(`broker ${id} does not listen`);
    return address.port;
  }

  #serve(id: number, socket: Socket): void {
    socket.on('error', () => {});
    let bytes = Buffer.alloc(0);
    socket.on('data', (chunk) => {
      bytes = Buffer.concat([bytes, chunk]);
      while (bytes.length >= 4 && bytes.length >= 4 + bytes.readInt32BE(0)) {
        const end = 4 + bytes.readInt32BE(0);
        const reader = new WireReader(bytes.subarray(4, end));
        const apiKey = reader.int16();
        reader.int16();
        const correlationId = reader.int32();
        reader.string();
        const answer = Buffer.concat([i32(correlationId), ...this.#answer(id, apiKey, reader, socket)]);
        bytes = bytes.subarray(end);
        socket.write(Buffer.concat([i32(answer.length), answer]));
      }
    });
  }

  #answer(id: number, apiKey: number, request: WireReader, socket: Socket): readonly Buffer[] {
    switch (apiKey) {
      case 0:
        return this.#produce(id, request, socket);
      case 2:
        return this.#listOffsets(id, request);
      case 3:
        return this.#metadata(id);
      case 18: {
        const apis = [0, 1, 2, 3, 18].flatMap((key) => [i16(key), i16(0), i16([7, 11, 3, 6][key] ?? 2)]);
        return [i16(0), i32(5), ...apis, i32(0)];
      }
      default:
        throw new Error(`nobody asks for ${apiKey} here`);
    }
  }

  #produce(id: number, request: WireReader, socket: Socket): readonly Buffer[] {
    this.#counted(`produce ${id}`);
    request.string();
    request.int16();
    request.int32();
    const partitions = partitionsOf(request, () => void request.view(request.int32()));
    const { outcomes, throttleMs = 0 } = this.#play.produce(id, partitions, socket);
    const written = outcomes.flatMap(({ partition, errorCode, baseOffset }) => [
      i32(partition),
      i16(errorCode),
      i64(baseOffset),
      i64(-1),
      i64(0),
    ]);
    return [i32(1), text(topic), i32(outcomes.length), ...written, i32(throttleMs)];
  }

  #listOffsets(id: number, request: WireReader): readonly Buffer[] {
    this.#counted(`listOffsets ${id}`);
    request.int32();
    request.int8();
    const partitions = partitionsOf(request, () => request.int64());
    return [
      i32(0),
      i32(1),
      text(topic),
      i32(partitions.length),
      ...partitions.flatMap((partition) => [i32(partition), i16(0), i64(-1), i64(0)]),
    ];
  }

  #metadata(id: number): readonly Buffer[] {
    this.#counted(`metadata ${id}`);
    const { alive, leader } = this.#play.metadata?.(id) ?? { alive: [id], leader: id };
    const brokers = alive.flatMap((each) => [i32(each), text('127.0.0.1'), i32(this.#port(each)), i16(-1)]);
    const partitions = Array.from({ length: this.#play.partitions }, (_, partition) => [
      i16(0),
      i32(partition),
      i32(leader),
      ...[leader, leader].flatMap((replica) => [i32(1), i32(replica)]),
    ]).flat();
    const topics = [i32(1), i16(0), text(topic), Buffer.of(0), i32(this.#play.partitions), ...partitions];
    return [i32(0), i32(alive.length), ...brokers, i16(-1), i32(leader), ...topics];
  }

  #counted(what: string): void {
    this.asked.set(what, this.count(what) + 1);
  }
}

function partitionsOf(request: WireReader, rest: () => void): readonly number[] {
  return request
    .array(() => {
      request.string();
      return request.array(() => {
        const partition = request.int32();
        rest();
        return partition;
      });
    })
    .flat();
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
