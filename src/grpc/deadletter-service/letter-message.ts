import type { KnownDeadLetterQueue } from '../../cluster/cluster-state.ts';
import type { Whole } from '../../deadletters/letter.ts';
import type { LetterContent, ListedLetter } from '../../deadletters/replies.ts';
import type { DeadLetter, Payload } from '../../wire/generated/api/deadletter/service.ts';
import type { Payloads } from './payload-json.ts';

/** A letter as it is listed; `payloads`: with what its record holds. */
export function letterMessage(
  queue: KnownDeadLetterQueue,
  targetCluster: string,
  { row, content }: ListedLetter,
  payloads: Payloads | undefined,
): DeadLetter {
  const task = content?.letter?.task;
  return {
    queue: { category: queue.category, sourceCluster: queue.sourceCluster },
    messageId: row.messageId,
    taskId: row.taskId === undefined ? '' : String(row.taskId),
    taskType: row.taskType,
    shardId: row.shardId ?? 0,
    sourceShardId: task?.sourceShardId ?? 0,
    namespaceId: row.namespaceId,
    namespace: row.namespace,
    targetNamespaceId: task?.targetNamespaceId ?? '',
    targetNamespace: task?.targetNamespace ?? '',
    workflowId: row.workflowId,
    runId: row.runId,
    workflowType: row.workflowType,
    firstEventId: carried(row.firstEventId),
    nextEventId: carried(row.nextEventId),
    version: carried(row.version),
    targetCluster,
    cause: row.cause,
    disposition: row.disposition,
    errorType: row.errorType,
    errorMessage: row.isDamaged ? '' : row.errorMessage,
    fingerprint: row.fingerprint,
    attempts: row.attempts,
    generation: row.generation,
    state: row.state,
    taskFireTimeMs: row.taskFireTimeMs ?? 0,
    firstFailureTimeMs: row.firstFailureTimeMs ?? 0,
    lastFailureTimeMs: row.lastFailureTimeMs ?? 0,
    deadLetterTimeMs: row.deadLetterTimeMs,
    node: row.node,
    build: row.build,
    damage: row.isDamaged ? row.errorMessage : content === undefined || content.letter !== undefined ? '' : content.problem,
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
