/**
 * The headers of a dead letter and of its tombstone: everything that is known of it, as text that any tool for Kafka shows. Numbers are
 * decimal, times RFC 3339 with milliseconds, what is not known is left out. Written anew each time, so they never grow.
 */
import type { RecordHeader } from '../ports/log.ts';
import type { DeadLetterQueue, Letter, LetterError, LetterEvent, Whole } from '../deadletters/letter.ts';
import type { DamagedLetterRecord, LetterRecord, ResolvedRecord } from '../deadletters/letter-records.ts';
import { cutToUtf8Bytes, utf8Bytes } from '../kernel/utf8.ts';
import { numberOrBigint } from '../kernel/number-or-bigint.ts';
import { redriveTopic } from '../topics/catalogue.ts';
import type { Words } from '../kernel/words.ts';
import { letterCauses, letterDispositions, letterStates, resolvedHows } from '../kernel/letter-words.ts';

/** Limits of headers; bytes are those of UTF-8. */
export const headerLimits = {
  errorTypeBytesMax: 256,
  errorMessageBytesMax: 2_048,
  errorStackBytesMax: 8_192,
  errorChainMax: 8,
  errorChainBytesMax: 4_096,
  historyMax: 16,
  historyBytesMax: 4_096,
  /** Limits all names and values together; past it stack, chain and history go, in this order, then what tells where it was run. */
  headersBytesMax: 32_768,
  /** Room for the headers that the log adds: schema, epoch and sequence, with their names. */
  stampBytesMax: 128,
} as const;

const h = {
  messageId: 'perdure.message-id',
  category: 'perdure.category',
  categoryId: 'perdure.category-id',
  sourceCluster: 'perdure.source-cluster',
  targetCluster: 'perdure.target-cluster',
  shardId: 'perdure.shard-id',
  sourceShardId: 'perdure.source-shard-id',
  /** Which letter of that shard it was: a hand-over that is repeated is known by it. */
  fromSequence: 'perdure.from-sequence',
  /** The id of the cluster whose shard that is: one that is made anew counts from 1 again. */
  fromClusterId: 'perdure.from-cluster-id',
  taskId: 'perdure.task-id',
  taskType: 'perdure.task-type',
  taskVersion: 'perdure.task-version',
  taskFireTime: 'perdure.task-fire-time',
  taskCreatedTime: 'perdure.task-created-time',
  namespaceId: 'perdure.namespace-id',
  namespace: 'perdure.namespace',
  targetNamespaceId: 'perdure.target-namespace-id',
  targetNamespace: 'perdure.target-namespace',
  workflowId: 'perdure.workflow-id',
  runId: 'perdure.run-id',
  workflowType: 'perdure.workflow-type',
  eventId: 'perdure.event-id',
  firstEventId: 'perdure.first-event-id',
  nextEventId: 'perdure.next-event-id',
  cause: 'perdure.cause',
  disposition: 'perdure.disposition',
  errorType: 'perdure.error-type',
  errorMessage: 'perdure.error-message',
  errorStack: 'perdure.error-stack',
  errorChain: 'perdure.error-chain',
  fingerprint: 'perdure.fingerprint',
  attempts: 'perdure.attempts',
  generation: 'perdure.generation',
  firstFailureTime: 'perdure.first-failure-time',
  lastFailureTime: 'perdure.last-failure-time',
  deadLetterTime: 'perdure.dead-letter-time',
  history: 'perdure.history',
  handler: 'perdure.handler',
  node: 'perdure.node',
  build: 'perdure.build',
  state: 'perdure.state',
  job: 'perdure.job',
  valueType: 'perdure.value-type',
  valueEncoding: 'perdure.value-encoding',
  traceparent: 'traceparent',
  originTopic: '__dlq.errors.topic',
  originPartition: '__dlq.errors.partition',
  originOffset: '__dlq.errors.offset',
  originGroup: '__dlq.errors.group',
  deliveryCount: '__dlq.errors.delivery.count',
  message: '__dlq.errors.message',
  originalTopic: 'x-original-topic',
  originalTopicOfListeners: 'kafka_dlt-original-topic',
  who: 'perdure.who',
  why: 'perdure.why',
  how: 'perdure.how',
  when: 'perdure.when',
  detail: 'perdure.detail',
} as const;

