/** What a caller asks for, as what is stored: texts become ranges and intervals, defaults are filled in. The words of its problems are Temporal's. */
import { offsetPeriods } from '../../kernel/cron/offset-periods.ts';
import { calendarOf } from './calendar-text.ts';
import { parseCronString } from './cron-string.ts';
import { type CanonicalSpec, type Problem, type Range, type ScheduleSpec, type StructuredCalendar, fieldBounds } from './schedule-spec.ts';
import { calendarProblem, exclusionProblem, intervalProblem, sizeProblem, timesProblem } from './spec-problems.ts';

export function canonicalSpec(spec: ScheduleSpec): { readonly spec: CanonicalSpec } | Problem {
  const tooLarge = sizeProblem(spec);
  if (tooLarge !== undefined) return { problem: tooLarge };
  const parsed = withoutTexts(spec);
  if ('problem' in parsed) return parsed;
  const problem = problemOf(parsed);
  return problem === undefined ? { spec: withDefaults(parsed) } : { problem };
}

/** The first problem in the order of Temporal: each text, then the zones of cron strings. */
function withoutTexts(spec: ScheduleSpec): CanonicalSpec | Problem {
  const calendars = [...spec.calendars];
  const excludedCalendars = [...spec.excludedCalendars];
  const intervals = [...spec.intervals];
  for (const text of spec.calendarTexts) {
    const calendar = calendarOf(text);
    if ('problem' in calendar) return calendar;
    calendars.push(calendar);
  }
  for (const text of spec.excludedCalendarTexts) {
    const calendar = calendarOf(text);
    if ('problem' in calendar) return calendar;
    excludedCalendars.push(calendar);
  }
  const zones = new Set<string>();
  for (const text of spec.cronStrings) {
    const cron = parseCronString(text);
    if ('problem' in cron) return cron;
    if ('calendar' in cron) calendars.push(cron.calendar);
    else intervals.push(cron.interval);
    // All must agree, also on having none; an interval has none, whatever it says.
    if (zones.add(cron.timeZoneName).size > 1) return conflictingZones;
  }
  const [cronZone = ''] = zones;
  const { startTimeMs, endTimeMs, jitterMs, timeZoneName, timeZoneData } = spec;
  if (cronZone !== '' && ((timeZoneName !== '' && timeZoneName !== cronZone) || timeZoneData !== undefined)) return conflictingZones;
  const zone = timeZoneName === '' ? cronZone : timeZoneName;
  return { calendars, intervals, excludedCalendars, startTimeMs, endTimeMs, jitterMs, timeZoneName: zone, timeZoneData };
}

const conflictingZones: Problem = { problem: 'conflicting timezone names' };

function problemOf(spec: CanonicalSpec): string | undefined {
  return (
    firstOf(spec.calendars, calendarProblem) ??
    firstOf(spec.intervals, intervalProblem) ??
    firstOf(spec.excludedCalendars, exclusionProblem) ??
    timesProblem(spec) ??
    timeZoneProblem(spec)
  );
}

function firstOf<T>(items: readonly T[], problemOfItem: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const problem = problemOfItem(item);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function timeZoneProblem({ timeZoneName, timeZoneData }: CanonicalSpec): string | undefined {
  if (timeZoneData !== undefined) return 'time zone data is not supported: name a zone of the IANA database';
  if (timeZoneName.includes('..') || /^[/\\]/.test(timeZoneName)) return 'time: invalid location name';
  return offsetPeriods(timeZoneName) === undefined ? `unknown time zone ${timeZoneName}` : undefined;
}

function withDefaults(spec: CanonicalSpec): CanonicalSpec {
  return { ...spec, calendars: spec.calendars.map(withRangeDefaults), excludedCalendars: spec.excludedCalendars.map(withRangeDefaults) };
}

function withRangeDefaults(calendar: StructuredCalendar): StructuredCalendar {
  const filled = { ...calendar };
  for (const { field } of fieldBounds) filled[field] = calendar[field].map(withRangeDefault);
  return filled;
}

function withRangeDefault({ start, end, step }: Range): Range {
  return { start, end: Math.max(start, end), step: step === 0 ? 1 : step };
}
