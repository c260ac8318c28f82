/**
 * When a schedule is due next.
 *
 *     nominal   the time that the spec says, a whole second
 *     next      with jitter: when the action is taken, always before the following nominal time
 */
import type { OffsetPeriods } from '../../kernel/cron/offset-periods.ts';
import { type Civil, civilOf, utcMsOf, weekdayOf } from '../../kernel/cron/civil-time.ts';
import type { CompiledCalendar, CompiledInterval, CompiledSpec, Exclusion } from './compiled-spec.ts';
import { jittered } from './jitter.ts';
import { nextInCalendar } from './next-in-calendar.ts';
import { calendarYearMax } from './schedule-spec.ts';
import { SearchSteps, searchStepsMax, tooManyExclusions } from './search-steps.ts';
import { has } from './value-set.ts';
import { hasYear } from './year-set.ts';

export type DueTime = { readonly nominalMs: number; readonly nextMs: number };

/**
 * The first after that moment. Undefined: there is none, or none was found within the steps that a search may take, and `turn` says so: Temporal
 * too takes no further action of a schedule then. What it takes is taken from `turn`, also beyond its end.
 */
export function nextTime(spec: CompiledSpec, afterMs: number, turn?: SearchSteps): DueTime | undefined {
  const steps = new SearchSteps(searchStepsMax);
  const found = searchNext(spec, afterMs, steps);
  turn?.take(steps.taken);
  if (found === undefined && steps.areSpent) turn?.giveUp(tooManyExclusions);
  return found;
}

export function searchNext(spec: CompiledSpec, afterMs: number, steps: SearchSteps): DueTime | undefined {
  const nominalMs = nextIncluded(spec, Math.max(afterMs, spec.startTimeMs - 1_000, firstMomentMs), steps);
  if (nominalMs === undefined) return undefined;
  if (spec.jitterMs <= 0) return { nominalMs, nextMs: nominalMs };
  // Excluded or not, and beyond the end or not.
  const followingMs = nextNominal(spec, nominalMs, steps) ?? Infinity;
  if (steps.areSpent) return undefined;
  const jitterMsMax = Math.min(spec.jitterMs, followingMs - nominalMs);
  return { nominalMs, nextMs: jittered(nominalMs, { jitterMsMax, seed: spec.jitterSeed }) };
}

/** The first that messages can hold. */
const firstMomentMs = newYearMs(1);
const lastMomentMs = newYearMs(calendarYearMax + 1) - 1;

function newYearMs(year: number): number {
  return utcMsOf({ year, month: 1, day: 1, hour: 0, minute: 0, second: 0 });
}

function nextIncluded(spec: CompiledSpec, fromMs: number, steps: SearchSteps): number | undefined {
  const untilMs = Math.min(spec.endTimeMs, lastMomentMs);
  let afterMs: number | undefined = fromMs;
  while (afterMs !== undefined && afterMs <= lastMomentMs) {
    const nominalMs: number | undefined = nextNominal(spec, afterMs, steps);
    if (nominalMs === undefined || nominalMs > untilMs) return undefined;
    const excludedToMs = lastExcluded(spec, nominalMs, steps);
    if (excludedToMs === undefined) return steps.areSpent ? undefined : nominalMs;
    afterMs = excludedToMs;
  }
  return undefined;
}

function nextNominal({ calendars, intervals, clock }: CompiledSpec, afterMs: number, steps: SearchSteps): number | undefined {
  let firstMs = Infinity;
  for (const calendar of calendars) firstMs = Math.min(firstMs, nextInCalendar(calendar, { clock, afterMs, steps }) ?? Infinity);
  for (const interval of intervals) firstMs = Math.min(firstMs, nextInInterval(interval, afterMs));
  return firstMs === Infinity || !steps.take(1 + intervals.length) ? undefined : firstMs;
}

/** Before the first phase after 1970 it is, as Temporal's, an interval late: Go's division rounds towards zero. */
function nextInInterval({ intervalSeconds, phaseSeconds }: CompiledInterval, afterMs: number): number {
  const intervals = Math.trunc((Math.floor(afterMs / 1000) - phaseSeconds) / intervalSeconds) + 1;
  return (intervals * intervalSeconds + phaseSeconds) * 1000;
}

/** The last second for which it is known already that it is excluded like this one. Undefined: this one is not. */
function lastExcluded({ exclusions, clock }: CompiledSpec, atMs: number, steps: SearchSteps): number | undefined {
  if (exclusions.length === 0) return undefined;
  const at = civilOf(clock.localMsOf(atMs));
  const weekday = weekdayOf(at);
  for (const exclusion of exclusions) {
    if (!steps.take(1)) return undefined;
    if (matches(exclusion.calendar, at, weekday)) return endOfWhole(exclusion, atMs, clock);
  }
  return undefined;
}

/** All seconds of a minute, hour or day, as far as clocks do not change in it. */
function endOfWhole({ wholeMs, wholeDueMs }: Exclusion, atMs: number, clock: OffsetPeriods): number {
  const { offsetMs, untilMs } = clock.periodAt(atMs);
  const unitMs = offsetMs % 60_000 === 0 ? wholeDueMs : wholeMs;
  const endMs = (Math.floor((atMs + offsetMs) / unitMs) + 1) * unitMs - offsetMs;
  return Math.min(endMs, untilMs) - 1_000;
}

function matches(calendar: CompiledCalendar, at: Civil, weekday: number): boolean {
  return (
    has(calendar.seconds, at.second) &&
    has(calendar.minutes, at.minute) &&
    has(calendar.hours, at.hour) &&
    has(calendar.daysOfMonth, at.day) &&
    has(calendar.months, at.month) &&
    hasYear(calendar.years, at.year) &&
    has(calendar.daysOfWeek, weekday)
  );
}
