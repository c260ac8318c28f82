import { expect, test } from 'vitest';
import { OWN_COMMAND_ATTEMPTS_MAX, OwnCommands } from '../../src/actors/own-commands.ts';
import { HandClock } from '../support/hand-clock.ts';

test('a command is tried a few times, ever more slowly', () => {
  const own = new OwnCommands(new HandClock());
  const pauses = Array.from({ length: OWN_COMMAND_ATTEMPTS_MAX }, () => own.pauseMs('timer 1'));
  expect(pauses).toEqual([200, 400, 800, 1_600, undefined]);
});

test('so is each of very many that fail by turns: every one comes to its end', () => {
  const clock = new HandClock();
  const own = new OwnCommands(clock);
  const names = Array.from({ length: 30_000 }, (_, index) => `timer ${index}`);
  for (let round = 1; round < OWN_COMMAND_ATTEMPTS_MAX; round++) {
    expect(names.filter((name) => own.pauseMs(name) === undefined)).toEqual([]);
    clock.advance(2_000);
  }
  expect(names.filter((name) => own.pauseMs(name) !== undefined)).toEqual([]);
});

test('what is about no run is tried for ever, at the longest pause', () => {
  const own = new OwnCommands(new HandClock());
  let pauseMs: number | undefined = 0;
  for (let attempt = 0; attempt < 2_000; attempt++) pauseMs = own.pauseMs('flush', Infinity);
  expect(pauseMs).toBe(60_000);
});

test('what has long not failed is forgotten where much is counted; what fails still is not', () => {
  const clock = new HandClock();
  const own = new OwnCommands(clock);
  for (let index = 0; index < 10_000; index++) own.pauseMs(`timer ${index}`);
  for (let minute = 0; minute < 11; minute++) {
    clock.advance(60_000);
    own.pauseMs('flush', Infinity);
  }
  expect(own.pauseMs('timer 1'), 'its first failure again').toBe(200);
  expect(own.pauseMs('flush', Infinity)).toBe(60_000);
});
