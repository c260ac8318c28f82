/** How a workflow task ends that is not completed, and the attempt that follows. */
import type { TaskOf } from '../run/tasks.ts';
import { assert, unreachable } from '../../kernel/assert.ts';
import { terminateByServer } from '../steps/close.ts';
import type { FailWorkflowTask, ResetStickyTaskQueue, WorkflowTaskRef } from '../commands/history-commands.ts';
import type { Draft, RunDraft } from '../draft/draft.ts';
import { findRun, findRunning, isRejected, workflowClosed, workflowTaskNotFound } from '../run/reject.ts';
import { type HistoryReply, type Rejected, type HistoryWire, done } from '../run/history-replies.ts';
import { addWorkflowTaskFailed } from '../steps/common-events.ts';
import { isRunning, type RunView, type WorkflowTask } from '../run/state.ts';
import { timeoutType, workflowTaskFailedCause } from '../generated/enums.ts';
import type { WorkflowTaskFailedAttributes } from '../generated/public-api.ts';
import { unsendUpdates } from '../steps/updates.ts';
import { clearStickiness, finishWorkflowTaskTasks, scheduleWorkflowTask, workflowTaskDeadline } from '../steps/workflow-task.ts';
import type { EndSpeculative } from '../commands/update-commands.ts';
import { workflowTaskOf } from '../run/volatile.ts';
import { pascalCase } from '../../kernel/pascal-case.ts';
import { reportedProblems } from '../evolve/evolve-fact.ts';

export function failWorkflowTask(draft: Draft, command: FailWorkflowTask): HistoryReply {
  const found = findStartedTask(draft, command.task);
  if (found.kind === 'rejected') {
    const run = findRun(draft.shard, command.task.key);
    return run !== undefined && !isRunning(run) ? workflowClosed : found;
  }
  const failing = draft.open(found.run);
  if (command.cause === workflowTaskFailedCause.grpcMessageTooLarge) {
    terminateByServer(failing, 'GrpcMessageTooLarge');
    return { kind: 'done' };
  }
  const { cause, failure, identity, binaryChecksum, jitter } = command;
  writeWorkflowTaskFailed(failing, { cause, failure: failure?.bytes, identity, binaryChecksum });
  scheduleWorkflowTask(failing, { jitter });
  return { kind: 'done' };
}

type TaskFailure = Pick<WorkflowTaskFailedAttributes, 'cause' | 'failure' | 'identity' | 'binaryChecksum'>;

/** An event for the first attempt only: a failing workflow would otherwise fill its history with its failures. */
export function writeWorkflowTaskFailed(run: RunDraft, { cause, failure, identity, binaryChecksum }: TaskFailure): void {
  run.ensureReal();
  const { workflowTask } = run.run;
  assert(workflowTask !== undefined, 'a task fails');
  finishWorkflowTaskTasks(run);
  if (workflowTask.kind === 'transient') {
    run.addFact({ kind: 'workflowTaskFailed', unhandledCommand: cause === workflowTaskFailedCause.unhandledCommand });
  } else {
    const { scheduledEventId, startedEventId } = workflowTask;
    addWorkflowTaskFailed(run, { scheduledEventId, startedEventId, cause, failure, identity, binaryChecksum });
  }
  reportProblem(run, workflowTask.attempt, { kind: 'failed', cause });
  unsendUpdates(run.draft, run.run.key.runId);
}

/** The worker that had the task did not answer in time. Only the first attempt has an event. */
export function writeWorkflowTaskTimedOut(run: RunDraft): void {
  const { workflowTask } = run.run;
  assert(workflowTask !== undefined, 'a task times out');
  finishWorkflowTaskTasks(run);
  const { kind, attempt, scheduledEventId, startedEventId } = workflowTask;
  if (kind === 'transient') run.addFact({ kind: 'workflowTaskFailed', unhandledCommand: false });
  else run.add('workflowTaskTimedOut', { scheduledEventId, startedEventId, timeoutType: timeoutType.startToClose });
  reportProblem(run, attempt, { kind: 'timedOut', timeoutType: timeoutType.startToClose });
  unsendUpdates(run.draft, run.run.key.runId);
}

/** No worker has polled. */
function writeNotPolled(run: RunDraft): void {
  const { workflowTask } = run.run;
  assert(workflowTask !== undefined, 'a task times out');
  finishWorkflowTaskTasks(run);
  const { scheduledEventId } = workflowTask;
  run.add('workflowTaskTimedOut', { scheduledEventId, startedEventId: 0, timeoutType: timeoutType.scheduleToStart });
}

export function fireWorkflowTaskTimeout(draft: Draft, task: TaskOf<'workflowTaskTimeout'>, jitter: number): void {
  const run = findRun(draft.shard, task.key);
  draft.finishTask(task.taskId);
  if (run === undefined) return;
  const changing = draft.open(run);
  const { workflowTask } = run;
  if (!isRunning(run) || workflowTask === undefined || workflowTask.stamp !== task.stamp) return;
  const deadlineMs = workflowTaskDeadline(run, task.timeout, draft.limits);
  if (deadlineMs === undefined) return;
  // It came from outside, with a time that is not its own.
  if (deadlineMs > draft.nowMs) {
    changing.addTask({ ...task, fireTimeMs: deadlineMs });
    return;
  }
  if (task.timeout === 'scheduleToStart') writeNotPolled(changing);
  else writeWorkflowTaskTimedOut(changing);
  scheduleWorkflowTask(changing, { jitter });
}

