/** The next time is one that the spec means, and none between is: by clocks and ranges read second for second. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileSpec } from '../../../src/schedules/spec/compiled-spec.ts';
import { canonicalSpec } from '../../../src/schedules/spec/canonical-spec.ts';
import { KnownTimes } from '../../../src/schedules/spec/known-times.ts';
import { SearchSteps } from '../../../src/schedules/spec/search-steps.ts';
import { nextTime } from '../../../src/schedules/spec/next-time.ts';
import {
  type CanonicalSpec,
  type Range,
  type ScheduleSpec,
  type StructuredCalendar,
  fieldBounds,
} from '../../../src/schedules/spec/schedule-spec.ts';
import { calendarOf, matchingTimes, specOf } from './specs.ts';

/** Also of clocks that change by half an hour, by two, by a whole day, at midnight, or often. */
const zones = [
  'UTC',
  '',
  'America/New_York',
  'Europe/London',
  'Europe/Berlin',
  'Asia/Kolkata',
  'Asia/Kathmandu',
  'Australia/Sydney',
  'America/St_Johns',
  'Australia/Lord_Howe',
  'Antarctica/Troll',
  'Antarctica/Casey',
  'America/Sao_Paulo',
  'Asia/Beirut',
  'Africa/Casablanca',
  'Africa/Cairo',
  'Pacific/Apia',
  'Asia/Pyongyang',
];
const quarterMs = 900_000;
/** Of a longer way, its beginning and its end are read, and here and there a second between. */
const secondsRead = 20_000;

const range = (first: number, last: number): fc.Arbitrary<Range> =>
  fc
    .record({ start: fc.integer({ min: first, max: last }), length: fc.nat(last - first), step: fc.integer({ min: 0, max: 20 }) })
    .map(({ start, length, step }) => ({ start, end: Math.min(start + length, last), step }));

const field = (first: number, last: number, wholeWeight: number): fc.Arbitrary<readonly Range[]> =>
  fc.oneof(
    { weight: wholeWeight, arbitrary: fc.constant([{ start: first, end: last, step: 1 }]) },
    { weight: 3, arbitrary: fc.array(range(first, last), { minLength: 1, maxLength: 3 }) },
  );

const calendar: fc.Arbitrary<StructuredCalendar> = fc
  .record({
    second: field(0, 59, 1),
    minute: field(0, 59, 3),
    hour: fc.oneof(field(0, 23, 3), fc.constant([{ start: 1, end: 2, step: 1 }])),
    dayOfMonth: field(1, 31, 6),
    month: field(1, 12, 9),
    dayOfWeek: field(0, 6, 6),
    year: fc.oneof(
      { weight: 9, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.array(range(2020, 2040), { minLength: 1, maxLength: 2 }) },
    ),
  })
  .map(calendarOf);

const interval = fc
  .tuple(fc.integer({ min: 1, max: 400_000 }), fc.nat(1_000_000))
  .map(([seconds, phase]) => ({ intervalMs: seconds * 1000, phaseMs: (phase % seconds) * 1000 }));

const spec: fc.Arbitrary<ScheduleSpec> = fc
  .record({
    calendars: fc.array(calendar, { maxLength: 2 }),
    intervals: fc.array(interval, { maxLength: 2 }),
    excludedCalendars: fc.oneof(fc.constant([]), fc.array(calendar, { maxLength: 2 })),
    timeZoneName: fc.constantFrom(...zones),
    jitterMs: fc.constantFrom(0, 0, 5_000, 86_400_000),
  })
  .map(specOf);

/** Around the days on which clocks change, more often than not. */
const afterMs = fc.oneof(
  fc.integer({ min: Date.UTC(2020, 0, 1), max: Date.UTC(2037, 0, 1) }),
  fc
    .tuple(
      fc.constantFrom(
        ...['2027-03-14T07:00Z', '2027-11-07T06:00Z', '2028-03-26T01:00Z', '2028-10-29T01:00Z', '2028-04-01T16:00Z'],
        // Lord Howe, São Paulo, Beirut, Apia, Pyongyang, Casey, Casablanca.
        ...['2027-10-02T15:30Z', '2027-04-03T15:00Z', '2018-11-04T03:00Z', '2019-02-17T02:00Z', '2027-03-27T22:00Z', '2027-10-30T21:00Z'],
        ...['2011-12-30T10:00Z', '2015-08-14T15:00Z', '2018-05-04T15:00Z', '2020-10-03T16:00Z', '2026-02-15T02:00Z', '2026-03-22T02:00Z'],
      ),
      fc.integer({ min: -2 * 86_400_000, max: 86_400_000 }),
    )
    .map(([change, lessMs]) => Date.parse(change) + lessMs),
);

