import { expect, test } from 'vitest';
import { LogSilence } from '../../../src/actors/ownership/log-silence.ts';
import type { Timer } from '../../../src/ports/machine.ts';
import { HandClock } from '../../support/hand-clock.ts';

/** Its timers may come late. */
class LateClock extends HandClock {
  lateMs = 0;

  override after(delayMs: number, callback: () => void): Timer {
    return super.after(delayMs + this.lateMs, callback);
  }
}

class Bench {
  readonly clock = new LateClock('when moved');
  readonly told: string[] = [];
  readonly silence = new LogSilence({
    clock: this.clock,
    silenceMsMax: 3_000,
    describe: (seconds) => `no answer for ${seconds} s`,
    onSilent: (message) => this.told.push(message),
    onAnswered: () => this.told.push('answered'),
  });
}

test('a log that answers nothing is silent after so long, and it is reported again and again', () => {
  const { clock, silence, told } = new Bench();
  silence.begins();
  clock.advance(2_999);
  expect(told).toEqual([]);
  clock.advance(1);
  expect(told).toEqual(['no answer for 3 s']);
  clock.advance(3_000);
  expect(told).toEqual(['no answer for 3 s', 'no answer for 6 s']);
  silence.ends();
  expect(told.at(-1)).toBe('answered');
});

test('what counts starts again with each answer', () => {
  const { clock, silence, told } = new Bench();
  silence.begins();
  for (let answer = 0; answer < 10; answer++) {
    clock.advance(2_500);
    silence.goesOn();
  }
  expect(told).toEqual([]);
  clock.advance(3_000);
  expect(told).toEqual(['no answer for 3 s']);
});

test('an event loop that is busy for seconds is no silence of the log', () => {
  const { clock, silence, told } = new Bench();
  clock.lateMs = 4_000;
  silence.begins();
  // In which ten glances came, each for a turn of four seconds.
  clock.advance(10 * 4_250);
  expect(told).toEqual([]);
  clock.lateMs = 0;
  clock.advance(4_250 + 3_000);
  expect(told).toHaveLength(1);
});
