import type { WorkflowTaskRef } from '../../history/commands.ts';
import type { QueryResult } from '../../history/query/query-commands.ts';
import type { OpaqueFailure } from '../../history/failure.ts';
import type { QueryTask } from '../../matching/replies.ts';
import type { TaskQueuePartition } from '../../matching/task-queue.ts';
import { QueryResultType, TaskQueueKind, TaskQueueType } from '../../wire/generated/lean/enums.ts';
import type { WorkflowQueryResult } from '../../wire/generated/lean/taskqueue.ts';
import {
  decodePollWorkflowTaskQueueRequest,
  decodeResetStickyTaskQueueRequest,
  decodeRespondQueryTaskCompletedRequest,
  decodeRespondWorkflowTaskCompletedRequest,
  decodeRespondWorkflowTaskFailedRequest,
  decodeShutdownWorkerRequest,
  encodePollWorkflowTaskQueueResponse,
  encodeResetStickyTaskQueueResponse,
  encodeRespondQueryTaskCompletedResponse,
  encodeRespondWorkflowTaskCompletedResponse,
  encodeRespondWorkflowTaskFailedResponse,
  encodeShutdownWorkerResponse,
  type PollWorkflowTaskQueueRequest,
  type PollWorkflowTaskQueueResponse,
  type ResetStickyTaskQueueRequest,
  type RespondQueryTaskCompletedRequest,
  type RespondWorkflowTaskCompletedRequest,
  type RespondWorkflowTaskCompletedResponse,
  type RespondWorkflowTaskFailedRequest,
  type ShutdownWorkerRequest,
} from '../../wire/generated/lean/workflow_service.ts';
import { notBuilt } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { taskUnary, unary, type NamedMethod } from '../method.ts';
import type { QueryTaskToken, WorkflowTaskToken } from '../tokens/tokens.ts';
import type { Call } from '../transport/call.ts';
import { runKey } from '../validation/execution.ts';
import { checkBound } from '../validation/bounds.ts';
import { checkLength, type EdgeLimits } from '../validation/lengths.ts';
import { checkOpaque } from '../validation/opaque.ts';
import { completionLimits } from '../validation/request-limits.ts';
import { checkTaskQueue } from '../validation/task-queue.ts';
import { unlessNotFound } from './chain-end.ts';
import { boundedFailure, opaqueFailure } from './failures.ts';
import { checkPoll, checkPollDeadline, pollDeadline, polledPartition } from './polls.ts';
import { activityTaskAnswer, emptyWorkflowTask, queryTaskAnswer, workflowTaskAnswer } from './task-answers.ts';
import { updateMessage } from './update-messages.ts';
import { recordAside } from './worker-heartbeats.ts';
import { targetNamespaces, workflowCommand } from './workflow-commands.ts';
import { checkedStamp } from './worker-version.ts';

/** The workflow half of a worker: polls, completions, failures, query answers, and its shutdown. */
export function workflowTaskMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    unary('PollWorkflowTaskQueue', decodePollWorkflowTaskQueueRequest, encodePollWorkflowTaskQueueResponse, (request, call) =>
      poll(context, request, call),
    ),
    taskUnary(
      'RespondWorkflowTaskCompleted',
      (token) => context.tokens.readWorkflowTask(token),
      decodeRespondWorkflowTaskCompletedRequest,
      encodeRespondWorkflowTaskCompletedResponse,
      (request, token, call) => complete(context, request, token, call),
      completionLimits,
    ),
    taskUnary(
      'RespondWorkflowTaskFailed',
      (token) => context.tokens.readWorkflowTask(token),
      decodeRespondWorkflowTaskFailedRequest,
      encodeRespondWorkflowTaskFailedResponse,
      (request, token, call) => fail(context, request, token, call),
    ),
    taskUnary(
      'RespondQueryTaskCompleted',
      (token) => context.tokens.readQueryTask(token),
      decodeRespondQueryTaskCompletedRequest,
      encodeRespondQueryTaskCompletedResponse,
      (request, token, call) => answerQuery(context, request, token, call),
    ),
    unary('ResetStickyTaskQueue', decodeResetStickyTaskQueueRequest, encodeResetStickyTaskQueueResponse, (request, call) =>
      resetSticky(context, request, call),
    ),
    unary('ShutdownWorker', decodeShutdownWorkerRequest, encodeShutdownWorkerResponse, (request, call) =>
      shutdownWorker(context, request, call),
    ),
  ];
}

