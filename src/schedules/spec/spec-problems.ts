/** What is wrong with the parts of a spec, in Temporal's words where Temporal has any. */
import { utf8Bytes } from '../../kernel/utf8.ts';
import { fieldBounds } from './schedule-spec.ts';
import type { CanonicalSpec, FieldBounds, Interval, Range, ScheduleSpec, StructuredCalendar } from './schedule-spec.ts';

/** A limit of ours for calendars, exclusions, intervals and cron strings together. A day of each year in 27 years is one entry each. */
export const specEntriesMax = 10_000;
/** A limit of ours for all calendars together. */
export const specRangesMax = 50_000;
/** A limit of ours for a field of a calendar, or a cron string: a list of all its seconds takes a twentieth of it. */
export const fieldCharsMax = 4_000;
/** A limit of ours: a spec may be wrong in each of its ranges, and says so no longer than this. */
export const problemCharsMax = 4_000;
const commentBytesMax = 200;

const intervalMsMin = 1_000;
/** Go's durations are nanoseconds in 64 bits: what is longer, is this long. */
const durationMsMax = (2 ** 63 - 1) / 1e6;

/** Before anything is parsed. */
export function sizeProblem(spec: ScheduleSpec): string | undefined {
  const calendars = [...spec.calendars, ...spec.excludedCalendars];
  const texts = [...spec.calendarTexts, ...spec.excludedCalendarTexts];
  const entries = calendars.length + texts.length + spec.intervals.length + spec.cronStrings.length;
  if (entries > specEntriesMax) return `schedule spec has ${entries} calendars, intervals and exclusions, and may have ${specEntriesMax}`;
  const fields = [...spec.cronStrings, ...texts.flatMap((text) => fieldBounds.map(({ field }) => text[field]))];
  const longest = fields.reduce((chars, field) => Math.max(chars, field.length), 0);
  if (longest > fieldCharsMax) return `schedule spec has a field of ${longest} characters, and each may have ${fieldCharsMax}`;
  return rangesProblem(calendars, fields);
}

function rangesProblem(calendars: readonly StructuredCalendar[], fields: readonly string[]): string | undefined {
  let ranges = 0;
  for (const calendar of calendars) for (const { field } of fieldBounds) ranges += calendar[field].length;
  for (const field of fields) ranges += commasIn(field);
  return ranges > specRangesMax ? `schedule spec has ${ranges} ranges, and may have ${specRangesMax}` : undefined;
}

function commasIn(text: string): number {
  let commas = 0;
  for (let at = text.indexOf(','); at >= 0; at = text.indexOf(',', at + 1)) commas++;
  return commas;
}

export function calendarProblem(calendar: StructuredCalendar): string | undefined {
  const problems = fieldBounds.flatMap((bounds) => calendar[bounds.field].flatMap((range) => rangeProblems(range, bounds)));
  if (utf8Bytes(calendar.comment) > commentBytesMax) problems.push('comment is too long');
  return calendarProblems(problems);
}

function calendarProblems(problems: readonly string[]): string | undefined {
  if (problems.length === 0) return undefined;
  return `invalid calendar spec: ${problems.join(', ')}`.slice(0, problemCharsMax);
}

// Each condition is asked so that what is no number does not pass it.

function rangeProblems({ start, end, step }: Range, { name, first, last }: FieldBounds): string[] {
  const problems: string[] = [];
  if (!(start >= first && start <= last)) problems.push(`${name} Start is not in range [${first}-${last}]`);
  if (end !== 0 && !(end >= start && end <= last)) problems.push(`${name} End is before Start or not in range [${first}-${last}]`);
  if (!isStep(step)) problems.push(`${name} has invalid Step`);
  return problems;
}

function isStep(step: number): boolean {
  return Number.isInteger(step) && step >= 0;
}

/** Temporal looks at none of its ranges: what is out of bounds matches nothing, and these two would stop its server. */
export function exclusionProblem(calendar: StructuredCalendar): string | undefined {
  const problems = fieldBounds.flatMap(({ field, name, first, last }) =>
    calendar[field].flatMap(({ start, step }) => [
      ...(start >= 0 ? [] : [`${name} Start is not in range [${first}-${last}]`]),
      ...(isStep(step) ? [] : [`${name} has invalid Step`]),
    ]),
  );
  return calendarProblems(problems);
}

export function intervalProblem({ intervalMs, phaseMs }: Interval): string | undefined {
  if (!(intervalMs >= intervalMsMin)) return 'interval is too small';
  if (!(phaseMs >= 0)) return 'phase is negative';
  return Math.min(phaseMs, durationMsMax) >= Math.min(intervalMs, durationMsMax) ? 'phase cannot be greater than Interval' : undefined;
}

/** Messages cannot hold such: whoever made them of something else, can. */
export function timesProblem({ startTimeMs, endTimeMs, jitterMs }: CanonicalSpec): string | undefined {
  if (startTimeMs !== undefined && Number.isNaN(startTimeMs)) return 'start time is not a time';
  if (endTimeMs !== undefined && Number.isNaN(endTimeMs)) return 'end time is not a time';
  return Number.isNaN(jitterMs) ? 'jitter is not a duration' : undefined;
}
