import type { WorkflowTaskRef } from '../../history/commands/history-commands.ts';
import type { QueryResult } from '../../history/commands/query-commands.ts';
import type { OpaqueFailure } from '../../history/commands/failure.ts';
import type { QueryTask } from '../../matching/matching-replies.ts';
import { type TaskQueuePartition, allTaskTypes, taskTypes } from '../../kernel/task-queue.ts';
import { QueryResultType, TaskQueueKind } from '../../wire/generated/lean/enums.ts';
import type { WorkflowQueryResult } from '../../wire/generated/lean/taskqueue.ts';
import * as wire from '../../wire/generated/lean/workflow_service.ts';
import { notBuilt, unlessNotFound } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { inNamespace, methodsOf, type NamedMethod, taskUnary } from '../method.ts';
import type { WorkflowTaskToken } from '../../wire/generated/token/token.ts';
import type { Call } from '../transport/call.ts';
import { checkLength, checkLengths, checkTaskQueue, type EdgeLimits, runKey } from '../validation/names.ts';
import { checkBound } from '../validation/bounds.ts';
import { checkOpaque } from '../validation/opaque.ts';
import { completionLimits } from '../validation/request-limits.ts';
import { boundedFailure, opaqueFailure } from './failures.ts';
import { checkedStamp, checkPoll, checkPollDeadline, pollDeadline, polledPartition } from './polls.ts';
import { activityTaskAnswer, emptyWorkflowTask, queryTaskAnswer, workflowTaskAnswer } from './task-answers.ts';
import { updateMessage } from './update-messages.ts';
import { recordAside } from './worker-heartbeats.ts';
import { targetNamespaces, workflowCommand } from './workflow-commands.ts';

export function workflowTaskMethods(context: HandlerContext): readonly NamedMethod[] {
  const { workflowTask, queryTask } = context.tokens;
  const others = methodsOf(wire.codecs, {
    PollWorkflowTaskQueue: async (_, request, call) => {
      checkPollDeadline(context, call);
      const namespace = await context.namespace(call, request.namespace);
      const taskQueue = checkPoll(request, call, context.limits);
      const deadlineMs = pollDeadline(context, call);
      if (deadlineMs === undefined) return emptyWorkflowTask;
      const queue = polledPartition(context, namespace.id, taskQueue, 'workflow');
      const reply = await context.waitMatching(call, queue, {
        kind: 'pollWorkflowTask',
        queue,
        pollRequestId: context.ports.newId(),
        identity: request.identity,
        deadlineMs,
        workerInstanceKey: request.workerInstanceKey,
        maxTasksPerSecond: undefined,
        workerVersion: undefined,
        forwardedFrom: undefined,
      });
      if (reply === 'ended' || reply.kind === 'emptyPoll') return emptyWorkflowTask;
      if (reply.kind === 'queryTask') return queryTaskOf(context, call, reply, queue);
      if (reply.task.kind !== 'workflowTask') throw new Error(`matching answered a workflow poll with ${reply.task.kind}`);
      return (await unlessDeleted(workflowTaskAnswer(context, call, reply.task, reply.backlogCountHint))) ?? emptyWorkflowTask;
    },
    ResetStickyTaskQueue: inNamespace(async (_, request, call, namespace) => {
      const key = runKey(namespace.id, request.execution);
      await context.history(call, key, { kind: 'resetStickyTaskQueue', key });
      return {};
    }),
    /** Each partition of each queue that the worker polled is told; the sticky queue goes at once. */
    ShutdownWorker: inNamespace(async (_, request, call, namespace) => {
      checkLengths(
        { WorkerInstanceKey: request.workerInstanceKey, TaskQueue: request.taskQueue, StickyTaskQueue: request.stickyTaskQueue },
        context.limits,
      );
      const { workerInstanceKey } = request;
      const asks: Promise<unknown>[] = [];
      if (request.stickyTaskQueue !== '') {
        const queue = workflowQueue({ namespaceId: namespace.id, name: request.stickyTaskQueue, partition: 0, sticky: true });
        asks.push(context.matching(call, queue, { kind: 'shutdownWorker', queue, workerInstanceKey }));
      }
      if (request.taskQueue !== '' && workerInstanceKey !== '') {
        for (const taskType of allTaskTypes) {
          if (request.taskQueueTypes.length > 0 && !request.taskQueueTypes.includes(taskTypes[taskType].wire)) continue;
          for (let partition = 0; partition < context.ports.taskQueuePartitions; partition++) {
            const queue = { namespaceId: namespace.id, name: request.taskQueue, taskType, partition, kind: 'normal' } as const;
            asks.push(context.matching(call, queue, { kind: 'shutdownWorker', queue, workerInstanceKey }));
          }
        }
      }
      recordAside(context, namespace, request.workerHeartbeat);
      await Promise.all(asks);
      return {};
    }),
  });
  return [
    taskUnary(
      'RespondWorkflowTaskCompleted',
      workflowTask.read,
      wire.codecs.RespondWorkflowTaskCompleted,
      (request, token, call) => complete(context, request, token, call),
      completionLimits,
    ),
    taskUnary('RespondWorkflowTaskFailed', workflowTask.read, wire.codecs.RespondWorkflowTaskFailed, async (request, token, call) => {
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
    }),
    taskUnary('RespondQueryTaskCompleted', queryTask.read, wire.codecs.RespondQueryTaskCompleted, async (request, token, call) => {
      await context.namespaceOfToken(call, request.namespace, token.namespaceId);
      checkBound('RespondQueryTaskCompletedRequest.completed_type', request.completedType);
      const queue = workflowQueue({ ...token, name: token.taskQueue });
      const { completedType, queryResult: answer, errorMessage, failure } = request;
      const answered = completedType === QueryResultType.ANSWERED;
      await context.matching(call, queue, {
        kind: 'answerQuery',
        queue,
        queryId: token.queryId,
        result: boundedQueryResult({ answered, answer, errorMessage, failure }, context.limits, call),
      });
      return {};
    }),
    ...others(context),
  ];
}

