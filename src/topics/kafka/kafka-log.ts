/**
 * The journals on Kafka: one lane per broker, one Produce request in flight on it, carrying the batches of all partitions it leads.
 *
 *     ready ─▶ lane of the leader ─ setImmediate ─▶ seal … seal ─▶ Produce v7, acks=all ─▶ one outcome per partition
 *         └─ no leader known ─▶ waits, unsealed, for the next refresh
 *
 * Nothing is ever sent twice. A batch whose outcome cannot be told is `unknown`, and its actor settles that with a claim; the partition
 * is then appended alone until one append succeeds, so that its trouble stays its own.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { LogError } from '../../actors/log.ts';
import { AppendLane, LaneSlot } from '../append-lane.ts';
import { DataPlane } from './data-plane.ts';
import { EndBarrier } from './end-barrier.ts';
import { errorName, isPassing, isRefusal, isStaleLeader, noError, offsetOutOfRange } from './error-codes.ts';
import { isRequestTimeout, kafkaFailure } from './kafka-failure.ts';
import { provisionTopics } from './provision.ts';
import { decodeRecordBatches, encodeRecordBatch } from './record-batch.ts';
import * as requests from './requests.ts';
import type { AppendOutcome, BatchSource, Log, LogAttachment, LogBounds, PartitionId, StoredRecord } from '../../actors/log.ts';
import type { KafkaOptions } from '../../config/kafka-options.ts';
import type { Logger } from '../../observability/logger.ts';
import type { BatchUnderWay } from '../append-lane.ts';
import type { TopicSpec } from '../catalogue.ts';
import type { Channel } from './data-plane.ts';
import type { WireRequest } from './requests.ts';

export type KafkaLogOptions = {
  readonly kafka: KafkaOptions;
  readonly topics: readonly TopicSpec[];
  readonly logger: Logger;
  /** After this long without an answer the outcome is unknown and the connection is dropped. */
  readonly requestTimeoutMs?: number;
};

const requestTimeoutMsDefault = 5_000;
/** A broker that cannot gather its replicas answers for itself, per partition, before the whole request times out here. */
const brokerTimeoutShare = 0.8;
const retryMsMin = 20;
const retryMsMax = 500;
const failuresPerWarning = 20;

/** Creates or checks the topics, then connects. */
export async function openKafkaLog(options: KafkaLogOptions): Promise<OpenKafkaLog> {
  return await connectKafkaLog({ ...options, topics: await provisionTopics(options) });
}

/** For tools: the topics must be there, and are taken as they are. */
export async function connectKafkaLog({ kafka, topics, logger, ...rest }: KafkaLogOptions): Promise<OpenKafkaLog> {
  const requestTimeoutMs = rest.requestTimeoutMs ?? requestTimeoutMsDefault;
  const plane = await DataPlane.connect({ kafka, logger, requestTimeoutMs, topics: topics.map(({ name }) => name) });
  const log = new KafkaLog(plane, topics, { logger, requestTimeoutMs });
  try {
    // The leaders of a topic that was just made refuse the first requests; better these than the first claims, which would be in doubt.
    const ids = topics.flatMap(({ name, partitions }) =>
      Array.from({ length: partitions }, (_, partition) => ({ topic: name, partition })),
    );
    await Promise.all(ids.map((id) => log.end(id)));
    return log;
  } catch (error) {
    await log.close();
    throw error;
  }
}

/** `topics`: with the partitions that they have. */
export type OpenKafkaLog = Log & { readonly topics: readonly TopicSpec[] };

type Settings = { readonly logger: Logger; readonly requestTimeoutMs: number };

class KafkaLog implements OpenKafkaLog {
  readonly exclusive = false;
  readonly topics: readonly TopicSpec[];
  readonly #plane: DataPlane;
  readonly #settings: Settings;
  readonly #lanes = new Map<number, AppendLane>();
  /** One per leader, so that a broker which hangs holds up its own partitions only. */
  readonly #barriers = new Map<number | undefined, EndBarrier>();
  /** Ready, but nobody knows their leader. */
  #homeless: LaneSlot[] = [];
  #finding = false;
  /** Since something last worked: how long to wait before the next try, and how often to say so. */
  #failures = 0;
  #closed = false;