const noReason = 'none given';

// ── Written ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export function letterHeaders(queue: DeadLetterQueue, prefix: string, { messageId, letter }: LetterRecord): readonly RecordHeader[] {
  const { task, failure, origin } = letter;
  const isOfReplication = task.nextEventId !== undefined;
  const message = cut(failure.errorMessage, headerLimits.errorMessageBytesMax);
  const headers = written([
    [h.messageId, messageId],
    [h.category, queue.category],
    [h.categoryId, queue.categoryId],
    [h.sourceCluster, queue.sourceCluster],
    [h.targetCluster, queue.targetCluster],
    [h.shardId, task.shardId],
    [h.sourceShardId, task.sourceShardId],
    [h.fromSequence, letter.handOver.sequence],
    [h.fromClusterId, letter.handOver.clusterId],
    [h.taskId, task.taskId],
    [h.taskType, task.taskType],
    [h.taskVersion, task.taskVersion],
    [h.taskFireTime, timeText(task.fireTimeMs)],
    [h.taskCreatedTime, timeText(task.createdTimeMs)],
    [h.namespaceId, task.namespaceId],
    [h.namespace, task.namespace],
    [h.targetNamespaceId, task.targetNamespaceId],
    [h.targetNamespace, task.targetNamespace],
    [h.workflowId, task.workflowId],
    [h.runId, task.runId],
    [h.workflowType, task.workflowType],
    [isOfReplication ? h.firstEventId : h.eventId, task.eventId],
    [h.nextEventId, task.nextEventId],
    [h.cause, failure.cause],
    [h.disposition, failure.disposition],
    [h.errorType, cut(failure.errorType, headerLimits.errorTypeBytesMax)],
    [h.errorMessage, message],
    [h.errorStack, cut(failure.errorStack, headerLimits.errorStackBytesMax)],
    [h.errorChain, chainText(failure.errorChain)],
    [h.fingerprint, failure.fingerprint],
    [h.attempts, failure.attempts],
    [h.generation, letter.generation],
    [h.firstFailureTime, timeText(failure.firstFailureTimeMs)],
    [h.lastFailureTime, timeText(failure.lastFailureTimeMs)],
    [h.deadLetterTime, timeText(letter.deadLetterTimeMs)],
    [h.history, historyText(letter.history)],
    [h.handler, failure.handler],
    [h.node, failure.node],
    [h.build, failure.build],
    [h.state, letter.state],
    [h.job, letter.jobId],
    [h.valueType, task.valueType],
    [h.valueEncoding, 'proto3'],
    [h.traceparent, letter.traceparent],
    [h.originTopic, origin?.topic],
    [h.originPartition, origin?.partition],
    [h.originOffset, origin?.offset],
    [h.originGroup, origin?.group],
    [h.deliveryCount, failure.attempts],
    [h.message, message],
    [h.originalTopic, redriveTopic(prefix).name],
    [h.originalTopicOfListeners, redriveTopic(prefix).name],
  ]);
  return fitted(headers);
}

export function tombstoneHeaders(resolved: ResolvedRecord): readonly RecordHeader[] {
  return written([
    [h.messageId, resolved.messageId],
    [h.who, resolved.who],
    [h.why, resolved.why === '' ? noReason : resolved.why],
    [h.job, resolved.jobId],
    [h.how, resolved.how],
    [h.when, timeText(resolved.timeMs)],
    [h.generation, resolved.generation],
    [h.detail, resolved.detail],
  ]);
}

function written(headers: readonly (readonly [name: string, value: string | Whole | undefined])[]): RecordHeader[] {
  return headers.flatMap(([name, value]): RecordHeader[] => (value === undefined || value === '' ? [] : [[name, String(value)]]));
}

