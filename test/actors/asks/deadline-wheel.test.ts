import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { DeadlineWheel } from '../../../src/actors/asks/deadline-wheel.ts';
import { HandClock } from '../../support/hand-clock.ts';
import type { Timer } from '../../../src/ports/machine.ts';
import type { WheelEntry } from '../../../src/actors/asks/deadline-wheel.ts';

type Entry = WheelEntry & { readonly name: number };

function entry(name: number, deadlineMs: number): Entry {
  return { name, deadlineMs, next: undefined, previous: undefined };
}

/** Time stands, and what is due in a turn of the event loop runs in it. */
class TurnByTurn extends HandClock {
  #timers: { readonly dueMs: number; readonly callback: () => void }[] = [];

  override after(delayMs: number, callback: () => void): Timer {
    const timer = { dueMs: this.nowMs + delayMs, callback };
    this.#timers.push(timer);
    return { cancel: () => void (this.#timers = this.#timers.filter((each) => each !== timer)) };
  }

  /** False: nothing was due. */
  turn(): boolean {
    const due = this.#timers.filter(({ dueMs }) => dueMs <= this.nowMs);
    this.#timers = this.#timers.filter(({ dueMs }) => dueMs > this.nowMs);
    for (const { callback } of due) callback();
    return due.length > 0;
  }
}

describe('deadline wheel', () => {
  test('thousands that are due at once expire some hundred in a turn of the event loop, each once, and what is added meanwhile in its time', () => {
    const clock = new TurnByTurn();
    const expired: Entry[] = [];
    const later = entry(-1, 40_000);
    const wheel = new DeadlineWheel<Entry>(clock, (each) => {
      if (expired.push(each) === 1) wheel.add(later);
    });
    // Of more than one round of the wheel.
    const all = Array.from({ length: 4_000 }, (_, nth) => entry(nth, nth % 2 === 0 ? 100 : (nth * 7) % 20_000));
    for (const each of all) wheel.add(each);
    // The process was suspended.
    clock.nowMs = 30_000;
    for (let before = 0; expired.length < 4_000; before = expired.length) {
      expect(clock.turn(), 'somebody is due').toBe(true);
      expect(expired.length - before).toBeLessThanOrEqual(512);
    }
    expect(new Set(expired)).toEqual(new Set(all));
    clock.nowMs = 40_032;
    while (clock.turn());
    expect(expired.at(-1)).toBe(later);
    expect(expired).toHaveLength(4_001);
  });

  test('an entry expires at its deadline or within two ticks after, once, whatever else is added and removed', () => {
    const step = fc.oneof(
      fc.record({ kind: fc.constant('add' as const), inMs: fc.oneof(fc.nat(100), fc.nat(30_000)) }),
      fc.record({ kind: fc.constant('remove' as const), which: fc.nat(50) }),
      fc.record({ kind: fc.constant('pass' as const), ms: fc.oneof(fc.nat(20), fc.nat(12_000)) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const clock = new HandClock('when moved');
        clock.nowMs = 12_345;
        const expired = new Map<Entry, number>();
        const wheel = new DeadlineWheel<Entry>(clock, (each) => {
          expect(expired.has(each)).toBe(false);
          expired.set(each, clock.nowMs);
        });
        const all: Entry[] = [];
        const removed = new Set<Entry>();
        for (const each of steps) {
          if (each.kind === 'add') {
            const added = entry(all.length, clock.nowMs + each.inMs);
            all.push(added);
            wheel.add(added);
          } else if (each.kind === 'remove') {
            const target = all[each.which];
            if (target !== undefined && !expired.has(target)) {
              removed.add(target);
              wheel.remove(target);
            }
          } else {
            clock.advance(each.ms);
          }
        }
        clock.advance(40_000);
        for (const each of all) {
          const at = expired.get(each);
          if (removed.has(each)) expect(at).toBeUndefined();
          else {
            expect(at).toBeGreaterThanOrEqual(each.deadlineMs);
            expect(at).toBeLessThanOrEqual(each.deadlineMs + 32);
          }
        }
        expect(wheel.size).toBe(0);
      }),
      { numRuns: 300 },
    );
  });

  test('one timer serves many deadlines, and none is left when all are gone', () => {
    const clock = new HandClock('when moved');
    const wheel = new DeadlineWheel<Entry>(clock, () => {});
    const entries = Array.from({ length: 1_000 }, (_, index) => entry(index, 100 + index));
    for (const each of entries) wheel.add(each);
    expect(clock.pending).toBe(1);
    for (const each of entries) wheel.remove(each);
    clock.advance(5_000);
    expect(clock.pending).toBe(0);
  });

  test('an entry that is removed by the expiry of another does not expire', () => {
    const clock = new HandClock('when moved');
    const second = entry(2, 10);
    const names: number[] = [];
    const wheel: DeadlineWheel<Entry> = new DeadlineWheel<Entry>(clock, (each) => {
      names.push(each.name);
      wheel.remove(second);
    });
    wheel.add(entry(1, 10));
    wheel.add(second);
    clock.advance(100);
    expect(names).toEqual([1]);
  });
});