async function poll(context: HandlerContext, request: PollWorkflowTaskQueueRequest, call: Call): Promise<PollWorkflowTaskQueueResponse> {
  checkPollDeadline(context, call);
  const namespace = await context.namespace(call, request.namespace);
  const taskQueue = checkPoll(request, call, context.limits);
  const deadlineMs = pollDeadline(context, call);
  if (deadlineMs === undefined) return emptyWorkflowTask;
  const queue = polledPartition(context, namespace.id, taskQueue, 'workflow');
  const reply = await context.waitMatching(
    call,
    queue,
    {
      kind: 'pollWorkflowTask',
      queue,
      pollRequestId: context.ports.newId(),
      identity: request.identity,
      deadlineMs,
      workerInstanceKey: request.workerInstanceKey,
      maxTasksPerSecond: undefined,
      workerVersion: undefined,
      forwardedFrom: undefined,
    },
    call.deadlineMs,
  );
  if (reply === 'ended' || reply.kind === 'emptyPoll') return emptyWorkflowTask;
  if (reply.kind === 'queryTask') return queryTask(context, call, reply, queue);
  if (reply.task.kind !== 'workflowTask') throw new Error(`matching answered a workflow poll with ${reply.task.kind}`);
  return (await unlessDeleted(workflowTaskAnswer(context, call, reply.task, reply.backlogCountHint))) ?? emptyWorkflowTask;
}

/** undefined: the run was deleted before its history was read. Nothing is left to do, and its worker has done nothing wrong. */
function unlessDeleted(
  answer: PollWorkflowTaskQueueResponse | Promise<PollWorkflowTaskQueueResponse>,
): Promise<PollWorkflowTaskQueueResponse | undefined> {
  return Promise.resolve(answer).catch(unlessNotFound);
}

/** Of a run that was deleted no worker can say anything: who asks is told at once. */
async function queryTask(
  context: HandlerContext,
  call: Call,
  task: QueryTask,
  polled: TaskQueuePartition,
): Promise<PollWorkflowTaskQueueResponse> {
  const { queryId, queuePartition, sticky } = task;
  const queue = queueOfQuery({ ...polled, partition: queuePartition, sticky });
  const answer = await queryTaskAnswer(context, call, task, queue).catch(unlessNotFound);
  if (answer !== undefined) return answer;
  const result = { answered: false, answer: undefined, errorMessage: 'the workflow was deleted', failure: undefined };
  await context.matching(call, queue, { kind: 'answerQuery', queue, queryId, result });
  return emptyWorkflowTask;
}