/** Where ids and names are long, what tells of the failure gives way. Throws when they alone are too much: the letter is refused. */
function fitted(headers: RecordHeader[]): readonly RecordHeader[] {
  const bytesMax = headerLimits.headersBytesMax - headerLimits.stampBytesMax;
  let bytes = headers.reduce((sum, [name, value]) => sum + name.length + utf8Bytes(value), 0);
  for (const dropped of [h.errorStack, h.errorChain, h.history, h.traceparent, h.handler, h.node, h.build]) {
    if (bytes <= bytesMax) break;
    const at = headers.findIndex(([name]) => name === dropped);
    const found = headers[at];
    if (found === undefined) continue;
    const size = utf8Bytes(found[1]);
    const left = Math.max(0, size - (bytes - bytesMax));
    // Half a list is none, nor half a name.
    const shorter = dropped === h.errorStack ? cut(found[1], left) : '';
    if (shorter === '') headers.splice(at, 1);
    else headers[at] = [dropped, shorter];
    bytes -= shorter === '' ? size + dropped.length : size - utf8Bytes(shorter);
  }
  if (bytes > bytesMax) throw new Error(`the ids and names of a dead letter have ${bytes} bytes, more than ${bytesMax}`);
  return headers;
}

const ellipsis = '…';

/** Cuts a text to as much as fits, and an ellipsis if that is not all; '' where not even that fits. */
export function cut(text: string, bytesMax: number): string {
  if (utf8Bytes(text) <= bytesMax) return text;
  const room = bytesMax - utf8Bytes(ellipsis);
  return room < 0 ? '' : cutToUtf8Bytes(text, room) + ellipsis;
}

/** The outermost ones. */
function chainText(chain: readonly LetterError[]): string {
  const { errorChainMax, errorChainBytesMax, errorTypeBytesMax, errorMessageBytesMax } = headerLimits;
  const items = chain.slice(0, errorChainMax).map(({ errorType, errorMessage }) => ({
    type: cut(errorType, errorTypeBytesMax),
    message: cut(errorMessage, errorMessageBytesMax),
  }));
  while (utf8Bytes(JSON.stringify(items)) > errorChainBytesMax) items.pop();
  return items.length === 0 ? '' : JSON.stringify(items);
}

/** The last ones. */
function historyText(history: readonly LetterEvent[]): string {
  const { historyMax, historyBytesMax, errorTypeBytesMax } = headerLimits;
  const items = history.slice(-historyMax).map(({ timeMs, kind, errorType, jobId, fingerprint }) => ({
    time: timeText(timeMs),
    kind,
    errorType: cut(errorType, errorTypeBytesMax),
    job: jobId,
    fingerprint,
  }));
  while (utf8Bytes(JSON.stringify(items)) > historyBytesMax) items.shift();
  return items.length === 0 ? '' : JSON.stringify(items);
}

/** What no date can be is not known. */
function timeText(timeMs: number | undefined): string {
  const date = new Date(timeMs ?? NaN);
  return Number.isNaN(date.getTime()) ? '' : date.toISOString();
}

// ── Read ─────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

/** Throws what is no letter of ours. */
export function letterOfHeaders(headers: readonly RecordHeader[], value: Uint8Array): Letter {
  const of = new Map(headers);
  const text = (name: string): string => of.get(name) ?? '';
  const originTopic = text(h.originTopic);
  return {
    handOver: { shard: natural(of, h.shardId), sequence: natural(of, h.fromSequence), clusterId: text(h.fromClusterId) },
    task: {
      taskId: whole(of, h.taskId) ?? missing(h.taskId),
      taskType: text(h.taskType),
      taskVersion: whole(of, h.taskVersion),
      fireTimeMs: time(of, h.taskFireTime),
      createdTimeMs: time(of, h.taskCreatedTime),
      shardId: natural(of, h.shardId),
      sourceShardId: of.has(h.sourceShardId) ? natural(of, h.sourceShardId) : undefined,
      namespaceId: text(h.namespaceId),
      namespace: text(h.namespace),
      targetNamespaceId: text(h.targetNamespaceId),
      targetNamespace: text(h.targetNamespace),
      workflowId: text(h.workflowId),
      runId: text(h.runId),
      workflowType: text(h.workflowType),
      eventId: whole(of, h.eventId) ?? whole(of, h.firstEventId),
      nextEventId: whole(of, h.nextEventId),
      valueType: text(h.valueType),
      value,
    },
    failure: {
      cause: oneOf(of, h.cause, letterCauses),
      disposition: oneOf(of, h.disposition, letterDispositions),
      errorType: text(h.errorType),
      errorMessage: text(h.errorMessage),
      errorStack: text(h.errorStack),
      errorChain: list(of, h.errorChain).map((item) => ({ errorType: field(item, 'type'), errorMessage: field(item, 'message') })),
      fingerprint: text(h.fingerprint),
      attempts: natural(of, h.attempts),
      firstFailureTimeMs: time(of, h.firstFailureTime) ?? missing(h.firstFailureTime),
      lastFailureTimeMs: time(of, h.lastFailureTime) ?? missing(h.lastFailureTime),
      handler: text(h.handler),
      node: text(h.node),
      build: text(h.build),
    },
    origin:
      originTopic === ''
        ? undefined
        : {
            topic: originTopic,
            partition: natural(of, h.originPartition),
            offset: natural(of, h.originOffset),
            group: text(h.originGroup),
          },
    traceparent: text(h.traceparent),
    deadLetterTimeMs: time(of, h.deadLetterTime) ?? missing(h.deadLetterTime),
    generation: natural(of, h.generation),
    state: oneOf(of, h.state, letterStates),
    history: list(of, h.history).map((item) => ({
      timeMs: timeOf(field(item, 'time')) ?? missing('time'),
      kind: field(item, 'kind'),
      errorType: field(item, 'errorType'),
      jobId: field(item, 'job'),
      fingerprint: field(item, 'fingerprint'),
    })),
    jobId: text(h.job),
  };
}

