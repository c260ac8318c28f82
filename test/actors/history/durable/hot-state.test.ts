/** Which shard lets workflows go, and when somebody looks. */
import { expect, test } from 'vitest';
import { type HotShard, HotState } from '../../../../src/actors/history/durable/hot-state.ts';
import { HandClock } from '../../../support/hand-clock.ts';

/** Its runs, oldest first; those that are not written cannot leave. */
class Shard implements HotShard {
  readonly runs: { readonly usedMs: number; isWritten: boolean }[];
  readonly #onLooked: () => void;

  constructor(runs: readonly { readonly usedMs: number; readonly isWritten: boolean }[], onLooked: () => void = () => {}) {
    this.runs = runs.map((run) => ({ ...run }));
    this.#onLooked = onLooked;
  }

  get hotBytes(): number {
    return this.runs.length;
  }

  get oldestMs(): number {
    return this.runs[0]?.usedMs ?? Infinity;
  }

  makeRoom(bytes: number): number {
    let left = 0;
    while (left < bytes && this.runs[0]?.isWritten === true) {
      this.runs.shift();
      left += 1;
    }
    this.#onLooked();
    return left;
  }
}

test('past the limit the oldest leave, of whichever shard, and no more than have to', () => {
  const clock = new HandClock('when moved');
  const state = new HotState(clock, 2);
  const [one, other] = [new Shard([1, 4].map(written)), new Shard([2, 3].map(written))];
  state.join(one);
  state.join(other);
  state.look();
  clock.advance(100);
  expect(one.hotBytes + other.hotBytes).toBe(2);
  expect(one.oldestMs).toBe(Infinity);
});

test('what is written while somebody looks, in a shard that was looked at, leaves as well', () => {
  const clock = new HandClock('when moved');
  const state = new HotState(clock, 0);
  const late = new Shard([{ usedMs: 1, isWritten: false }]);
  // While the second shard is looked at, a checkpoint of the first one is durable; nothing happens after that.
  let isDurable = false;
  const other = new Shard([written(2)], () => {
    if (isDurable) return;
    isDurable = true;
    late.runs[0]!.isWritten = true;
    state.look();
  });
  state.join(late);
  state.join(other);
  state.look();
  clock.advance(100);
  expect([late.hotBytes, other.hotBytes]).toEqual([0, 0]);
});

test('where nothing can leave nobody looks on and on', () => {
  const clock = new HandClock('when moved');
  const state = new HotState(clock, 0);
  let looks = 0;
  state.join(new Shard([{ usedMs: 1, isWritten: false }], () => void looks++));
  state.look();
  clock.advance(1_000);
  expect(looks).toBe(1);
});

function written(usedMs: number): { readonly usedMs: number; readonly isWritten: boolean } {
  return { usedMs, isWritten: true };
}
