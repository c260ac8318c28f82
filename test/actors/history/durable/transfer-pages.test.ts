/** Tasks for workers that are in the database alone, in a shard in its real loop: matching hears of each as if all had been in memory. */
import { expect, test } from 'vitest';
import { defaultTransferWindowLimits } from '../../../../src/history/residency/transfer-window.ts';
import { scheduleActivity } from '../../../history/shard-under-test.ts';
import { World, type WorldOptions } from './checkpointed-world.ts';

/** Workflows that each wait for so many activities; matching has accepted none. All is written. */
async function waiting(activities: readonly number[], options: WorldOptions = {}): Promise<World> {
  const world = new World(options);
  world.refuses = () => true;
  await world.start();
  for (const [n, count] of activities.entries()) {
    await world.startWorkflow(`wf-${n}`);
    const all = Array.from({ length: count }, (_, index) => scheduleActivity({ activityId: `a${index}` }));
    await world.work(pendingTasks(world).length - 1, all);
  }
  await world.checkpointed();
  return world;
}

function pendingTasks(world: World): readonly number[] {
  return [...world.folded().transfers.keys()];
}

/** Until matching has been offered so many. */
async function offered(world: World, count: number): Promise<void> {
  for (let tries = 0; world.offers.length < count; tries++) {
    expect(tries, `${world.offers.length} were offered`).toBeLessThan(1_000);
    await world.pass(100);
  }
  await world.quiet();
}

test('a shard with 10,000 pending tasks begins with 2,000 in memory at most, and matching gets each once, in order', async () => {
  const { tasksMax } = defaultTransferWindowLimits;
  const world = await waiting([2_000, 2_000, 2_000, 2_000, 2_000], { transferWindow: defaultTransferWindowLimits });
  const pending = pendingTasks(world);
  expect(pending).toHaveLength(10_000);
  await world.pass(1_000);
  expect(world.memory.core.shard.transfers.size, 'while matching refuses').toBeLessThanOrEqual(tasksMax);
  let most = 0;
  await world.drain();
  world.refuses = () => {
    most = Math.max(most, world.memory.core.shard.transfers.size);
    return false;
  };
  world.offers.length = 0;
  await world.takeOver();
  await offered(world, 10_000);
  expect(world.offers).toEqual(pending);
  expect(most).toBeLessThanOrEqual(tasksMax);
  await world.pass(5_000, 500);
  expect(world.offers, 'and never again').toHaveLength(10_000);
  world.checkMemory();
  world.checkRows();
}, 240_000);

test('what matching has stored is not offered again by a takeover, which reads none of it; workers take all of it in the end', async () => {
  const world = await waiting([40, 40, 40]);
  const pending = pendingTasks(world);
  world.stores = true;
  world.refuses = () => false;
  world.offers.length = 0;
  await offered(world, pending.length);
  // A moment later it is noted, and then in rows.
  await world.pass(10_000, 500);
  expect(new Set(world.offers)).toEqual(new Set(pending));
  for (let takeovers = 0; takeovers < 3; takeovers++) {
    await world.drain();
    world.offers.length = 0;
    await world.takeOver();
    await world.startWorkflow(`new-${takeovers}`);
    await world.pass(10_000, 500);
    expect(world.offers, 'but for what is new').toEqual(pendingTasks(world).slice(-1));
    expect(world.memory.core.shard.transfers.size).toBe(0);
  }
  world.checkMemory();
  await world.checkpointed();
  world.checkRows();
  for (let tries = 0; pendingTasks(world).length > 0; tries++) {
    expect(tries, 'workers come to an end').toBeLessThan(1_000);
    await world.work(0, []);
  }
  expect(pendingTasks(world)).toEqual([]);
  await world.checkpointed();
  world.checkRows();
}, 60_000);

test('a note that a crash takes along costs one more offer, and no task', async () => {
  const world = await waiting([5]);
  const pending = pendingTasks(world);
  world.stores = true;
  world.refuses = () => false;
  world.offers.length = 0;
  await offered(world, pending.length);
  await world.takeOver();
  await offered(world, 2 * pending.length);
  await world.pass(10_000, 500);
  await world.takeOver();
  await world.pass(10_000, 500);
  expect(world.offers.toSorted((one, other) => one - other)).toEqual(pending.flatMap((taskId) => [taskId, taskId]));
});

test('what workers take within a moment is not noted', async () => {
  const world = new World();
  world.stores = true;
  await world.start();
  const before = world.records().length;
  await world.startWorkflow('quick');
  await world.work(0, [scheduleActivity({ activityId: 'a' })]);
  await world.work(0, []);
  await world.work(0, []);
  await world.pass(5_000, 500);
  expect(pendingTasks(world)).toEqual([]);
  const types = world.records().slice(before);
  expect(types.map(({ type }) => type)).not.toContain('TasksAtMatching');
});

test('a task that matching has and a worker takes while it is in the table alone ends, and its row goes', async () => {
  const world = await waiting([1, 1, 1]);
  const activities = pendingTasks(world);
  world.refuses = () => false;
  await world.drainAndStart();
  await world.pass(10_000);
  world.offers.length = 0;
  expect(world.memory.core.shard.transfers.size).toBe(0);
  for (let left = 2; left >= 0; left--) {
    await world.work(0, []);
    expect(pendingTasks(world).filter((taskId) => activities.includes(taskId))).toHaveLength(left);
  }
  await world.pass(10_000);
  expect(
    world.offers.filter((taskId) => activities.includes(taskId)),
    'none comes back',
  ).toEqual([]);
  world.checkMemory();
  await world.checkpointed();
  world.checkRows();
});

test('tasks of a queue that matching refuses for long hold up none of another, and are given out when it takes them', async () => {
  const world = new World();
  world.refuses = (queue) => queue === 'stuck';
  await world.start();
  const stuck = { name: 'stuck', kind: 1, normalName: '' };
  await world.startWorkflow('stuck');
  await world.work(
    0,
    Array.from({ length: 40 }, (_, n) => scheduleActivity({ activityId: `a${n}`, taskQueue: stuck })),
  );
  await world.checkpointed();
  await world.startWorkflow('other');
  await world.work(pendingTasks(world).length - 1, [scheduleActivity({ activityId: 'b' })]);
  await world.checkpointed();
  const other = pendingTasks(world).at(-1);
  await world.drain();
  world.offers.length = 0;
  await world.takeOver();
  await world.pass(60_000, 500);
  expect(
    world.offers.filter((taskId) => taskId === other),
    'given out once',
  ).toEqual([other]);
  expect(new Set(world.offers).size, 'and all of the others are tried').toBe(41);
  expect(world.lines.filter((line) => line.includes('a task cannot be delivered')).length).toBeGreaterThan(0);
  world.refuses = () => false;
  await world.pass(60_000, 500);
  world.offers.length = 0;
  await world.pass(60_000, 500);
  expect(world.offers, 'matching has all').toEqual([]);
  world.checkMemory();
});

test('while the database is away new tasks are given out; the others follow when it is back', async () => {
  const world = await waiting([12]);
  world.transfersFail = true;
  world.refuses = () => false;
  await world.pass(5_000);
  world.offers.length = 0;
  await world.startWorkflow('new');
  const [task] = pendingTasks(world).slice(-1);
  expect(world.offers).toContain(task);
  await world.pass(60_000, 1_000);
  world.transfersFail = false;
  const before = new Set(world.offers);
  await world.pass(30_000, 1_000);
  expect(world.offers.length).toBeGreaterThan(before.size);
  world.offers.length = 0;
  await world.pass(30_000, 1_000);
  expect(world.offers).toEqual([]);
  world.checkMemory();
});
