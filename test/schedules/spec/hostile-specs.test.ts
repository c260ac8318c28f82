/** Whoever may call a server may send it any spec: none of them holds it up. */
import { describe, expect, test } from 'vitest';
import { canonicalSpec } from '../../../src/schedules/spec/canonical-spec.ts';
import { KnownTimes } from '../../../src/schedules/spec/known-times.ts';
import { SearchSteps, searchStepsMax, tooManyExclusions } from '../../../src/schedules/spec/search-steps.ts';
import { nextTime } from '../../../src/schedules/spec/next-time.ts';
import type { ScheduleSpec } from '../../../src/schedules/spec/schedule-spec.ts';
import { fieldCharsMax, problemCharsMax, specEntriesMax, specRangesMax } from '../../../src/schedules/spec/spec-problems.ts';
import { processorMs } from '../../support/processor-time.ts';
import { calendarOf, compiled, matchingTimes, specOf, textOf } from './specs.ts';

/** Of processor time: many times what each takes. */
const patienceMs = 5_000;
const nowMs = Date.parse('2026-11-23T14:07:00Z');
const zone = { timeZoneName: 'America/New_York' };

function problemOf(part: Partial<ScheduleSpec>): string {
  const result = canonicalSpec(specOf(part));
  return 'problem' in result ? result.problem : 'none';
}

describe('what is too large is refused before it is parsed', () => {
  const many = <T>(item: T, count: number): T[] => Array.from({ length: count }, () => item);
  const range = { start: 1, end: 1, step: 1 };

  test.each<[string, Partial<ScheduleSpec>, string]>([
    [
      'cron strings',
      { cronStrings: many('* * * * *', specEntriesMax + 1) },
      `10001 calendars, intervals and exclusions, and may have ${specEntriesMax}`,
    ],
    ['intervals', { intervals: many({ intervalMs: 1_000, phaseMs: 0 }, 100_001) }, '100001 calendars, intervals and exclusions'],
    ['exclusions', { excludedCalendars: many(calendarOf({}), 100_001) }, '100001 calendars, intervals and exclusions'],
    ['a field', { calendarTexts: [textOf({ second: '1,'.repeat(fieldCharsMax) })] }, `8000 characters, and each may have ${fieldCharsMax}`],
    ['ranges', { calendars: [calendarOf({ second: many(range, 100_001) })] }, `ranges, and may have ${specRangesMax}`],
    ['ranges of texts', { calendarTexts: many(textOf({ second: '1,'.repeat(999) }), 100) }, `ranges, and may have ${specRangesMax}`],
  ])('%s', (_, part, problem) => expect(problemOf(part)).toContain(problem));

  test('a problem is no longer than it may be', () => {
    const wrong = problemOf({ calendars: [calendarOf({ second: many({ start: 60, end: 99, step: 1 }, 40_000) })] });
    expect(wrong).toHaveLength(problemCharsMax);
  });
});

