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

const noReason = 'none given';

// ── Written ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

export function letterHeaders(queue: DeadLetterQueue, prefix: string, record: LetterRecord): readonly RecordHeader[] {
  return fitted(written(letterRows(queue, prefix, record)));
}

export function tombstoneHeaders(resolved: ResolvedRecord): readonly RecordHeader[] {
  return written(tombstoneRows(resolved));
}

/** Whoever reads may ask for these names alone. */
type Name = ReturnType<typeof letterRows | typeof tombstoneRows>[number][0];

function letterRows(queue: DeadLetterQueue, prefix: string, { messageId, letter }: LetterRecord) {
  const { task, failure, origin } = letter;
  const isOfReplication = task.nextEventId !== undefined;
  const message = cut(failure.errorMessage, headerLimits.errorMessageBytesMax);
  return [
    ['perdure.message-id', messageId],
    ['perdure.category', queue.category],
    ['perdure.category-id', queue.categoryId],
    ['perdure.source-cluster', queue.sourceCluster],
    ['perdure.target-cluster', queue.targetCluster],
    ['perdure.shard-id', task.shardId],
    ['perdure.source-shard-id', task.sourceShardId],
    // Which letter of that shard it was: a hand-over that is repeated is known by it.
    ['perdure.from-sequence', letter.handOver.sequence],
    // The id of the cluster whose shard that is: one that is made anew counts from 1 again.
    ['perdure.from-cluster-id', letter.handOver.clusterId],
    ['perdure.task-id', task.taskId],
    ['perdure.task-type', task.taskType],
    ['perdure.task-version', task.taskVersion],
    ['perdure.task-fire-time', timeText(task.fireTimeMs)],
    ['perdure.task-created-time', timeText(task.createdTimeMs)],
    ['perdure.namespace-id', task.namespaceId],
    ['perdure.namespace', task.namespace],
    ['perdure.target-namespace-id', task.targetNamespaceId],
    ['perdure.target-namespace', task.targetNamespace],
    ['perdure.workflow-id', task.workflowId],
    ['perdure.run-id', task.runId],
    ['perdure.workflow-type', task.workflowType],
    [isOfReplication ? 'perdure.first-event-id' : 'perdure.event-id', task.eventId],
    ['perdure.next-event-id', task.nextEventId],
    ['perdure.cause', failure.cause],
    ['perdure.disposition', failure.disposition],
    ['perdure.error-type', cut(failure.errorType, headerLimits.errorTypeBytesMax)],
    ['perdure.error-message', message],
    ['perdure.error-stack', cut(failure.errorStack, headerLimits.errorStackBytesMax)],
    ['perdure.error-chain', chainText(failure.errorChain)],
    ['perdure.fingerprint', failure.fingerprint],
    ['perdure.attempts', failure.attempts],
    ['perdure.generation', letter.generation],
    ['perdure.first-failure-time', timeText(failure.firstFailureTimeMs)],
    ['perdure.last-failure-time', timeText(failure.lastFailureTimeMs)],
    ['perdure.dead-letter-time', timeText(letter.deadLetterTimeMs)],
    ['perdure.history', historyText(letter.history)],
    ['perdure.handler', failure.handler],
    ['perdure.node', failure.node],
    ['perdure.build', failure.build],
    ['perdure.state', letter.state],
    ['perdure.job', letter.jobId],
    ['perdure.value-type', task.valueType],
    ['perdure.value-encoding', 'proto3'],
    ['traceparent', letter.traceparent],
    ['__dlq.errors.topic', origin?.topic],
    ['__dlq.errors.partition', origin?.partition],
    ['__dlq.errors.offset', origin?.offset],
    ['__dlq.errors.group', origin?.group],
    ['__dlq.errors.delivery.count', failure.attempts],
    ['__dlq.errors.message', message],
    ['x-original-topic', redriveTopic(prefix).name],
    ['kafka_dlt-original-topic', redriveTopic(prefix).name],
  ] as const;
}

