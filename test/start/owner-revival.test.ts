/** Owners that were lost or have failed start again, ever more rarely. */
import { expect, test } from 'vitest';
import { OwnerRevival } from '../../src/start/owner-revival.ts';
import { HandClock } from '../support/hand-clock.ts';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;

function begun(): { readonly clock: HandClock; readonly revival: OwnerRevival; readonly startedMs: number[] } {
  const clock = new HandClock();
  const startedMs: number[] = [];
  const beganMs = clock.monoMs();
  const revival = new OwnerRevival({ clock, start: () => startedMs.push((clock.monoMs() - beganMs) / SECOND_MS) });
  return { clock, revival, startedMs };
}

test('one that fails again and again is tried after 10 s, 20 s, 40 s …, and every ten minutes in the end', () => {
  const { clock, revival, startedMs } = begun();
  for (let nth = 0; nth < 9; nth++) {
    revival.told({ state: 'restoring' });
    revival.told({ state: 'failed' });
    // The status is told of again when anything else in it changes.
    revival.told({ state: 'failed' });
    clock.advance(10 * MINUTE_MS);
  }
  const pauses = startedMs.map((at, nth) => at - nth * 600);
  expect(pauses).toEqual([10, 20, 40, 80, 160, 320, 600, 600, 600]);
});

test('two that take it from each other do so ever more rarely; whoever has served for long starts again', () => {
  const { clock, revival, startedMs } = begun();
  for (const servedMs of [5 * MINUTE_MS, SECOND_MS, 11 * MINUTE_MS]) {
    revival.told({ state: 'active' });
    clock.advance(servedMs);
    const before = startedMs.length;
    const lostMs = clock.monoMs();
    revival.told({ state: 'unassigned' });
    while (startedMs.length === before) clock.advance(SECOND_MS);
    startedMs[before] = (clock.monoMs() - lostMs) / SECOND_MS;
  }
  expect(startedMs).toEqual([10, 20, 10]);
});

test('nothing begins once the server stops', () => {
  const { clock, revival, startedMs } = begun();
  revival.told({ state: 'failed' });
  revival.stop();
  revival.told({ state: 'released' });
  revival.told({ state: 'failed' });
  clock.advance(60 * MINUTE_MS);
  expect(startedMs).toEqual([]);
});
