import { expect, test } from 'vitest';
import { nextTrimPoints, trimOffset } from '../../../src/actors/checkpoint/journal-trim.ts';
import type { CheckpointPosition } from '../../../src/actors/database.ts';

const day = 24 * 3_600_000;

function position(offset: number, timeMs: number, before: CheckpointPosition | undefined, retentionMs: number): CheckpointPosition {
  const trimPoints = nextTrimPoints(before, timeMs, retentionMs);
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
  let at: CheckpointPosition | undefined;
  for (let count = 0; count * everyMs < 7 * day; count++) {
    at = position(count * 10, count * everyMs, at, day);
    expect(at.trimPoints.length).toBeLessThanOrEqual(64);
    const offset = trimOffset(at, at.timeMs, day);
    const youngestGone = (offset / 10) * everyMs;
    expect(youngestGone).toBeLessThanOrEqual(Math.max(0, at.timeMs - day));
    if (at.timeMs > 2 * day) expect(youngestGone, 'an hour is the most that stays too long').toBeGreaterThan(at.timeMs - day - 3_600_000);
  }
});

test('where the database alone is trusted, the journal is trimmed to its last checkpoint', () => {
  const at = position(70, 5_000, position(50, 4_000, undefined, 0), 0);
  expect(at.trimPoints).toEqual([]);
  expect(trimOffset(at, 5_000, 0)).toBe(70);
  expect(trimOffset(at, 5_000 - 365 * day, 0), 'whatever the clock says that was a year ahead').toBe(70);
});
