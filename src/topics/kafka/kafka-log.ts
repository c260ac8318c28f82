/**
 * The journals on Kafka: one lane per broker, one Produce request in flight on it, carrying the batches of all partitions it leads.
 *
 *     ready ─▶ lane of the leader ─ setImmediate ─▶ seal … seal ─▶ Produce v7, acks=all ─▶ one outcome per partition
 *         └─ no leader known ─▶ waits, unsealed, until it is found (leader-search.ts)
 *
 * Nothing is ever sent twice from here. A batch that a broker turned down before it appended is `refused`, and its actor may send it again;
 * one whose outcome cannot be told is `unknown`, and its actor settles that with a claim. After either the partition is appended alone until
 * one append succeeds, so that its trouble stays its own.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { LogError, missingOffsets, partitionName, type PartitionId } from '../../ports/log.ts';
import type { AppendOutcome, BatchSource, GrowingLog, LogAttachment, LogBounds, StoredRecord, TopicSpec } from '../../ports/log.ts';
import { LaneSlot, type BatchUnderWay } from '../append-lane.ts';
import { checkPartitions } from '../catalogue.ts';
import { inSlices } from '../in-slices.ts';
import { BrokerLanes } from './broker-lanes.ts';
import { DataPlane, type Channel } from './data-plane.ts';
import { EndBarrier } from './end-barrier.ts';
import { errorIs, errorName, noError, offsetOutOfRange } from './error-codes.ts';
import { failureText, kafkaFailure } from './kafka-failure.ts';
import { LeaderSearch } from './leader-search.ts';
import { provisionTopics, type ProvisionOptions } from './provision.ts';
import { decodeRecordBatches, encodeRecordBatch } from './record-batch.ts';
import * as requests from './requests.ts';
import type { KafkaOptions } from '../../config/kafka-options.ts';
import type { Logger } from '../../observability/logger.ts';
import { OutageReport, steadyWallMs } from '../../observability/outage-report.ts';
import type { WireRequest } from './requests.ts';

export type KafkaLogOptions = {
  readonly kafka: KafkaOptions;
  readonly topics: readonly TopicSpec[];
  readonly logger: Logger;
  /** After so long without an answer the outcome is unknown, and the connection is dropped. */
  readonly requestTimeoutMs?: number;
  readonly metadataAgeMsMax?: number;
};

const requestTimeoutMsDefault = 5_000;
/** A broker that cannot gather its replicas answers for itself, per partition, before the whole request times out here. */
const brokerTimeoutShare = 0.8;
const retryMsMin = 20;
const retryMsMax = 500;
const outageTickMs = 500;

type OpenOptions = KafkaLogOptions & Pick<ProvisionOptions, 'addedTopics' | 'beforeMaking'>;

/** Creates or checks the topics, then connects. */
export async function openKafkaLog(options: OpenOptions): Promise<OpenKafkaLog> {
  return await connectKafkaLog({ ...options, topics: await provisionTopics(options) });
}

/** Creates nothing; throws what would refuse a start. Undefined: not all topics are there, and they could be created. */
export async function openKafkaLogForTrial(options: OpenOptions): Promise<OpenKafkaLog | undefined> {
  const topics = await provisionTopics({ ...options, isTrial: true });
  return topics.length < options.topics.length ? undefined : await connectKafkaLog({ ...options, topics });
}

/** Opens the log for tools: the topics must be there, and are taken as they are. */
export async function connectKafkaLog({ kafka, topics, logger, ...rest }: KafkaLogOptions): Promise<OpenKafkaLog> {
  const requestTimeoutMs = rest.requestTimeoutMs ?? requestTimeoutMsDefault;
  const plane = await DataPlane.connect({ ...rest, kafka, logger, requestTimeoutMs, topics: topics.map(({ name }) => name) });
  const log = new KafkaLog(plane, topics, { kafka, logger, requestTimeoutMs });
  try {
    // The leaders of a topic that was just made refuse the first requests: better these than the first claims, which would be in doubt.
    await Promise.all(topics.flatMap(partitionsOf).map((id) => log.end(id)));
    return log;
  } catch (error) {
    await log.close();
    throw error;
  }
}

