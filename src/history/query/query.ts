/**
 * Queries: a worker's view of a workflow, without a trace in its history.
 *
 *   no task pending, or closed ──▶ direct: a task of its own
 *   a task is pending          ──▶ buffered: rides on the next task, so that it sees all that was acknowledged before it
 */
import type { TimedQuery } from '../commands/history-commands.ts';
import type { QueryResult, DirectQuery, FinishQueryDispatch } from '../commands/query-commands.ts';
import type { Draft } from '../draft/draft.ts';
import type { HistoryLimits } from '../run/history-limits.ts';
import { findRun, reject, workflowNotFound, isDeleted } from '../run/reject.ts';
import type { HistoryReply } from '../run/history-replies.ts';
import { isRunning, type RunView } from '../run/state.ts';
import type { BufferedQuery } from '../run/volatile.ts';
import { queryRejectCondition, status, taskQueueKind } from '../generated/enums.ts';
import { unreachable } from '../../kernel/assert.ts';
import { clearStickiness, currentTaskQueue } from '../steps/workflow-task.ts';

/** A task that fails again and again will not answer a query either. */
const failingAttempts = 3;

export function queryWorkflow(draft: Draft, command: TimedQuery): HistoryReply | undefined {
  const run = findRun(draft.shard, command.key);
  if (run === undefined) return workflowNotFound(command.key);
  if (run.pause !== undefined && isRunning(run)) return { kind: 'queryRejected', status: status.paused };
  if (rejectsQuery(run, command.rejectCondition)) return { kind: 'queryRejected', status: run.status };
  const hasCompleted = run.previousStartedEventId !== 0;
  if (!isRunning(run) && !hasCompleted) return closedBefore;
  // An update makes its own task, whatever the start waits for.
  const hasTask = run.workflowTask !== undefined || draft.volatile.speculative.has(run.key.runId);
  if (isRunning(run) && !hasTask && !hasCompleted && run.start.executionTimeMs - draft.nowMs > command.remainingMs) {
    return notScheduled;
  }
  if (run.workflowTaskAttempt >= failingAttempts) {
    return reject({ reason: 'workflow-not-ready', message: 'Unable to query workflow due to Workflow Task in failed state.' });
  }
  const { queryId, deadlineMs } = command;
  const query: BufferedQuery = { askId: draft.askId, queryId, query: command.query, deadlineMs };
  if (hasCompleted && (!isRunning(run) || run.workflowTask === undefined)) {
    draft.effects.push(directQuery(run, query));
    return undefined;
  }
  const { runId } = run.key;
  const waiting = draft.waitingQueries(runId);
  // One that is asked again joins the first: the answer that comes is for both.
  if (!waiting.some((other) => other.queryId === queryId) && !hasRoom(draft.limits, waiting, query)) {
    const message =
      'consistent query buffer is full, this may be caused by too many queries and workflow not able to process query fast enough';
    return reject({ reason: 'busy-workflow', message });
  }
  draft.stage({ kind: 'queryBuffered', runId, query });
  return undefined;
}

/** One task carries all of them, so several have a limit of bytes. One by itself always fits. */
function hasRoom(limits: HistoryLimits, waiting: readonly BufferedQuery[], { query }: BufferedQuery): boolean {
  const bytes = waiting.reduce((sum, { query: other }) => sum + other.length, query.length);
  return waiting.length < limits.bufferedQueriesMax && (waiting.length === 0 || bytes <= limits.bufferedQueryBytesMax);
}

const notScheduled = reject({ reason: 'workflow-not-ready', message: 'Workflow task is not scheduled yet.' });
const closedBefore = reject({ reason: 'workflow-not-ready', message: 'Workflow execution closed before WorkflowTaskStarted event' });

/** The first task was dropped, and nothing comes until the start's delay is over. */
export function refuseUnready(draft: Draft, run: RunView): void {
  for (const query of draft.waitingQueries(run.key.runId))
    if (run.start.executionTimeMs > query.deadlineMs) draft.answer(query.askId, notScheduled);
}

function rejectsQuery(run: RunView, condition: number): boolean {
  switch (condition) {
    case queryRejectCondition.notOpen:
      return !isRunning(run);
    case queryRejectCondition.notCompletedCleanly:
      return !isRunning(run) && run.status !== status.completed;
    default:
      return false;
  }
}

