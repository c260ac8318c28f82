/** Due times of whole specs, with the answers of Temporal's own matcher. */
import { describe, expect, test } from 'vitest';
import { matchingTimesMax } from '../../../src/schedules/spec/matching-times.ts';
import { nextTime } from '../../../src/schedules/spec/next-time.ts';
import type { ScheduleSpec } from '../../../src/schedules/spec/schedule-spec.ts';
import { calendarOf, compiled, matchingTimes, textOf, times } from './specs.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

test.each<[string, Partial<ScheduleSpec>, string, string]>([
  [
    'an interval counts from 1970',
    { intervals: [{ intervalMs: 90 * minuteMs, phaseMs: 0 }] },
    '2022-03-23T12:53:02Z',
    '2022-03-23T13:30Z 2022-03-23T15:00Z 2022-03-23T16:30Z',
  ],
  [
    'and from its phase',
    { intervals: [{ intervalMs: 90 * minuteMs, phaseMs: 344_000 }] },
    '2022-03-23T12:53:02Z',
    '2022-03-23T13:35:44Z 2022-03-23T15:05:44Z',
  ],
  [
    'what is below a second does not count',
    { intervals: [{ intervalMs: 1_999, phaseMs: 1_500 }] },
    '2022-03-23T12:00:00.900Z',
    '2022-03-23T12:00:01Z 2022-03-23T12:00:02Z',
  ],
  [
    'calendars and intervals are one sequence',
    { calendarTexts: [textOf({ hour: '11,13', minute: '55' })], intervals: [{ intervalMs: 90 * minuteMs, phaseMs: 7 * minuteMs }] },
    '2022-03-23T10:00Z',
    '2022-03-23T10:37Z 2022-03-23T11:55Z 2022-03-23T12:07Z 2022-03-23T13:37Z 2022-03-23T13:55Z',
  ],
  ['a calendar of nothing is midnight', { calendarTexts: [textOf({})] }, '2022-03-23T10:00Z', '2022-03-24T00:00Z 2022-03-25T00:00Z'],
  ['days must match both fields', { cronStrings: ['0 0 13 * 5'] }, '2022-03-23T10:00Z', '2022-05-13T00:00Z 2023-01-13T00:00Z'],
  [
    'a time that clocks pass over by half an hour is not due that day',
    { cronStrings: ['15 2 * * *'], timeZoneName: 'Australia/Lord_Howe' },
    '2027-10-01T12:00Z',
    '2027-10-01T15:45Z 2027-10-03T15:15Z 2027-10-04T15:15Z',
  ],
  [
    'of an hour whose second half clocks show twice, the times of that half are due twice',
    { cronStrings: ['*/15 1,2 * * *'], timeZoneName: 'Australia/Lord_Howe' },
    '2027-04-03T13:00Z',
    [
      '2027-04-03T14:00Z 2027-04-03T14:15Z 2027-04-03T14:30Z 2027-04-03T14:45Z 2027-04-03T15:00Z 2027-04-03T15:15Z',
      '2027-04-03T15:30Z 2027-04-03T15:45Z 2027-04-03T16:00Z 2027-04-03T16:15Z 2027-04-04T14:30Z',
    ].join(' '),
  ],
  [
    'the first time in an hour that clocks show twice is due twice, too',
    { cronStrings: ['@hourly'], timeZoneName: 'Europe/Madrid' },
    '2017-10-29T00:07:34Z',
    '2017-10-29T01:00Z 2017-10-29T02:00Z 2017-10-29T03:00Z',
  ],
  [
    'the 29th of February that is a Sunday',
    { cronStrings: ['0 0 29 2 0'] },
    '2022-03-23T10:00Z',
    '2032-02-29T00:00Z 2060-02-29T00:00Z 2088-02-29T00:00Z never',
  ],
  ['the last year is 2100', { cronStrings: ['0 0 31 12 *'] }, '2099-12-31T00:00Z', '2100-12-31T00:00Z never'],
  ['also of intervals', { intervals: [{ intervalMs: 366 * dayMs, phaseMs: 0 }] }, '2099-06-01T00:00Z', '2100-04-09T00:00Z never'],
  [
    'an exclusion is passed over',
    {
      intervals: [{ intervalMs: 90 * minuteMs, phaseMs: 0 }],
      excludedCalendarTexts: [textOf({ hour: '12-14', minute: '*', second: '*' })],
    },
    '2022-03-23T08:00Z',
    '2022-03-23T09:00Z 2022-03-23T10:30Z 2022-03-23T15:00Z',
  ],
  [
    'so is a month of minutes that is excluded at second 0, as texts have it',
    { cronStrings: ['* * * * *'], excludedCalendarTexts: [textOf({ month: '7-8', hour: '*', minute: '*' })] },
    '2027-06-30T23:58:30Z',
    '2027-06-30T23:59Z 2027-09-01T00:00Z 2027-09-01T00:01Z',
  ],
  [
    'and a year of an interval of minutes',
    {
      intervals: [{ intervalMs: 7 * minuteMs, phaseMs: 90_000 }],
      excludedCalendarTexts: [textOf({ year: '2027', hour: '*', minute: '*', second: '30' })],
    },
    '2026-12-31T23:50:00Z',
    '2026-12-31T23:56:30Z 2028-01-01T00:05:30Z',
  ],
  [
    'but not what is due at another second of them',
    {
      cronStrings: ['* * * * *', '30 0 0 1 * * *'],
      excludedCalendarTexts: [textOf({ month: '7', dayOfMonth: '1-2', hour: '*', minute: '*' })],
    },
    '2027-06-30T23:59:00Z',
    '2027-07-01T00:00:30Z 2027-07-03T00:00Z 2027-07-03T00:01Z',
  ],
  [
    'of a schedule without a start the first phase of 1970 is passed over',
    { intervals: [{ intervalMs: dayMs, phaseMs: 0 }] },
    '1950-01-01T00:00Z',
    '1970-01-02T00:00Z 1970-01-03T00:00Z',
  ],
  [
    'the start is included',
    { intervals: [{ intervalMs: 90 * minuteMs, phaseMs: 0 }], startTimeMs: Date.parse('2022-03-23T12:00Z') },
    '2022-03-23T08:00Z',
    '2022-03-23T12:00Z 2022-03-23T13:30Z',
  ],
  [
    'what is below a second of the start does not count',
    { intervals: [{ intervalMs: hourMs, phaseMs: 0 }], startTimeMs: Date.parse('2022-03-23T12:00:00.456Z') },
    '2022-03-23T12:00:00.123Z',
    '2022-03-23T13:00Z',
  ],
  [
    'the end is included',
    { intervals: [{ intervalMs: 90 * minuteMs, phaseMs: 0 }], endTimeMs: Date.parse('2022-03-23T13:30Z') },
    '2022-03-23T08:00Z',
    '2022-03-23T09:00Z 2022-03-23T10:30Z 2022-03-23T12:00Z 2022-03-23T13:30Z never',
  ],
  [
    'a time that does not exist is passed over',
    { cronStrings: ['CRON_TZ=US/Pacific 33 33 2 * * * *'] },
    '2022-03-12T04:00Z',
    '2022-03-12T10:33:33Z 2022-03-14T09:33:33Z',
  ],
  [
    'a time that comes twice is due twice',
    { cronStrings: ['CRON_TZ=US/Pacific 33 33,44 1 * * * *'] },
    '2021-11-07T07:15:15Z',
    '2021-11-07T08:33:33Z 2021-11-07T08:44:33Z 2021-11-07T09:33:33Z 2021-11-07T09:44:33Z 2021-11-08T09:33:33Z',
  ],
  [
    'a search that begins in an hour that comes twice ends in one that does not',
    { calendarTexts: [textOf({ minute: '1', dayOfMonth: '2', month: 'Jan', dayOfWeek: 'Sun' })], timeZoneName: 'Europe/London' },
    '2004-10-31T00:07:03Z',
    '2005-01-02T00:01Z',
  ],
])('%s', (_, spec, after, expected) => {
  expect(times(compiled(spec), after, expected.split(' ').length)).toBe(expected);
});

