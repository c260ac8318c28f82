import type { DeadLetter, Payload } from '../../../wire/generated/api/deadletter/service.ts';
import type { ListForms } from '../../printed-list.ts';
import { rfc3339, span } from '../../printed-time.ts';
import { plainText } from '../../plain-text.ts';
import { cut } from '../../table.ts';
import type { DlqKind } from './service.ts';
import { isOfOtherClusters, queueText } from './queue-names.ts';

export type LetterDetail = { readonly isLong: boolean; readonly withPayload: boolean };

export function letterForms(kind: DlqKind, detail: LetterDetail): ListForms<DeadLetter> {
  return { json: (letter) => letterJson(kind, letter, detail), titles, cells, elastic: titles.indexOf('LAST ERROR') };
}

/** `admin dlq read` prints eight fields, with the message id as `taskId`, and the others with `--long`. */
export function letterJson(kind: DlqKind, letter: DeadLetter, { isLong, withPayload }: LetterDetail): object {
  const long = kind === 'admin queue dlq' || isLong ? longFields(letter) : {};
  const short = kind === 'admin dlq' ? eightFields(letter) : {};
  const payload = withPayload && letter.payload !== undefined ? { payload: payloadJson(letter.payload) } : {};
  const damage = letter.damage === '' ? {} : { damage: letter.damage };
  return { ...short, ...long, ...short, ...payload, ...damage };
}

function eightFields({ messageId, taskType, namespaceId, workflowId, runId, firstEventId, nextEventId, version }: DeadLetter): object {
  return { taskId: messageId, taskType, namespaceId, workflowId, runId, firstEventId, nextEventId, version };
}

function longFields(letter: DeadLetter): object {
  const { queue, messageId, shardId, sourceShardId, attempts, generation, version, taskType, targetCluster, state } = letter;
  const { namespaceId, namespace, workflowId, runId, workflowType, cause, disposition, errorType, errorMessage, fingerprint } = letter;
  return {
    ...{ messageId, taskId: digits(letter.taskId), shardId, sourceShardId },
    sourceTaskId: isOfOtherClusters(queue?.category ?? '') ? digits(letter.taskId) : 0,
    ...{ attempts, generation, version, taskType },
    category: queue?.category ?? '',
    sourceCluster: queue?.sourceCluster ?? '',
    ...{ targetCluster, state, namespaceId, namespace, workflowId, runId, workflowType },
    ...{ cause, disposition, errorType, errorMessage, fingerprint },
    taskFireTime: rfc3339(letter.taskFireTimeMs),
    firstFailureTime: rfc3339(letter.firstFailureTimeMs),
    lastFailureTime: rfc3339(letter.lastFailureTimeMs),
    deadLetterTime: rfc3339(letter.deadLetterTimeMs),
  };
}

const rawJson = JSON as typeof JSON & { readonly rawJSON: (text: string) => object };

/** A number for JSON that keeps all its digits. */
export function digits(text: string): object | number | string {
  if (text === '') return 0;
  return /^-?(0|[1-9]\d*)$/.test(text) ? rawJson.rawJSON(text) : text;
}

/** The task as proto JSON; if it cannot be decoded, its bytes and the reason. */
export function payloadJson({ valueType, value, json, problem }: Payload): unknown {
  try {
    if (json !== '') return JSON.parse(json);
  } catch {
    // Falls through to the bytes.
  }
  return { valueType, value: Buffer.from(value).toString('base64'), problem };
}

const titles: readonly string[] = [
  ...['MESSAGE ID', 'TASK ID', 'TASK TYPE', 'NAMESPACE', 'WORKFLOW', 'SHARD', 'ATTEMPTS', 'GEN', 'LAST ERROR', 'AGE'],
  // The last column has no title and says `quarantined`.
  '',
];

/** A workflow id may have a thousand characters; JSON has all of them. */
export const workflowCharsMax = 60;

function cells(letter: DeadLetter): readonly string[] {
  const { messageId, taskId, taskType, namespace, namespaceId, workflowId, shardId, attempts, generation, errorType, errorMessage } =
    letter;
  return [
    String(messageId),
    taskId === '' ? '-' : taskId,
    shortTaskType(taskType),
    plainText(namespace || namespaceId) || '-',
    cut(plainText(workflowId), workflowCharsMax) || '-',
    shardId === 0 ? '-' : String(shardId),
    String(attempts),
    String(generation),
    plainText(letter.damage || [errorType, errorMessage].filter((part) => part !== '').join(': ')) || '-',
    letter.deadLetterTimeMs === 0 ? '-' : span(Date.now() - letter.deadLetterTimeMs),
    letter.state === 'quarantined' ? 'quarantined' : '',
  ];
}

export function shortTaskType(taskType: string): string {
  return plainText(taskType.replace(/^TASK_TYPE_/, '')) || '-';
}

/** `message 41 of transfer/active` */
export function letterText({ queue, messageId }: Pick<DeadLetter, 'queue' | 'messageId'>): string {
  return `message ${messageId} of ${queueText(queue)}`;
}
