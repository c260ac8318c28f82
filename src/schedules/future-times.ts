import type { NextTime, ScheduleProgress } from './schedule.ts';
import { SearchSteps, turnStepsMax } from './spec/search-steps.ts';

export type FutureTimes = {
  readonly timesMs: readonly number[];
  /** Why there is none, if that is not known; undefined: there are some, or there is nothing to come. */
  readonly problem: string | undefined;
};

/** When it would act next, paused or not, if nobody changes it and no limit forbids it. Fewer, of times that are hard to find. */
export function searchFuture(nextTime: NextTime, progress: ScheduleProgress, max: number): FutureTimes {
  const { limitedActions, remainingActions, processedToMs, updateTimeMs } = progress;
  const wanted = limitedActions ? Math.min(max, remainingActions) : max;
  const times: number[] = [];
  if (wanted <= 0) return { timesMs: times, problem: undefined };
  const turn = new SearchSteps(turnStepsMax);
  for (let next = nextTime(processedToMs, turn); next !== undefined; next = nextTime(next.nextMs, turn)) {
    if (next.nextMs >= updateTimeMs) times.push(next.nextMs);
    if (times.length >= wanted || turn.areSpent) break;
  }
  return { timesMs: times, problem: times.length === 0 ? turn.problem : undefined };
}
