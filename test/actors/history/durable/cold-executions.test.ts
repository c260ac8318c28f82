/** Workflows that have left memory, in a shard in its real loop: nobody can tell, but for the database's trouble. */
import { describe, expect, test } from 'vitest';
import { completeWorkflow, scheduleActivity, signalAttributes, startChild, startTimer } from '../../../history/shard-under-test.ts';
import { turns, until } from '../../../support/event-loop.ts';
import type { RunRow } from '../../../../src/history/shard/rows.ts';
import { World } from './checkpointed-world.ts';

/** Of workflows that wait on a timer, written and out of memory. */
async function coldWorld(workflowIds: readonly string[], timerMs = 60_000): Promise<World> {
  const world = new World();
  await world.start();
  for (const workflowId of workflowIds) {
    await world.startWorkflow(workflowId);
    await world.work(0, [startTimer('t', timerMs)]);
  }
  await world.checkpointed();
  world.evict();
  expect(world.evicted).toBe(workflowIds.length);
  return world;
}

function describeCommand(world: World, workflowId: string) {
  return { kind: 'describeWorkflow', key: { ...world.execution(workflowId), runId: '' } } as const;
}

describe('a cold workflow', () => {
  test('is described, signalled, queried for its history, and goes on with its timers, activities and children', async () => {
    const world = await coldWorld(['wf'], 5_000);
    expect(await world.ask(describeCommand(world, 'wf'))).toMatchObject({ kind: 'description', status: 1 });
    world.evict();
    await world.checkHistories();
    await world.signal('wf');
    await world.work(0, [scheduleActivity(), startChild({ workflowId: 'child', parentClosePolicy: 2 })]);
    await world.checkpointed();
    world.evict();
    await world.work(0, []);
    await world.checkpointed();
    world.evict();
    await world.pass(5_000);
    await world.quiet();
    expect(
      [...world.folded().timers.values()].filter(({ kind }) => kind === 'userTimer'),
      'it has fired',
    ).toEqual([]);
    world.evict();
    for (let round = 0; round < 4; round++) await world.work(0, [completeWorkflow()]);
    await world.quiet();
    expect([...world.folded().runs.values()].map(({ status }) => status)).toEqual([2, 2]);
    await world.checkpointed();
    world.evict();
    world.checkMemory();
    await world.checkHistories();
    expect(world.memory.core.shard.aside.size).toBe(0);
  });

  test('that is closed is forgotten when its retention is over', async () => {
    const world = await coldWorld(['wf']);
    await world.signal('wf');
    await world.work(0, [completeWorkflow()]);
    await world.checkpointed();
    world.evict();
    const loads = world.loads.length;
    await world.pass(31_000, 1_000);
    await world.checkpointed();
    expect(world.folded().runs.size).toBe(0);
    expect(world.loads.length, 'unread').toBe(loads);
    world.checkRows();
    expect(await world.ask(describeCommand(world, 'wf'))).toMatchObject({ rejection: { reason: 'workflow-not-found' } });
  });
});

test('those that are wanted in one turn are one load; what is in memory waits for none', async () => {
  const ids = Array.from({ length: 30 }, (_, n) => `wf-${n}`);
  const world = await coldWorld(ids);
  await world.startWorkflow('hot');
  world.loadFault = 'hangs';
  const before = world.loads.length;
  const answers = ids.map((id) => world.ask(describeCommand(world, id)));
  expect(await world.ask(describeCommand(world, 'hot'))).toMatchObject({ kind: 'description' });
  world.mend();
  for (const answer of await Promise.all(answers)) expect(answer).toMatchObject({ kind: 'description', status: 1 });
  expect(world.loads.slice(before)).toEqual([30]);
});