async function complete(
  context: HandlerContext,
  request: RespondWorkflowTaskCompletedRequest,
  token: WorkflowTaskToken,
  call: Call,
): Promise<RespondWorkflowTaskCompletedResponse> {
  const namespace = await context.namespaceOfToken(call, request.namespace, token.namespaceId);
  checkLength(request.identity, 'Identity', context.limits);
  refuseUnbuiltCompletion(request);
  checkOpaque(request.sdkMetadata, 'sdkMetadata');
  checkOpaque(request.meteringMetadata, 'meteringMetadata');
  const workerVersion = checkedStamp(request.workerVersionStamp, context.limits);
  if (request.stickyAttributes?.workerTaskQueue !== undefined) checkTaskQueue(request.stickyAttributes.workerTaskQueue, context.limits);
  const namespaces = await targetNamespaces(context, call, request.commands);
  const task = workflowTaskRef(token);
  const reply = await context.history(call, task.key, {
    kind: 'completeWorkflowTask',
    task,
    namespace: namespace.name,
    identity: request.identity,
    commands: request.commands.map((command) => workflowCommand(command, namespaces, namespace, context.limits)),
    sticky:
      request.stickyAttributes?.workerTaskQueue === undefined
        ? undefined
        : {
            taskQueue: { ...request.stickyAttributes.workerTaskQueue, kind: TaskQueueKind.STICKY },
            scheduleToStartTimeoutMs: request.stickyAttributes.scheduleToStartTimeoutMs,
          },
    returnNewWorkflowTask: request.returnNewWorkflowTask,
    forceCreateNewWorkflowTask: request.forceCreateNewWorkflowTask,
    queryResults: queryResults(request.queryResults, context.limits, call),
    messages: request.messages.map(updateMessage),
    discardsSpeculativeEvents: request.capabilities?.discardSpeculativeWorkflowTaskWithEvents ?? false,
    sdkMetadata: request.sdkMetadata,
    meteringMetadata: request.meteringMetadata,
    workerVersion,
    binaryChecksum: request.binaryChecksum,
    newRunId: context.ports.newRunId(),
    pollRequestId: context.ports.newId(),
    retentionMs: namespace.retentionMs,
    registryPosition: context.ports.cluster.position,
    jitter: context.ports.random(),
  });
  return {
    workflowTask: reply.workflowTask && (await unlessDeleted(workflowTaskAnswer(context, call, reply.workflowTask, 0))),
    activityTasks: reply.activityTasks.map((activity) => activityTaskAnswer(context, activity, namespace.name)),
    resetHistoryEventId: reply.resetHistoryEventId,
  };
}

function workflowTaskRef(token: WorkflowTaskToken): WorkflowTaskRef {
  return {
    key: { namespaceId: token.namespaceId, workflowId: token.workflowId, runId: token.runId },
    scheduledEventId: token.scheduledEventId,
    startedEventId: token.startedEventId,
    startedTimeMs: token.startedTimeMs,
    attempt: token.attempt,
  };
}

function refuseUnbuiltCompletion(request: RespondWorkflowTaskCompletedRequest): void {
  if (request.intermediatePage || request.pageNumber !== 0) throw notBuilt('page_number');
  checkBound('RespondWorkflowTaskCompletedRequest.versioning_behavior', request.versioningBehavior);
}

const noQueryResults: ReadonlyMap<string, QueryResult> = new Map();

function queryResults(results: ReadonlyMap<string, WorkflowQueryResult>, limits: EdgeLimits, call: Call): ReadonlyMap<string, QueryResult> {
  if (results.size === 0) return noQueryResults;
  return new Map(
    [...results].map(([id, result]) => [
      id,
      boundedQueryResult(
        {
          answered: result.resultType === QueryResultType.ANSWERED,
          answer: result.answer,
          errorMessage: result.errorMessage,
          failure: result.failure,
        },
        limits,
        call,
      ),
    ]),
  );
}

/** An answer over the limit becomes a failed query. */
function boundedQueryResult(result: QueryResult, { blobBytesMax }: EdgeLimits, call: Call): QueryResult {
  checkOpaque(result.answer, 'payloads');
  checkOpaque(result.failure, 'failure');
  if ((result.answer?.length ?? 0) > blobBytesMax) {
    call.notes.oversized = 'query result';
    return { answered: false, answer: undefined, errorMessage: 'Blob data size exceeds limit.', failure: undefined };
  }
  if ((result.failure?.length ?? 0) > blobBytesMax) return { ...result, failure: undefined };
  return result;
}

async function fail(
  context: HandlerContext,
  request: RespondWorkflowTaskFailedRequest,
  token: WorkflowTaskToken,
  call: Call,
): Promise<Record<string, never>> {
  await context.namespaceOfToken(call, request.namespace, token.namespaceId);
  checkLength(request.identity, 'Identity', context.limits);
  const task = workflowTaskRef(token);
  await context.history(call, task.key, {
    kind: 'failWorkflowTask',
    task,
    cause: request.cause,
    failure: failureOf(request.failure, context, call),
    identity: request.identity,
    binaryChecksum: request.binaryChecksum,
    jitter: context.ports.random(),
  });
  return {};
}