  constructor(plane: DataPlane, topics: readonly TopicSpec[], settings: Settings) {
    this.#plane = plane;
    this.topics = topics;
    this.#settings = settings;
  }

  attach(partition: PartitionId, source: BatchSource): LogAttachment {
    return new LaneSlot(partition, source, (slot) => this.#route(slot));
  }

  async read(id: PartitionId, fromOffset: number, maxBytes: number): Promise<readonly StoredRecord[]> {
    return await this.#persist<readonly StoredRecord[]>(id, `reading ${describe(id)}`, async () => {
      const answer = await this.#ask(id, 'read', requests.fetchRequest(id, fromOffset, maxBytes));
      const fetched = requests.fetchResponse(answer);
      if (fetched?.errorCode === offsetOutOfRange) return await this.#outOfRange(id, fromOffset);
      if (fetched === undefined || fetched.errorCode !== noError) return { retry: fetched?.errorCode };
      const records = decodeRecordBatches(fetched.records, fromOffset, describe(id));
      const first = records[0]?.offset;
      if (first === undefined && fromOffset < fetched.highWatermark) return { retry: undefined };
      if (first !== undefined && first !== fromOffset) {
        throw new LogError(
          'corrupt',
          `${describe(id)} has no record at offset ${fromOffset}; the next one is at ${first}. Was the topic compacted?`,
        );
      }
      return { done: records };
    });
  }

  /** A new leader may not know yet how far the log was committed: it is believed only when it says so twice. */
  async #outOfRange(id: PartitionId, offset: number): Promise<{ readonly retry: number }> {
    const { start, end } = await this.bounds(id);
    if (offset >= start && offset <= end) return { retry: offsetOutOfRange };
    throw new LogError('out-of-range', `${describe(id)} holds offsets ${start} to ${end - 1}; asked was ${offset}`);
  }

  async bounds(id: PartitionId): Promise<LogBounds> {
    const start = await this.#persist(id, `asking where ${describe(id)} starts`, async () => {
      const answer = await this.#ask(id, 'read', requests.listOffsetsRequest([id], 'start'));
      const listed = requests.listOffsetsResponse(answer)[0];
      return listed?.errorCode === noError ? { done: listed.offset } : { retry: listed?.errorCode };
    });
    return { start, end: await this.end(id) };
  }

  end(id: PartitionId): Promise<number> {
    const leader = this.#plane.leader(id);
    const barrier =
      this.#barriers.get(leader) ??
      new EndBarrier(
        (ids) => this.#endsTogether(leader, ids),
        (alone) => this.#endAlone(alone),
      );
    this.#barriers.set(leader, barrier);
    return barrier.end(id);
  }

  async truncate(id: PartitionId, beforeOffset: number): Promise<void> {
    const { start, end } = await this.bounds(id);
    if (beforeOffset > end)
      throw new LogError('out-of-range', `${describe(id)} ends at ${end}; asked was to truncate before ${beforeOffset}`);
    if (beforeOffset <= start) return;
    const timeoutMs = this.#settings.requestTimeoutMs;
    await this.#persist(id, `truncating ${describe(id)}`, async () => {
      const answer = await this.#ask(id, 'read', requests.deleteRecordsRequest(id, beforeOffset, timeoutMs));
      const errorCode = requests.deleteRecordsResponse(answer);
      return errorCode === noError ? { done: undefined } : { retry: errorCode };
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#plane.close();
  }

  #route(slot: LaneSlot): void {
    const leader = this.#plane.leader(slot.partition);
    if (leader === undefined) {
      this.#homeless.push(slot);
      this.#findLeaders();
    } else {
      this.#place(slot, leader);
    }
  }

  /** Over another connection than last time the owner looks at its tail before it appends: records may be gone (rule T6). */
  #place(slot: LaneSlot, leader: number): void {
    const connection = `${leader}/${this.#plane.connectionNumber(leader)}`;
    const moved = slot.connection !== '' && slot.connection !== connection;
    slot.connection = connection;
    if (moved) slot.source.reconnected?.();
    this.#lane(leader).enqueue(slot);
  }

  #lane(nodeId: number): AppendLane {
    const existing = this.#lanes.get(nodeId);
    if (existing !== undefined) return existing;
    const lane = new AppendLane(
      (batches, settle) => void this.#produce(nodeId, batches).then(settle),
      () => this.#mayAppend(nodeId),
    );
    this.#lanes.set(nodeId, lane);
    return lane;
  }

  /** Asked before anything is sealed: without a connection all who wait look for their leader again. */
  #mayAppend(nodeId: number): boolean {
    if (this.#plane.connected(nodeId, 'append')) return true;
    const waiting = this.#lanes.get(nodeId)?.drain() ?? [];
    for (const { partition } of waiting) this.#plane.forget(partition);
    this.#homeless.push(...waiting);
    this.#findLeaders();
    return false;
  }

  #findLeaders(): void {
    if (!this.#finding) void this.#findLeadersNow();
  }

  /** Asks until everybody who is ready has a leader that serves. */
  async #findLeadersNow(): Promise<void> {
    this.#finding = true;
    while (this.#homeless.length > 0 && !this.#closed) {
      if (this.#failures > 0) await pause(Math.min(retryMsMin * 2 ** Math.min(this.#failures, 10), retryMsMax));
      try {
        await this.#plane.refresh();
      } catch (error) {
        this.#failed('cannot learn which brokers lead the partitions', error, {});
        continue;
      }
      const homeless = this.#homeless.filter(({ detached }) => !detached);
      this.#homeless = [];
      const byLeader = [...Map.groupBy(homeless, ({ partition }) => this.#plane.leader(partition))];
      await Promise.all(byLeader.map(([leader, slots]) => this.#settleIn(leader, slots)));
    }
    this.#finding = false;
  }

  /**
   * A broker that has just started names itself leader before it knows its partitions, and refuses appends in a way that leaves them in
   * doubt. So it is asked something harmless first.
   */
  async #settleIn(leader: number | undefined, slots: readonly LaneSlot[]): Promise<void> {
    let ends: readonly (number | undefined)[] = [];
    if (leader !== undefined) {
      try {
        await this.#plane.open(leader, 'append');
        ends = await this.#endsTogether(
          leader,
          slots.map(({ partition }) => partition),
        );
      } catch (error) {
        this.#failed('cannot connect to a broker', error, { broker: leader });
      }
    }
    const served = slots.filter((_, index) => ends[index] !== undefined);
    if (leader !== undefined) for (const slot of served) this.#place(slot, leader);
    if (served.length === slots.length) return;
    this.#homeless.push(...slots.filter((_, index) => ends[index] === undefined));
    this.#failures++;
  }

  async #produce(nodeId: number, batches: readonly BatchUnderWay[]): Promise<readonly AppendOutcome[]> {
    const { requestTimeoutMs } = this.#settings;
    const partitions = batches.map(({ slot, batch }) => ({ ...slot.partition, batch: encodeRecordBatch(batch.records) }));
    const request = requests.produceRequest(partitions, Math.ceil(requestTimeoutMs * brokerTimeoutShare));
    try {
      const answer = await this.#plane.request(nodeId, 'append', request);
      this.#failures = 0;
      const produced = requests.produceResponse(answer);
      return batches.map((batch) => this.#outcome(batch, produced));
    } catch (error) {
      if (isRequestTimeout(error)) this.#plane.drop(nodeId);
      for (const { slot } of batches) this.#plane.forget(slot.partition);
      const { message } = kafkaFailure(error, `appending through broker ${nodeId}`);
      this.#failed('the outcome of an append is not known', error, { broker: nodeId, partitions: batches.length });
      return batches.map(({ batch }) => ({ kind: 'unknown', generation: batch.generation, reason: message }));
    }
  }

  /** An answer without our partition in it says nothing about our partition. */
  #outcome({ slot, batch }: BatchUnderWay, produced: readonly requests.ProducedPartition[]): AppendOutcome {
    const { generation } = batch;
    const { topic, partition } = slot.partition;
    const found = produced.find((candidate) => candidate.partition === partition && candidate.topic === topic);
    if (found === undefined) return { kind: 'unknown', generation, reason: `Kafka's answer does not name ${describe(slot.partition)}` };
    if (found.errorCode === noError) return { kind: 'appended', generation, baseOffset: found.baseOffset };
    if (isStaleLeader(found.errorCode)) this.#plane.forget(slot.partition);
    const reason = `${describe(slot.partition)}: ${errorName(found.errorCode)}`;
    return { kind: isRefusal(found.errorCode) ? 'refused' : 'unknown', generation, reason };
  }

  /** One request for all that this broker leads; what it cannot answer is left out. */
  async #endsTogether(leader: number | undefined, ids: readonly PartitionId[]): Promise<readonly (number | undefined)[]> {
    if (leader === undefined) return [];
    try {
      const answer = await this.#plane.request(leader, 'read', requests.listOffsetsRequest(ids, 'end'));
      const listed = requests.listOffsetsResponse(answer);
      return ids.map(({ topic, partition }) => {
        const found = listed.find((candidate) => candidate.partition === partition && candidate.topic === topic);
        return found?.errorCode === noError ? found.offset : undefined;
      });
    } catch (error) {
      this.#lostTouch(leader, error, ids);
      return [];
    }
  }

  async #endAlone(id: PartitionId): Promise<number> {
    return await this.#persist(id, `asking where ${describe(id)} ends`, async () => {
      const answer = await this.#ask(id, 'read', requests.listOffsetsRequest([id], 'end'));
      const listed = requests.listOffsetsResponse(answer)[0];
      return listed?.errorCode === noError ? { done: listed.offset } : { retry: listed?.errorCode };
    });
  }

  /** One request to whoever leads the partition. */
  async #ask(id: PartitionId, channel: Channel, request: WireRequest): Promise<Buffer> {
    if (this.#plane.leader(id) === undefined) await this.#plane.refresh();
    const leader = this.#plane.leader(id);
    if (leader === undefined) throw new LogError('unavailable', `${describe(id)} has no leader`);
    try {
      return await this.#plane.request(leader, channel, request);
    } catch (error) {
      this.#lostTouch(leader, error, [id]);
      throw error;
    }
  }

  #lostTouch(leader: number, error: unknown, partitions: readonly PartitionId[]): void {
    if (isRequestTimeout(error)) this.#plane.drop(leader);
    for (const id of partitions) this.#plane.forget(id);
  }

  /** Reads change nothing, so they are tried again while the trouble may pass, for as long as one request may take twice. */
  async #persist<T>(id: PartitionId, doing: string, attempt: () => Promise<Attempt<T>>): Promise<T> {
    const deadline = Date.now() + 2 * this.#settings.requestTimeoutMs;
    for (let waitMs = retryMsMin; ; waitMs = Math.min(2 * waitMs, retryMsMax)) {
      let failure: LogError;
      try {
        if (this.#closed) throw new LogError('closed', 'the log is closed');
        const result = await attempt();
        if ('done' in result) return result.done;
        const code = result.retry;
        const passing = code === undefined || code === offsetOutOfRange || isPassing(code);
        if (code !== undefined && isStaleLeader(code)) this.#plane.forget(id);
        const what = code === undefined ? 'an empty answer' : errorName(code);
        failure = new LogError('unavailable', `${doing}: ${what}`, { recoverable: passing });
      } catch (error) {
        failure = this.#closed ? new LogError('closed', 'the log is closed', { cause: error }) : kafkaFailure(error, doing);
      }
      if (!failure.recoverable || Date.now() + waitMs > deadline) throw failure;
      await pause(waitMs);
    }
  }

  /** An outage fails many times a second; it is reported when it begins and now and then. */
  #failed(message: string, error: unknown, fields: Readonly<Record<string, number>>): void {
    if (!this.#closed && this.#failures % failuresPerWarning === 0) {
      this.#settings.logger.warn(message, { ...fields, error: kafkaFailure(error, 'Kafka').message });
    }
    this.#failures++;
  }
}

type Attempt<T> = { readonly done: T } | { readonly retry: number | undefined };

function describe({ topic, partition }: PartitionId): string {
  return `${topic}/${partition}`;
}
