/** What becomes of callers' specs, in Temporal's words where they are wrong. */
import { describe, expect, test } from 'vitest';
import { canonicalSpec } from '../../../src/schedules/spec/canonical-spec.ts';
import type { ScheduleSpec, StructuredCalendar } from '../../../src/schedules/spec/schedule-spec.ts';
import { calendarOf, specOf, textOf } from './specs.ts';

function canonical(part: Partial<ScheduleSpec>) {
  const result = canonicalSpec(specOf(part));
  return 'problem' in result ? result.problem : result.spec;
}

const one = (value: number) => [{ start: value, end: value, step: 1 }];
const noneSet: StructuredCalendar = { second: [], minute: [], hour: [], dayOfMonth: [], month: [], year: [], dayOfWeek: [], comment: '' };

test.each<[string, Partial<StructuredCalendar>]>([
  ['5,9 */2 * * *', { second: one(0), minute: [...one(5), ...one(9)], hour: [{ start: 0, end: 23, step: 2 }] }],
  ['0 0 * * * 2030', { second: one(0), minute: one(0), hour: one(0), year: one(2030) }],
  [
    'CRON_TZ=US/Pacific 55 55,57 5 2/2 * wed-thurs *  # explanation',
    {
      second: one(55),
      minute: [...one(55), ...one(57)],
      hour: one(5),
      dayOfMonth: [{ start: 2, end: 31, step: 2 }],
      dayOfWeek: [{ start: 3, end: 4, step: 1 }],
      comment: 'explanation',
    },
  ],
  ['@monthly', { second: one(0), minute: one(0), hour: one(0), dayOfMonth: one(1) }],
  ['@hourly', { second: one(0), minute: one(0) }],
  ['0 0 * Sept 7', { second: one(0), minute: one(0), hour: one(0), month: one(9), dayOfWeek: one(0) }],
  ['0 0 * * 3-7', { second: one(0), minute: one(0), hour: one(0), dayOfWeek: [...one(0), { start: 3, end: 6, step: 1 }] }],
  ['0 0 * * 1-7', { second: one(0), minute: one(0), hour: one(0), dayOfWeek: [{ start: 1, end: 6, step: 1 }] }],
  ['0 0 * * 1-7/2', { second: one(0), minute: one(0), hour: one(0), dayOfWeek: [...one(0), { start: 1, end: 6, step: 2 }] }],
  ['0 0 * * 3-7/3', { second: one(0), minute: one(0), hour: one(0), dayOfWeek: [{ start: 3, end: 6, step: 3 }] }],
])('the cron string %s', (cronString, expected) => {
  expect(canonical({ cronStrings: [cronString] })).toMatchObject({ calendars: [calendarOf(expected)], intervals: [] });
});

test.each([
  ['@every 5d', 5 * 86_400_000, 0],
  ['@every 5h/45m', 5 * 3_600_000, 45 * 60_000],
  ['@every 0.1d', 8_640_000, 0],
  ['CRON_TZ=Europe/London @every 1.5s # zones are nothing to it', 1_500, 0],
])('the interval %s', (cronString, intervalMs, phaseMs) => {
  const expected = { calendars: [], intervals: [{ intervalMs, phaseMs }], timeZoneName: '' };
  expect(canonical({ cronStrings: [cronString] })).toMatchObject(expected);
});

test('the zone of cron strings is that of the spec', () => {
  const cronStrings = ['CRON_TZ=Europe/London 23 5,7 * * *'];
  expect(canonical({ cronStrings })).toMatchObject({ timeZoneName: 'Europe/London' });
  expect(canonical({ cronStrings, timeZoneName: 'Europe/London' })).toMatchObject({ timeZoneName: 'Europe/London' });
  expect(canonical({ cronStrings: ['23 5,7 * * *'], timeZoneName: 'Europe/London' })).toMatchObject({ timeZoneName: 'Europe/London' });
});

test('ends and steps that were left out are filled in, also of exclusions', () => {
  const given = { ...noneSet, hour: [{ start: 5, end: 0, step: 0 }] };
  const filled = { ...noneSet, hour: one(5) };
  expect(canonical({ calendars: [given], excludedCalendars: [given] })).toMatchObject({ calendars: [filled], excludedCalendars: [filled] });
});

test('a canonical spec stays as it is', () => {
  const once = canonical({
    cronStrings: ['@every 3h/1m', '*/7 1-5 * feb,3-5/2 5-7'],
    jitterMs: 5_000,
    endTimeMs: 7,
    timeZoneName: 'Asia/Kolkata',
  });
  expect(canonical(typeof once === 'string' ? {} : once)).toEqual(once);
});

