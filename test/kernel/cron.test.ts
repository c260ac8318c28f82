/**
 * Cron schedules. The table of times is what robfig/cron 3.0.1, which Temporal uses, answers with Go's own time zones; the property tries
 * each minute by another way.
 */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cronBackoffMs, cronProblem } from '../../src/kernel/cron-backoff.ts';
import { parseCron } from '../../src/kernel/cron/cron-schedule.ts';
import { goDurationMs } from '../../src/kernel/cron/go-duration.ts';
import { nextTick } from '../../src/kernel/cron/next-tick.ts';

const nowMs = Date.parse('2026-11-23T14:07:00Z');

test.each([
  ['*/15 * * * *', '2026-11-23T14:07:00.500Z', '2026-11-23T14:15Z 2026-11-23T14:30Z 2026-11-23T14:45Z 2026-11-23T15:00Z 2026-11-23T15:15Z'],
  ['0 12 * * MON-FRI', '2026-11-20T12:00:00Z', '2026-11-23T12:00Z 2026-11-24T12:00Z 2026-11-25T12:00Z'],
  [
    '5,20-22/2 3 * jan,DEC ?',
    '2026-11-23T00:00:00Z',
    '2026-12-01T03:05Z 2026-12-01T03:20Z 2026-12-01T03:22Z 2026-12-02T03:05Z 2026-12-02T03:20Z',
  ],
  ['0 0 13 * 5', '2026-11-23T00:00:00Z', '2026-11-27T00:00Z 2026-12-04T00:00Z 2026-12-11T00:00Z 2026-12-13T00:00Z 2026-12-18T00:00Z'],
  ['0 0 */13 * 5', '2026-11-23T00:00:00Z', '2026-11-27T00:00Z 2026-12-01T00:00Z 2026-12-04T00:00Z 2026-12-11T00:00Z'],
  ['0 0 13 * */2', '2026-11-23T00:00:00Z', '2026-11-24T00:00Z 2026-11-26T00:00Z 2026-11-28T00:00Z 2026-11-29T00:00Z'],
  ['0 0 29 2 *', '2026-11-23T00:00:00Z', '2028-02-29T00:00Z 2032-02-29T00:00Z'],
  ['0 0 29 2 *', '2095-01-01T00:00:00Z', '2096-02-29T00:00Z never'],
  ['0 0 31 * *', '2027-01-15T00:00:00Z', '2027-01-31T00:00Z 2027-03-31T00:00Z 2027-05-31T00:00Z 2027-07-31T00:00Z'],
  ['59 23 31 12 *', '2026-12-31T23:59:00Z', '2027-12-31T23:59Z 2028-12-31T23:59Z'],
  ['50/20 * * * *', '2026-11-23T14:07:00Z', '2026-11-23T14:50Z 2026-11-23T15:50Z 2026-11-23T16:50Z'],
  ['@yearly', '2026-11-23T14:07:00Z', '2027-01-01T00:00Z 2028-01-01T00:00Z'],
  ['@monthly', '2026-11-23T14:07:00Z', '2026-12-01T00:00Z 2027-01-01T00:00Z'],
  ['@weekly', '2026-11-23T14:07:00Z', '2026-11-29T00:00Z 2026-12-06T00:00Z'],
  ['@midnight', '2026-11-23T14:07:00Z', '2026-11-24T00:00Z 2026-11-25T00:00Z'],
  ['@hourly', '2026-11-23T14:07:00Z', '2026-11-23T15:00Z 2026-11-23T16:00Z'],
  ['@every 1h30m', '2026-11-23T14:07:00.900Z', '2026-11-23T15:37Z 2026-11-23T17:07Z 2026-11-23T18:37Z'],
  ['@every 1.9s', '2026-11-23T14:07:00.900Z', '2026-11-23T14:07:01Z 2026-11-23T14:07:02Z'],
  ['@every 10ms', '2026-11-23T14:07:00Z', '2026-11-23T14:07:01Z 2026-11-23T14:07:02Z'],
  ['CRON_TZ=America/New_York 30 2 * * *', '2026-03-07T12:00:00Z', '2026-03-09T06:30Z 2026-03-10T06:30Z 2026-03-11T06:30Z'],
  [
    'CRON_TZ=America/New_York 30 1 * * *',
    '2026-10-31T12:00:00Z',
    '2026-11-01T05:30Z 2026-11-01T06:30Z 2026-11-02T06:30Z 2026-11-03T06:30Z',
  ],
  ['CRON_TZ=America/New_York 0 * * * *', '2026-03-08T05:30:00Z', '2026-03-08T06:00Z 2026-03-08T07:00Z 2026-03-08T08:00Z 2026-03-08T09:00Z'],
  ['CRON_TZ=America/New_York 0 * * * *', '2026-11-01T04:30:00Z', '2026-11-01T05:00Z 2026-11-01T06:00Z 2026-11-01T07:00Z 2026-11-01T08:00Z'],
  ['CRON_TZ=America/New_York 0 0 * * *', '2026-10-31T12:00:00Z', '2026-11-01T04:00Z 2026-11-02T05:00Z 2026-11-03T05:00Z'],
  ['TZ=Europe/London 30 1 * * *', '2026-03-28T12:00:00Z', '2026-03-30T00:30Z 2026-03-31T00:30Z 2026-04-01T00:30Z'],
  ['TZ=Europe/London 30 1 * * *', '2026-10-24T12:00:00Z', '2026-10-25T00:30Z 2026-10-25T01:30Z 2026-10-26T01:30Z 2026-10-27T01:30Z'],
  ['TZ=Europe/London 0 9 1 JUL,DEC *', '2026-01-01T00:00:00Z', '2026-07-01T08:00Z 2026-12-01T09:00Z 2027-07-01T08:00Z'],
  ['TZ=Europe/London @daily', '2026-06-01T12:00:00Z', '2026-06-01T23:00Z 2026-06-02T23:00Z'],
  ['TZ=America/Havana 0 0 * * *', '2026-03-06T12:00:00Z', '2026-03-07T05:00Z 2026-03-09T04:00Z 2026-03-10T04:00Z 2026-03-11T04:00Z'],
  ['TZ=America/Santiago 15 0 * * *', '2026-09-04T12:00:00Z', '2026-09-05T04:15Z 2026-09-07T03:15Z 2026-09-08T03:15Z 2026-09-09T03:15Z'],
  ['TZ=Australia/Lord_Howe 15 2 * * *', '2026-10-02T12:00:00Z', '2026-10-02T15:45Z 2026-10-04T15:15Z 2026-10-05T15:15Z 2026-10-06T15:15Z'],
  ['TZ=Asia/Kathmandu 0 6 * * *', '2026-10-02T12:00:00Z', '2026-10-03T00:15Z 2026-10-04T00:15Z'],
])('%s after %s', (spec, after, times) => {
  const schedule = parseCron(spec)!;
  let atMs: number | undefined = Date.parse(after);
  const found: string[] = [];
  for (const _ of times.split(' ')) {
    atMs = nextTick(schedule, atMs);
    if (atMs === undefined) found.push('never');
    else found.push(new Date(atMs).toISOString().replace(/(:00)?\.000Z$/, 'Z'));
    if (atMs === undefined) break;
  }
  expect(found.join(' ')).toBe(times);
});