/** What a queue must know of a letter that cannot be read otherwise. */
export function readableOfHeaders(headers: readonly RecordHeader[]): Pick<DamagedLetterRecord, 'handOver' | 'state'> {
  const of = new Map(headers);
  const shard = naturalIn(of, h.shardId);
  const sequence = naturalIn(of, h.fromSequence);
  const clusterId = of.get(h.fromClusterId) ?? '';
  const handOver = shard === undefined || sequence === undefined ? undefined : { shard, sequence, clusterId };
  return { handOver, state: letterStates.find(of.get(h.state)) ?? 'open' };
}

/** Throws what is no tombstone of ours. */
export function resolvedOfHeaders(headers: readonly RecordHeader[]): Omit<ResolvedRecord, 'messageId' | 'timeMs' | 'kind'> {
  const of = new Map(headers);
  const why = of.get(h.why) ?? '';
  return {
    how: oneOf(of, h.how, resolvedHows),
    who: of.get(h.who) ?? '',
    why: why === noReason ? '' : why,
    jobId: of.get(h.job) ?? '',
    // What it was must not hang on a number that nothing depends on.
    generation: naturalIn(of, h.generation) ?? 0,
    ...(of.has(h.detail) ? { detail: of.get(h.detail) ?? '' } : {}),
  };
}

type Headers = ReadonlyMap<string, string>;

function missing(name: string): never {
  throw new Error(`${name} is missing, or not what it must be`);
}

function oneOf<Value extends string>(of: Headers, name: string, values: Words<Value>): Value {
  return values.find(of.get(name)) ?? missing(name);
}

function natural(of: Headers, name: string): number {
  return naturalIn(of, name) ?? missing(name);
}

function naturalIn(of: Headers, name: string): number | undefined {
  const text = of.get(name) ?? '';
  const value = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
}

/** Undefined: it is not there. */
function whole(of: Headers, name: string): Whole | undefined {
  const text = of.get(name);
  if (text === undefined) return undefined;
  if (!/^-?\d+$/.test(text)) return missing(name);
  return numberOrBigint(text);
}

function time(of: Headers, name: string): number | undefined {
  const text = of.get(name);
  return text === undefined ? undefined : (timeOf(text) ?? missing(name));
}

function timeOf(text: string): number | undefined {
  const timeMs = Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

function list(of: Headers, name: string): readonly unknown[] {
  const text = of.get(name);
  if (text === undefined) return [];
  const items: unknown = JSON.parse(text);
  return Array.isArray(items) ? items : missing(name);
}

function field(item: unknown, name: string): string {
  const value: unknown = typeof item === 'object' && item !== null ? Reflect.get(item, name) : undefined;
  return typeof value === 'string' ? value : missing(name);
}
