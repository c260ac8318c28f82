/** When checkpoints are written, beside number and rest: by bytes, under load without rest, at a stop, and in a replay. */
import { expect, test } from 'vitest';
import { startTimer } from '../../../history/shard-under-test.ts';
import { turns } from '../../../support/event-loop.ts';
import { World } from './checkpointed-world.ts';

const never = { recordsMax: 1_000_000, idleMs: 3_600_000, busyMs: 3_600_000 };

test('few records that are large bring one', async () => {
  const world = new World({ limits: { ...never, recordBytesMax: 20_000 } });
  await world.start();
  for (let count = 0; count < 5; count++) await world.startWorkflow(`wf-${count}`);
  await world.quiet();
  expect(world.writes).toBe(0);
  for (let count = 0; count < 100; count++) await world.startWorkflow(`more-${count}`);
  await world.quiet();
  expect(world.writes, 'with the clock standing still').toBeGreaterThanOrEqual(1);
  expect(world.memory.checkpointer?.unwritten.bytes).toBeLessThan(20_000);
});

test('who never rests has one every ten seconds', async () => {
  const world = new World();
  await world.start();
  await world.startWorkflow('wf');
  const busy = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) {
      await world.signal('wf');
      await world.pass(500);
    }
  };
  await busy(8_000);
  expect(world.writes).toBe(0);
  await busy(4_000);
  expect(world.writes).toBe(1);
  await busy(60_000);
  expect(world.writes).toBeGreaterThanOrEqual(5);
  expect(world.writes).toBeLessThanOrEqual(8);
});

test('a stop waits five seconds for the last one, no longer; the journal has what is missing', async () => {
  const world = new World();
  await world.start();
  await world.startWorkflow('wf');
  await world.work(0, [startTimer('t', 60_000)]);
  world.fault = 'hangs';
  const { nowMs } = world.clock;
  await world.drain();
  expect(world.clock.nowMs - nowMs).toBeGreaterThanOrEqual(4_900);
  expect(world.clock.nowMs - nowMs).toBeLessThanOrEqual(5_500);
  world.mend();
  await world.takeOver();
  world.checkMemory();
  await world.checkHistories();
});

test('a replay writes them as it goes on, and what it has written need not stay in memory', async () => {
  const workflows = 200;
  const limits = { ...never, retryDelayMs: 3_600_000, retryDelayMsMax: 3_600_000 };
  const world = new World({ limits: { ...limits, recordsMax: 20 }, hotStateBytesMax: 0, cacheBytesMax: 0 });
  await world.start();
  world.fault = 'fails';
  for (let count = 0; count < workflows; count++) await world.startWorkflow(`wf-${count}`);
  expect(world.position, 'all of it is in the journal alone').toBeUndefined();
  const read = world.log.read.bind(world.log);
  const offsets = new Set<number>();
  world.log.read = async (partition, from) => {
    if (world.position !== undefined) offsets.add(world.position.lastOffset);
    return (await read(partition, from)).slice(0, 15);
  };
  world.fault = undefined;
  world.anotherProcess();
  world.host.actor.start();
  while (world.host.actor.status().state !== 'active') await turns();
  expect(offsets.size, 'some while it folds').toBeGreaterThan(3);
  expect(Math.max(...offsets)).toBeGreaterThan(workflows / 2);
  expect(world.memory.core.shard.runs.size).toBeLessThan(workflows / 2);
  await world.checkpointed();
  world.checkRows();
  world.checkMemory();
});