function partitionsOf({ name, partitions }: TopicSpec): readonly PartitionId[] {
  return Array.from({ length: partitions }, (_, partition) => ({ topic: name, partition }));
}

/** `topics`: with the partitions that they have. */
export type OpenKafkaLog = GrowingLog & {
  readonly topics: readonly TopicSpec[];
  /** Topics that were added while the log was open. */
  readonly addedTopics: readonly TopicSpec[];
};

type Settings = { readonly kafka: KafkaOptions; readonly logger: Logger; readonly requestTimeoutMs: number };

class KafkaLog implements OpenKafkaLog {
  readonly exclusive = false;
  readonly topics: readonly TopicSpec[];
  #addedTopics: readonly TopicSpec[] = [];
  readonly #plane: DataPlane;
  readonly #settings: Settings;
  readonly #lanes: BrokerLanes;
  readonly #search: LeaderSearch;
  /** One per leader, so that a broker which hangs holds up its own partitions only. */
  readonly #barriers = new Map<number | undefined, EndBarrier>();
  readonly #outages: OutageReport<PartitionId>;
  readonly #timer: NodeJS.Timeout;
  #closed = false;

  constructor(plane: DataPlane, topics: readonly TopicSpec[], settings: Settings) {
    this.#plane = plane;
    this.topics = topics;
    this.#settings = settings;
    const { logger } = settings;
    this.#outages = kafkaOutages(logger, () => plane.describeBrokers());
    this.#search = new LeaderSearch({
      plane,
      ends: (leader, ids) => this.#endsTogether(leader, ids),
      found: (slot, leader) => this.#lanes.place(slot, leader),
      failed: (ids, error) => this.#failed('append', ids, error),
    });
    this.#lanes = new BrokerLanes({
      plane,
      search: this.#search,
      produce: (nodeId, batches, settle, broke) => void this.#produce(nodeId, batches).then(settle, broke),
    });
    this.#timer = setInterval(() => this.#outages.tick(), outageTickMs).unref();
  }

  async addTopic(topic: TopicSpec): Promise<void> {
    const { kafka, logger } = this.#settings;
    const topics = await provisionTopics({ kafka, logger, topics: [topic] });
    for (const { partitions } of topics) checkPartitions(topic, partitions);
    await this.#plane.addTopic(topic.name);
    await Promise.all(topics.flatMap(partitionsOf).map((id) => this.end(id)));
    this.#addedTopics = [...this.#addedTopics.filter(({ name }) => name !== topic.name), topic];
  }

  get addedTopics(): readonly TopicSpec[] {
    return this.#addedTopics;
  }

  attach(partition: PartitionId, source: BatchSource): LogAttachment {
    return new LaneSlot(partition, source, (slot) => this.#lanes.route(slot));
  }

  async read(id: PartitionId, fromOffset: number, maxBytes: number): Promise<readonly StoredRecord[]> {
    return await this.#persist<readonly StoredRecord[]>(id, `reading ${partitionName(id)}`, async () => {
      const answer = await this.#ask(id, 'read', requests.fetchRequest(id, fromOffset, maxBytes));
      const fetched = requests.fetchResponse(answer);
      if (fetched?.errorCode === offsetOutOfRange) return await this.#outOfRange(id, fromOffset);
      if (fetched === undefined || fetched.errorCode !== noError) return { retry: fetched?.errorCode };
      const { records, nextOffset } = await inSlices(decodeRecordBatches(fetched.records, fromOffset, partitionName(id)));
      if (records.length > 0) return { done: records };
      if (nextOffset > fromOffset) throw missingOffsets(id, fromOffset, nextOffset - 1);
      return fromOffset < fetched.highWatermark ? { retry: undefined } : { done: records };
    });
  }

  /** A new leader may not know yet how far the log was committed: it is believed only when it says so twice. */
  async #outOfRange(id: PartitionId, offset: number): Promise<{ readonly retry: number }> {
    const { start, end } = await this.bounds(id);
    if (offset >= start && offset <= end) return { retry: offsetOutOfRange };
    throw new LogError('out-of-range', `${partitionName(id)} holds offsets ${start} to ${end - 1}; asked was ${offset}`);
  }

  async bounds(id: PartitionId): Promise<LogBounds> {
    const start = await this.#listed(id, 'start');
    return { start, end: await this.end(id) };
  }

  end(id: PartitionId): Promise<number> {
    const leader = this.#plane.leader(id);
    const barrier =
      this.#barriers.get(leader) ??
      new EndBarrier(
        (ids) => this.#endsTogether(leader, ids),
        (alone) => this.#listed(alone, 'end'),
      );
    this.#barriers.set(leader, barrier);
    return barrier.end(id);
  }

  trouble(partition: PartitionId): string {
    // Appends first: reads may rest on them.
    const reason = this.#outages.reasonOf('append', partition) ?? this.#outages.reasonOf('read', partition) ?? '';
    return reason === '' || reason.startsWith('Kafka') ? reason : `Kafka: ${reason}`;
  }

  async truncate(id: PartitionId, beforeOffset: number): Promise<void> {
    const { start, end } = await this.bounds(id);
    if (beforeOffset > end)
      throw new LogError('out-of-range', `${partitionName(id)} ends at ${end}; asked was to truncate before ${beforeOffset}`);
    if (beforeOffset <= start) return;
    const timeoutMs = this.#settings.requestTimeoutMs;
    await this.#persist(id, `truncating ${partitionName(id)}`, async () => {
      const answer = await this.#ask(id, 'read', requests.deleteRecordsRequest(id, beforeOffset, timeoutMs));
      const errorCode = requests.deleteRecordsResponse(answer);
      return errorCode === noError ? { done: undefined } : { retry: errorCode };
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#search.close();
    clearInterval(this.#timer);
    await this.#plane.close();
  }

  async #produce(nodeId: number, batches: readonly BatchUnderWay[]): Promise<readonly AppendOutcome[]> {
    const { requestTimeoutMs } = this.#settings;
    const asked = batches.map(({ slot }) => slot.partition);
    const partitions = batches.map(({ slot, batch }) => ({ ...slot.partition, batch: encodeRecordBatch(batch.records) }));
    const request = requests.produceRequest(partitions, Math.ceil(requestTimeoutMs * brokerTimeoutShare));
    try {
      const answer = await this.#plane.request(nodeId, 'append', request);
      const produced = requests.produceResponse(answer);
      return batches.map((batch) => this.#outcome(batch, produced));
    } catch (error) {
      for (const id of asked) this.#plane.forget(id);
      const { message } = kafkaFailure(error, `appending through broker ${nodeId}`);
      this.#failed('append', asked, error);
      return batches.map(({ batch }) => ({ kind: 'unknown', generation: batch.generation, reason: message }));
    }
  }

  /** An answer without our partition in it says nothing about our partition. */
  #outcome({ slot, batch }: BatchUnderWay, produced: readonly requests.ProducedPartition[]): AppendOutcome {
    const { generation } = batch;
    const { topic, partition } = slot.partition;
    const found = produced.find((candidate) => candidate.partition === partition && candidate.topic === topic);
    if (found === undefined)
      return { kind: 'unknown', generation, reason: `Kafka's answer does not name ${partitionName(slot.partition)}` };
    if (found.errorCode === noError) {
      this.#outages.worked('append', slot.partition);
      return { kind: 'appended', generation, baseOffset: found.baseOffset };
    }
    this.#outages.failed('append', slot.partition, errorName(found.errorCode));
    if (errorIs(found.errorCode, 'stale leader')) this.#plane.forget(slot.partition);
    const reason = `${partitionName(slot.partition)}: ${errorName(found.errorCode)}`;
    if (!errorIs(found.errorCode, 'refusal')) return { kind: 'unknown', generation, reason };
    return { kind: 'refused', generation, reason, denied: errorIs(found.errorCode, 'denial'), tooLarge: errorIs(found.errorCode, 'size') };
  }

  /** One request for all that this broker leads; what it cannot answer is left out. */
  async #endsTogether(leader: number | undefined, ids: readonly PartitionId[]): Promise<readonly (number | undefined)[]> {
    if (leader === undefined) return [];
    try {
      const answer = await this.#plane.request(leader, 'read', requests.listOffsetsRequest(ids, 'end'));
      const listed = requests.listOffsetsResponse(answer);
      return ids.map(({ topic, partition }) => {
        const found = listed.find((candidate) => candidate.partition === partition && candidate.topic === topic);
        if (found?.errorCode === noError) this.#outages.worked('read', { topic, partition });
        else this.#outages.failed('read', { topic, partition }, errorName(found?.errorCode ?? noError));
        return found?.errorCode === noError ? found.offset : undefined;
      });
    } catch (error) {
      this.#lostTouch(error, ids);
      return [];
    }
  }

  async #listed(id: PartitionId, which: 'start' | 'end'): Promise<number> {
    return await this.#persist(id, `asking where ${partitionName(id)} ${which}s`, async () => {
      const [listed] = requests.listOffsetsResponse(await this.#ask(id, 'read', requests.listOffsetsRequest([id], which)));
      return listed?.errorCode === noError ? { done: listed.offset } : { retry: listed?.errorCode };
    });
  }

  /** One request to whoever leads the partition. */
  async #ask(id: PartitionId, channel: Channel, request: WireRequest): Promise<Buffer> {
    if (this.#plane.leader(id) === undefined) await this.#plane.refresh();
    const leader = this.#plane.leader(id);
    if (leader === undefined) throw new LogError('unavailable', `${partitionName(id)}: ${this.#plane.whyLeaderless(id)}`);
    try {
      return await this.#plane.request(leader, channel, request);
    } catch (error) {
      this.#lostTouch(error, [id]);
      throw error;
    }
  }

  #lostTouch(error: unknown, partitions: readonly PartitionId[]): void {
    for (const id of partitions) this.#plane.forget(id);
    this.#failed('read', partitions, error);
  }

  /** Reads change nothing, so they are tried again while the trouble may pass, for as long as one request may take twice. */
  async #persist<T>(id: PartitionId, doing: string, attempt: () => Promise<Attempt<T>>): Promise<T> {
    const deadline = performance.now() + 2 * this.#settings.requestTimeoutMs;
    for (let waitMs = retryMsMin; ; waitMs = Math.min(2 * waitMs, retryMsMax)) {
      let failure: LogError;
      try {
        if (this.#closed) throw new LogError('closed', 'the log is closed');
        const result = await attempt();
        if ('done' in result) {
          this.#outages.worked('read', id);
          return result.done;
        }
        const code = result.retry;
        if (code !== undefined && errorIs(code, 'stale leader')) this.#plane.forget(id);
        const what = code === undefined ? 'an empty answer' : errorName(code);
        failure = new LogError(code !== undefined && errorIs(code, 'denial') ? 'denied' : 'unavailable', `${doing}: ${what}`);
      } catch (error) {
        failure = this.#closed ? new LogError('closed', 'the log is closed', { cause: error }) : kafkaFailure(error, doing);
      }
      // Asking again does not help: the partition fails, and its actor logs it.
      if (!this.#closed && failure.recoverable) this.#outages.failed('read', id, failure.message);
      if (!failure.recoverable || performance.now() + waitMs > deadline) throw failure;
      await pause(waitMs);
    }
  }

  #failed(doing: 'append' | 'read', partitions: readonly PartitionId[], error: unknown): void {
    if (this.#closed) return;
    for (const id of partitions) this.#outages.failed(doing, id, failureText(error, 'Kafka'));
  }
}

type Attempt<T> = { readonly done: T } | { readonly retry: number | undefined };

/** Whoever waits for Kafka tries again much sooner than this. */
const abandonedAfterMs = 20_000;

/** `brokers`: as they advertise themselves. */
export function kafkaOutages(logger: Logger, brokers: () => string, nowMs = steadyWallMs): OutageReport<PartitionId> {
  const nobodyAsks = 'nothing waits for Kafka any more';
  const messages = { waits: 'partitions wait for Kafka', over: 'Kafka serves all partitions again', nobodyAsks };
  const details = () => ({ brokers: brokers() });
  return new OutageReport({ logger, nowMs, nameOf: partitionName, abandonedAfterMs, messages, details });
}
