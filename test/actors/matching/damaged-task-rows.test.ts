/** A stored task whose row cannot be read, in the part of a backlog that is not in memory: the trouble of that task alone. */
import { expect, test } from 'vitest';
import { CheckpointedHost } from './checkpointed-host.ts';

test('of a long backlog a damaged row stops none behind it, and comes back when it is put back', async () => {
  const host = new CheckpointedHost({ windows: { windowTasksPerLaneMax: 2, windowTasksPerHostMax: 4, windowTasksPerLaneMin: 1 } });
  await host.start();
  for (let count = 0; count < 12; count++) await host.add(`task-${count}`);
  await host.checkpointed();
  await host.pass(2_000);
  expect(host.inMemory, 'the others are rows alone').toBeLessThan(6);
  const [whole, other] = [host.rows.get(7)!, host.rows.get(12)!];
  host.rows.set(7, { ...whole, task: whole.task.map((byte) => byte ^ 0xff) });
  host.rows.set(12, { ...other, task: whole.task });
  for (let tries = 0; tries < 30; tries++) {
    await host.work();
    await host.pass(1_000);
  }
  expect([...host.taken].filter((name) => !host.started.has(name))).toEqual(['task-6', 'task-11']);
  expect(host.matching.storedTasks, 'nothing is waited for').toBe(0);
  const told = host.lines.filter((line) => line.includes('a stored task cannot be read'));
  expect(told.map((line) => /taskId=(\d+)/.exec(line)?.[1])).toEqual(['7', '12']);
  await host.checkpointed();
  expect([...host.rows.keys()], 'they stay as they are').toEqual([7, 12]);
  host.rows.set(7, whole);
  host.rows.set(12, other);
  await host.takeOver();
  await host.checkNothingLost();
});

test('a takeover that finds nothing but damaged rows at the head of a queue gives out those behind them', async () => {
  const host = new CheckpointedHost({ windows: { windowTasksPerLaneMax: 2, windowTasksPerHostMax: 4, windowTasksPerLaneMin: 1 } });
  await host.start();
  for (let count = 0; count < 12; count++) await host.add(`task-${count}`);
  await host.checkpointed();
  for (const taskId of [1, 2, 3]) host.rows.set(taskId, { ...host.rows.get(taskId)!, task: Uint8Array.of(1, 2, 3) });
  await host.takeOver();
  expect(host.host.actor.status()).toMatchObject({ state: 'active' });
  expect(await host.describe(), 'as old as can be known').toMatchObject({
    backlogAgeMs: expect.toSatisfy((ageMs: number) => ageMs < 60_000),
  });
  for (let tries = 0; tries < 30; tries++) {
    await host.work();
    await host.pass(1_000);
  }
  expect([...host.taken].filter((name) => !host.started.has(name))).toEqual(['task-0', 'task-1', 'task-2']);
  expect(host.matching.storedTasks, 'nothing is waited for').toBe(0);
  await host.checkpointed();
  expect([...host.rows.keys()], 'they stay as they are').toEqual([1, 2, 3]);
});

test('rows that stand at no task queue are reported, and the other queues go on', async () => {
  const host = new CheckpointedHost();
  await host.start();
  for (let count = 0; count < 4; count++) await host.add(`task-${count}`);
  await host.checkpointed();
  for (const taskId of [1, 2]) host.rows.set(taskId, { ...host.rows.get(taskId)!, queue: 'no task queue' });
  await host.takeOver();
  const told = host.lines.filter((line) => line.includes('a stored task cannot be read'));
  expect(told.map((line) => /taskId=(\d+)/.exec(line)?.[1])).toEqual(['1', '2']);
  await host.work();
  await host.pass(1_000);
  expect([...host.started]).toEqual(['task-2', 'task-3']);
});

test('where its namespace is removed, the row of a task that nobody can read goes too', async () => {
  const host = new CheckpointedHost({ windows: { windowTasksPerLaneMax: 2, windowTasksPerHostMax: 4, windowTasksPerLaneMin: 1 } });
  await host.start();
  for (let count = 0; count < 6; count++) await host.add(`task-${count}`);
  await host.checkpointed();
  // One that a takeover finds, and one that comes with a later page.
  for (const taskId of [1, 5]) host.rows.set(taskId, { ...host.rows.get(taskId)!, task: Uint8Array.of(1, 2, 3) });
  await host.takeOver();
  await host.forget('another');
  for (let tries = 0; tries < 30; tries++) {
    await host.work();
    await host.pass(1_000);
  }
  await host.checkpointed();
  expect([...host.rows.keys()], 'no other namespace touches them').toEqual([1, 5]);
  await host.forget();
  await host.checkpointed();
  expect([...host.rows.keys()]).toEqual([]);
});