describe('what is wrong', () => {
  const zones = 'conflicting timezone names';
  const cron = (...cronStrings: string[]) => ({ cronStrings });
  const range = (start: number, end = 0, step = 0) => [{ start, end, step }];
  const calendar = (part: Partial<StructuredCalendar>) => ({ calendars: [{ ...noneSet, ...part }] });
  const excluded = (part: Partial<StructuredCalendar>) => ({ excludedCalendars: [{ ...noneSet, ...part }] });
  const interval = (intervalMs: number, phaseMs = 0) => ({ intervals: [{ intervalMs, phaseMs }] });
  const text = (part: Parameters<typeof textOf>[0]) => ({ calendarTexts: [textOf(part)] });

  test.each<[Partial<ScheduleSpec>, string]>([
    [text({ minute: '133' }), 'Minute is not in range [0-59]'],
    [text({ minute: '1,3,' }), 'Minute is not in range [0-59]'],
    [text({ minute: '1, 3' }), 'Minute is not in range [0-59]'],
    [text({ minute: '18-13' }), 'Minute End is before Start or not in range [0-59]'],
    [text({ dayOfMonth: '0-3' }), 'DayOfMonth Start is not in range [1-31]'],
    [text({ dayOfWeek: 'monday-' }), 'DayOfWeek End is before Start or not in range [0-7]'],
    [text({ dayOfWeek: 'm' }), 'DayOfWeek is not in range [0-7]'],
    [text({ month: 'ma' }), 'Month is not in range [1-12]'],
    [text({ year: '1999' }), 'Year is not in range [2000-2100]'],
    [text({ hour: '1-2-3' }), 'Hour has too many dashes'],
    [text({ hour: '1/2/3' }), 'Hour has too many slashes'],
    [text({ hour: '5/' }), 'Hour missing step value'],
    [text({ hour: '5/0' }), 'Hour has invalid Step'],
    [text({ hour: '5/x' }), 'strconv.Atoi: parsing "x": invalid syntax'],
    [text({ hour: '5/9223372036854775808' }), 'strconv.Atoi: parsing "9223372036854775808": value out of range'],
    [text({ hour: '5/2147483648' }), 'invalid calendar spec: Hour has invalid Step'],
    [
      text({ second: '99', dayOfMonth: '99', dayOfWeek: '99' }),
      'Second is not in range [0-59], DayOfWeek is not in range [0-7], DayOfMonth is not in range [1-31]',
    ],
    [text({ comment: 'é'.repeat(101) }), 'invalid calendar spec: comment is too long'],
    [cron('0 1 2 3'), 'CronString does not have 5-7 fields'],
    [cron('0 1 2 3 4 5 6 7'), 'CronString does not have 5-7 fields'],
    [cron('TZ=UTC'), 'CronString has time zone but missing fields'],
    [cron('@every'), 'CronString does not have interval after @every'],
    [cron('@every 5'), 'time: missing unit in duration "5"'],
    [cron('@every 5x'), 'time: unknown unit "x" in duration "5x"'],
    [cron('@every often'), 'time: invalid duration "often"'],
    [cron('@every 0.5s'), 'interval is too small'],
    [cron('@every 1h/1h'), 'phase cannot be greater than Interval'],
    [{ ...cron('CRON_TZ=America/New_York 0 0 * * *'), timeZoneName: 'Europe/London' }, zones],
    [cron('TZ=Europe/London 0 0 * * *', 'TZ=America/New_York 0 0 * * *'), zones],
    [cron('TZ=Europe/London 0 0 * * *', '0 0 * * *'), zones],
    [cron('@every 5m', 'TZ=Europe/London 0 0 * * *'), zones],
    [cron('TZ=Nowhere 0 0 * * *'), 'unknown time zone Nowhere'],
    [{ timeZoneName: '../Paris' }, 'time: invalid location name'],
    [{ timeZoneName: '+01:00' }, 'unknown time zone +01:00'],
    [calendar({ second: range(100) }), 'invalid calendar spec: Second Start is not in range [0-59]'],
    [calendar({ second: range(30, 40, -3) }), 'invalid calendar spec: Second has invalid Step'],
    [calendar({ hour: range(16, 12) }), 'invalid calendar spec: Hour End is before Start or not in range [0-23]'],
    [
      calendar({ dayOfWeek: range(6, 7), year: range(2112) }),
      'invalid calendar spec: Year Start is not in range [2000-2100], DayOfWeek End is before Start or not in range [0-6]',
    ],
    [calendar({ month: range(NaN) }), 'invalid calendar spec: Month Start is not in range [1-12]'],
    [calendar({ month: range(1, 2, NaN) }), 'invalid calendar spec: Month has invalid Step'],
    [excluded({ minute: range(-3) }), 'invalid calendar spec: Minute Start is not in range [0-59]'],
    [excluded({ minute: range(0, 59, -1) }), 'invalid calendar spec: Minute has invalid Step'],
    [interval(-43), 'interval is too small'],
    [interval(999), 'interval is too small'],
    [interval(NaN), 'interval is too small'],
    [interval(60_000, -1), 'phase is negative'],
    [interval(60_000, NaN), 'phase is negative'],
    [interval(3_600_000, 7_200_000), 'phase cannot be greater than Interval'],
    [{ startTimeMs: NaN }, 'start time is not a time'],
    [{ jitterMs: NaN }, 'jitter is not a duration'],
    [{ cronStrings: ['TZ=Nowhere x'], ...interval(0) }, 'CronString does not have 5-7 fields'],
  ])('%j', (part, problem) => {
    expect(canonical(part)).toBe(problem);
  });
});
