/** Steps of a random world: everything that can happen to polls, tasks and hosts, and to the checkpoints of those hosts. */
import fc from 'fast-check';
import type { PriorityFields } from '../../src/kernel/priority.ts';
import type { StartFault, World, WriteFault } from './world.ts';

export type Step =
  | { readonly kind: 'add'; readonly partition: number; readonly priority: PriorityFields | undefined }
  | { readonly kind: 'commit' | 'restart' | 'offerAgain' | 'cut' | 'checkpoint'; readonly partition: number }
  | { readonly kind: 'poll'; readonly partition: number; readonly waitMs: number; readonly rate: number | undefined }
  | { readonly kind: 'cancel' | 'deliver' | 'advance'; readonly number: number }
  | { readonly kind: 'fault'; readonly fault: StartFault }
  | { readonly kind: 'readFault' }
  | { readonly kind: 'configure'; readonly rate: number | undefined; readonly keyRate: number | undefined; readonly weight: number }
  | { readonly kind: 'capture'; readonly partition: number; readonly tasksMax: number }
  | { readonly kind: 'write'; readonly partition: number; readonly fault: WriteFault | undefined };

export type StepsOptions = { readonly partitions: number; readonly crashes: boolean; readonly checkpoints: boolean };

/** By each program others: what comes in between keeps the rest from going far. */
const leftOut = fc.oneof(
  fc.constant<Step['kind'][]>([]),
  fc.subarray<Step['kind']>([
    ...(['add', 'poll', 'cancel', 'deliver', 'commit', 'advance', 'offerAgain', 'fault', 'restart'] as const),
    ...(['configure', 'cut', 'capture', 'checkpoint', 'write', 'readFault'] as const),
  ]),
);

const priority = fc.option(
  fc.record({ priorityKey: fc.nat(6), fairnessKey: fc.constantFrom('', 'a', 'b'), fairnessWeight: fc.constantFrom(0, 0.5, 3) }),
  { nil: undefined },
);

export function steps({ partitions, crashes, checkpoints }: StepsOptions): fc.Arbitrary<readonly Step[]> {
  const partition = fc.nat(partitions - 1);
  const step: fc.WeightedArbitrary<Step>[] = [
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('add' as const), partition, priority }) },
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
  step.push({
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('configure' as const),
      rate: fc.option(fc.constantFrom(5, 50), { nil: undefined }),
      keyRate: fc.option(fc.constantFrom(2, 20), { nil: undefined }),
      weight: fc.constantFrom(0.5, 3),
    }),
  });
  if (crashes) step.push({ weight: checkpoints ? 3 : 1, arbitrary: fc.record({ kind: fc.constant('restart' as const), partition }) });
  if (checkpoints) step.push(...checkpointSteps(partition));
  const program = fc.array(fc.oneof(...step), { maxLength: 150, size: 'max' });
  // Where all tasks are in one lane, it is long: half of the programs know no priorities.
  return fc
    .tuple(leftOut, fc.boolean(), program)
    .map(([without, isPlain, all]) => all.filter(({ kind }) => !without.includes(kind)).map((each) => (isPlain ? plain(each) : each)));
}

function plain(step: Step): Step {
  return step.kind === 'add' ? { ...step, priority: undefined } : step;
}

function checkpointSteps(partition: fc.Arbitrary<number>): readonly fc.WeightedArbitrary<Step>[] {
  const fault = fc.option(fc.constantFrom<WriteFault>('failed', 'lost'), { nil: undefined });
  return [
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('cut' as const), partition }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('capture' as const), partition, tasksMax: fc.nat(4) }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('checkpoint' as const), partition }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('write' as const), partition, fault }) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('readFault' as const) }) },
  ];
}

export function take(world: World, step: Step): void {
  switch (step.kind) {
    case 'add':
      return world.addTask(step.partition, step.priority);
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
    case 'configure':
      return world.configure(step.rate, step.keyRate, step.weight);
    case 'readFault':
      return void (world.readFaults += 1);
    case 'cut':
      return world.cut(step.partition);
    case 'checkpoint':
      world.cut(step.partition);
      world.commit(step.partition, Infinity);
      world.capture(step.partition, Infinity);
      return world.write(step.partition, undefined);
    case 'capture':
      return world.capture(step.partition, step.tasksMax);
    case 'write':
      return world.write(step.partition, step.fault);
    default:
      throw new Error('unknown step');
  }
}
