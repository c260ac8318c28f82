/**
 * What is asked of batch jobs, and how they get on.
 *
 *     startBatch ─▶ batchStep, due at once ─▶ a step beside the shard (src/actors/history/side-tasks/batch-steps.ts) ─▶ batchStepped ─┐
 *                        ▲                                                                                                            │
 *                        └──────────────── the next one, after a pause ───────────────────────────────────────────────────────────────┤
 *     stopBatch ─▶ terminated                                                                             completed, failed ◀─────────┘
 *
 * A job that has ended is kept as closed workflows are, and found for as long.
 */
import type { TaskOf } from '../run/tasks.ts';
import { jobIdOf } from '../../batches/job-id.ts';
import { type AfterStep, newBatch, stepped } from '../../batches/batch.ts';
import { unreachable } from '../../kernel/assert.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { RoomForRuns } from '../commands/history-commands.ts';
import type { Draft, RunDraft } from '../draft/draft.ts';
import { beginWithoutWorker } from '../steps/begin-without-worker.ts';
import { decideClose } from '../steps/close.ts';
import { endRunLetter } from '../steps/redrive.ts';
import { findRun, isRejected, reject, workflowBehind, workflowClosed, workflowNotFound } from '../run/reject.ts';
import { type HistoryReply, type Rejected, done } from '../run/history-replies.ts';
import { isOf, isRunning, type RunOf, type RunView, type ShardView } from '../run/state.ts';
import type { TaskFailure } from '../commands/hand-over-commands.ts';
import type { BatchStepped, DescribeBatch, StartBatch, StopBatch } from '../commands/batch-commands.ts';

export function startBatch(draft: Draft, command: StartBatch & RoomForRuns): HistoryReply {
  const earlier = findRun(draft.shard, { ...command.key, runId: '' });
  if (earlier !== undefined) {
    const { key, start } = earlier;
    const ids = { startRequestId: '', runId: key.runId, firstExecutionRunId: start.firstRunId };
    return reject({ reason: 'already-started', message: alreadyThere(earlier), ...ids });
  }
  if (command.noRoom !== undefined) return reject({ reason: 'no-room', message: command.noRoom });
  const run = begin(draft, command);
  run.addFact({ kind: 'batchChanged', definition: command.definition, progress: newBatch(command.total) });
  goOn(run, 0);
  return done;
}

/** Temporal's words, whose jobs are workflows. */
function alreadyThere(run: RunView): string {
  const ids = `WorkflowId: ${jobIdOf(run.key)}, RunId: ${run.key.runId}.`;
  if (isRunning(run)) return `Workflow execution is already running. ${ids}`;
  return `Workflow execution already finished. ${ids} Workflow Id reuse policy: reject duplicate workflow Id.`;
}

/** Temporal's name; no worker ever hears of it. */
const batchWorkflowType = 'temporal-sys-batch-workflow-protobuf';

function begin(draft: Draft, { key, namespace, newRunId, identity, memo, searchAttributes, retentionMs }: StartBatch): RunDraft {
  const own = { namespace, requestId: '', retentionMs, identity, memo, searchAttributes };
  return beginWithoutWorker(draft, { ...own, key: { ...key, runId: newRunId }, workflowType: batchWorkflowType });
}

export function stopBatch(draft: Draft, { key, reason, identity }: StopBatch): HistoryReply {
  // Its row cannot be read: nothing else that clients ask for lets it go, and no other job of its namespace may begin while it is listed as running.
  if (draft.retiresUnread(key)) return done;
  const found = findBatch(draft.shard, key);
  if (isRejected(found)) return found;
  if (!isRunning(found)) return workflowClosed;
  decideClose(draft.open(found), { kind: 'terminated', reason, details: undefined, identity, links: [] });
  return done;
}

export function describeBatch(draft: Draft, { key }: DescribeBatch): HistoryReply {
  const found = findBatch(draft.shard, key);
  if (isRejected(found)) return found;
  const { namespace, own, status, start, closeTimeMs } = found;
  const { definition, progress } = own;
  const times = { startTimeMs: start.startTimeMs, closeTimeMs: isRunning(found) ? 0 : closeTimeMs };
  return { kind: 'batchDescription', key: found.key, namespace, definition, progress, status, ...times };
}

/** A job that was stopped in the middle of a step has what that step did counted, and does no other. */
export function batchStepped(draft: Draft, { key, taskId, step }: BatchStepped): HistoryReply {
  const found = findBatch(draft.shard, key);
  if (isRejected(found) || found.own.stepTaskId !== taskId) return done;
  const progress = stepped(found.own.progress, step);
  if (progress === undefined) return done;
  const run = draft.open(found);
  const isOpen = isRunning(found);
  run.addFact({ kind: 'batchChanged', definition: undefined, progress });
  if (isOpen) {
    run.finishTask(taskId);
    follow(run, step.next);
  }
  endRunLetter(draft, taskId);
  return done;
}

/** No attempt at its step succeeds. A letter would leave a job that runs for ever if it is purged: the job ends, and says why. */
export function failBatch(draft: Draft, { taskId, key }: TaskOf<'batchStep'>, { errorMessage }: TaskFailure): HistoryReply {
  if (draft.shard.isBehind(key.runId)) return workflowBehind;
  const found = findBatch(draft.shard, key);
  if (isRejected(found) || !isRunning(found)) {
    draft.finishTask(taskId);
    return done;
  }
  const run = draft.open(found);
  run.finishTask(taskId);
  follow(run, { kind: 'failed', message: errorMessage });
  return done;
}

function follow(run: RunDraft, next: AfterStep): void {
  const { draft } = run;
  switch (next.kind) {
    case 'goesOn':
      return goOn(run, next.pauseMs);
    case 'completed':
      return decideClose(run, { kind: 'completed', result: undefined, completedEventId: 0, successor: { runId: '' } });
    case 'failed': {
      const { message } = next;
      const facts = { kind: 'application', type: 'BatchOperationFailed', nonRetryable: true, nextRetryDelayMs: 0, message } as const;
      const info = { kind: 'application', type: facts.type, nonRetryable: true } as const;
      const bytes = draft.wire.encodeFailure({ message, cause: undefined, info });
      return decideClose(run, { kind: 'failed', failure: { facts, bytes }, completedEventId: 0, successor: { runId: '' } });
    }
    default:
      return unreachable(next);
  }
}

function goOn(run: RunDraft, pauseMs: number): void {
  run.addTask({ kind: 'batchStep', fireTimeMs: run.draft.nowMs + pauseMs });
}

function findBatch(shard: ShardView, key: RunKey): RunOf<'batch'> | Rejected {
  const run = findRun(shard, key);
  return isOf('batch', run) ? run : workflowNotFound({ ...key, workflowId: jobIdOf(key) });
}
