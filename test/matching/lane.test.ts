import { plainLane } from '../../src/kernel/task-queue.ts';
import { expect, test } from 'vitest';
import { Lanes, type Placed } from '../../src/matching/lane.ts';
import { activities, task } from './fixtures.ts';

interface Placeable extends Placed<Placeable> {}

function offer(name: string): Placeable {
  return { task: task(name), order: 1, arrival: 0, prev: undefined, next: undefined, linked: false };
}

test('that all held lanes are let go is no clock: one that is held again stays held until its time', () => {
  const lanes = new Lanes<Placeable>(activities, () => 1);
  const lane = lanes.lane(plainLane);
  const { level } = lane;
  lanes.insert(offer('a'), lane);
  level.hold(lane, 5_000);
  expect(level.releaseAll()).toBe(true);
  expect(level.first()).toBe(lane);
  level.hold(lane, 5_000);
  level.release(1_000);
  expect(level.first()).toBeUndefined();
  level.release(5_000);
  expect(level.first()).toBe(lane);
});

test('keys that have sent one task each are forgotten when the queue has none left, and not before', () => {
  const lanes = new Lanes<Placeable>(activities, () => 1);
  const settled = (fairnessKey: string): void => {
    const lane = lanes.lane({ ...plainLane, fairnessKey });
    const sent = offer(fairnessKey);
    lanes.insert(sent, lane);
    lane.openOffers++;
    lanes.remove(sent, lane, true);
    lane.openOffers--;
    lanes.settle(lane, 200);
  };
  const busy = lanes.lane(plainLane);
  busy.openOffers++;
  for (let nth = 0; nth < 100; nth++) settled(`key-${nth}`);
  expect([...lanes.values()].length, 'they are ahead of others').toBe(101);
  busy.openOffers--;
  lanes.settle(busy, 200);
  expect([...lanes.values()].length).toBe(0);
  settled('alone');
  expect([[...lanes.values()].length, lanes.keyed, lanes.special]).toEqual([0, 0, 0]);
});