const field = (first: number, last: number) =>
  fc.oneof(
    fc.constantFrom('*', '?', '*/2', '*/7'),
    fc.integer({ min: first, max: last }).map(String),
    fc
      .tuple(fc.integer({ min: first, max: last }), fc.integer({ min: first, max: last }))
      .map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`),
    fc.tuple(fc.integer({ min: first, max: last }), fc.integer({ min: 1, max: 9 })).map(([a, step]) => `${a}/${step}`),
    fc.array(fc.integer({ min: first, max: last }), { minLength: 1, maxLength: 4 }).map((values) => values.join(',')),
  );
const zones = ['UTC', 'America/New_York', 'Europe/London', 'Asia/Kolkata', 'Pacific/Chatham'];

/** The values that a field names, without the parser. */
function valuesOf(text: string, first: number, last: number): ReadonlySet<number> {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const [range = '', step] = part.split('/');
    const [low = '', high] = range.split('-');
    const isAll = low === '*' || low === '?';
    const from = isAll ? first : Number(low);
    const to = isAll || (high === undefined && step !== undefined) ? last : Number(high ?? low);
    for (let value = from; value <= to; value += Number(step ?? 1)) values.add(value);
  }
  return values;
}

test('of each minute of four days, in five zones, just those are due whose clock reads what the fields say', () => {
  const spec = fc.record({
    zone: fc.constantFrom(...zones),
    minute: field(0, 59),
    hour: field(0, 23),
    day: field(1, 31),
    month: field(1, 12),
    week: field(0, 6),
    startMs: fc.integer({ min: Date.parse('2020-01-01T00:00:00Z'), max: Date.parse('2035-01-01T00:00:00Z') }),
  });
  fc.assert(
    fc.property(spec, ({ zone, minute, hour, day, month, week, startMs }) => {
      const format = new Intl.DateTimeFormat('en-GB', {
        ...{ timeZone: zone, hourCycle: 'h23', weekday: 'short' },
        ...{ month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' },
      });
      const [minutes, hours, months] = [valuesOf(minute, 0, 59), valuesOf(hour, 0, 23), valuesOf(month, 1, 12)];
      const [days, weekdays] = [valuesOf(day, 1, 31), valuesOf(week, 0, 6)];
      const either = !/^[*?]$/.test(day) && !/^[*?]$/.test(week);
      const isDue = (atMs: number): boolean => {
        const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
        const at = (name: Intl.DateTimeFormatPartTypes): number => Number(parts.get(name));
        if (!minutes.has(at('minute')) || !hours.has(at('hour')) || !months.has(at('month'))) return false;
        const inWeek = weekdays.has(['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'].indexOf(parts.get('weekday') ?? ''));
        return either ? days.has(at('day')) || inWeek : days.has(at('day')) && inWeek;
      };
      const schedule = parseCron(`CRON_TZ=${zone} ${minute} ${hour} ${day} ${month} ${week}`)!;
      const endMs = startMs + 4 * 86_400_000;
      const expected: number[] = [];
      for (let atMs = Math.ceil((startMs + 1) / 60_000) * 60_000; atMs <= endMs; atMs += 60_000) if (isDue(atMs)) expected.push(atMs);
      const found: number[] = [];
      for (let atMs = nextTick(schedule, startMs); atMs !== undefined && atMs <= endMs; atMs = nextTick(schedule, atMs)) found.push(atMs);
      expect(found).toEqual(expected);
    }),
    { numRuns: 30 },
  );
}, 60_000);

describe('what is no schedule', () => {
  test.each([
    ...['* * * *', '* * * * * *', ' ', '60 * * * *', '* 24 * * *', '* * 0 * *', '* * 32 * *', '* * * 13 *', '* * * * 7', '* * * 0 *'],
    ...[
      '-1 * * * *',
      '5-1 * * * *',
      '1-2-3 * * * *',
      '1/2/3 * * * *',
      '*/0 * * * *',
      '*/x * * * *',
      '1.5 * * * *',
      '1e1 * * * *',
      '0x1 * * * *',
    ],
    ...[
      '* * * january *',
      'MON * * * *',
      '@never',
      '@Hourly',
      '@hourly ',
      '@every',
      '@every 1',
      '@every 1d',
      '@every  1s',
      '@every 2562048h',
      'NaN * * * *',
    ],
    ...[
      'TZ=UTC',
      'CRON_TZ=Nowhere/City * * * * *',
      'TZ=+01:00 * * * * *',
      'TZ=../etc/passwd * * * * *',
      'tz=UTC * * * * *',
      `${'0,'.repeat(500)}0 * * * *`,
    ],
    ...['TZ= UTC * * * * *', 'TZ=Europe/London', 'TZ=Europe/London ', '99999999999999999999 * * * *', '* * * * sat-sun'],
  ])('%j', (spec) => {
    expect(parseCron(spec)).toBeUndefined();
    expect(cronProblem(spec, nowMs)).toBe('invalid CronSchedule.');
    expect(cronBackoffMs(spec, nowMs, nowMs)).toBeUndefined();
  });
});

test.each(['0 0 31 2 *', '0 0 30 FEB *', ', * * * *', '0 0 31 4,6,9,11 *', 'TZ=America/New_York 0 0 30 2 *'])('%j is due never', (spec) => {
  expect(cronProblem(spec, nowMs)).toBe('invalid CronSchedule, no time can be found to satisfy the schedule');
  expect(cronBackoffMs(spec, nowMs, nowMs)).toBeUndefined();
});

test('a zone that left out the one day that is asked for ends the search', () => {
  expect(nextTick(parseCron('TZ=Pacific/Apia 0 12 30,31 12 *')!, Date.parse('2011-12-28T00:00:00Z'))).toBeUndefined();
});

test.each(['', '*/5 * * * *', '@every 1s', '+5 * * * *', '*-5 * * * *', 'TZ= * * * * *', 'TZ=Local @daily', '5,,6 * * * *'])(
  '%j can be used',
  (spec) => {
    expect(cronProblem(spec, nowMs)).toBeUndefined();
  },
);

test.each([
  ['1h30m', 5_400_000],
  ['1.5s', 1_500],
  ['.5m', 30_000],
  ['1.h', 3_600_000],
  ['-2us', -0.002],
  ['+3µs', 0.003],
  ['3μs', 0.003],
  ['1ms2ns', 1.000002],
  ['0', 0],
  ['-0', -0],
  ['2562047h', 9_223_369_200_000],
  ['2562048h', undefined],
  ['', undefined],
  ['1', undefined],
  ['.s', undefined],
  ['s', undefined],
  ['1 s', undefined],
  ['Infinityh', undefined],
  [`${'9'.repeat(400)}ns`, undefined],
])('the Go duration %j', (text, ms) => {
  expect(goDurationMs(text)).toBe(ms);
});

/** `next tick after the time the run before was due that is not over`, in whole seconds from now. */
test.each([
  ['first run: to the next minute', '* * * * *', '2026-11-23T14:07:00.400Z', '2026-11-23T14:07:00.400Z', 60],
  ['a run of a moment', '* * * * *', '2026-11-23T14:07:00Z', '2026-11-23T14:07:00.001Z', 60],
  ['a run that is done just in time', '* * * * *', '2026-11-23T14:07:00Z', '2026-11-23T14:08:00Z', 0],
  ['a run that missed three', '* * * * *', '2026-11-23T14:07:00Z', '2026-11-23T14:10:20Z', 40],
  ['a year away', '* * * * *', '2025-11-23T14:07:00Z', '2026-11-23T14:10:20Z', 40],
  ['done before its time: it waits for that', '* * * * *', '2026-11-23T14:07:00Z', '2026-11-23T14:06:10.500Z', 50],
  ['every 7 s from the run before', '@every 7s', '2026-11-23T14:07:00Z', '2026-11-23T14:07:09Z', 5],
  ['every 7 s after a year', '@every 7s', '2026-11-23T14:07:00Z', '2027-11-23T14:07:00Z', 7 - ((365 * 86_400) % 7)],
  ['every 7 s, just in time', '@every 7s', '2026-11-23T14:07:00Z', '2026-11-23T14:07:14Z', 0],
  ['longer than a century', '@every 2000000h', '2026-11-23T14:07:00Z', '2026-11-23T14:07:00Z', 100 * 365 * 86_400],
])('%s', (_, spec, scheduled, now, seconds) => {
  expect(cronBackoffMs(spec, Date.parse(scheduled), Date.parse(now))).toBe(seconds * 1000);
});
