import type { NextTime, ScheduleProgress } from './schedule.ts';

/** When it would act next, if nobody changes it: also if it is paused, for a pause may end; not those that a limit leaves no action for. */
export function futureTimes(nextTime: NextTime, progress: ScheduleProgress, max: number): readonly number[] {
  const { limitedActions, remainingActions, processedToMs, updateTimeMs } = progress;
  const wanted = limitedActions ? Math.min(max, remainingActions) : max;
  const times: number[] = [];
  if (wanted <= 0) return times;
  for (let next = nextTime(processedToMs); next !== undefined; next = nextTime(next.nextMs)) {
    if (next.nextMs >= updateTimeMs) times.push(next.nextMs);
    if (times.length >= wanted) break;
  }
  return times;
}