test('very many are loads of at most 200, two at a time', async () => {
  const ids = Array.from({ length: 700 }, (_, n) => `wf-${n}`);
  const world = await coldWorld(ids);
  world.loadFault = 'hangs';
  const before = world.loads.length;
  const answers = ids.map((id) => world.ask(describeCommand(world, id)));
  // So many commands are taken in over several turns, with a timer of the system between them.
  await until(() => world.loads.length >= before + 2);
  await world.quiet();
  expect(world.loads.slice(before), 'the others wait').toHaveLength(2);
  world.mend();
  for (const answer of await Promise.all(answers)) expect(answer).toMatchObject({ kind: 'description', status: 1 });
  const loads = world.loads.slice(before);
  expect(Math.max(...loads)).toBe(200);
  expect(loads.reduce((sum, keys) => sum + keys, 0)).toBe(ids.length);
});

test('a load is one question, which waits for no checkpoint that is being written', async () => {
  const world = await coldWorld(['wf', 'other']);
  await world.startWorkflow('hot');
  world.fault = 'hangs';
  const written = world.writes;
  await world.pass(1_000);
  expect(world.writes, 'one is under way').toBe(written + 1);
  const before = world.asked.length;
  expect(await world.ask(describeCommand(world, 'wf'))).toMatchObject({ kind: 'description', status: 1 });
  expect(world.asked.slice(before)).toEqual(['load']);
  world.mend();
  await world.checkpointed();
  const behind = world.asked.length;
  expect(await world.ask(describeCommand(world, 'other'))).toMatchObject({ kind: 'description', status: 1 });
  expect(world.asked.slice(behind)).toEqual(['load']);
});

test('commands of one workflow keep their order while it is loaded', async () => {
  const world = await coldWorld(['wf']);
  const key = { ...world.execution('wf'), runId: '' };
  const order: string[] = [];
  const asks = ['a', 'b', 'c'].map(async (signalName) => {
    const signal = signalAttributes({ signalName, requestId: crypto.randomUUID() });
    await world.ask({ kind: 'signalWorkflow', key, signal, childOf: undefined });
    order.push(signalName);
  });
  await Promise.all(asks);
  expect(order).toEqual(['a', 'b', 'c']);
});

describe('while the database is away', () => {
  test('closed workflows are not looked for in vain for ever: they go when it is back', async () => {
    const world = await coldWorld(['wf', 'other']);
    for (const workflowId of ['wf', 'other']) {
      await world.signal(workflowId);
      await world.work(0, [completeWorkflow()]);
    }
    await world.checkpointed();
    world.evict();
    world.loadFault = 'fails';
    await world.pass(61_000, 1_000);
    expect(world.folded().runs.size).toBe(2);
    world.mend();
    await world.pass(31_000, 1_000);
    await world.checkpointed();
    expect(world.folded().runs.size).toBe(0);
    world.checkRows();
    world.checkMemory();
  });

  test('cold workflows say so, the others and new ones go on; nothing is quarantined, and all go on afterwards', async () => {
    const world = await coldWorld(['cold', 'cold too'], 30_000);
    await world.startWorkflow('hot');
    await world.work(0, [startTimer('t', 30_000)]);
    world.loadFault = 'fails';
    expect(await world.ask(describeCommand(world, 'cold'))).toMatchObject({
      kind: 'notHere',
      message: 'the state of this workflow cannot be read now: connection refused',
    });
    expect(await world.ask(describeCommand(world, 'nobody'))).toMatchObject({ rejection: { reason: 'workflow-not-found' } });
    await world.startWorkflow('new');
    await world.pass(31_000);
    await world.quiet();
    const waiting = (): readonly string[] =>
      [...world.folded().timers.values()].filter(({ kind }) => kind === 'userTimer').map(({ key }) => key.workflowId);
    expect(waiting(), 'the hot one has fired').toEqual(['cold', 'cold too']);
    await world.pass(300_000, 1_000);
    expect(waiting()).toEqual(['cold', 'cold too']);
    world.mend();
    await world.pass(61_000, 1_000);
    await world.quiet();
    expect(waiting()).toEqual([]);
    expect(world.memory.core.shard.aside.size).toBe(0);
    world.checkMemory();
  });

  test('messages to other shards wait for it', async () => {
    const world = await coldWorld(['parent']);
    await world.signal('parent');
    world.loadFault = 'fails';
    await world.work(0, [startChild({ workflowId: 'child' })]);
    world.evict();
    await world.checkpointed();
    await world.pass(5_000);
    world.mend();
    await world.pass(10_000);
    await world.quiet();
    expect([...world.folded().runs.values()].map(({ key }) => key.workflowId).toSorted()).toEqual(['child', 'parent']);
    expect([...world.folded().transfers.values()].filter(({ kind }) => kind === 'startChild')).toEqual([]);
  });

  test('when it hangs, the first wait for 5 s, those behind them not at all', async () => {
    const world = await coldWorld(['a', 'b', 'c', 'd']);
    world.loadFault = 'hangs';
    const answers: unknown[] = [];
    for (const id of ['a', 'b', 'c']) {
      void world.ask(describeCommand(world, id)).then((answer) => answers.push(answer));
      await turns(2);
    }
    await world.pass(4_900);
    expect(answers).toEqual([]);
    await world.pass(200);
    const message = 'the state of this workflow cannot be read now: the database has not answered for 5 s';
    expect(answers).toMatchObject([{ message }, { message }, { message }]);
    expect(await world.ask(describeCommand(world, 'd'))).toMatchObject({ kind: 'notHere', message });
    world.mend();
    await turns(4);
    for (const id of ['a', 'b', 'c', 'd']) expect(await world.ask(describeCommand(world, id))).toMatchObject({ kind: 'description' });
    world.checkMemory();
  });
});