test('the next time matches, and no second before it does', () => {
  fc.assert(
    fc.property(spec, afterMs, fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true })), (given, fromMs, draws) => {
      const canonical = canonicalOf(given);
      const next = nextTime(compileSpec(canonical, { jitterSeed: 'a' })!, fromMs);
      const clock = new Clock(canonical.timeZoneName);
      if (next !== undefined) {
        expect(isDue(canonical, clock, next.nominalMs)).toBe(true);
        expect(next.nextMs - next.nominalMs).toBeLessThanOrEqual(canonical.jitterMs);
      }
      const first = Math.floor(fromMs / 1000) + 1;
      const end = next === undefined ? first + 20 * 366 * 86_400 : next.nominalMs / 1000;
      for (const second of between(first, end, draws)) {
        if (isDue(canonical, clock, second * 1000)) expect.fail(`${new Date(second * 1000).toISOString()} was passed over`);
      }
    }),
    { numRuns: 150 },
  );
});

test('matching times are next times, one after the other', () => {
  fc.assert(
    fc.property(spec, afterMs, (given, startMs) => {
      const compiled = compileSpec(canonicalOf(given), { jitterSeed: 'a' })!;
      const endMs = startMs + 40 * 86_400_000;
      const expected: number[] = [];
      for (let next = nextTime(compiled, startMs); next !== undefined && next.nextMs <= endMs && expected.length < 50;) {
        expected.push(next.nextMs);
        next = nextTime(compiled, next.nextMs);
      }
      const found = matchingTimes(compiled, { startMs, endMs, timesMax: 50 });
      // Exclusions of nearly everything take more steps than one request may.
      if ('problem' in found) expect(given.excludedCalendars).not.toEqual([]);
      else expect(found).toEqual({ timesMs: expected });
    }),
  );
});

test('what is kept of times is what a search finds', () => {
  const asked = fc.array(fc.integer({ min: 0, max: 20 }), { minLength: 2, maxLength: 60 });
  fc.assert(
    fc.property(spec, afterMs, asked, (given, fromMs, minutes) => {
      const compiled = compileSpec(canonicalOf(given), { jitterSeed: 'a' })!;
      const known = new KnownTimes(compiled, 0);
      for (const minute of minutes) {
        const atMs = fromMs + minute * 60_000;
        const expected = nextTime(compiled, atMs);
        const turn = new SearchSteps();
        expect(known.next(atMs, turn)).toEqual(expected);
        // Another search would be given up as well, most often, and takes long.
        if (turn.problem !== undefined) return;
      }
    }),
    { numRuns: 100 },
  );
});

function canonicalOf(given: ScheduleSpec): CanonicalSpec {
  const canonical = canonicalSpec(given);
  if ('problem' in canonical) throw new Error(canonical.problem);
  return canonical.spec;
}

function* between(first: number, end: number, draws: Iterator<number>): Generator<number> {
  const half = secondsRead / 2;
  for (let second = first; second < Math.min(end, first + half); second++) yield second;
  for (let second = Math.max(first + half, end - half); second < end; second++) yield second;
  if (end - first > secondsRead) for (let drawn = 0; drawn < 500; drawn++) yield first + Math.floor((end - first) * draws.next().value);
}

function isDue({ calendars, intervals, excludedCalendars }: CanonicalSpec, clock: Clock, atMs: number): boolean {
  const local = clock.at(atMs);
  const isIncluded =
    calendars.some((each) => matches(each, local)) || intervals.some(({ intervalMs, phaseMs }) => (atMs - phaseMs) % intervalMs === 0);
  return isIncluded && !excludedCalendars.some((each) => matches(each, local));
}

function matches(each: StructuredCalendar, local: Readonly<Record<string, number>>): boolean {
  return fieldBounds.every(({ field: name }) => {
    const value = local[name]!;
    const isAnyYear = name === 'year' && each.year.length === 0;
    return isAnyYear || each[name].some(({ start, end, step }) => value >= start && value <= end && (value - start) % step === 0);
  });
}

/** The time of day as Node writes it, once for each quarter of an hour. */
class Clock {
  readonly #format: Intl.DateTimeFormat;
  #quarter = NaN;
  #localMs = 0;

  constructor(timeZone: string) {
    this.#format = new Intl.DateTimeFormat('sv-SE', { timeZone: timeZone || 'UTC', dateStyle: 'short', timeStyle: 'medium' });
  }

  at(utcMs: number) {
    const quarter = Math.floor(utcMs / quarterMs);
    if (quarter !== this.#quarter) this.#localMs = Date.parse(`${this.#format.format(quarter * quarterMs).replace(' ', 'T')}Z`);
    this.#quarter = quarter;
    const at = new Date(this.#localMs + utcMs - quarter * quarterMs);
    return {
      second: at.getUTCSeconds(),
      minute: at.getUTCMinutes(),
      hour: at.getUTCHours(),
      dayOfMonth: at.getUTCDate(),
      month: at.getUTCMonth() + 1,
      year: at.getUTCFullYear(),
      dayOfWeek: at.getUTCDay(),
    };
  }
}