export function answerQueries(draft: Draft, run: RunView, results: ReadonlyMap<string, QueryResult>): void {
  if (results.size === 0) return;
  for (const query of draft.waitingQueries(run.key.runId)) {
    const result = results.get(query.queryId);
    if (result !== undefined) draft.answer(query.askId, queryReply(result, draft.limits.blobBytesMax));
  }
}

/** No workflow task follows: waiting queries become direct ones. `run` as it will be; `forgotten`: no worker could read its history. */
export function releaseQueries(draft: Draft, run: RunView, forgotten = false): void {
  for (const query of draft.waitingQueries(run.key.runId)) {
    if (forgotten) draft.answer(query.askId, workflowNotFound(run.key));
    else if (run.previousStartedEventId === 0) draft.answer(query.askId, closedBefore);
    else {
      draft.stage({ kind: 'waitEnded', askId: query.askId });
      draft.effects.push(directQuery(run, query));
    }
  }
}

// ── Direct queries ────────────────────────────────────────────────────────────────────────────────────────────────────────────
//
// A query with a task of its own. The shell asks matching, and the answer comes back as a command:
//
//   directQuery(sticky queue) ─▶ answered         ─▶ the answer
//                             ─▶ no poller, late  ─▶ stickiness ends, directQuery(normal queue) ─▶ answered, or why not

export function directQuery(run: RunView, query: BufferedQuery): DirectQuery {
  return {
    ...query,
    kind: 'directQuery',
    key: run.key,
    workflowType: run.start.workflowType,
    taskQueue: currentTaskQueue(run),
    normalTaskQueue: run.start.taskQueue,
    scheduleToStartTimeoutMs: run.sticky?.scheduleToStartTimeoutMs ?? 0,
    previousStartedEventId: run.previousStartedEventId,
    lastEventId: run.nextEventId - 1,
  };
}

/** Answers, or tries the normal queue. What a worker said rests on nothing that this shard would have to prove. */
export function finishQueryDispatch(draft: Draft, { query, outcome, remainingMs }: FinishQueryDispatch): undefined {
  draft.restsOnState = false;
  const triesNext = query.taskQueue.kind === taskQueueKind.sticky && remainingMs > 0;
  switch (outcome.kind) {
    case 'answered':
      if (!outcome.result.answered && isDeleted(draft.shard, query.key)) return answerDirect(draft, query, workflowNotFound(query.key));
      return answerDirect(draft, query, queryReply(outcome.result, draft.limits.blobBytesMax));
    case 'noPoller':
      if (triesNext) return tryNormalQueue(draft, query);
      return answerDirect(draft, query, noPoller);
    case 'expired':
      if (triesNext) return tryNormalQueue(draft, query);
      return answerDirect(draft, query, reject({ reason: 'query-timed-out', message: 'context deadline exceeded' }));
    case 'queueFull':
      // As with a workflow's own buffer: callers try again.
      return answerDirect(draft, query, reject({ reason: 'busy-workflow', message: outcome.message }));
    default:
      return unreachable(outcome);
  }
}

/** Any worker, with the whole history. The next workflow task goes there as well. */
function tryNormalQueue(draft: Draft, query: DirectQuery): undefined {
  const run = findRun(draft.shard, query.key);
  // Another worker may have taken the workflow over meanwhile.
  if (run !== undefined && isRunning(run) && run.sticky?.taskQueue.name === query.taskQueue.name) clearStickiness(draft, run);
  draft.effects.push({ ...query, taskQueue: query.normalTaskQueue, scheduleToStartTimeoutMs: 0 });
}

function answerDirect(draft: Draft, { askId }: DirectQuery, reply: HistoryReply): undefined {
  draft.effects.push({ kind: 'reply', askId, reply });
}

/** Clients compare this text. */
const noPoller = reject({ reason: 'failed-precondition', message: 'no poller seen for task queue recently, worker may be down' });

function queryReply(result: QueryResult, blobBytesMax: number): HistoryReply {
  if (result.answer !== undefined && result.answer.length > blobBytesMax) {
    return reject({
      reason: 'query-failed',
      message: `query result size (${result.answer.length}) exceeds limit (${blobBytesMax})`,
      failure: undefined,
    });
  }
  if (result.answered) return { kind: 'queryAnswered', answer: result.answer };
  return reject({ reason: 'query-failed', message: result.errorMessage, failure: result.failure });
}
