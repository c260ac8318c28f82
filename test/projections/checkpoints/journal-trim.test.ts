import { expect, test } from 'vitest';
import { type JournalRetention, nextTrimPoints, trimOffset } from '../../../src/projections/checkpoints/journal-trim.ts';
import type { CheckpointPosition } from '../../../src/projections/database-port.ts';

const hour = 3_600_000;
const day = 24 * hour;
const mib = 2 ** 20;

type Point = { readonly offset: number; readonly timeMs: number; readonly bytes?: number };

function position(
  { offset, timeMs, bytes = 0 }: Point,
  before: CheckpointPosition | undefined,
  retention: JournalRetention,
): CheckpointPosition {
  const trimPoints = nextTrimPoints(before, bytes, timeMs, retention);
  return {
    epoch: 1,
    sequence: offset,
    nextOffset: offset + 1,
    lastOffset: offset,
    timeMs,
    schema: 1,
    counters: new Uint8Array(0),
    trimPoints,
  };
}

test('nothing younger than the retention goes, and most of what is older does, at every checkpoint of a week', () => {
  const everyMs = 90_000;
  const retention = { journalRetentionMs: day };
  let at: CheckpointPosition | undefined;
  for (let count = 0; count * everyMs < 7 * day; count++) {
    at = position({ offset: count * 10, timeMs: count * everyMs }, at, retention);
    expect(at.trimPoints.length).toBeLessThanOrEqual(128);
    const offset = trimOffset(at, at.timeMs, retention);
    const youngestGone = (offset / 10) * everyMs;
    expect(youngestGone).toBeLessThanOrEqual(Math.max(0, at.timeMs - day));
    if (at.timeMs > 2 * day) expect(youngestGone, 'an hour is the most that stays too long').toBeGreaterThan(at.timeMs - day - hour);
  }
});

test('whatever comes in a week, by hours of rest and hours of load: what stays is a day or 100 MiB, whichever is less', () => {
  const retention = { journalRetentionMs: day, journalRetentionBytes: 100 * mib };
  let at: CheckpointPosition | undefined;
  const ends: { readonly timeMs: number; readonly bytes: number }[] = [];
  let total = 0;
  let trimmedTo = 0;
  for (let timeMs = 0; timeMs < 7 * day; timeMs += 10_000) {
    const isBusy = Math.floor(timeMs / (7 * hour)) % 2 === 1;
    // 360 MiB an hour, or 0.3.
    const bytes = isBusy ? mib : 1_000;
    total += bytes;
    at = position({ offset: ends.length, timeMs, bytes }, at, retention);
    ends.push({ timeMs, bytes: total });
    expect(at.trimPoints.length).toBeLessThanOrEqual(128);
    trimmedTo = Math.max(trimmedTo, trimOffset(at, timeMs, retention));
    const gone = ends[trimmedTo] ?? { timeMs: 0, bytes: 0 };
    const [age, size] = [timeMs - gone.timeMs, total - gone.bytes];
    if (trimmedTo > 0) expect(age >= day || size >= 100 * mib, 'nothing goes that is under both').toBe(true);
    expect(age, 'an hour too long at the most').toBeLessThan(day + hour);
    expect(size, 'a part too much at the most').toBeLessThan(100 * mib * (1 + 2 / 62) + 2 * mib);
  }
});

test('points of a version that did not count bytes go by their age alone', () => {
  const retention = { journalRetentionMs: day, journalRetentionBytes: mib };
  const before = { ...position({ offset: 50, timeMs: 0 }, undefined, retention), trimPoints: [{ timeMs: 0, lastOffset: 7, bytes: 0 }] };
  const at = position({ offset: 70, timeMs: hour, bytes: mib - 1 }, before, retention);
  expect(trimOffset(at, hour, retention)).toBe(0);
  expect(trimOffset(at, day, retention)).toBe(7);
});

test('where the database alone is trusted, the journal is trimmed to its last checkpoint', () => {
  const retention = { journalRetentionMs: 0, journalRetentionBytes: mib };
  const at = position({ offset: 70, timeMs: 5_000 }, position({ offset: 50, timeMs: 4_000 }, undefined, retention), retention);
  expect(at.trimPoints).toEqual([]);
  expect(trimOffset(at, 5_000, retention)).toBe(70);
  expect(trimOffset(at, 5_000 - 365 * day, retention), 'whatever the clock says that was a year ahead').toBe(70);
});
