/** Timers that are due. One that no longer fits the state does nothing but end. */
import { unreachable } from '../../kernel/assert.ts';
import { fireCallbackBackoff } from '../execution/callback-attempts.ts';
import { fireActivityRetry, fireActivityTimeout } from '../activity/activity-close.ts';
import { decideClose } from '../steps/close.ts';
import { fireRetention } from '../execution/retire.ts';
import type { FireTimer } from '../commands/task-commands.ts';
import type { Draft } from '../draft/draft.ts';
import { fireWorkflowTaskTimeout } from '../workflow-task/workflow-task-ends.ts';
import { findRun } from '../run/reject.ts';
import { type HistoryReply, done } from '../run/history-replies.ts';
import { endRunLetter } from '../steps/redrive.ts';
import { isRunning, type RunView } from '../run/state.ts';
import { fireUserTimers } from '../timer/fire-user-timers.ts';
import { fireScheduleWake } from '../schedule/schedule-decisions.ts';
import type { TimerTask, TaskOf } from '../run/tasks.ts';
import { ensureWorkflowTask } from '../steps/workflow-task.ts';

export function fireTimer(draft: Draft, command: FireTimer): HistoryReply {
  const task = draft.shard.timers.get(command.taskId);
  if (task === undefined || task.fireTimeMs > draft.nowMs) return done;
  fire(draft, task, command);
  endRunLetter(draft, command.taskId);
  return done;
}

function fire(draft: Draft, task: TimerTask, command: FireTimer): void {
  switch (task.kind) {
    case 'activityTimeout':
      return fireActivityTimeout(draft, task);
    case 'activityRetry':
      return fireActivityRetry(draft, task);
    case 'workflowTaskTimeout':
      return fireWorkflowTaskTimeout(draft, task, command.jitter);
    case 'userTimer':
    case 'firstWorkflowTask':
    case 'runTimeout':
    case 'executionTimeout': {
      draft.finishTask(task.taskId);
      const run = findRun(draft.shard, task.key);
      if (run !== undefined) fireForRun(draft, run, task, command);
      return;
    }
    case 'retention':
      return fireRetention(draft, task);
    case 'callbackBackoff':
      return fireCallbackBackoff(draft, task);
    case 'scheduleWake':
      return fireScheduleWake(draft, task);
    case 'archiveExecution':
    case 'letterCheck':
    case 'batchStep':
      // They run beside the shard.
      return;
    default:
      return unreachable(task);
  }
}

function fireForRun(
  draft: Draft,
  run: RunView,
  task: TaskOf<'userTimer' | 'firstWorkflowTask' | 'runTimeout' | 'executionTimeout'>,
  { newRunId = '', retentionMs }: FireTimer,
): void {
  const firing = draft.open(run);
  switch (task.kind) {
    case 'userTimer':
      if (isRunning(run)) fireUserTimers(draft, run, task.taskId);
      return;
    case 'firstWorkflowTask':
      if (run.previousStartedEventId === 0) ensureWorkflowTask(firing);
      return;
    case 'runTimeout':
    case 'executionTimeout':
      if (!isRunning(run)) return;
      decideClose(firing, { kind: 'timedOut', successor: { runId: newRunId, retentionMs } });
  }
}
