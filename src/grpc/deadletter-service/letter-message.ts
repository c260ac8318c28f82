import type { KnownDeadLetterQueue } from '../../cluster/cluster-records.ts';
import type { Whole } from '../../deadletters/letter.ts';
import type { LetterContent, ListedLetter } from '../../deadletters/letter-commands.ts';
import { errorText } from '../../kernel/error-text.ts';
import { loadServiceMessages, loadWellKnownMessages, type ServiceMessages } from '../../wire/services.ts';
import type { DeadLetter, Payload } from '../../wire/generated/api/deadletter/service.ts';

export function letterMessage(
  queue: KnownDeadLetterQueue,
  targetCluster: string,
  { row, content }: ListedLetter,
  payloads: Payloads | undefined,
): DeadLetter {
  const task = content?.letter?.task;
  const { taskId, shardId, firstEventId, nextEventId, version, isDamaged, ...same } = row;
  return {
    ...same,
    queue: { category: queue.category, sourceCluster: queue.sourceCluster },
    taskId: taskId === undefined ? '' : String(taskId),
    shardId: shardId ?? 0,
    sourceShardId: task?.sourceShardId ?? 0,
    targetNamespaceId: task?.targetNamespaceId ?? '',
    targetNamespace: task?.targetNamespace ?? '',
    firstEventId: carried(firstEventId),
    nextEventId: carried(nextEventId),
    version: carried(version),
    targetCluster,
    errorMessage: isDamaged ? '' : row.errorMessage,
    taskFireTimeMs: row.taskFireTimeMs ?? 0,
    firstFailureTimeMs: row.firstFailureTimeMs ?? 0,
    lastFailureTimeMs: row.lastFailureTimeMs ?? 0,
    damage: isDamaged ? row.errorMessage : content === undefined || content.letter !== undefined ? '' : content.problem,
    payload: content === undefined || payloads === undefined ? undefined : payloadOf(content, payloads),
  };
}

function payloadOf({ value, headers, letter, problem }: LetterContent, payloads: Payloads): Payload {
  const valueType = letter?.task.valueType ?? headers.find(({ name }) => name === 'perdure.value-type')?.value ?? '';
  const decoded = payloads.json(valueType, value);
  return {
    valueType,
    value,
    json: decoded.kind === 'json' ? decoded.json : '',
    problem: problem !== '' ? problem : decoded.kind === 'problem' ? decoded.problem : '',
  };
}

/** Another cluster's number may be beyond what the message carries; then it is in the headers and in the payload alone. */
function carried(value: Whole | undefined): number {
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : 0;
}

type Decoded = { readonly kind: 'json'; readonly json: string } | { readonly kind: 'problem'; readonly problem: string };

type Plain = { readonly [field: string]: unknown };
type PayloadClass = {
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): Plain;
};

/** The task in a letter, as proto JSON: names of enumerations, 64 bits as text, times as RFC 3339. Its classes are loaded with the first payload. */
class Payloads {
  readonly #classes: ReadonlyMap<string, PayloadClass>;
  readonly #isTimestamp: (value: unknown) => boolean;

  constructor({ persistence, replication }: ServiceMessages, isTimestamp: (value: unknown) => boolean) {
    const { TransferTaskInfo, TimerTaskInfo, ReplicationTaskInfo, VisibilityTaskInfo, ArchivalTaskInfo, OutboundTaskInfo } = persistence.v1;
    const tasks = { TransferTaskInfo, TimerTaskInfo, ReplicationTaskInfo, VisibilityTaskInfo, ArchivalTaskInfo, OutboundTaskInfo };
    this.#classes = new Map<string, PayloadClass>([
      ...Object.entries(tasks).map(([name, each]) => [`temporal.server.api.persistence.v1.${name}`, each] as const),
      ['temporal.server.api.replication.v1.ReplicationTask', replication.v1.ReplicationTask],
    ]);
    this.#isTimestamp = isTimestamp;
  }

  json(valueType: string, value: Uint8Array): Decoded {
    const found = this.#classes.get(valueType);
    if (found === undefined) return { kind: 'problem', problem: `unknown message type: ${valueType === '' ? 'none is named' : valueType}` };
    try {
      const message = found.decode(value);
      const plain = found.toObject(message, { longs: String, enums: String, bytes: String, json: true });
      return { kind: 'json', json: JSON.stringify(this.#withTimes(plain, message)) };
    } catch (error) {
      return { kind: 'problem', problem: `undecodable ${valueType}: ${errorText(error)}` };
    }
  }

  /** What a class makes of a time is its parts; `message` tells which fields are one. */
  #withTimes(plain: unknown, message: unknown): unknown {
    if (this.#isTimestamp(message)) return timeText(message as Parts);
    if (Array.isArray(plain)) return plain.map((each, at) => this.#withTimes(each, (message as readonly unknown[])[at]));
    if (typeof plain !== 'object' || plain === null) return plain;
    return Object.fromEntries(Object.entries(plain).map(([name, value]) => [name, this.#withTimes(value, (message as Plain)[name])]));
  }
}

type Parts = { readonly seconds: { toNumber(): number }; readonly nanos: number };

/** Throws for a time that no calendar has. */
function timeText({ seconds, nanos }: Parts): string {
  const whole = new Date(seconds.toNumber() * 1_000).toISOString().replace('.000Z', '');
  const fraction = String(nanos)
    .padStart(9, '0')
    .replace(/(?:0{3}){1,3}$/, '');
  return fraction === '' ? `${whole}Z` : `${whole}.${fraction}Z`;
}

let loading: Promise<Payloads> | undefined;

export function loadPayloads(): Promise<Payloads> {
  loading ??= Promise.all([loadServiceMessages(), loadWellKnownMessages()]).then(
    ([messages, { Timestamp }]) => new Payloads(messages, (value) => value instanceof Timestamp),
  );
  return loading;
}
