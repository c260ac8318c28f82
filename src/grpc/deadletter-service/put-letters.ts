/**
 * Letters of another cluster's tasks, as what replicates puts them here. Their queue is opened with the first of them.
 *
 *     PutDeadLetters ─▶ the task in each value is read ─▶ its queue is there, and served ─▶ acceptLetters: ids, the same when it is asked again
 */
import { type ForeignFailure, foreignLetter, type ForeignTask } from '../../actors/deadletters/foreign-letter.ts';
import type { KnownDeadLetterQueue } from '../../cluster/cluster-records.ts';
import type { Letter, Whole } from '../../deadletters/letter.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import { errorMessage } from '../../kernel/error-text.ts';
import { numberOrBigint } from '../../kernel/number-or-bigint.ts';
import type { NewDeadLetter, PutDeadLettersRequest } from '../../wire/generated/api/deadletter/service.ts';
import { loadServiceMessages, type ServiceMessages, timestampMs } from '../../wire/services.ts';
import { existingShard } from '../admin-service/conventions.ts';
import { unavailable } from '../errors/details.ts';
import { invalidArgument, statusCode, StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import { askLetters, type DeadLetterHandlers } from './letter-asks.ts';
import { letterLimits } from './letter-pages.ts';
import { letterCauses } from '../../kernel/letter-words.ts';

export const putHandlers: DeadLetterHandlers = {
  PutDeadLetters: async (context, request, call) => {
    const queue = foreignQueue(context, request);
    const letters = lettersOf(context, await loadServiceMessages(), queue.category, request);
    const { number } = await queueThatIsOpen(context, call, queue);
    const accept = { kind: 'acceptLetters', shard: request.shardId, letters, missingMax: letterLimits.missingLettersMax } as const;
    const { ids } = await askLetters(context, call, number, accept);
    return { messageIds: ids };
  },
};

type ForeignCategory = 'replication' | 'namespace-replication';
type ForeignQueue = { readonly category: ForeignCategory; readonly sourceCluster: string };

// ── The queue ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const clusterName = /^[A-Za-z0-9._-]+$/;
/** What Kafka takes. */
const TOPIC_CHARS_MAX = 249;

function foreignQueue({ ports }: HandlerContext, { queue }: PutDeadLettersRequest): ForeignQueue {
  const { category = '', sourceCluster = '' } = queue ?? {};
  if (category !== 'replication' && category !== 'namespace-replication') {
    throw invalidArgument(
      `dead letters of ${category === '' ? 'no category' : category} cannot be put; those of replication and namespace-replication can`,
    );
  }
  if (sourceCluster === '') throw invalidArgument('SourceCluster is not set on request.');
  if (sourceCluster === ports.server.clusterName) throw invalidArgument(`${sourceCluster} is this cluster: nothing is replicated from it`);
  const isTopic = clusterName.test(sourceCluster) && ports.deadLetterTopic(category, sourceCluster).length <= TOPIC_CHARS_MAX;
  if (!isTopic) {
    throw invalidArgument(
      'source_cluster: a name has letters, digits, dots, underscores and hyphens, and with its topic 249 characters at most',
    );
  }
  return { category, sourceCluster };
}

const LOOK_AGAIN_MS = 10;

async function queueThatIsOpen(context: HandlerContext, call: Call, wanted: ForeignQueue): Promise<KnownDeadLetterQueue> {
  const { ports } = context;
  const { category, sourceCluster } = wanted;
  const own = ports.server.clusterName;
  const others = ports.cluster.deadLetterQueues.filter((queue) => queue.sourceCluster !== own);
  const isKnown = others.some((queue) => queue.category === category && queue.sourceCluster === sourceCluster);
  if (!isKnown && others.length >= letterLimits.queuesOfOthersMax) {
    throw new StatusError(statusCode.resourceExhausted, `there are ${others.length} queues of other clusters, and there can be no more`);
  }
  while (!ports.openDeadLetterQueue(wanted)) {
    const trouble = ports.whyNoQueue(category, sourceCluster);
    if (trouble !== undefined) throw unavailable(trouble);
    if (!(await context.pause(call, LOOK_AGAIN_MS))) throw unavailable('the queue is being opened while this call ends');
  }
  const found = ports.cluster.deadLetterQueues.find((queue) => queue.category === category && queue.sourceCluster === sourceCluster);
  if (found === undefined) throw unavailable('the queue is being opened');
  return found;
}

// ── The letters ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

function lettersOf(
  context: HandlerContext,
  messages: ServiceMessages,
  category: ForeignCategory,
  { shardId, firstSequence, letters }: PutDeadLettersRequest,
): readonly Letter[] {
  const { ports } = context;
  existingShard(shardId, ports.server.historyShards);
  const { putLettersMax } = letterLimits;
  if (letters.length === 0 || letters.length > putLettersMax)
    throw invalidArgument(`letters has ${letters.length}, and may have 1 to ${putLettersMax}`);
  if (firstSequence < 1) throw invalidArgument(`first_sequence is ${firstSequence}: dead letters are numbered from 1`);
  if (letters.length - 1 > Number.MAX_SAFE_INTEGER - firstSequence) {
    throw invalidArgument(`first_sequence is ${firstSequence}: dead letters are numbered up to ${Number.MAX_SAFE_INTEGER}`);
  }
  const nowMs = context.nowMs();
  return letters.map((letter, index) => {
    const task = taskOf(messages, category, letter, shardId, index);
    if (category === 'replication') {
      const shard = ports.historyShardOf(task.namespaceId, task.workflowId);
      if (shard !== shardId) throw invalidArgument(`letters[${index}]: its workflow is in shard ${shard}`);
    }
    checkTask(task, index);
    return foreignLetter(firstSequence + index, task, failureOf(ports.server.version, category, letter, index, nowMs), nowMs);
  });
}

/** Names of whatever length would not fit into the headers of a letter. */
const NAME_CHARS_MAX = 1_000;
/** The end of the year 9999. */
const TIME_MS_MAX = 253_402_300_799_999;

function checkTask({ namespaceId, namespace, workflowId, runId, fireTimeMs = 0 }: ForeignTask, index: number): void {
  for (const [field, text] of Object.entries({ namespaceId, namespace, workflowId, runId })) {
    if (text.length > NAME_CHARS_MAX) throw invalidArgument(`letters[${index}]: ${field} has more than ${NAME_CHARS_MAX} characters`);
  }
  checkTime(fireTimeMs, 'visibility_time', index);
}

function checkTime(timeMs: number, field: string, index: number): void {
  if (timeMs < 0 || timeMs > TIME_MS_MAX) throw invalidArgument(`letters[${index}]: ${field} is no time between 1970 and 9999`);
}

/** What its value says. Throws INVALID_ARGUMENT where that is nothing. */
function taskOf(
  { persistence, replication, enums }: ServiceMessages,
  category: ForeignCategory,
  { value, namespace, sourceShardId }: NewDeadLetter,
  shardId: number,
  index: number,
): ForeignTask {
  const common = { shardId, namespace, value, sourceShardId: category === 'replication' ? sourceShardId : undefined };
  try {
    if (category === 'replication') {
      const task = withType(persistence.v1.ReplicationTaskInfo.decode(value));
      return {
        ...common,
        ...keyOf(task),
        taskId: whole(task.taskId),
        taskType: enums.v1.TaskType[task.taskType] ?? String(task.taskType),
        taskVersion: whole(task.version),
        fireTimeMs: task.visibilityTime === null ? undefined : timestampMs(task.visibilityTime),
        eventId: whole(task.firstEventId),
        nextEventId: whole(task.nextEventId),
        valueType: 'temporal.server.api.persistence.v1.ReplicationTaskInfo',
      };
    }
    const task = withType(replication.v1.ReplicationTask.decode(value));
    return {
      ...common,
      taskId: whole(task.sourceTaskId),
      taskType: enums.v1.ReplicationTaskType[task.taskType] ?? String(task.taskType),
      taskVersion: undefined,
      fireTimeMs: task.visibilityTime === null ? undefined : timestampMs(task.visibilityTime),
      namespaceId: task.namespaceTaskAttributes?.id ?? task.taskQueueUserDataAttributes?.namespaceId ?? '',
      workflowId: '',
      runId: '',
      eventId: undefined,
      nextEventId: undefined,
      valueType: 'temporal.server.api.replication.v1.ReplicationTask',
    };
  } catch (error) {
    throw invalidArgument(`letters[${index}].value is no task of ${category}: ${errorMessage(error)}`);
  }
}

function withType<Task extends { readonly taskType: number }>(task: Task): Task {
  if (task.taskType === 0) throw new Error('it has no task_type');
  return task;
}

function keyOf({ namespaceId, workflowId, runId }: RunKey) {
  if (namespaceId === '' || workflowId === '') throw new Error('it names no workflow');
  return { namespaceId, workflowId, runId };
}

/** Ids of another cluster may be beyond what a number holds exactly. */
function whole(value: { toString(): string }): Whole {
  return numberOrBigint(value.toString());
}

function failureOf(build: string, category: ForeignCategory, letter: NewDeadLetter, index: number, nowMs: number): ForeignFailure {
  const { errorType, errorMessage: text, attempts, firstFailureTimeMs, lastFailureTimeMs } = letter;
  const cause = letterCauses.find(letter.cause);
  if (cause === undefined) throw invalidArgument(`letters[${index}].cause is none of ${letterCauses.all.join(', ')}`);
  if (attempts < 0) throw invalidArgument(`letters[${index}].attempts is ${attempts}`);
  checkTime(firstFailureTimeMs, 'first_failure_time', index);
  checkTime(lastFailureTimeMs, 'last_failure_time', index);
  const handler = category === 'replication' ? 'ReplicationTaskProcessor' : 'NamespaceReplicationTaskProcessor';
  // Whoever does not say when, says that it has failed now.
  const lastMs = lastFailureTimeMs === 0 ? nowMs : lastFailureTimeMs;
  const firstMs = firstFailureTimeMs === 0 ? lastMs : firstFailureTimeMs;
  return { cause, errorType, errorMessage: text, attempts, firstFailureTimeMs: firstMs, lastFailureTimeMs: lastMs, handler, build };
}
