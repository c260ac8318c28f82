/**
 * When a schedule is due, in our own words. A caller's spec has texts in it; the canonical one, which is stored, described and compiled, has
 * numbers only:
 *
 *     ScheduleSpec  -- canonicalSpec -->  CanonicalSpec  -- compileSpec -->  CompiledSpec  -- nextTime, searchMatching -->  times
 *     calendars, cron strings             ranges, intervals                  sets, a clock
 *
 * A time is due if a calendar or an interval matches it and no exclusion does, between the start and the end, both included.
 */

export type ScheduleSpec = CanonicalSpec & {
  readonly calendarTexts: readonly CalendarText[];
  readonly excludedCalendarTexts: readonly CalendarText[];
  /** Strings of five, six or seven fields, `@hourly` and its like, or `@every 5h/45m`. */
  readonly cronStrings: readonly string[];
};

export type CanonicalSpec = {
  readonly calendars: readonly StructuredCalendar[];
  readonly intervals: readonly Interval[];
  readonly excludedCalendars: readonly StructuredCalendar[];
  /** Undefined: since ever, which is 1970. */
  readonly startTimeMs?: number | undefined;
  readonly endTimeMs?: number | undefined;
  readonly jitterMs: number;
  /** A name of the IANA database. Empty: UTC. */
  readonly timeZoneName: string;
  /** A TZif file, which then is the zone, whatever its name. */
  readonly timeZoneData?: Uint8Array | undefined;
};

/** A time matches if each field has a range that does. No year at all is every year; no range of any other field matches nothing. */
export type StructuredCalendar = { readonly [field in CalendarField]: readonly Range[] } & { readonly comment: string };

export type CalendarField = 'second' | 'minute' | 'hour' | 'dayOfMonth' | 'month' | 'year' | 'dayOfWeek';

/** Both ends are included. From a caller, an end before the start is the start, and a step of 0 is 1; a canonical spec says both. */
export type Range = { readonly start: number; readonly end: number; readonly step: number };

/** 1970 + n * interval + phase. What is below a second is stored and counts for nothing. */
export type Interval = { readonly intervalMs: number; readonly phaseMs: number };

/** `*`, `5`, `1-5`, `2/10`, `3/5`, `mon,wed-fri`; empty is the field's default. */
export type CalendarText = { readonly [field in CalendarField]: string } & { readonly comment: string };

/** What a field may hold, and what it is if it is left out. */
export type FieldBounds = {
  readonly field: CalendarField;
  /** What problems call it. */
  readonly name: string;
  readonly first: number;
  readonly last: number;
};

const calendarYearMin = 2000;
/** The last in which anything is due. */
export const calendarYearMax = 2100;

/** Fields in the order in which a calendar's problems are told. */
export const fieldBounds: readonly FieldBounds[] = [
  { field: 'second', name: 'Second', first: 0, last: 59 },
  { field: 'minute', name: 'Minute', first: 0, last: 59 },
  { field: 'hour', name: 'Hour', first: 0, last: 23 },
  { field: 'dayOfMonth', name: 'DayOfMonth', first: 1, last: 31 },
  { field: 'month', name: 'Month', first: 1, last: 12 },
  { field: 'year', name: 'Year', first: calendarYearMin, last: calendarYearMax },
  { field: 'dayOfWeek', name: 'DayOfWeek', first: 0, last: 6 },
];

export type Problem = { readonly problem: string };
