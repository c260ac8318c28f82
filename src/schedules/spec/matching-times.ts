/** All times of a schedule in a range, as ListScheduleMatchingTimes has them: with jitter, after the start, and up to the end. */
import type { CompiledSpec } from './compiled-spec.ts';
import { searchNext } from './next-time.ts';
import type { Problem } from './schedule-spec.ts';
import { SearchSteps, listStepsMax, searchStepsMax, tooManyExclusions } from './search-steps.ts';

/** Temporal's limit: of more times there are the first. */
export const matchingTimesMax = 1_000;

export type TimeRange = { readonly startMs: number; readonly endMs: number; readonly timesMax: number };

export type MatchingTimes = { readonly timesMs: readonly number[] } | Problem;

/** Time by time, for whoever has others to serve. */
export function* searchMatching(spec: CompiledSpec, { startMs, endMs, timesMax }: TimeRange): Generator<undefined, MatchingTimes> {
  const timesMs: number[] = [];
  const all = new SearchSteps(listStepsMax);
  let afterMs = startMs;
  while (timesMs.length < Math.min(timesMax, matchingTimesMax)) {
    const steps = new SearchSteps(searchStepsMax);
    const next = searchNext(spec, afterMs, steps);
    if (steps.areSpent || !all.take(steps.taken)) return { problem: tooManyExclusions };
    if (next === undefined || next.nextMs > endMs) break;
    timesMs.push(next.nextMs);
    afterMs = next.nextMs;
    yield;
  }
  return { timesMs };
}
