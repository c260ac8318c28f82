/**
 * 2,252 specs, and the next 14 times of each, beside what Temporal's own matcher answered. Most begin near a change of their zone's clocks, in 585
 * zones. A time is written as the seconds from the one before it (the first: from `after`) and, behind `+`, its jitter in milliseconds, both to
 * the base of 36; `-` is the end of all.
 *
 * In 33 of them Temporal leaves out times that clocks show around a change, or has some that they do not show (next-time.property.test.ts reads clocks).
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { OffsetPeriods } from '../../../src/kernel/cron/offset-periods.ts';
import { timeZone } from '../../../src/kernel/cron/time-zone.ts';
import { nextTime } from '../../../src/schedules/spec/next-time.ts';
import { compiled, textOf } from './specs.ts';

const lines = readFileSync('test/fixtures/schedule-times.tsv', 'utf8').trim().split('\n').slice(1);

test('20,000 times are those of Temporal, but for some where clocks change', () => {
  let others = 0;
  const wrong = lines.flatMap((line) => {
    const { found, expected } = compared(line);
    if (found === expected) return [];
    if (isAtChange(line, found, expected)) others++;
    else return [`${line} - found ${found}`];
    return [];
  });
  expect([wrong, others]).toEqual([[], 33]);
  expect(lines.flatMap((line) => line.split(' ')).length).toBeGreaterThan(20_000);
});

/** Clocks change within the hours around the first time that differs. */
function isAtChange(line: string, found: string, expected: string): boolean {
  const [zone = '', , , , , , , after] = line.split('\t');
  const [ours = [], theirs = []] = [found, expected].map((text) => text.split(' ').map((time) => Number.parseInt(time, 36)));
  const at = ours.findIndex((time, index) => time !== theirs[index]);
  const sameSeconds = ours.slice(0, at).reduce((sum, time) => sum + time, Math.floor(Number(after) / 1000));
  const seconds = sameSeconds + Math.min(ours[at] ?? Infinity, theirs[at] ?? Infinity);
  const clock = new OffsetPeriods(timeZone(zone)!);
  return clock.periodAt((seconds - 10_800) * 1000).offsetMs !== clock.periodAt((seconds + 10_800) * 1000).offsetMs;
}

function compared(line: string): { readonly found: string; readonly expected: string } {
  const [zone = '', crons = '', excluded = '', jitter, start, end, seed, after, expected = ''] = line.split('\t');
  const spec = compiled(
    {
      timeZoneName: zone,
      cronStrings: crons.split(';'),
      excludedCalendarTexts: excluded === '' ? [] : excluded.split(';').map(exclusion),
      jitterMs: Number(jitter),
      startTimeMs: start ? Number(start) : undefined,
      endTimeMs: end ? Number(end) : undefined,
    },
    seed,
  );
  const found: string[] = [];
  let afterMs = Number(after);
  let lastSeconds = Math.floor(afterMs / 1000);
  for (const _ of expected.split(' ')) {
    const next = nextTime(spec, afterMs);
    if (next === undefined) return { found: [...found, '-'].join(' '), expected };
    const jitterMs = next.nextMs - next.nominalMs;
    found.push((next.nominalMs / 1000 - lastSeconds).toString(36) + (jitterMs === 0 ? '' : `+${jitterMs.toString(36)}`));
    afterMs = next.nextMs;
    lastSeconds = next.nominalMs / 1000;
  }
  return { found: found.join(' '), expected };
}

function exclusion(text: string) {
  const [second, minute, hour, dayOfMonth, month, dayOfWeek, year] = text.split(' ');
  return textOf({
    second: second!,
    minute: minute!,
    hour: hour!,
    dayOfMonth: dayOfMonth!,
    month: month!,
    dayOfWeek: dayOfWeek!,
    year: year!,
  });
}
