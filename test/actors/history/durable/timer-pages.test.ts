/** Timers that are in the database alone, in a shard in its real loop: they fire as if they had been in memory, but for the database's trouble. */
import { expect, test } from 'vitest';
import { cancelTimer, completeWorkflow, startTimer } from '../../../history/shard-under-test.ts';
import { World } from './checkpointed-world.ts';

/** In a window of 10 s and 4 timers. Each workflow waits on one timer; all is written, and nothing in memory that need not be. */
async function sleepers(timersMs: readonly number[]): Promise<World> {
  const world = new World();
  await world.start();
  for (const [n, ms] of timersMs.entries()) {
    await world.startWorkflow(`wf-${n}`);
    await world.work(0, [startTimer('t', ms)]);
  }
  await world.checkpointed();
  world.evict();
  return world;
}

function sleeping(world: World): readonly string[] {
  return [...world.folded().timers.values()].filter(({ kind }) => kind === 'userTimer').map(({ key }) => key.workflowId);
}

test('of workflows that sleep for long nothing is in memory; each wakes in its time', async () => {
  const world = await sleepers([60_000, 90_000, 120_000]);
  await world.pass(40_000, 1_000);
  expect([world.memory.core.shard.runs.size, world.memory.core.shard.timers.size]).toEqual([0, 0]);
  for (const left of [2, 1, 0]) {
    await world.pass(30_000);
    await world.quiet();
    expect(sleeping(world)).toHaveLength(left);
    world.evict();
  }
  await world.checkpointed();
  world.checkMemory();
  world.checkRows();
});

test('after a restart as well, those too that came due meanwhile', async () => {
  const world = await sleepers([5_000, 40_000, 200_000]);
  world.clock.advance(50_000);
  await world.takeOver();
  await world.pass(1_000);
  await world.quiet();
  expect(sleeping(world)).toEqual(['wf-2']);
  await world.pass(150_000, 1_000);
  await world.quiet();
  expect(sleeping(world)).toEqual([]);
  world.checkMemory();
});

test('many that are due at once are brought some at a time, and all wake', async () => {
  const world = await sleepers(Array.from({ length: 40 }, () => 60_000));
  let most = 0;
  for (let passed = 0; passed < 75_000; passed += 500) {
    await world.pass(500);
    most = Math.max(most, world.memory.core.shard.timers.size);
  }
  await world.quiet();
  expect(sleeping(world)).toEqual([]);
  expect(most).toBeLessThan(20);
});

test('one that is cancelled, or whose workflow ends, does not come back', async () => {
  const world = await sleepers([30_000, 30_000, 30_000]);
  await world.signal('wf-0');
  await world.work(0, [cancelTimer('t')]);
  await world.signal('wf-1');
  await world.work(0, [completeWorkflow()]);
  world.fault = 'fails';
  await world.pass(25_000, 1_000);
  expect(world.memory.core.shard.timers.size, 'a window was read that has rows of all three').toBe(1);
  world.mend();
  await world.checkpointed();
  await world.pass(10_000, 1_000);
  await world.checkpointed();
  expect(sleeping(world)).toEqual([]);
  world.checkMemory();
  world.checkRows();
});

test('while the database is away those in memory fire; the others follow when it is back', async () => {
  const world = await sleepers([8_000, 100_000, 110_000]);
  await world.pass(1_000);
  world.timersFail = true;
  await world.startWorkflow('new');
  await world.work(0, [startTimer('t', 60_000)]);
  await world.pass(180_000, 1_000);
  await world.quiet();
  expect(sleeping(world)).toEqual(['wf-1', 'wf-2', 'new']);
  expect(world.lines, 'that it is away is told where it is opened').toEqual([]);
  world.timersFail = false;
  await world.pass(11_000, 1_000);
  await world.quiet();
  expect(sleeping(world)).toEqual([]);
  world.checkMemory();
});

test('a timer that is not written fires without the database', async () => {
  const world = await sleepers([]);
  world.timersFail = true;
  world.fault = 'fails';
  await world.startWorkflow('new');
  await world.work(0, [startTimer('t', 60_000)]);
  await world.pass(61_000, 1_000);
  await world.quiet();
  expect(sleeping(world)).toEqual([]);
});

test('a row that cannot be read stops its own timer, and says so', async () => {
  const world = await sleepers([60_000, 60_000, 60_000]);
  const [, second] = world.timerRows();
  if (second === undefined) throw new Error('nothing is written');
  world.setTimerRow({ ...second, task: new Uint8Array([255, 255]) });
  await world.pass(61_000, 1_000);
  await world.quiet();
  expect(sleeping(world)).toEqual(['wf-1']);
  expect(world.lines.filter((line) => line.includes('a timer in the database cannot be read'))).toHaveLength(1);
});

test('what was read after another had restored counts for nothing: the shard restores once more', async () => {
  const world = await sleepers([60_000]);
  world.raiseFence();
  await world.pass(61_000, 1_000);
  await world.pass(2_000);
  expect(world.host.actor.status()).toMatchObject({ state: 'active', refolds: 1 });
  await world.quiet();
  expect(sleeping(world)).toEqual([]);
});
