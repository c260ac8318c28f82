/** Random interleavings of everything that can happen to polls and tasks (docs/protocol.md: I3, I7, I8). */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { steps, take } from './random-steps.ts';
import { World } from './world.ts';

const worlds = [
  { partitions: 1, forwardedPollsMax: 1, crashes: false, checkpoints: false },
  { partitions: 1, forwardedPollsMax: 1, crashes: true, checkpoints: false },
  { partitions: 3, forwardedPollsMax: 1, crashes: false, checkpoints: false },
  { partitions: 3, forwardedPollsMax: 1, crashes: true, checkpoints: false },
  { partitions: 3, forwardedPollsMax: 10, crashes: true, checkpoints: false },
  { partitions: 1, forwardedPollsMax: 1, crashes: true, checkpoints: true },
  { partitions: 3, forwardedPollsMax: 10, crashes: true, checkpoints: true },
];

test.each(worlds)(
  'no task is lost or handed out twice, and replay equals live: $partitions partitions, $forwardedPollsMax forwarded, crashes $crashes, checkpoints $checkpoints',
  ({ partitions, forwardedPollsMax, crashes, checkpoints }) => {
    let restoredRows = 0;
    fc.assert(
      fc.property(steps({ partitions, crashes, checkpoints }), (program) => {
        const world = new World(partitions, forwardedPollsMax);
        for (const step of program) {
          take(world, step);
          world.checkReplay();
        }
        world.startFaults = [];
        world.settle();
        world.checkReplay();
        expect(world.undelivered.map((each) => each.name)).toEqual([]);
        expect(world.storedTasks).toBe(0);
        restoredRows += world.restoredRows;
      }),
      { numRuns: 300 },
    );
    if (checkpoints) expect(restoredRows, 'hosts were made of rows').toBeGreaterThan(100);
  },
);
