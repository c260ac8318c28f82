/** A canonical spec, made ready to be asked for times: compiled once, kept with its schedule. */
import { type OffsetPeriods, offsetPeriods } from '../../kernel/cron/offset-periods.ts';
import type { CanonicalSpec, StructuredCalendar } from './schedule-spec.ts';
import { type ValueSet, firstFrom, has, hasEach, valueSet } from './value-set.ts';
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

/**
 * What matches is excluded, and with it all that is left of its minute, hour or day: `wholeMs` if the calendar tells none of it apart, `wholeDueMs` if
 * none of what is due in it, by clocks that are whole minutes from UTC and do not change. A month that is excluded at second 0, as texts have it
 * by default, is so passed over by the day, and not by the minute.
 */
export type Exclusion = { readonly calendar: CompiledCalendar; readonly wholeMs: number; readonly wholeDueMs: number };

/** When schedules without a start begin. */
const startOfTimeMs = 0;

/** `jitterSeed`: `jitterSeedOf` its schedule. Undefined: this Node does not know the time zone, though the one that accepted it did. */
export function compileSpec(spec: CanonicalSpec, { jitterSeed }: { readonly jitterSeed: string }): CompiledSpec | undefined {
  const clock = offsetPeriods(spec.timeZoneName);
  if (clock === undefined) return undefined;
  const calendars = spec.calendars.map(compiledCalendar).filter(isPossible);
  const intervals = spec.intervals.map(({ intervalMs, phaseMs }) => ({
    intervalSeconds: wholeSeconds(intervalMs),
    phaseSeconds: wholeSeconds(phaseMs),
  }));
  const due = [...calendars, ...intervals.map(clockOfInterval)];
  return {
    calendars,
    intervals,
    exclusions: spec.excludedCalendars.map((excluded) => exclusion(excluded, due)),
    clock,
    startTimeMs: spec.startTimeMs ?? startOfTimeMs,
    endTimeMs: spec.endTimeMs ?? Infinity,
    jitterMs: spec.jitterMs,
    jitterSeed,
  };
}

/** Go's durations end after 292 years. */
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

/** The seconds, minutes and hours in which something is due. */
type ClockTimes = Pick<CompiledCalendar, 'seconds' | 'minutes' | 'hours'>;

const anyHour = valueSet([{ start: 0, end: 23, step: 1 }]);
const anySixtieth = valueSet([{ start: 0, end: 59, step: 1 }]);

/** The times of an interval by clocks that are whole minutes from UTC. */
function clockOfInterval({ intervalSeconds, phaseSeconds }: CompiledInterval): ClockTimes {
  const second = phaseSeconds % 60;
  const seconds = intervalSeconds % 60 === 0 ? valueSet([{ start: second, end: second, step: 1 }]) : anySixtieth;
  return { seconds, minutes: anySixtieth, hours: anyHour };
}

function exclusion(excluded: StructuredCalendar, due: readonly ClockTimes[]): Exclusion {
  const calendar = compiledCalendar(excluded);
  const wholeMs = wholeMsOf(calendar, [{ seconds: anySixtieth, minutes: anySixtieth, hours: anyHour }]);
  return { calendar, wholeMs, wholeDueMs: wholeMsOf(calendar, due) };
}

function wholeMsOf({ seconds, minutes, hours }: ClockTimes, due: readonly ClockTimes[]): number {
  if (!due.every((times) => hasEach(seconds, times.seconds))) return 1_000;
  if (!due.every((times) => hasEach(minutes, times.minutes))) return 60_000;
  return due.every((times) => hasEach(hours, times.hours)) ? 86_400_000 : 3_600_000;
}