test('a row that cannot be read stops its own workflow, and says so', async () => {
  const world = await coldWorld(['fine', 'damaged', 'fine too']);
  world.damage('damaged');
  const answers = await Promise.all(['fine', 'damaged', 'fine too'].map((id) => world.ask(describeCommand(world, id))));
  expect(answers).toMatchObject([{ kind: 'description' }, { kind: 'dataLoss' }, { kind: 'description' }]);
  expect(world.lines.filter((line) => line.includes('ERROR') && line.includes('damaged'))).toHaveLength(1);
});

test('what an activity is given is written once, with history, and is there however often the activity is tried', async () => {
  const world = await coldWorld(['wf']);
  const input = new Uint8Array(50_000).fill(7);
  await world.signal('wf');
  await world.work(0, [
    scheduleActivity({ activityId: 'large', input }),
    scheduleActivity({ activityId: 'small' }),
    startChild({ workflowId: 'child', input, parentClosePolicy: 2 }),
  ]);
  await world.checkpointed();
  world.evict();
  expect(world.row('wf').state.length).toBeLessThan(3_000);
  world.checkMemory();
  for (const lost of ['memory', 'process']) {
    if (lost === 'memory') world.evict();
    else await world.takeOver();
    await world.signal('wf');
    await world.checkpointed();
    expect(world.row('wf').state.length).toBeLessThan(3_000);
  }
  world.evict();
  const started = await world.startedActivities();
  expect(started.find(({ activityId }) => activityId === 'large')?.input).toEqual(input);
  expect(started).toHaveLength(2);
  world.checkMemory();
});

test('an input that history has lost stops its own workflow', async () => {
  const world = await coldWorld(['damaged']);
  await world.signal('damaged');
  await world.work(0, [scheduleActivity({ input: new Uint8Array(5_000) })]);
  await world.startWorkflow('fine');
  await world.checkpointed();
  world.evict();
  world.damageHistory('damaged');
  const answers = await Promise.all(['fine', 'damaged'].map((id) => world.ask(describeCommand(world, id))));
  expect(answers).toMatchObject([{ kind: 'description' }, { kind: 'dataLoss' }]);
  expect(world.lines.join()).toContain('is not at hand');
});

test('what was read after another had restored counts for nothing: the shard restores once more', async () => {
  const world = await coldWorld(['wf']);
  world.loadFault = 'hangs';
  const answer = world.ask(describeCommand(world, 'wf'));
  await turns(2);
  world.raiseFence();
  world.mend();
  expect(await answer).toMatchObject({ kind: 'notHere' });
  await world.pass(2_000);
  expect(world.host.actor.status()).toMatchObject({ state: 'active', refolds: 1 });
  expect(await world.ask(describeCommand(world, 'wf'))).toMatchObject({ kind: 'description' });
  world.checkMemory();
});

