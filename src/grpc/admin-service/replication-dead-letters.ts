/**
 * Dead letters of replication as Temporal's tools ask for them: by a type and a source cluster. The id in every answer is the message id, so that an
 * id that is shown is one that is taken. Purge and merge wait for what comes of them:
 *
 *     the first call freezes the last id ─▶ a job for each page ─▶ its outcomes ─▶ the token of the next page, with what has failed so far
 *                                                                               └▶ the last page: FAILED_PRECONDITION, if anything has
 *
 * A job goes on when its call ends before it.
 */
import type { KnownDeadLetterQueue } from '../../cluster/cluster-records.ts';
import { rangesOfIds } from '../../deadletters/bounds/id-ranges.ts';
import type { Job, LetterSelection } from '../../deadletters/jobs/job.ts';
import type { ListedLetter } from '../../deadletters/letter-commands.ts';
import type { Condition } from '../../filter/condition.ts';
import { int64, type ServiceMessages, timestamp } from '../../wire/services.ts';
import { hasEnded, LOOK_AGAIN_MS } from '../deadletter-service/jobs.ts';
import { askJobs, askLetters } from '../deadletter-service/letter-asks.ts';
import { bytesOf, countOf, lettersFrom, shardThatIsThere, type Chosen } from '../deadletter-service/letters.ts';
import { lastPage, letterLimits, LetterPages } from '../deadletter-service/letter-pages.ts';
import { beginOf } from '../deadletter-service/plans.ts';
import { checkCluster } from '../deadletter-service/queues.ts';
import { equals, letterColumn } from '../deadletter-service/selection.ts';
import { unavailable } from '../errors/details.ts';
import { failedPrecondition, invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import { allOf } from '../conditions.ts';
import type { AdminContext, AdminHandlers, RequestOf } from './admin-context.ts';
import type { JobOperation } from '../../kernel/letter-words.ts';

const lettersPageStandard = 1_000;

export const replicationDeadLetterHandlers: AdminHandlers = {
  GetDLQMessages: async (admin, request, call) => {
    const { context } = admin;
    const { type, shardId, sourceCluster, nextPageToken } = request;
    // 0 or less: the standard.
    const max = request.maximumPageSize <= 0 ? lettersPageStandard : Math.min(request.maximumPageSize, letterLimits.pageLettersMax);
    const { queues, condition: ofShard } = await chosen(admin, call, request);
    const last = request.inclusiveEndMessageId.toNumber();
    const condition = allOf(ofShard, last <= 0 ? undefined : upTo(last));
    const pages = new LetterPages(context, 'GetDLQMessages', { type, shardId, sourceCluster, last });
    const place = pages.placeOf(nextPageToken);
    const count = await countOf(context, call, { queues, condition });
    const wanted = { queues, condition, place, max, withContent: true };
    const { letters, next } = await lettersFrom(context, call, wanted, (queue, letter) => {
      const { row, content } = letter;
      const texts = [row.errorMessage, row.errorType, row.workflowId, row.runId];
      return { shown: { queue, letter }, bytes: bytesOf(texts) + (content?.value.byteLength ?? 0) };
    });
    return {
      type,
      nextPageToken: next === undefined ? lastPage : pages.token(next),
      totalCount: int64(count),
      dlqMessages: letters.map(dlqMessage),
      ...asTasks(admin, letters),
    };
  },
  PurgeDLQMessages: async (admin, request, call) => {
    const { context } = admin;
    const { queue, condition } = await chosenOne(admin, call, request);
    if (queue === undefined) return {};
    const to = await lastId(context, call, queue, request.inclusiveEndMessageId.toNumber());
    if (to >= 0) await outcomeOf(context, call, 'purge', queue, { ids: [{ from: 0, to }], condition });
    return {};
  },
  MergeDLQMessages: async (admin, request, call) => {
    const { queue, condition } = await chosenOne(admin, call, request);
    return { nextPageToken: await mergedByPages(admin, call, queue, condition, request) };
  },
};

type OfReplication = Pick<RequestOf<'GetDLQMessages'>, 'type' | 'shardId' | 'sourceCluster'>;

async function chosen({ context, messages }: AdminContext, call: Call, { type, shardId, sourceCluster }: OfReplication): Promise<Chosen> {
  const { DEAD_LETTER_QUEUE_TYPE_REPLICATION, DEAD_LETTER_QUEUE_TYPE_NAMESPACE } = messages.enums.v1.DeadLetterQueueType;
  if (type !== DEAD_LETTER_QUEUE_TYPE_REPLICATION && type !== DEAD_LETTER_QUEUE_TYPE_NAMESPACE) {
    throw invalidArgument('The DLQ type is not supported.');
  }
  if (shardId < 0) throw invalidArgument(`Invalid ShardID: ${shardId}`);
  if (sourceCluster !== '') checkCluster(context, sourceCluster);
  const wanted = type === DEAD_LETTER_QUEUE_TYPE_REPLICATION ? 'replication' : 'namespace-replication';
  const queues = context.ports.cluster.deadLetterQueues.filter(
    (queue) => queue.category === wanted && (sourceCluster === '' || queue.sourceCluster === sourceCluster),
  );
  await shardThatIsThere(context, call, queues, shardId);
  return { queues, condition: shardId === 0 ? undefined : equals('ShardId', shardId) };
}

async function chosenOne(admin: AdminContext, call: Call, request: OfReplication) {
  const { queues, condition } = await chosen(admin, call, request);
  if (queues.length > 1) {
    throw invalidArgument(`source_cluster is not set: there are queues of ${queues.map((queue) => queue.sourceCluster).join(', ')}`);
  }
  return { queue: queues[0], condition };
}

function upTo(messageId: number): Condition {
  return { kind: 'compare', column: letterColumn('MessageId'), operator: '<=', operand: messageId };
}

type ReadResponse = ServiceMessages['adminservice']['v1']['GetDLQMessagesResponse']['prototype'];
type Found = { readonly queue: KnownDeadLetterQueue; readonly letter: ListedLetter };

/** Those that can be read, as tasks. Events are fetched from the source when one is merged: the letter has what stands in `raw_task_info`. */
function asTasks({ messages }: AdminContext, letters: readonly Found[]): Partial<ReadResponse> {
  const { ReplicationTask } = messages.replication.v1;
  const { ReplicationTaskInfo } = messages.persistence.v1;
  const { ReplicationTaskType } = messages.enums.v1;
  const replicationTasks: ReadResponse['replicationTasks'] = [];
  const replicationTasksInfo: ReadResponse['replicationTasksInfo'] = [];
  for (const { queue, letter } of letters) {
    const value = letter.content?.value ?? new Uint8Array(0);
    const id = int64(letter.row.messageId);
    try {
      if (queue.category === 'replication') {
        const rawTaskInfo = ReplicationTaskInfo.decode(value);
        replicationTasksInfo.push({ ...infoOf(rawTaskInfo), taskId: id });
        const taskType = ReplicationTaskType[taskTypes[letter.row.taskType] ?? 'REPLICATION_TASK_TYPE_UNSPECIFIED'];
        const visibilityTime = rawTaskInfo.visibilityTime ?? null;
        replicationTasks.push(Object.assign(new ReplicationTask(), { taskType, sourceTaskId: id, visibilityTime, rawTaskInfo }));
      } else replicationTasks.push(Object.assign(ReplicationTask.decode(value), { sourceTaskId: id }));
    } catch {
      // It is among `dlq_messages`.
    }
  }
  return { replicationTasks, replicationTasksInfo };
}

const taskTypes: Readonly<Record<string, keyof ServiceMessages['enums']['v1']['ReplicationTaskType']>> = {
  TASK_TYPE_REPLICATION_HISTORY: 'REPLICATION_TASK_TYPE_HISTORY_V2_TASK',
  TASK_TYPE_REPLICATION_SYNC_ACTIVITY: 'REPLICATION_TASK_TYPE_SYNC_ACTIVITY_TASK',
  TASK_TYPE_REPLICATION_SYNC_WORKFLOW_STATE: 'REPLICATION_TASK_TYPE_SYNC_WORKFLOW_STATE_TASK',
  TASK_TYPE_REPLICATION_SYNC_HSM: 'REPLICATION_TASK_TYPE_SYNC_HSM_TASK',
  TASK_TYPE_REPLICATION_SYNC_VERSIONED_TRANSITION: 'REPLICATION_TASK_TYPE_SYNC_VERSIONED_TRANSITION_TASK',
};

type StoredInfo = InstanceType<ServiceMessages['persistence']['v1']['ReplicationTaskInfo']>;

function infoOf(stored: StoredInfo) {
  const { namespaceId, workflowId, runId, taskType, version, firstEventId, nextEventId, scheduledEventId, priority } = stored;
  return { namespaceId, workflowId, runId, taskType, version, firstEventId, nextEventId, scheduledEventId, priority };
}

function dlqMessage({ queue, letter: { row } }: Found) {
  const { taskType, namespaceId, workflowId, runId, attempts, cause, errorType, errorMessage } = row;
  return {
    ...{ taskType, namespaceId, workflowId, runId, attempts, cause, errorType, errorMessage },
    taskId: int64(row.messageId),
    firstEventId: int64(row.firstEventId ?? 0),
    nextEventId: int64(row.nextEventId ?? 0),
    version: int64(row.version ?? 0),
    messageId: int64(row.messageId),
    shardId: row.shardId ?? 0,
    sourceCluster: queue.sourceCluster,
    deadLetterTime: timestamp(row.deadLetterTimeMs),
  };
}

// ── Merge ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

async function mergedByPages(
  { context }: AdminContext,
  call: Call,
  queue: KnownDeadLetterQueue | undefined,
  condition: Condition | undefined,
  { type, shardId, sourceCluster, inclusiveEndMessageId, maximumPageSize, nextPageToken }: RequestOf<'MergeDLQMessages'>,
): Promise<Uint8Array> {
  const end = inclusiveEndMessageId.toNumber();
  const pages = new LetterPages(context, 'MergeDLQMessages', { type, shardId, sourceCluster, end });
  let place = pages.placeOf(nextPageToken);
  if (queue === undefined) return lastPage;
  if (nextPageToken.length === 0) place = { ...place, toMessageId: await lastId(context, call, queue, end) };
  // Neither size nor token: all of it, in this call.
  const isWhole = maximumPageSize <= 0 && nextPageToken.length === 0;
  const { pageLettersMax } = letterLimits;
  const max = maximumPageSize <= 0 ? pageLettersMax : Math.min(maximumPageSize, pageLettersMax);
  const selected = allOf(upTo(place.toMessageId), condition);
  for (;;) {
    const question = { kind: 'findLetters', condition: selected, afterMessageId: place.afterMessageId, max } as const;
    const { ids, isLast } = await askLetters(context, call, queue.number, question);
    const last = ids.at(-1);
    if (last !== undefined) {
      const selection = { ids: rangesOfIds(ids.map(({ messageId }) => messageId)), condition: undefined };
      const job = await outcomeOf(context, call, 'merge', queue, selection);
      place = { ...place, ...failedSoFar(place, job), afterMessageId: last.messageId };
    }
    if (isLast || last === undefined || last.messageId >= place.toMessageId) break;
    if (!isWhole) return pages.token(place);
  }
  const { failed, tried, firstFailure } = place;
  if (failed > 0) throw failedPrecondition(`${failed} of ${tried} tasks failed again: ${firstFailure}`);
  return lastPage;
}

type SoFar = { readonly tried: number; readonly failed: number; readonly firstFailure: string };

/** What was skipped is in the queue still, as what has failed is. */
function failedSoFar(before: SoFar, { counts, failures, skips }: Job): SoFar {
  const [failure] = failures;
  const [skip] = skips;
  const text =
    failure !== undefined
      ? `message ${failure.messageId}: ${failure.errorMessage}`
      : skip !== undefined
        ? `message ${skip.messageId}: ${skip.reason}`
        : '';
  return {
    tried: before.tried + counts.selected - counts.gone,
    failed: before.failed + counts.failed + counts.skipped + counts.notTried,
    firstFailure: before.firstFailure === '' ? text : before.firstFailure,
  };
}

/** 0 is all, as tdbg says it: ids of these queues begin at 1. */
async function lastId(context: HandlerContext, call: Call, { number }: KnownDeadLetterQueue, end: number): Promise<number> {
  if (end < 0) throw invalidArgument(`Invalid message id: ${end}`);
  const { nextId } = await askLetters(context, call, number, { kind: 'countLetters' });
  return end === 0 ? nextId - 1 : Math.min(end, nextId - 1);
}

async function outcomeOf(
  context: HandlerContext,
  call: Call,
  operation: JobOperation,
  queue: KnownDeadLetterQueue,
  selection: LetterSelection,
): Promise<Job> {
  let job = await beginOf(context, call, operation, '')(queue, selection);
  while (!hasEnded(job)) {
    if (!(await context.pause(call, LOOK_AGAIN_MS))) throw unavailable(`job ${job.jobId} continues although this call ends`);
    ({ job } = await askJobs(context, call, { kind: 'describeJob', jobId: job.jobId }));
  }
  return job;
}
