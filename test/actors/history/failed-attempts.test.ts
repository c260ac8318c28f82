import { expect, test } from 'vitest';
import { FailedAttempts } from '../../../src/actors/history/own-commands.ts';
import { FAILURES_MAX } from '../../../src/actors/asks/tries.ts';
import { HandClock } from '../../support/hand-clock.ts';

test('a command is tried a few times, ever more slowly', () => {
  const attempts = new FailedAttempts(new HandClock());
  const pauses = Array.from({ length: FAILURES_MAX }, () => attempts.pauseMs('timer 1'));
  expect(pauses).toEqual([200, 400, 800, 1_600, undefined]);
});

test('so is each of very many that fail by turns: every one comes to its end', () => {
  const clock = new HandClock();
  const attempts = new FailedAttempts(clock);
  const names = Array.from({ length: 30_000 }, (_, index) => `timer ${index}`);
  for (let round = 1; round < FAILURES_MAX; round++) {
    expect(names.filter((name) => attempts.pauseMs(name) === undefined)).toEqual([]);
    clock.advance(2_000);
  }
  expect(names.filter((name) => attempts.pauseMs(name) !== undefined)).toEqual([]);
});

test('what is about no run is tried for ever, at the longest pause', () => {
  const attempts = new FailedAttempts(new HandClock());
  let pauseMs: number | undefined = 0;
  for (let attempt = 0; attempt < 2_000; attempt++) pauseMs = attempts.pauseMs('flush', Infinity);
  expect(pauseMs).toBe(60_000);
});

test('what has long not failed is forgotten where much is counted; what fails still is not', () => {
  const clock = new HandClock();
  const attempts = new FailedAttempts(clock);
  for (let index = 0; index < 10_000; index++) attempts.pauseMs(`timer ${index}`);
  for (let minute = 0; minute < 11; minute++) {
    clock.advance(60_000);
    attempts.pauseMs('flush', Infinity);
  }
  expect(attempts.pauseMs('timer 1'), 'its first failure again').toBe(200);
  expect(attempts.pauseMs('flush', Infinity)).toBe(60_000);
});