test('what is read of a backup counts for nothing, though that bears the fence of its owner', async () => {
  const world = await coldWorld(['wf', 'other']);
  const backup = world.tables.copy();
  await world.signal('other');
  await world.checkpointed();
  world.evict();
  world.tables.become(backup);
  expect(await world.ask(describeCommand(world, 'wf'))).toMatchObject({ kind: 'notHere' });
  await world.pass(2_000);
  expect(world.host.actor.status()).toMatchObject({ state: 'active', refolds: 1 });
  expect(await world.ask(describeCommand(world, 'wf'))).toMatchObject({ kind: 'description' });
  expect(await world.ask(describeCommand(world, 'other'))).toMatchObject({ kind: 'description' });
  world.checkMemory();
});

test('past its limit the least recently used leave, once they are written; closed ones first', async () => {
  const world = new World({ hotStateBytesMax: 40_000 });
  await world.start();
  const inMemory = (): readonly string[] => [...world.memory.core.shard.runs.values()].map(({ key }) => key.workflowId);
  for (const id of ['old', 'closed', 'closed too']) await world.startWorkflow(id);
  for (let round = 0; round < 2; round++) await world.work(1, [completeWorkflow()]);
  await world.checkpointed();
  expect(inMemory()).toEqual(['old', 'closed', 'closed too']);
  for (let n = 0; inMemory().includes('closed'); n++) {
    await world.startWorkflow(`wf-${n}`);
    await world.checkpointed();
    await turns(4);
  }
  expect(inMemory()).toContain('old');
  for (let n = 0; n < 20; n++) await world.startWorkflow(`more-${n}`);
  await world.checkpointed();
  await turns(8);
  expect(world.memory.core.residency.hot.bytes).toBeLessThan(40_000);
  expect(inMemory()).not.toContain('old');
  expect(inMemory()).toContain('more-19');
  world.checkMemory();
  expect(await world.ask(describeCommand(world, 'old'))).toMatchObject({ kind: 'description', status: 1 });
});

describe('before workflows leave some are compared with their rows', () => {
  const inMemory = (world: World): readonly string[] => [...world.memory.core.shard.runs.values()].map(({ key }) => key.workflowId);

  /** With rows of `wf`, before and after it was signalled. */
  async function writtenTwice(): Promise<{ world: World; before: RunRow; after: RunRow }> {
    const world = new World({ hotStateBytesMax: 3_000, evictionsPerCheck: 1 });
    world.loadFault = 'hangs';
    await world.start();
    await world.startWorkflow('wf');
    await world.checkpointed();
    const before = world.row('wf');
    await world.signal('wf');
    await world.checkpointed();
    return { world, before, after: world.row('wf') };
  }

  /** Others come, so that all that is there is looked at. */
  async function crowded(world: World): Promise<void> {
    world.mend();
    for (let n = 0; n < 6; n++) {
      await world.startWorkflow(`other-${n}`);
      await world.checkpointed();
      await turns(8);
    }
  }

  test('what is the same leaves', async () => {
    const { world } = await writtenTwice();
    await crowded(world);
    expect(inMemory(world)).not.toContain('wf');
    expect(world.loads.length, 'rows were read for it').toBeGreaterThan(0);
    expect(world.lines.filter((line) => line.includes('ERROR'))).toEqual([]);
  });

  test.each(['old', 'gone', 'damaged'] as const)('what has a row that is %s stays, and operators are informed', async (fault) => {
    const { world, before, after } = await writtenTwice();
    const { runs } = world.tables.journal({ kind: 'history', partition: 0 });
    if (fault === 'old') runs.set(after.runId, before);
    else if (fault === 'gone') runs.delete(after.runId);
    else world.damage('wf');
    await crowded(world);
    expect(inMemory(world)).toContain('wf');
    const told = world.lines.filter((line) => line.includes('ERROR'));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain('workflowId=wf');
    expect(await world.ask(describeCommand(world, 'wf'))).toMatchObject({ kind: 'description', historyLength: 3 });
  });
});