/** undefined: the run was deleted before its history was read. Nothing is left to do, and its worker has done nothing wrong. */
function unlessDeleted(answer: ReturnType<typeof workflowTaskAnswer>): Promise<wire.PollWorkflowTaskQueueResponse | undefined> {
  return Promise.resolve(answer).catch(unlessNotFound);
}

/** No worker can say anything of a run that was deleted: who asks is told at once. */
async function queryTaskOf(context: HandlerContext, call: Call, task: QueryTask, polled: TaskQueuePartition) {
  const { queryId, queuePartition, sticky } = task;
  const queue = workflowQueue({ ...polled, partition: queuePartition, sticky });
  const answer = await queryTaskAnswer(context, call, task, queue).catch(unlessNotFound);
  if (answer !== undefined) return answer;
  const result = { answered: false, answer: undefined, errorMessage: 'the workflow was deleted', failure: undefined };
  await context.matching(call, queue, { kind: 'answerQuery', queue, queryId, result });
  return emptyWorkflowTask;
}

async function complete(context: HandlerContext, request: wire.RespondWorkflowTaskCompletedRequest, token: WorkflowTaskToken, call: Call) {
  const namespace = await context.namespaceOfToken(call, request.namespace, token.namespaceId);
  checkLength(request.identity, 'Identity', context.limits);
  if (request.intermediatePage || request.pageNumber !== 0) throw notBuilt('page_number');
  checkBound('RespondWorkflowTaskCompletedRequest.versioning_behavior', request.versioningBehavior);
  checkOpaque(request.sdkMetadata, 'sdkMetadata');
  checkOpaque(request.meteringMetadata, 'meteringMetadata');
  const workerVersion = checkedStamp(request.workerVersionStamp, context.limits);
  const { workerTaskQueue, scheduleToStartTimeoutMs = 0 } = request.stickyAttributes ?? {};
  if (workerTaskQueue !== undefined) checkTaskQueue(workerTaskQueue, context.limits);
  const namespaces = await targetNamespaces(context, call, request.commands);
  const known = { namespaces, defined: namespace, limits: context.limits };
  const task = workflowTaskRef(token);
  const reply = await context.history(call, task.key, {
    kind: 'completeWorkflowTask',
    task,
    namespace: namespace.name,
    identity: request.identity,
    commands: request.commands.map((command) => workflowCommand(command, known)),
    sticky: workerTaskQueue && { taskQueue: { ...workerTaskQueue, kind: TaskQueueKind.STICKY }, scheduleToStartTimeoutMs },
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
  const { namespaceId, workflowId, runId, scheduledEventId, startedEventId, startedTimeMs, attempt } = token;
  return { key: { namespaceId, workflowId, runId }, scheduledEventId, startedEventId, startedTimeMs, attempt };
}

const noQueryResults: ReadonlyMap<string, QueryResult> = new Map();

function queryResults(results: ReadonlyMap<string, WorkflowQueryResult>, limits: EdgeLimits, call: Call): ReadonlyMap<string, QueryResult> {
  if (results.size === 0) return noQueryResults;
  const bounded = ({ resultType, answer, errorMessage, failure }: WorkflowQueryResult): QueryResult =>
    boundedQueryResult({ answered: resultType === QueryResultType.ANSWERED, answer, errorMessage, failure }, limits, call);
  return new Map([...results].map(([id, result]) => [id, bounded(result)]));
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

function failureOf(failure: Uint8Array | undefined, context: HandlerContext, call: Call): OpaqueFailure | undefined {
  if (failure === undefined) return undefined;
  const bounded = boundedFailure(opaqueFailure(failure), 'Failure exceeds size limit.', context.limits);
  if (bounded.bytes !== failure) call.notes.oversized = 'failure';
  return bounded;
}

type WorkflowQueue = Pick<TaskQueuePartition, 'namespaceId' | 'name' | 'partition'> & { readonly sticky: boolean };

/** For a query, the one that it was asked in: not always that which its poll came to. */
function workflowQueue({ namespaceId, name, partition, sticky }: WorkflowQueue): TaskQueuePartition {
  return { namespaceId, name, taskType: 'workflow', partition, kind: sticky ? 'sticky' : 'normal' };
}