describe('jitter', () => {
  const interval = (intervalMs: number) => ({ intervals: [{ intervalMs, phaseMs: 0 }] });

  test.each<[string, string, Partial<ScheduleSpec>, string]>([
    [
      'depends on the time',
      '',
      { ...interval(90 * minuteMs), jitterMs: 1_000 },
      '2022-03-23T12:00:00.162Z 2022-03-23T13:30:00.587Z 2022-03-23T15:00:00.089Z',
    ],
    [
      'stays before the next time',
      '',
      { ...interval(90 * minuteMs), jitterMs: dayMs },
      '2022-03-23T12:14:36.524Z 2022-03-23T14:22:54.562Z',
    ],
    ['depends on the schedule', 'seed-1', { ...interval(dayMs), jitterMs: hourMs }, '2022-03-24T00:06:12.519Z'],
    ['and on another, too', 'seed-2', { ...interval(dayMs), jitterMs: hourMs }, '2022-03-24T00:39:16.922Z'],
    ['comes to the last time as well', '', { cronStrings: ['55 13 7 4 * 2022'], jitterMs: hourMs }, '2022-04-07T13:57:26.927Z never'],
  ])('%s', (_, seed, spec, expected) => {
    expect(times(compiled(spec, seed), '2022-03-23T11:00Z', expected.split(' ').length)).toBe(expected);
  });

  test('the nominal time is without it', () => {
    const due = nextTime(compiled({ ...interval(dayMs), jitterMs: hourMs }), Date.parse('2022-03-23T11:00Z'));
    expect(due).toEqual({ nominalMs: Date.parse('2022-03-24T00:00Z'), nextMs: Date.parse('2022-03-24T00:35:24.276Z') });
  });
});

describe('matching times', () => {
  const hourly = compiled({ cronStrings: ['@hourly'] });
  const startMs = Date.parse('2022-03-23T11:00Z');

  test('are after the start, up to the end', () => {
    const listed = matchingTimes(hourly, { startMs, endMs: startMs + 2 * hourMs, timesMax: 10 });
    expect(listed).toEqual({ timesMs: [startMs + hourMs, startMs + 2 * hourMs] });
  });

  test('are as many as are asked for', () => {
    expect(matchingTimes(hourly, { startMs, endMs: Infinity, timesMax: 1 })).toEqual({ timesMs: [startMs + hourMs] });
    const listed = matchingTimes(hourly, { startMs, endMs: Infinity, timesMax: Infinity });
    expect('timesMs' in listed && listed.timesMs.length).toBe(matchingTimesMax);
  });

  test('of a spec that excludes too much are refused', () => {
    const everySecond = { calendars: [calendarOf({})] };
    const [even, odd] = [0, 1].map((start) => calendarOf({ second: [{ start, end: 59, step: 2 }] }));
    const nothing = compiled({ ...everySecond, excludedCalendars: [even!, odd!] });
    expect(matchingTimes(nothing, { startMs, endMs: Infinity, timesMax: 10 })).toEqual({
      problem: 'the schedule calendar specification has too many exclusions. Please modify the specification.',
    });
    expect(nextTime(nothing, startMs)).toBeUndefined();
  });
});