describe('what is due never, or seldom, is searched for no longer than that', () => {
  const [even, odd] = [0, 1].map((start) => calendarOf({ second: [{ start, end: 59, step: 2 }] }));
  const wide = { start: 0, end: 2 ** 31 - 1, step: 1 };

  test.each<[string, Partial<ScheduleSpec>, string | undefined]>([
    ['30 February', { cronStrings: ['0 0 30 2 *'], ...zone }, undefined],
    ['no hour', { calendars: [calendarOf({ hour: [] })] }, undefined],
    ['no day that is both', { cronStrings: ['0 0 29 2 1 2028'], ...zone }, undefined],
    ['an hour that is left out', { cronStrings: ['30 2 10 3 * 2030'], ...zone }, undefined],
    ['all seconds but the excluded ones', { calendars: [calendarOf({})], excludedCalendars: [calendarOf({})], ...zone }, undefined],
    ['even and odd exclusions', { calendars: [calendarOf({})], excludedCalendars: [even!, odd!], ...zone }, undefined],
    [
      'an exclusion of numbers beyond all fields',
      { cronStrings: ['@daily'], excludedCalendars: [calendarOf({ year: [wide], month: [wide] })] },
      undefined,
    ],
    [
      'a step beyond all fields',
      { calendars: [calendarOf({ month: [{ start: 3, end: 12, step: 2 ** 31 - 1 }] })] },
      '2027-03-01T00:00:00.000Z',
    ],
    [
      'seven years without it',
      { calendars: [calendarOf({})], excludedCalendars: [calendarOf({ year: [{ start: 2026, end: 2032, step: 1 }] })], ...zone },
      '2033-01-01T05:00:00.000Z',
    ],
    ['a start far away', { cronStrings: ['@daily'], startTimeMs: Date.UTC(9999, 11, 31) }, undefined],
    ['a start beyond all dates', { cronStrings: ['@daily'], startTimeMs: 1e300, ...zone }, undefined],
    ['a start long ago', { cronStrings: ['0 0 1 1 * 2030'], startTimeMs: -1e300, ...zone }, '2030-01-01T05:00:00.000Z'],
    ['an interval of ages', { intervals: [{ intervalMs: 1e300, phaseMs: 0 }] }, undefined],
  ])('%s', (_, part, expected) => {
    const tookMs = processorMs(() => {
      const next = nextTime(compiled(part), nowMs);
      expect(next && new Date(next.nextMs).toISOString()).toBe(expected);
    });
    expect(tookMs).toBeLessThan(patienceMs);
  });

  test('no moment at all', () => {
    const daily = compiled({ cronStrings: ['@daily'], ...zone });
    for (const afterMs of [NaN, Infinity, 1e300]) expect(nextTime(daily, afterMs)).toBeUndefined();
    expect(matchingTimes(daily, { startMs: NaN, endMs: NaN, timesMax: NaN })).toEqual({ timesMs: [] });
    expect(nextTime(daily, -Infinity)?.nextMs).toBe(Date.parse('1970-01-01T05:00Z'));
  });

  test('is searched for once from the same moment: a step of the schedule asks for it again and again', () => {
    const known = new KnownTimes(compiled({ calendars: [calendarOf({})], excludedCalendars: [even!, odd!], ...zone }));
    const [first, second] = [new SearchSteps(), new SearchSteps()];
    expect(known.next(nowMs, first)).toBeUndefined();
    expect(known.next(nowMs, second)).toBeUndefined();
    expect([first.taken >= searchStepsMax, second.taken]).toEqual([true, 0]);
    expect(second.problem).toBe(first.problem);
  });

  test('is searched for once where there is none, from whatever moment', () => {
    const known = new KnownTimes(compiled({ cronStrings: ['0 0 29 2 1 2028'], ...zone }), 0);
    const [first, second] = [new SearchSteps(), new SearchSteps()];
    expect([known.next(nowMs, first), known.next(nowMs + 86_400_000, second)]).toEqual([undefined, undefined]);
    expect([first.taken > 0, second.taken, second.problem]).toEqual([true, 0, undefined]);
  });

  test('is found from later on, though the search from earlier was given up', () => {
    const yearsToCome = [even!, odd!].map((exclusion) => ({ ...exclusion, year: [{ start: 2026, end: 2032, step: 1 }] }));
    const known = new KnownTimes(compiled({ calendars: [calendarOf({})], excludedCalendars: yearsToCome }));
    const turn = new SearchSteps();
    expect(known.next(nowMs, turn)).toBeUndefined();
    expect(turn.problem).toBe(tooManyExclusions);
    expect(known.next(Date.parse('2032-12-31T23:00Z'), new SearchSteps())?.nextMs).toBe(Date.parse('2033-01-01T00:00Z'));
    expect(known.next(nowMs, new SearchSteps()), 'and from earlier still not').toBeUndefined();
  });

  test('as many entries as there may be', () => {
    const days = Array.from({ length: specEntriesMax / 2 }, (_, at) =>
      textOf({ dayOfMonth: `${(at % 28) + 1}`, month: `${(at % 12) + 1}`, year: `${2050 + (at % 50)}` }),
    );
    const tookMs = processorMs(() => {
      const spec = compiled({ calendarTexts: days, excludedCalendarTexts: days.map((day) => ({ ...day, minute: '1' })), ...zone });
      expect(nextTime(spec, nowMs)?.nextMs).toBe(Date.parse('2050-01-01T05:00Z'));
      matchingTimes(spec, { startMs: nowMs, endMs: Infinity, timesMax: 1_000 });
    });
    expect(tookMs).toBeLessThan(patienceMs);
  });
});
