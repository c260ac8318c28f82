/** The spec of a schedule as the public API's message, and in our own words. */
import type { CalendarText, CanonicalSpec, Range, ScheduleSpec, StructuredCalendar } from '../schedules/spec/schedule-spec.ts';
import type * as api from './generated/lean/schedule.ts';

export function specFromMessage(message: api.ScheduleSpec): ScheduleSpec {
  return {
    calendars: message.structuredCalendar,
    intervals: message.interval,
    excludedCalendars: message.excludeStructuredCalendar,
    startTimeMs: message.startTimeMs,
    endTimeMs: message.endTimeMs,
    jitterMs: message.jitterMs,
    timeZoneName: message.timezoneName,
    timeZoneData: message.timezoneData.length === 0 ? undefined : message.timezoneData,
    calendarTexts: message.calendar,
    excludedCalendarTexts: message.excludeCalendar,
    cronStrings: message.cronString,
  };
}

export function specToMessage(spec: CanonicalSpec): api.ScheduleSpec {
  return {
    calendar: [],
    interval: spec.intervals,
    excludeCalendar: [],
    startTimeMs: spec.startTimeMs,
    endTimeMs: spec.endTimeMs,
    jitterMs: spec.jitterMs,
    structuredCalendar: spec.calendars,
    cronString: [],
    excludeStructuredCalendar: spec.excludedCalendars,
    timezoneName: spec.timeZoneName,
    timezoneData: spec.timeZoneData ?? noData,
  };
}

const noData = new Uint8Array(0);

/** The messages have the words' properties: what either side gains is seen here. */
type Same<One, Other extends One> = Other;
export type CalendarMessages = [
  Same<CalendarText, api.CalendarSpec>,
  Same<StructuredCalendar, api.StructuredCalendarSpec>,
  Same<Range, api.Range>,
];
