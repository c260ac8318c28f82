/** Random interleavings of everything that can happen to polls and tasks (docs/protocol.md: I3, I7, I8). */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MatchingLimits } from '../../src/matching/matching-limits.ts';
import { type Step, steps, take, type StepsOptions } from './random-steps.ts';
import { World } from './world.ts';

type WorldOptions = StepsOptions & { readonly forwardedPollsMax: number; readonly window?: number };

const worlds: readonly WorldOptions[] = [
  { partitions: 1, forwardedPollsMax: 1, crashes: false, checkpoints: false },
  { partitions: 1, forwardedPollsMax: 1, crashes: true, checkpoints: false },
  { partitions: 3, forwardedPollsMax: 1, crashes: false, checkpoints: false },
  { partitions: 3, forwardedPollsMax: 1, crashes: true, checkpoints: false },
  { partitions: 3, forwardedPollsMax: 10, crashes: true, checkpoints: false },
  { partitions: 1, forwardedPollsMax: 1, crashes: true, checkpoints: true },
  { partitions: 3, forwardedPollsMax: 10, crashes: true, checkpoints: true },
  { partitions: 1, forwardedPollsMax: 1, crashes: true, checkpoints: true, window: 1 },
  { partitions: 1, forwardedPollsMax: 1, crashes: false, checkpoints: true, window: 3 },
  { partitions: 3, forwardedPollsMax: 10, crashes: true, checkpoints: true, window: 1 },
];

function windows(tasks: number | undefined): Partial<MatchingLimits> {
  if (tasks === undefined) return {};
  return {
    windowTasksPerLaneMax: tasks,
    windowTasksPerHostMax: tasks * 2,
    windowTasksPerLaneMin: 1,
    shedTasksPerTurnMax: 3,
    storedTasksPerTurnMax: tasks,
  };
}

test.each(worlds)(
  'no task is lost or handed out twice, and replay equals live: $partitions partitions, $forwardedPollsMax forwarded, crashes $crashes, checkpoints $checkpoints, window $window',
  ({ partitions, forwardedPollsMax, crashes, checkpoints, window }) => {
    let restoredRows = 0;
    let withCold = 0;
    fc.assert(
      fc.property(steps({ partitions, crashes, checkpoints }), (program) => {
        const world = new World(partitions, forwardedPollsMax, windows(window));
        for (const step of program) {
          take(world, step);
          world.checkReplay();
        }
        world.startFaults = [];
        world.readFaults = 0;
        world.settle();
        world.checkConfigs();
        world.checkReplay();
        expect(world.undelivered.map((each) => each.name)).toEqual([]);
        expect(world.storedTasks).toBe(0);
        restoredRows += world.restoredRows;
        if (world.coldTasks > 0) withCold++;
      }),
      { numRuns: 300 },
    );
    if (window !== undefined) expect(withCold, 'tasks were rows alone').toBeGreaterThan(5);
    if (checkpoints && crashes) expect(restoredRows, 'hosts were made of rows').toBeGreaterThan(100);
  },
);

test('a start does not overtake the withdrawal of an earlier one for the same poll, which waits for its record', () => {
  const program: readonly Step[] = [
    { kind: 'fault', fault: 'unavailable before' },
    { kind: 'fault', fault: 'refused' },
    { kind: 'poll', partition: 0, waitMs: 51, rate: undefined },
    { kind: 'add', partition: 0, priority: undefined },
    { kind: 'deliver', number: 0 },
    { kind: 'deliver', number: 0 },
    { kind: 'advance', number: 50 },
    { kind: 'deliver', number: 0 },
    { kind: 'deliver', number: 0 },
    { kind: 'offerAgain', partition: 0 },
  ];
  const world = new World(1, 1, {});
  for (const step of program) take(world, step);
  world.settle();
  expect(world.undelivered).toEqual([]);
});
