import { describe, expect, test } from 'vitest';
import { begun, breakerAt, type CircuitBreaker, closedBreaker, ended, givenUp, letsThrough } from '../../src/outbound/circuit-breaker.ts';

const settings = { requestsMax: 1, intervalMs: 0, timeoutMs: 60_000 };

/** One request after the other, at `nowMs`. */
function after(breaker: CircuitBreaker, nowMs: number, ...isDown: readonly boolean[]): CircuitBreaker {
  return isDown.reduce((at, down) => ended(begun(at), at.generation, down, nowMs, settings), breaker);
}

const down = [true, true, true, true, true, true];

describe('a circuit breaker', () => {
  test('opens with the sixth failure in a row', () => {
    expect(after(closedBreaker(0), 0, ...down.slice(1)).state).toBe('closed');
    expect(after(closedBreaker(0), 0, ...down)).toMatchObject({ state: 'open', sinceMs: 0 });
  });

  test('forgets failures with a success', () => {
    expect(after(closedBreaker(0), 0, ...down.slice(1), false, ...down.slice(1)).state).toBe('closed');
  });

  test('lets nothing through while it is open, and then one', () => {
    const open = after(closedBreaker(0), 0, ...down);
    expect(letsThrough(breakerAt(open, 59_999, settings), settings)).toBe(false);
    const half = breakerAt(open, 60_000, settings);
    expect(letsThrough(half, settings)).toBe(true);
    expect(letsThrough(begun(half), settings)).toBe(false);
  });

  test.each([
    [false, 'closed'],
    [true, 'open'],
  ])('half open, and the request fails: %s', (isDown, state) => {
    const half = breakerAt(after(closedBreaker(0), 0, ...down), 60_000, settings);
    expect(after(half, 60_000, isDown).state).toBe(state);
  });

  test('a request that is given up leaves its place to another', () => {
    const half = begun(breakerAt(after(closedBreaker(0), 0, ...down), 60_000, settings));
    expect(letsThrough(givenUp(half, half.generation), settings)).toBe(true);
  });

  test('half open, with as many successes as it takes by now, is closed', () => {
    const threeTries = { ...settings, requestsMax: 3 };
    let half = breakerAt(after(closedBreaker(0), 0, ...down), 60_000, threeTries);
    for (let count = 0; count < 2; count++) half = ended(begun(half), half.generation, false, 60_000, threeTries);
    expect(half.state).toBe('halfOpen');
    expect(breakerAt(half, 60_000, settings)).toMatchObject({ state: 'closed', generation: half.generation + 1 });
    expect(breakerAt(half, 60_000, threeTries)).toBe(half);
  });

  test('what was started before it opened says nothing any more', () => {
    const closed = closedBreaker(0);
    const open = after(closed, 0, ...down);
    expect(ended(open, closed.generation, false, 10, settings)).toBe(open);
    const half = breakerAt(open, 60_000, settings);
    expect(ended(half, closed.generation, false, 60_000, settings)).toBe(half);
  });

  test('counts again with each interval, if there is one', () => {
    const hourly = { ...settings, intervalMs: 3_600_000 };
    const five = after(closedBreaker(0), 0, ...down.slice(1));
    expect(after(breakerAt(five, 3_600_000, hourly), 3_600_000, true).state).toBe('closed');
    expect(after(breakerAt(five, 3_599_999, hourly), 3_599_999, true).state).toBe('open');
  });
});