/** A task that waits in the sticky queue moves to the normal one. No event. */
export function resetStickyTaskQueue(draft: Draft, command: ResetStickyTaskQueue): HistoryReply {
  const run = findRunning(draft.shard, command.key);
  if (isRejected(run)) return run;
  clearStickiness(draft, run);
  return { kind: 'done' };
}

/** A speculative workflow task whose time is up. Whatever comes next is written, so it becomes a real one first. */
export function endSpeculative(draft: Draft, command: EndSpeculative): HistoryReply {
  const run = findRun(draft.shard, command.key);
  const task = draft.volatile.speculative.get(command.key.runId);
  if (run === undefined || !isRunning(run) || task === undefined) return done;
  if (task.scheduledEventId !== command.scheduledEventId || draft.shard.aside.has(run.key.runId)) return done;
  const isStarted = task.startedEventId !== 0;
  const { because } = command;
  if ((isStarted ? task.startedTimeMs : task.scheduledTimeMs) !== command.sinceMs || isStarted !== (because === 'startToClose'))
    return done;
  const ending = draft.open(run);
  ending.ensureReal();
  switch (because) {
    case 'scheduleToStart':
      // The next one waits in its queue as long as it takes.
      writeNotPolled(ending);
      break;
    case 'startToClose':
      writeWorkflowTaskTimedOut(ending);
      break;
    default:
      return unreachable(because);
  }
  scheduleWorkflowTask(ending, { jitter: command.jitter });
  return done;
}

// ── The workflow task that a token names ──────────────────────────────────────────────────────────────────────────────────────

type StartedTask = { readonly kind: 'startedTask'; readonly run: RunView; readonly workflowTask: WorkflowTask };

/** Finds the task only if it is the one that is started now: a late answer of an earlier attempt must not count for this one. */
export function findStartedTask(draft: Draft, ref: WorkflowTaskRef): StartedTask | Rejected {
  const run = findRun(draft.shard, ref.key);
  if (run === undefined || !isRunning(run)) return workflowTaskNotFound;
  const workflowTask = workflowTaskOf(draft.volatile, run);
  if (
    workflowTask === undefined ||
    workflowTask.startedEventId === 0 ||
    workflowTask.scheduledEventId !== ref.scheduledEventId ||
    workflowTask.startedEventId !== ref.startedEventId ||
    workflowTask.attempt !== ref.attempt ||
    (ref.startedTimeMs !== 0 && workflowTask.startedTimeMs !== ref.startedTimeMs)
  ) {
    return workflowTaskNotFound;
  }
  return { kind: 'startedTask', run, workflowTask };
}

// ── Reported problems ─────────────────────────────────────────────────────────────────────────────────────────────────────────
//
// `TemporalReportedProblems`: what List finds workflows by whose tasks fail again and again.
//
//     attempt 1 fails … attempt `workflowTaskProblemsReported` fails ─▶ set, and again when the cause is another one ─▶ a task completes: gone
//
// It is a fact: from attempt 2 on history shows nothing. Events that arrive between two attempts make the next one the first again, as they
// do for the attempts themselves, but take back nothing that is reported.

type TaskProblem = { readonly kind: 'failed'; readonly cause: number } | { readonly kind: 'timedOut'; readonly timeoutType: number };

function reportProblem(run: RunDraft, attempt: number, problem: TaskProblem): void {
  const { limits, wire } = run.draft;
  if (attempt < limits.workflowTaskProblemsReported) return;
  const problems = problemsOf(problem);
  if (reportedText(run.run, wire) !== JSON.stringify(problems)) run.addFact({ kind: 'problemsReported', problems });
}

export function clearProblems(run: RunDraft): void {
  if (reportedText(run.run, run.draft.wire) !== undefined) run.addFact({ kind: 'problemsReported', problems: [] });
}

function reportedText({ searchAttributes }: RunView, wire: HistoryWire): string | undefined {
  if (searchAttributes === undefined) return undefined;
  const payload = wire.fieldOf(searchAttributes, reportedProblems);
  return payload === undefined ? undefined : wire.payloadValue(payload).text;
}

function problemsOf(problem: TaskProblem): readonly string[] {
  switch (problem.kind) {
    case 'failed':
      return ['category=WorkflowTaskFailed', `cause=WorkflowTaskFailedCause${nameIn(workflowTaskFailedCause, problem.cause)}`];
    case 'timedOut':
      return ['category=WorkflowTaskTimedOut', `cause=WorkflowTaskTimedOutCause${nameIn(timeoutType, problem.timeoutType)}`];
    default:
      return unreachable(problem);
  }
}

/** The name that Temporal prints for a value of an enum: a worker may send any number. */
function nameIn(values: Readonly<Record<string, number>>, value: number): string {
  const name = Object.keys(values).find((key) => values[key] === value);
  return name === undefined ? (value === 0 ? 'Unspecified' : String(value)) : pascalCase(name);
}
