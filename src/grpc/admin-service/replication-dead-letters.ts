/**
 * Dead letters of replication as Temporal's tools ask for them: by a type and a source cluster. The id in every answer is the message id, so that an
 * id that is shown is one that is taken.
 */
import type { KnownDeadLetterQueue } from '../../cluster/cluster-state.ts';
import type { ListedLetter } from '../../deadletters/replies.ts';
import type { Condition } from '../../filter/condition.ts';
import { utf8Bytes } from '../../kernel/utf8.ts';
import { int64, type ServiceMessages, timestamp } from '../../wire/services.ts';
import { askLetters } from '../deadletter-service/letter-asks.ts';
import { letterLimits } from '../deadletter-service/letter-limits.ts';
import { lastPage, LetterPages, type PagePlace } from '../deadletter-service/letter-pages.ts';
import { countOf, shardThatIsThere } from '../deadletter-service/letters.ts';
import { checkCluster } from '../deadletter-service/queues.ts';
import { allOf, equals, letterColumn } from '../deadletter-service/selection.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { operation, type AdminContext } from './admin-context.ts';
import { mergedByPages, purgedAll } from './replication-merge.ts';

const lettersPageStandard = 1_000;

type V1 = ServiceMessages['adminservice']['v1'];
type ReadRequest = InstanceType<V1['GetDLQMessagesRequest']>;
type ReadResponse = V1['GetDLQMessagesResponse']['prototype'];

export function replicationDeadLetterMethods(admin: AdminContext): readonly NamedMethod[] {
  const { api } = admin;
  return [
    operation('GetDLQMessages', api.GetDLQMessagesRequest, api.GetDLQMessagesResponse, (request, call) => read(admin, call, request)),
    operation('PurgeDLQMessages', api.PurgeDLQMessagesRequest, api.PurgeDLQMessagesResponse, async (request, call) => {
      const { queue, condition } = onlyQueue(await chosen(admin, call, request));
      if (queue !== undefined) await purgedAll(admin, call, queue, request.inclusiveEndMessageId, condition);
      return {};
    }),
    operation('MergeDLQMessages', api.MergeDLQMessagesRequest, api.MergeDLQMessagesResponse, async (request, call) => {
      const { queue, condition } = onlyQueue(await chosen(admin, call, request));
      return { nextPageToken: await mergedByPages(admin, call, queue, condition, request) };
    }),
  ];
}

type OfReplication = Pick<ReadRequest, 'type' | 'shardId' | 'sourceCluster'>;
type Chosen = { readonly queues: readonly KnownDeadLetterQueue[]; readonly condition: Condition | undefined };

/** Throws for what is asked wrongly. */
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

/** What changes letters is about one queue. */
function onlyQueue({ queues, condition }: Chosen): {
  readonly queue: KnownDeadLetterQueue | undefined;
  readonly condition: Condition | undefined;
} {
  if (queues.length > 1) {
    throw invalidArgument(`source_cluster is not set: there are queues of ${queues.map((queue) => queue.sourceCluster).join(', ')}`);
  }
  return { queue: queues[0], condition };
}

async function read(admin: AdminContext, call: Call, request: ReadRequest): Promise<Partial<ReadResponse>> {
  const { context } = admin;
  const { type, shardId, sourceCluster, nextPageToken } = request;
  // 0 or less: the standard.
  const max = request.maximumPageSize <= 0 ? lettersPageStandard : Math.min(request.maximumPageSize, letterLimits.pageLettersMax);
  const { queues, condition: ofShard } = await chosen(admin, call, request);
  const last = request.inclusiveEndMessageId.toNumber();
  const upTo: Condition = { kind: 'compare', column: letterColumn('MessageId'), operator: '<=', operand: last };
  const condition = allOf([...(ofShard === undefined ? [] : [ofShard]), ...(last <= 0 ? [] : [upTo])]);
  const pages = new LetterPages(context, 'GetDLQMessages', { type, shardId, sourceCluster, last });
  const place = pages.placeOf(nextPageToken);
  const counts = await Promise.all(queues.map(({ number }) => countOf(context, call, number, condition)));

  const { letters, next } = await pageOf(admin, call, { queues, condition, place, max });
  return {
    type,
    nextPageToken: next === undefined ? lastPage : pages.token(next),
    totalCount: int64(counts.reduce((all, each) => all + each, 0)),
    dlqMessages: letters.map(dlqMessage),
    ...asTasks(admin, letters),
  };
}

type Wanted = Chosen & { readonly place: PagePlace; readonly max: number };

/** From a place on, through the queues; `next`: where the rest begins. */
async function pageOf({ context }: AdminContext, call: Call, { queues, condition, place, max }: Wanted) {
  const { pageBytesMax } = letterLimits;
  const letters: Found[] = [];
  let bytes = 0;
  let after = place.afterMessageId;
  for (let at = place.queue; at < queues.length; at += 1) {
    const queue = queues[at] as KnownDeadLetterQueue;
    const next = (): Partial<PagePlace> => ({ queue: at, afterMessageId: after });
    if (letters.length === max || bytes >= pageBytesMax) return { letters, next: next() };
    const room = { max: max - letters.length, bytesMax: pageBytesMax - bytes };
    const question = { kind: 'listLetters', condition, afterMessageId: after, ...room, withContent: true } as const;
    const page = await askLetters(context, call, queue.number, question);
    for (const letter of page.letters) {
      bytes += answerBytes(letter);
      if (bytes > pageBytesMax && letters.length > 0) return { letters, next: next() };
      letters.push({ queue, letter });
      after = letter.row.messageId;
    }
    if (!page.isLast) return { letters, next: next() };
    after = -1;
  }
  return { letters, next: undefined };
}

/** Tags, lengths, times and numbers of one letter, in both of its forms. */
const FRAME_BYTES = 512;

function answerBytes({ row, content }: ListedLetter): number {
  const texts = [row.errorMessage, row.errorType, row.workflowId, row.runId].reduce((sum, text) => sum + utf8Bytes(text), 0);
  return FRAME_BYTES + texts + (content?.value.byteLength ?? 0);
}

type Found = { readonly queue: KnownDeadLetterQueue; readonly letter: ListedLetter };

/** What of them can be read. The events of a workflow's task are at its source, and are fetched when it is merged: the letter has what stands in `raw_task_info`. */
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

/** As what such a task is sent. */
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
  return {
    taskId: int64(row.messageId),
    taskType: row.taskType,
    namespaceId: row.namespaceId,
    workflowId: row.workflowId,
    runId: row.runId,
    firstEventId: int64(row.firstEventId ?? 0),
    nextEventId: int64(row.nextEventId ?? 0),
    version: int64(row.version ?? 0),
    messageId: int64(row.messageId),
    shardId: row.shardId ?? 0,
    sourceCluster: queue.sourceCluster,
    attempts: row.attempts,
    cause: row.cause,
    errorType: row.errorType,
    errorMessage: row.errorMessage,
    deadLetterTime: timestamp(row.deadLetterTimeMs),
  };
}
