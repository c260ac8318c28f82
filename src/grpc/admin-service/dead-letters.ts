/**
 * Dead letters as Temporal's tools ask for them. Nothing hands letters over yet: what is asked is checked in full, and every queue is one that is not
 * there. Of the two kinds of queues those of history tasks have a key and names, those of replication a type and a source cluster.
 */
import type { ServiceMessages } from '../../wire/services.ts';
import { notFound } from '../errors/details.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { NamedMethod } from '../method.ts';
import { operation, type AdminContext } from './admin-context.ts';
import { noPageToken, notNegativeShard, pageSize, required } from './conventions.ts';
import { deadLetterQueueName } from './dead-letter-queue-name.ts';

/** Values of `queue_type`. */
const historyDeadLetters = 2;
const queuesPageStandard = 100;
const tasksPageStandard = 100;
const messagesPageStandard = 1_000;
const batchSizeMax = 1_000;
const jobPrefix = 'manage-dlq-tasks-';

type V1 = ServiceMessages['adminservice']['v1'];

export function deadLetterMethods(admin: AdminContext): readonly NamedMethod[] {
  return [...queueMethods(admin), ...jobMethods(admin), ...replicationMethods(admin)];
}

function queueMethods(admin: AdminContext): readonly NamedMethod[] {
  const { api } = admin;
  return [
    operation('ListQueues', api.ListQueuesRequest, api.ListQueuesResponse, (request) => {
      if (request.queueType !== historyDeadLetters) {
        throw invalidArgument(`Invalid queue type: ${request.queueType}; dead letters of history tasks have ${historyDeadLetters}`);
      }
      pageSize(request.pageSize, queuesPageStandard);
      noPageToken(request.nextPageToken);
      return {};
    }),
    operation('GetDLQTasks', api.GetDLQTasksRequest, api.GetDLQTasksResponse, (request) => {
      const name = queueName(admin, request.dlqKey);
      pageSize(request.pageSize, tasksPageStandard);
      noPageToken(request.nextPageToken);
      throw queueNotFound(name);
    }),
    operation('PurgeDLQTasks', api.PurgeDLQTasksRequest, api.PurgeDLQTasksResponse, (request) => {
      const name = queueName(admin, request.dlqKey);
      checkLastMessage(request.inclusiveMaxTaskMetadata);
      throw queueNotFound(name);
    }),
    operation('MergeDLQTasks', api.MergeDLQTasksRequest, api.MergeDLQTasksResponse, (request) => {
      const name = queueName(admin, request.dlqKey);
      checkLastMessage(request.inclusiveMaxTaskMetadata);
      if (request.batchSize < 0) throw invalidArgument('BatchSize must be positive or 0 to use the default');
      if (request.batchSize > batchSizeMax) throw invalidArgument('BatchSize too large');
      throw queueNotFound(name);
    }),
  ];
}

type Key = V1['GetDLQTasksRequest']['prototype']['dlqKey'];

/** A key without a target means this cluster; the operations guide knows no target. */
function queueName({ api, context }: AdminContext, given: Key): string {
  const key = required(given, 'dlq_key');
  const category = key.taskCategory ?? 0;
  const { TaskCategory } = api;
  const isKnown = category >= TaskCategory.TASK_CATEGORY_TRANSFER && category <= TaskCategory.TASK_CATEGORY_OUTBOUND;
  if (!isKnown || category === TaskCategory.TASK_CATEGORY_MEMORY_TIMER) throw invalidArgument(`Invalid task category id: ${category}`);
  const source = key.sourceCluster ?? '';
  if (source === '') throw invalidArgument('SourceCluster is not set on request.');
  const target = key.targetCluster ?? '';
  return deadLetterQueueName(category, source, target === '' ? context.ports.server.clusterName : target);
}

/** `tdbg` looks for the first three words, and takes such a queue for an empty one. */
function queueNotFound(name: string): Error {
  return notFound(`queue not found: type = ${historyDeadLetters} and name = ${name}`);
}

function checkLastMessage(given: V1['PurgeDLQTasksRequest']['prototype']['inclusiveMaxTaskMetadata']): void {
  const { messageId } = required(given, 'inclusive_max_task_metadata');
  if (messageId?.isNegative() === true) throw invalidArgument(`Invalid message id: ${messageId.toString()}`);
}

function jobMethods({ api }: AdminContext): readonly NamedMethod[] {
  const unknownJob = (token: Uint8Array): Error => {
    const { workflowId, runId } = jobOf(api, token);
    return notFound(`DLQ job not found: ${workflowId} ${runId}`);
  };
  return [
    operation('DescribeDLQJob', api.DescribeDLQJobRequest, api.DescribeDLQJobResponse, ({ jobToken }) => {
      throw unknownJob(jobToken);
    }),
    operation('CancelDLQJob', api.CancelDLQJobRequest, api.CancelDLQJobResponse, ({ jobToken }) => {
      throw unknownJob(jobToken);
    }),
  ];
}

function jobOf({ DLQJobToken }: V1, token: Uint8Array): { readonly workflowId: string; readonly runId: string } {
  try {
    const { workflowId, runId } = DLQJobToken.decode(token);
    if (workflowId.startsWith(jobPrefix) && runId !== '') return { workflowId, runId };
  } catch {
    // Said below.
  }
  throw invalidArgument('Invalid DLQ job token.');
}

function replicationMethods(admin: AdminContext): readonly NamedMethod[] {
  const { api } = admin;
  return [
    operation('GetDLQMessages', api.GetDLQMessagesRequest, api.GetDLQMessagesResponse, (request) => {
      checkReplicationQueue(admin, request);
      pageSize(request.maximumPageSize, messagesPageStandard);
      noPageToken(request.nextPageToken);
      return { type: request.type };
    }),
    operation('PurgeDLQMessages', api.PurgeDLQMessagesRequest, api.PurgeDLQMessagesResponse, (request) => {
      checkReplicationQueue(admin, request);
      return {};
    }),
    operation('MergeDLQMessages', api.MergeDLQMessagesRequest, api.MergeDLQMessagesResponse, (request) => {
      checkReplicationQueue(admin, request);
      noPageToken(request.nextPageToken);
      return {};
    }),
  ];
}

type OfReplication = { readonly type: number; readonly shardId: number; readonly sourceCluster: string };

function checkReplicationQueue({ context, messages }: AdminContext, { type, shardId, sourceCluster }: OfReplication): void {
  const { DeadLetterQueueType } = messages.enums.v1;
  if (type !== DeadLetterQueueType.DEAD_LETTER_QUEUE_TYPE_REPLICATION && type !== DeadLetterQueueType.DEAD_LETTER_QUEUE_TYPE_NAMESPACE) {
    throw invalidArgument('The DLQ type is not supported.');
  }
  const { clusterName, historyShards } = context.ports.server;
  notNegativeShard(shardId, historyShards);
  if (sourceCluster !== '' && sourceCluster !== clusterName) {
    throw notFound(`cluster ${sourceCluster} is not found: there is ${clusterName}`);
  }
}
