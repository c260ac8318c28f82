/** Specs of which a test says only what it is about. */
import type { CalendarText, ScheduleSpec, StructuredCalendar } from '../../../src/schedules/spec/schedule-spec.ts';
import { canonicalSpec } from '../../../src/schedules/spec/canonical-spec.ts';
import { type CompiledSpec, compileSpec } from '../../../src/schedules/spec/compiled-spec.ts';
import { nextTime } from '../../../src/schedules/spec/next-time.ts';
import { type MatchingTimes, searchMatching, type TimeRange } from '../../../src/schedules/spec/matching-times.ts';

export function specOf(part: Partial<ScheduleSpec>): ScheduleSpec {
  return {
    calendars: [],
    calendarTexts: [],
    cronStrings: [],
    intervals: [],
    excludedCalendars: [],
    excludedCalendarTexts: [],
    jitterMs: 0,
    timeZoneName: '',
    ...part,
  };
}

export function textOf(part: Partial<CalendarText>): CalendarText {
  return { second: '', minute: '', hour: '', dayOfMonth: '', month: '', year: '', dayOfWeek: '', comment: '', ...part };
}

/** Of every second. */
export function calendarOf(part: Partial<StructuredCalendar>): StructuredCalendar {
  const all = (start: number, end: number) => [{ start, end, step: 1 }];
  return {
    second: all(0, 59),
    minute: all(0, 59),
    hour: all(0, 23),
    dayOfMonth: all(1, 31),
    month: all(1, 12),
    year: [],
    dayOfWeek: all(0, 6),
    comment: '',
    ...part,
  };
}

export function compiled(part: Partial<ScheduleSpec>, jitterSeed = ''): CompiledSpec {
  const canonical = canonicalSpec(specOf(part));
  if ('problem' in canonical) throw new Error(canonical.problem);
  return compileSpec(canonical.spec, { jitterSeed })!;
}

/** The first ones after that time, with jitter. */
export function times(spec: CompiledSpec, after: string, count: number): string {
  const found: string[] = [];
  let afterMs = Date.parse(after);
  while (found.length < count) {
    const next = nextTime(spec, afterMs);
    found.push(next === undefined ? 'never' : printed(next.nextMs));
    if (next === undefined) break;
    afterMs = next.nextMs;
  }
  return found.join(' ');
}

export function printed(ms: number): string {
  return new Date(ms).toISOString().replace(/(?:(?::00)?\.000)?Z$/, 'Z');
}

/** In one turn. */
export function matchingTimes(spec: CompiledSpec, range: TimeRange): MatchingTimes {
  const search = searchMatching(spec, range);
  for (;;) {
    const { done, value } = search.next();
    if (done === true) return value;
  }
}
