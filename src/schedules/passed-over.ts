import type { NextTime, ScheduledTime } from './schedule.ts';
import type { SearchSteps } from './spec/search-steps.ts';

/**
 * Up to which time a schedule that does not act has come: what was due meanwhile is neither made up for nor missed, and a time that has begun, but
 * by its jitter is due later than now, is still to come. The last time before now is searched for by halves.
 */
export function passedOver(processedToMs: number, nextTime: NextTime, nowMs: number, turn: SearchSteps): number {
  const isPassed = (time: ScheduledTime | undefined): time is ScheduledTime => time !== undefined && time.nextMs <= nowMs;
  let passedMs = processedToMs;
  let untilMs = nowMs;
  while (!turn.areSpent) {
    const next = nextTime(passedMs, turn);
    if (next === undefined) break;
    if (!isPassed(next)) return passedMs;
    passedMs = next.nextMs;
    const middleMs = Math.floor((passedMs + untilMs) / 2);
    const later = nextTime(middleMs, turn);
    if (isPassed(later)) passedMs = Math.max(passedMs, later.nextMs);
    else untilMs = middleMs;
  }
  return Math.max(processedToMs, nowMs);
}