function failureOf(failure: Uint8Array | undefined, context: HandlerContext, call: Call): OpaqueFailure | undefined {
  if (failure === undefined) return undefined;
  const bounded = boundedFailure(opaqueFailure(failure), 'Failure exceeds size limit.', context.limits);
  if (bounded.bytes !== failure) call.notes.oversized = 'failure';
  return bounded;
}

/** The one that it was asked in: not always that which its poll came to. */
function queueOfQuery({
  namespaceId,
  name,
  partition,
  sticky,
}: Pick<TaskQueuePartition, 'namespaceId' | 'name' | 'partition'> & { readonly sticky: boolean }): TaskQueuePartition {
  return { namespaceId, name, taskType: 'workflow', partition, kind: sticky ? 'sticky' : 'normal' };
}

async function answerQuery(
  context: HandlerContext,
  request: RespondQueryTaskCompletedRequest,
  token: QueryTaskToken,
  call: Call,
): Promise<Record<string, never>> {
  await context.namespaceOfToken(call, request.namespace, token.namespaceId);
  checkBound('RespondQueryTaskCompletedRequest.completed_type', request.completedType);
  const queue = queueOfQuery({ ...token, name: token.taskQueue });
  await context.matching(call, queue, {
    kind: 'answerQuery',
    queue,
    queryId: token.queryId,
    result: boundedQueryResult(
      {
        answered: request.completedType === QueryResultType.ANSWERED,
        answer: request.queryResult,
        errorMessage: request.errorMessage,
        failure: request.failure,
      },
      context.limits,
      call,
    ),
  });
  return {};
}

async function resetSticky(context: HandlerContext, request: ResetStickyTaskQueueRequest, call: Call): Promise<Record<string, never>> {
  const namespace = await context.namespace(call, request.namespace);
  const key = runKey(namespace.id, request.execution);
  await context.history(call, key, { kind: 'resetStickyTaskQueue', key });
  return {};
}

/** Each partition of each queue that the worker polled is told; the sticky queue goes at once. */
async function shutdownWorker(context: HandlerContext, request: ShutdownWorkerRequest, call: Call): Promise<Record<string, never>> {
  const namespace = await context.namespace(call, request.namespace);
  checkLength(request.workerInstanceKey, 'WorkerInstanceKey', context.limits);
  checkLength(request.taskQueue, 'TaskQueue', context.limits);
  checkLength(request.stickyTaskQueue, 'StickyTaskQueue', context.limits);
  const { workerInstanceKey } = request;
  const asks: Promise<unknown>[] = [];
  if (request.stickyTaskQueue !== '') {
    const queue = { namespaceId: namespace.id, name: request.stickyTaskQueue, taskType: 'workflow', partition: 0, kind: 'sticky' } as const;
    asks.push(context.matching(call, queue, { kind: 'shutdownWorker', queue, workerInstanceKey }));
  }
  if (request.taskQueue !== '' && workerInstanceKey !== '') {
    for (const taskType of ['workflow', 'activity'] as const) {
      const named = taskType === 'workflow' ? TaskQueueType.WORKFLOW : TaskQueueType.ACTIVITY;
      if (request.taskQueueTypes.length > 0 && !request.taskQueueTypes.includes(named)) continue;
      for (let partition = 0; partition < context.ports.taskQueuePartitions; partition++) {
        const queue = { namespaceId: namespace.id, name: request.taskQueue, taskType, partition, kind: 'normal' } as const;
        asks.push(context.matching(call, queue, { kind: 'shutdownWorker', queue, workerInstanceKey }));
      }
    }
  }
  recordAside(context, namespace, request.workerHeartbeat);
  await Promise.all(asks);
  return {};
}
