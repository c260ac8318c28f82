import { searchFuture } from './future-times.ts';
import { type NextTime, type ScheduleProgress, scheduleLimits } from './schedule.ts';

/** What a list shows of how far a schedule is. */
export type ListedProgress = Pick<ScheduleProgress, 'notes' | 'paused' | 'recentActions'> & { readonly futureTimesMs: readonly number[] };

export function inList(nextTime: NextTime, progress: ScheduleProgress): ListedProgress {
  const { notes, paused, recentActions } = progress;
  const { listedActionsMax: max } = scheduleLimits;
  const { timesMs: futureTimesMs } = searchFuture(nextTime, progress, max);
  return { notes, paused, recentActions: recentActions.slice(-max), futureTimesMs };
}
