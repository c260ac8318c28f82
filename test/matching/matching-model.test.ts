/** Random interleavings of everything that can happen to polls and tasks (docs/protocol.md: I3, I7, I8). */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { World, type StartFault } from './world.ts';

type Step =
  | { readonly kind: 'add' | 'commit' | 'restart' | 'offerAgain'; readonly partition: number }
  | { readonly kind: 'poll'; readonly partition: number; readonly waitMs: number; readonly rate: number | undefined }
  | { readonly kind: 'cancel' | 'deliver' | 'advance'; readonly number: number }
  | { readonly kind: 'fault'; readonly fault: StartFault };

function steps(partitions: number, crashes: boolean): fc.Arbitrary<readonly Step[]> {
  const partition = fc.nat(partitions - 1);
  const step: fc.WeightedArbitrary<Step>[] = [
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('add' as const), partition }) },
    {
      weight: 6,
      arbitrary: fc.record({
        kind: fc.constant('poll' as const),
        partition,
        waitMs: fc.integer({ min: 1, max: 3_000 }),
        rate: fc.option(fc.constantFrom(0.5, 2, 50), { nil: undefined, freq: 20 }),
      }),
    },
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('cancel' as const), number: fc.nat(20) }) },
    { weight: 20, arbitrary: fc.record({ kind: fc.constant('deliver' as const), number: fc.nat(20) }) },
    { weight: 5, arbitrary: fc.record({ kind: fc.constant('commit' as const), partition }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('advance' as const), number: fc.integer({ min: 1, max: 2_000 }) }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('offerAgain' as const), partition }) },
    {
      weight: 2,
      arbitrary: fc.record({
        kind: fc.constant('fault' as const),
        fault: fc.constantFrom<StartFault>('unavailable before', 'unavailable after', 'refused'),
      }),
    },
  ];
  if (crashes) step.push({ weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), partition }) });
  return fc.array(fc.oneof(...step), { maxLength: 150, size: 'max' });
}

function take(world: World, step: Step): void {
  switch (step.kind) {
    case 'add':
      return world.addTask(step.partition);
    case 'poll':
      return world.poll(step.partition, step.waitMs, step.rate);
    case 'cancel':
      return world.cancelPoll(step.number);
    case 'deliver':
      return void world.deliver(step.number);
    case 'commit':
      return world.commit(step.partition, 1);
    case 'advance':
      return world.advance(step.number);
    case 'restart':
      return world.restart(step.partition);
    case 'offerAgain':
      return world.offerAgain(step.partition);
    case 'fault':
      return void world.startFaults.push(step.fault);
    default:
      throw new Error('unknown step');
  }
}

const worlds = [
  { partitions: 1, forwardedPollsMax: 1, crashes: false },
  { partitions: 1, forwardedPollsMax: 1, crashes: true },
  { partitions: 3, forwardedPollsMax: 1, crashes: false },
  { partitions: 3, forwardedPollsMax: 1, crashes: true },
  { partitions: 3, forwardedPollsMax: 10, crashes: true },
];

test.each(worlds)(
  'no task is lost or handed out twice, and replay equals live: $partitions partitions, $forwardedPollsMax forwarded, crashes $crashes',
  ({ partitions, forwardedPollsMax, crashes }) => {
    fc.assert(
      fc.property(steps(partitions, crashes), (program) => {
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
      }),
      { numRuns: 300 },
    );
  },
);
