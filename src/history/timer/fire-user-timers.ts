/** Timers of a workflow that are due. */
import type { Draft } from '../draft/draft.ts';
import type { RunView, UserTimer } from '../run/state.ts';
import { ensureWorkflowTask } from '../steps/workflow-task.ts';

/** All that are due, by time and then by start; of very many the first, with the rest to follow by their own tasks. */
export function fireUserTimers(draft: Draft, run: RunView, firedTaskId: number): void {
  // After a pause of ours both may be past; the run's end comes first then, and what is later never fires.
  const { runExpirationMs } = run.start;
  const untilMs = runExpirationMs === 0 ? draft.nowMs : Math.min(draft.nowMs, runExpirationMs);
  const due = dueTimers(draft, run, untilMs);
  due.sort((a, b) => a.fireTimeMs - b.fireTimeMs || a.startedEventId - b.startedEventId);
  const together = due.slice(0, draft.limits.timersFiredTogetherMax);
  // The task that fired is over: its timer must not wait for another.
  const own = due.find(({ taskId }) => taskId === firedTaskId);
  if (own !== undefined && !together.includes(own)) together.push(own);
  const firing = draft.open(run);
  for (const { timerId, startedEventId, taskId } of together) {
    draft.finishTask(taskId);
    firing.addOrBuffer('timerFired', { timerId, startedEventId });
  }
  if (together.length > 0) ensureWorkflowTask(firing);
}

/** One timer at a time may be due in a run with thousands: the search must not look at all the others each time. */
function dueTimers(draft: Draft, run: RunView, untilMs: number): UserTimer[] {
  const due: UserTimer[] = [];
  const dueInShard = draft.shard.timers.due(untilMs, run.timers.size);
  if (dueInShard === undefined) {
    for (const timer of run.timers.values()) if (timer.fireTimeMs <= untilMs) due.push(timer);
    return due;
  }
  for (const task of dueInShard) {
    const timer = task.kind === 'userTimer' && task.key.runId === run.key.runId ? run.timers.get(task.timerId) : undefined;
    if (timer?.taskId === task.taskId) due.push(timer);
  }
  return due;
}
