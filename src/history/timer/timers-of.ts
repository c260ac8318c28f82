import type { RunView } from '../state.ts';

/**
 * The task ids of a run's timers, but for retention and for callbacks that are tried again; among them ids of timers that have ended, and 0. A shard
 * has hundreds of thousands of timers, and no index by run, for which every command would pay: whatever a timer is for remembers its id
 * (`rememberTask`).
 */
export function* timersOf(run: RunView): Iterable<number> {
  yield run.timeoutTaskId;
  yield run.backoffTaskId;
  yield run.workflowTask?.timeoutTaskId ?? 0;
  yield run.schedule?.wakeTaskId ?? 0;
  yield run.schedule?.letterCheckTaskId ?? 0;
  yield run.batch?.stepTaskId ?? 0;
  for (const activity of run.activities.values()) yield activity.timerTaskId;
  for (const timer of run.timers.values()) yield timer.taskId;
}
