/**
 * A query with a task of its own. The shell asks matching, and the answer comes back as a command:
 *
 *   directQuery(sticky queue) ─▶ answered         ─▶ the answer
 *                             ─▶ no poller, late  ─▶ stickiness ends, directQuery(normal queue) ─▶ answered, or why not
 */
import { unreachable } from '../../kernel/assert.ts';
import type { DirectQuery, FinishQueryDispatch, QueryResult } from './query-commands.ts';
import type { Draft } from '../draft.ts';
import { findRun, reject, workflowNotFound } from '../reject.ts';
import type { HistoryReply } from '../replies.ts';
import { isRunning, type RunView } from '../state.ts';
import type { BufferedQuery } from '../volatile.ts';
import { taskQueueKind } from '../generated/enums.ts';
import { clearStickiness } from '../workflow-task/fail-workflow-task.ts';
import { currentTaskQueue } from '../workflow-task/workflow-task.ts';

export function directQuery(run: RunView, query: BufferedQuery): DirectQuery {
  return {
    kind: 'directQuery',
    askId: query.askId,
    queryId: query.queryId,
    key: run.key,
    workflowType: run.start.workflowType,
    taskQueue: currentTaskQueue(run),
    normalTaskQueue: run.start.taskQueue,
    scheduleToStartTimeoutMs: run.sticky?.scheduleToStartTimeoutMs ?? 0,
    query: query.query,
    deadlineMs: query.deadlineMs,
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
      if (!outcome.result.answered && isDeleted(draft, query)) return answer(draft, query, workflowNotFound(query.key));
      return answer(draft, query, queryReply(outcome.result, draft.limits.blobBytesMax));
    case 'noPoller':
      if (triesNext) return tryNormalQueue(draft, query);
      return answer(draft, query, noPoller);
    case 'expired':
      if (triesNext) return tryNormalQueue(draft, query);
      return answer(draft, query, reject({ reason: 'query-timed-out', message: 'context deadline exceeded' }));
    case 'queueFull':
      // As with a workflow's own buffer: callers try again.
      return answer(draft, query, reject({ reason: 'busy-workflow', message: outcome.message }));
    default:
      return unreachable(outcome);
  }
}

/** Then there was no history for a worker to answer by. */
function isDeleted({ shard }: Draft, { key }: DirectQuery): boolean {
  return findRun(shard, key) === undefined && !shard.isBehind(key.runId);
}

/** Any worker, with the whole history. The next workflow task goes there as well. */
function tryNormalQueue(draft: Draft, query: DirectQuery): undefined {
  const run = findRun(draft.shard, query.key);
  // Another worker may have taken the workflow over meanwhile.
  if (run !== undefined && isRunning(run) && run.sticky?.taskQueue.name === query.taskQueue.name) clearStickiness(draft, run);
  draft.effects.push({ ...query, taskQueue: query.normalTaskQueue, scheduleToStartTimeoutMs: 0 });
}

function answer(draft: Draft, { askId }: DirectQuery, reply: HistoryReply): undefined {
  draft.effects.push({ kind: 'reply', askId, reply });
}

/** Clients compare this text. */
const noPoller = reject({ reason: 'failed-precondition', message: 'no poller seen for task queue recently, worker may be down' });

export function queryReply(result: QueryResult, blobBytesMax: number): HistoryReply {
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
