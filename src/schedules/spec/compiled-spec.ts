/** A canonical spec, made ready to be asked for times: compiled once, kept with its schedule. */
import { type OffsetPeriods, offsetPeriods } from '../../kernel/cron/offset-periods.ts';
import type { CanonicalSpec, StructuredCalendar } from './schedule-spec.ts';
import { type ValueSet, firstFrom, has, hasAll, valueSet } from './value-set.ts';
import { type YearSet, yearSet } from './year-set.ts';

export type CompiledSpec = {
  readonly calendars: readonly CompiledCalendar[];
  readonly intervals: readonly CompiledInterval[];
  readonly exclusions: readonly Exclusion[];
  readonly clock: OffsetPeriods;
  readonly startTimeMs: number;
  readonly endTimeMs: number;
  readonly jitterMs: number;
  readonly jitterSeed: string;
};

export type CompiledCalendar = {
  readonly seconds: ValueSet;
  readonly minutes: ValueSet;
  readonly hours: ValueSet;
  readonly daysOfMonth: ValueSet;
  readonly months: ValueSet;
  readonly daysOfWeek: ValueSet;
  readonly years: YearSet;
};

export type CompiledInterval = { readonly intervalSeconds: number; readonly phaseSeconds: number };

/** What matches is excluded, and with it all that is left of its minute, hour or day if the calendar tells none of it apart. */
export type Exclusion = { readonly calendar: CompiledCalendar; readonly wholeMs: number };

/** Of schedules without a start. */
const startOfTimeMs = 0;

/**
 * `jitterSeed`: `jitterSeedOf` its schedule. Undefined: this release of Node does not know the time zone, though the one that accepted the spec
 * did.
 */
export function compileSpec(spec: CanonicalSpec, { jitterSeed }: { readonly jitterSeed: string }): CompiledSpec | undefined {
  const clock = offsetPeriods(spec.timeZoneName);
  return (
    clock && {
      calendars: spec.calendars.map(compiledCalendar).filter(isPossible),
      intervals: spec.intervals.map(({ intervalMs, phaseMs }) => ({
        intervalSeconds: wholeSeconds(intervalMs),
        phaseSeconds: wholeSeconds(phaseMs),
      })),
      exclusions: spec.excludedCalendars.map(exclusion),
      clock,
      startTimeMs: spec.startTimeMs ?? startOfTimeMs,
      endTimeMs: spec.endTimeMs ?? Infinity,
      jitterMs: spec.jitterMs,
      jitterSeed,
    }
  );
}

/** Of Go's durations, which end after 292 years. */
const secondsMax = 9_223_372_036;

function wholeSeconds(ms: number): number {
  return Math.min(Math.floor(ms / 1000), secondsMax);
}

function compiledCalendar(calendar: StructuredCalendar): CompiledCalendar {
  return {
    seconds: valueSet(calendar.second),
    minutes: valueSet(calendar.minute),
    hours: valueSet(calendar.hour),
    daysOfMonth: valueSet(calendar.dayOfMonth),
    months: valueSet(calendar.month),
    daysOfWeek: valueSet(calendar.dayOfWeek),
    years: yearSet(calendar.year),
  };
}

/** The 30th of February and its like are searched for in no year. */
function isPossible({ seconds, minutes, hours, daysOfMonth, months, daysOfWeek }: CompiledCalendar): boolean {
  if ([seconds, minutes, hours, daysOfWeek].some((values) => firstFrom(values, 0) < 0)) return false;
  const firstDay = firstFrom(daysOfMonth, 1);
  return firstDay >= 1 && longestMonths.some((days, at) => has(months, at + 1) && firstDay <= days);
}

const longestMonths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

function exclusion(excluded: StructuredCalendar): Exclusion {
  const calendar = compiledCalendar(excluded);
  return { calendar, wholeMs: wholeMsOf(calendar) };
}

function wholeMsOf({ seconds, minutes, hours }: CompiledCalendar): number {
  if (!hasAll(seconds, 0, 59)) return 1_000;
  if (!hasAll(minutes, 0, 59)) return 60_000;
  return hasAll(hours, 0, 23) ? 86_400_000 : 3_600_000;
}