function tombstoneRows(resolved: ResolvedRecord) {
  return [
    ['perdure.message-id', resolved.messageId],
    ['perdure.who', resolved.who],
    ['perdure.why', resolved.why === '' ? noReason : resolved.why],
    ['perdure.job', resolved.jobId],
    ['perdure.how', resolved.how],
    ['perdure.when', timeText(resolved.timeMs)],
    ['perdure.generation', resolved.generation],
    ['perdure.detail', resolved.detail],
  ] as const;
}

function written(headers: readonly (readonly [name: string, value: string | Whole | undefined])[]): RecordHeader[] {
  return headers.flatMap(([name, value]): RecordHeader[] => (value === undefined || value === '' ? [] : [[name, String(value)]]));
}

const whereItRan: readonly Name[] = ['perdure.handler', 'perdure.node', 'perdure.build'];
/** In this order. */
const givenUp: readonly Name[] = ['perdure.error-stack', 'perdure.error-chain', 'perdure.history', 'traceparent', ...whereItRan];

/** Where ids and names are long, what tells of the failure gives way. Throws when they alone are too much: the letter is refused. */
function fitted(headers: RecordHeader[]): readonly RecordHeader[] {
  const bytesMax = headerLimits.headersBytesMax - headerLimits.stampBytesMax;
  let bytes = headers.reduce((sum, [name, value]) => sum + name.length + utf8Bytes(value), 0);
  for (const dropped of givenUp) {
    if (bytes <= bytesMax) break;
    const at = headers.findIndex(([name]) => name === dropped);
    const found = headers[at];
    if (found === undefined) continue;
    const size = utf8Bytes(found[1]);
    const left = Math.max(0, size - (bytes - bytesMax));
    // Half a list is none, nor half a name.
    const shorter = dropped === 'perdure.error-stack' ? cut(found[1], left) : '';
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
  const text = (name: Name): string => of.get(name) ?? '';
  const originTopic = text('__dlq.errors.topic');
  return {
    handOver: {
      shard: natural(of, 'perdure.shard-id'),
      sequence: natural(of, 'perdure.from-sequence'),
      clusterId: text('perdure.from-cluster-id'),
    },
    task: {
      taskId: whole(of, 'perdure.task-id') ?? missing('perdure.task-id'),
      taskType: text('perdure.task-type'),
      taskVersion: whole(of, 'perdure.task-version'),
      fireTimeMs: time(of, 'perdure.task-fire-time'),
      createdTimeMs: time(of, 'perdure.task-created-time'),
      shardId: natural(of, 'perdure.shard-id'),
      sourceShardId: of.has('perdure.source-shard-id') ? natural(of, 'perdure.source-shard-id') : undefined,
      namespaceId: text('perdure.namespace-id'),
      namespace: text('perdure.namespace'),
      targetNamespaceId: text('perdure.target-namespace-id'),
      targetNamespace: text('perdure.target-namespace'),
      workflowId: text('perdure.workflow-id'),
      runId: text('perdure.run-id'),
      workflowType: text('perdure.workflow-type'),
      eventId: whole(of, 'perdure.event-id') ?? whole(of, 'perdure.first-event-id'),
      nextEventId: whole(of, 'perdure.next-event-id'),
      valueType: text('perdure.value-type'),
      value,
    },
    failure: {
      cause: oneOf(of, 'perdure.cause', letterCauses),
      disposition: oneOf(of, 'perdure.disposition', letterDispositions),
      errorType: text('perdure.error-type'),
      errorMessage: text('perdure.error-message'),
      errorStack: text('perdure.error-stack'),
      errorChain: list(of, 'perdure.error-chain').map((item) => ({ errorType: field(item, 'type'), errorMessage: field(item, 'message') })),
      fingerprint: text('perdure.fingerprint'),
      attempts: natural(of, 'perdure.attempts'),
      firstFailureTimeMs: time(of, 'perdure.first-failure-time') ?? missing('perdure.first-failure-time'),
      lastFailureTimeMs: time(of, 'perdure.last-failure-time') ?? missing('perdure.last-failure-time'),
      handler: text('perdure.handler'),
      node: text('perdure.node'),
      build: text('perdure.build'),
    },
    origin:
      originTopic === ''
        ? undefined
        : {
            topic: originTopic,
            partition: natural(of, '__dlq.errors.partition'),
            offset: natural(of, '__dlq.errors.offset'),
            group: text('__dlq.errors.group'),
          },
    traceparent: text('traceparent'),
    deadLetterTimeMs: time(of, 'perdure.dead-letter-time') ?? missing('perdure.dead-letter-time'),
    generation: natural(of, 'perdure.generation'),
    state: oneOf(of, 'perdure.state', letterStates),
    history: list(of, 'perdure.history').map((item) => ({
      timeMs: timeOf(field(item, 'time')) ?? missing('time'),
      kind: field(item, 'kind'),
      errorType: field(item, 'errorType'),
      jobId: field(item, 'job'),
      fingerprint: field(item, 'fingerprint'),
    })),
    jobId: text('perdure.job'),
  };
}

/** What a queue must know of a letter that cannot be read otherwise. */
export function readableOfHeaders(headers: readonly RecordHeader[]): Pick<DamagedLetterRecord, 'handOver' | 'state'> {
  const of = new Map(headers);
  const shard = naturalIn(of, 'perdure.shard-id');
  const sequence = naturalIn(of, 'perdure.from-sequence');
  const clusterId = of.get('perdure.from-cluster-id') ?? '';
  const handOver = shard === undefined || sequence === undefined ? undefined : { shard, sequence, clusterId };
  return { handOver, state: letterStates.find(of.get('perdure.state')) ?? 'open' };
}

/** Throws what is no tombstone of ours. */
export function resolvedOfHeaders(headers: readonly RecordHeader[]): Omit<ResolvedRecord, 'messageId' | 'timeMs' | 'kind'> {
  const of = new Map(headers);
  const why = of.get('perdure.why') ?? '';
  return {
    how: oneOf(of, 'perdure.how', resolvedHows),
    who: of.get('perdure.who') ?? '',
    why: why === noReason ? '' : why,
    jobId: of.get('perdure.job') ?? '',
    // What it was must not hang on a number that nothing depends on.
    generation: naturalIn(of, 'perdure.generation') ?? 0,
    ...(of.has('perdure.detail') ? { detail: of.get('perdure.detail') ?? '' } : {}),
  };
}

type Headers = { get(name: Name): string | undefined; has(name: Name): boolean };

function missing(name: string): never {
  throw new Error(`${name} is missing, or not what it must be`);
}

function oneOf<Value extends string>(of: Headers, name: Name, values: Words<Value>): Value {
  return values.find(of.get(name)) ?? missing(name);
}

function natural(of: Headers, name: Name): number {
  return naturalIn(of, name) ?? missing(name);
}

function naturalIn(of: Headers, name: Name): number | undefined {
  const text = of.get(name) ?? '';
  const value = Number(text);
  return /^\d+$/.test(text) && Number.isSafeInteger(value) ? value : undefined;
}

/** Undefined: it is not there. */
function whole(of: Headers, name: Name): Whole | undefined {
  const text = of.get(name);
  if (text === undefined) return undefined;
  if (!/^-?\d+$/.test(text)) return missing(name);
  return numberOrBigint(text);
}

function time(of: Headers, name: Name): number | undefined {
  const text = of.get(name);
  return text === undefined ? undefined : (timeOf(text) ?? missing(name));
}

function timeOf(text: string): number | undefined {
  const timeMs = Date.parse(text);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}

function list(of: Headers, name: Name): readonly unknown[] {
  const text = of.get(name);
  if (text === undefined) return [];
  const items: unknown = JSON.parse(text);
  return Array.isArray(items) ? items : missing(name);
}

function field(item: unknown, name: string): string {
  const value: unknown = typeof item === 'object' && item !== null ? Reflect.get(item, name) : undefined;
  return typeof value === 'string' ? value : missing(name);
}
