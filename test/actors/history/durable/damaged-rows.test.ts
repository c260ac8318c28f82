/** A damaged row of the database is the trouble of its own workflow: its shard serves all others, and nothing of it is lost until it is repaired. */
import { describe, expect, test } from 'vitest';
import { aJobKey, startBatch } from '../../../history/batch-commands.ts';
import { completeWorkflow, startTimer, terminateWorkflow } from '../../../history/shard-under-test.ts';
import { SideRoom } from '../../../../src/actors/history/side-tasks/side-room.ts';
import type { BatchStepTask, SideRunner } from '../../../../src/actors/history/side-tasks/side-tasks.ts';
import type { CheckpointPosition, TaskRow } from '../../../../src/projections/database-port.ts';
import { stateCodec } from '../../../../src/codec/state-codec.ts';
import { World } from './checkpointed-world.ts';

function describeCommand(world: World, workflowId: string) {
  return { kind: 'describeWorkflow', key: { ...world.execution(workflowId), runId: '' } } as const;
}

/** Two workflows in the table; what was signalled since is in the journal alone. */
async function damagedWorld(): Promise<World> {
  const world = new World();
  await world.start();
  for (const workflowId of ['bad', 'good']) {
    await world.startWorkflow(workflowId);
    await world.work(0, [startTimer('t', 60_000)]);
  }
  await world.checkpointed();
  world.fault = 'hangs';
  await world.signal('bad');
  await world.signal('good');
  await world.quiet();
  world.damage('bad');
  return world;
}

async function takenOver(world: World): Promise<void> {
  world.mend();
  await world.takeOver();
}

describe('a run whose row is damaged, and for which the journal has records behind the checkpoint', () => {
  test('stands still and says so; its shard serves all others', async () => {
    const world = await damagedWorld();
    await takenOver(world);
    expect(world.host.actor.status()).toMatchObject({ state: 'active' });
    expect(await world.ask(describeCommand(world, 'good'))).toMatchObject({ kind: 'description', status: 1 });
    expect(await world.ask(describeCommand(world, 'bad'))).toMatchObject({
      kind: 'dataLoss',
      message: expect.stringContaining('its checksum does not fit'),
    });
    const [line, ...others] = world.lines.filter((each) => each.includes('ERROR') && each.includes('recordsWaiting'));
    expect(others).toEqual([]);
    expect(line).toContain('restore its row');
    expect(line).toMatch(/namespaceId\S+ .*workflowId=bad .*runId=\S+ .*recordsWaiting=1/);
    await world.startWorkflow('new');
    await world.work(0, [completeWorkflow()]);
    await world.checkpointed();
  });

  test('goes on with what has waited for it once its row is repaired, though checkpoints were written and the journal trimmed', async () => {
    const world = await damagedWorld();
    await takenOver(world);
    for (let round = 0; round < 3; round++) {
      await world.signal('good');
      await world.checkpointed();
      await world.trim();
      if (round === 1) await world.drainAndStart();
    }
    expect(await world.ask(describeCommand(world, 'bad'))).toMatchObject({ kind: 'dataLoss' });
    world.damage('bad');
    expect(await world.ask(describeCommand(world, 'bad')), 'at once').toMatchObject({ kind: 'description', status: 1 });
    world.checkMemory();
    await world.signal('good');
    await world.checkpointed();
    world.checkRows();
    await world.drainAndStart();
    expect(await world.ask(describeCommand(world, 'bad'))).toMatchObject({ kind: 'description', status: 1 });
    world.checkMemory();
    await world.checkHistories();
    await world.checkList();
    expect(world.lines.filter((each) => each.includes('recordsWaiting'))).toHaveLength(2);
  });

  test('or whose row is gone, likewise', async () => {
    const world = await damagedWorld();
    world.lose('bad');
    await takenOver(world);
    expect(await world.ask(describeCommand(world, 'good'))).toMatchObject({ kind: 'description', status: 1 });
    expect(world.lines.filter((each) => each.includes('its row is missing'))).toHaveLength(1);
  });

  test('is repaired before a restart: it is back with it', async () => {
    const world = await damagedWorld();
    await takenOver(world);
    await world.checkpointed();
    await world.trim();
    world.damage('bad');
    await world.drainAndStart();
    world.checkMemory();
    await world.signal('good');
    await world.checkpointed();
    world.checkRows();
    await world.checkList();
  });
});

describe('a run whose row is damaged can be deleted unread', () => {
  function deleteCommand(world: World, workflowId: string, runId = '') {
    return { kind: 'deleteWorkflow', key: { ...world.execution(workflowId), runId } } as const;
  }

  function runIdOf(world: World, workflowId: string): string {
    const run = [...world.folded().runs.values()].find(({ key }) => key.workflowId === workflowId);
    return run?.key.runId ?? '';
  }

  async function isGone(world: World, runId: string): Promise<void> {
    expect(await world.ask(describeCommand(world, 'bad'))).toMatchObject({ kind: 'rejected', rejection: { reason: 'workflow-not-found' } });
    await world.signal('good');
    await world.checkpointed();
    expect(world.tables.journal(journal).runs.has(runId), 'its row').toBe(false);
    await world.startWorkflow('bad');
    await world.pass(70_000);
    await world.checkpointed();
    await world.drainAndStart();
    expect(world.host.actor.status()).toMatchObject({ state: 'active' });
    expect(await world.ask(describeCommand(world, 'bad'))).toMatchObject({ kind: 'description', status: 1 });
    expect(await world.ask(describeCommand(world, 'good'))).toMatchObject({ kind: 'description' });
    await world.checkList();
  }

  test.each(['the current run', 'a run by its id'])('%s, for which the journal has records as well', async (which) => {
    const world = await damagedWorld();
    const runId = runIdOf(world, 'bad');
    await takenOver(world);
    const terminate = await world.ask({
      kind: 'terminateWorkflow',
      key: { ...world.execution('bad'), runId: '' },
      firstExecutionRunId: '',
      reason: '',
      details: undefined,
      identity: '',
      links: [],
      childOf: undefined,
    });
    expect(terminate).toMatchObject({ kind: 'dataLoss', message: expect.stringContaining('DeleteWorkflowExecution removes the workflow') });
    expect(await world.ask(deleteCommand(world, 'bad', which === 'a run by its id' ? runId : ''))).toEqual({ kind: 'done' });
    expect(world.lines.filter((line) => line.includes('a workflow was deleted although its state cannot be read'))).toHaveLength(1);
    await isGone(world, runId);
  });

  test('with nothing behind the checkpoint', async () => {
    const world = await damagedWorld();
    const runId = runIdOf(world, 'bad');
    world.damage('bad');
    world.mend();
    await world.checkpointed();
    await world.drainAndStart();
    world.damage('bad');
    expect(await world.ask(deleteCommand(world, 'bad'))).toEqual({ kind: 'done' });
    await isGone(world, runId);
  });

  test('a schedule by DeleteSchedule', async () => {
    const world = await damagedWorld();
    const runId = runIdOf(world, 'bad');
    await takenOver(world);
    const key = { ...world.execution('bad'), runId: '' };
    expect(await world.ask({ kind: 'describeSchedule', key })).toMatchObject({
      kind: 'dataLoss',
      message: expect.stringContaining('(DeleteSchedule a schedule,'),
    });
    expect(await world.ask({ kind: 'deleteSchedule', key })).toEqual({ kind: 'done' });
    await isGone(world, runId);
  });

  test('a batch job by StopBatchOperation, and by nothing else that clients ask for', async () => {
    const world = new World({ sideRunners: { batchStep: neverEnding() } });
    await world.start();
    await world.startWorkflow('good');
    await world.checkpointed();
    const key = { ...world.execution(aJobKey.workflowId), runId: '' };
    const start = startBatch({ key, newRunId: world.random.nonce() });
    expect(await world.ask(start)).toEqual({ kind: 'done' });
    await world.checkpointed();
    const { runId } = world.row(key.workflowId);
    world.damage(key.workflowId);
    await world.takeOver();
    expect(await world.ask({ kind: 'describeBatch', key })).toMatchObject({
      kind: 'dataLoss',
      message: expect.stringContaining('StopBatchOperation a batch job'),
    });
    expect(await world.ask(deleteCommand(world, key.workflowId))).toMatchObject({ kind: 'dataLoss' });
    expect(world.lines.filter((line) => line.includes('a workflow was deleted'))).toEqual([]);
    expect((await world.listed()).map((row) => row.runId)).toContain(runId);
    expect(await world.ask({ kind: 'stopBatch', key, reason: 'damaged', identity: '' })).toEqual({ kind: 'done' });
    expect(await world.ask({ kind: 'describeBatch', key })).toMatchObject({
      kind: 'rejected',
      rejection: { reason: 'workflow-not-found' },
    });
    expect((await world.listed()).map((row) => row.runId)).not.toContain(runId);
    await world.signal('good');
    await world.checkpointed();
    expect(world.tables.journal(journal).runs.has(runId), 'its row').toBe(false);
    expect(await world.ask({ ...start, newRunId: world.random.nonce() }), 'its id is free').toEqual({ kind: 'done' });
    await world.checkpointed();
    await world.drainAndStart();
    world.checkMemory();
    await world.checkList();
  });

  test('whose row is gone altogether, by its id', async () => {
    const world = await damagedWorld();
    const runId = runIdOf(world, 'bad');
    world.lose('bad');
    await takenOver(world);
    expect(await world.ask(deleteCommand(world, 'bad', runId))).toEqual({ kind: 'done' });
    await isGone(world, runId);
  });

  test('that ended behind the checkpoint: the end of its retention goes as well', async () => {
    const world = await damagedWorld();
    const { key, ...terminate } = terminateWorkflow();
    await world.ask({ ...terminate, key: { ...key, ...world.execution('bad'), runId: '' } });
    await takenOver(world);
    expect(await world.ask(deleteCommand(world, 'bad'))).toEqual({ kind: 'done' });
    expect(world.host.actor.memory?.core.canonicalState()).not.toContain('kind="retention"');
    await world.signal('good');
    await world.checkpointed();
    world.checkRows();
  });

  test('one that is repaired meanwhile is deleted as ever: its parent would hear of it', async () => {
    const world = await damagedWorld();
    await takenOver(world);
    world.damage('bad');
    expect(await world.ask(deleteCommand(world, 'bad'))).toEqual({ kind: 'done' });
    expect(world.lines.filter((line) => line.includes('a workflow was deleted'))).toEqual([]);
    await world.checkpointed();
    world.checkRows();
  });
});

const journal = { kind: 'history', partition: 0 } as const;

/** Jobs that run on. */
function neverEnding(): SideRunner<BatchStepTask> {
  return {
    room: new SideRoom(() => ({ placesMax: 1, placesPerDestinationMax: 1 })),
    placeOf: ({ key: { namespaceId } }) => ({ destination: '', namespaceId }),
    attemptMsMax: 1_000_000,
    attempt: () => new Promise(() => {}),
  };
}

/** Of that workflow. */
function damageTasks<Row extends TaskRow>(rows: Map<number, Row>, workflowId: string): readonly Row[] {
  const damaged = [...rows.values()].filter(({ task }) => stateCodec.decodeTask(task).key.workflowId === workflowId);
  for (const row of damaged) rows.set(row.taskId, { ...row, task: row.task.slice(1) });
  return damaged;
}

test.each(['transferTasks', 'timers'] as const)('a row of %s that is damaged is the trouble of its workflow', async (table) => {
  const world = new World();
  await world.start();
  for (const workflowId of ['bad', 'good']) {
    await world.startWorkflow(workflowId);
    if (table === 'timers') await world.work(0, [startTimer('t', 5_000)]);
  }
  await world.checkpointed();
  const rows: Map<number, TaskRow> = world.tables.journal(journal)[table];
  const [row, ...others] = damageTasks(rows, 'bad');
  expect([row?.aside, others]).toEqual([false, []]);
  await world.takeOver();
  expect(world.lines.filter((line) => line.includes('ERROR') && line.includes(`taskId=${row?.taskId}`))).toHaveLength(1);
  await world.pass(6_000);
  await world.work(1, [completeWorkflow()]);
  await world.checkpointed();
  expect(await world.ask(describeCommand(world, 'good'))).toMatchObject({ kind: 'description', status: 2 });
  expect(await world.ask(describeCommand(world, 'bad'))).toMatchObject({ kind: 'description', status: 1 });
  expect(rows.get(row!.taskId)?.task, 'left as it is').not.toEqual(row!.task);
  await world.ask({
    kind: 'terminateWorkflow',
    key: { ...world.execution('bad'), runId: '' },
    firstExecutionRunId: '',
    reason: '',
    details: undefined,
    identity: '',
    links: [],
    childOf: undefined,
  });
  await world.quiet();
  await world.checkpointed();
  expect(rows.has(row!.taskId), 'it goes when the task ends').toBe(false);
  world.checkRows();
});

test('and when it is put back it is done at the next start', async () => {
  const world = new World();
  await world.start();
  await world.startWorkflow('bad');
  await world.work(0, [startTimer('t', 5_000)]);
  await world.checkpointed();
  const { timers } = world.tables.journal(journal);
  const rows = damageTasks(timers, 'bad');
  await world.takeOver();
  await world.pass(6_000);
  for (const row of rows) timers.set(row.taskId, row);
  await world.takeOver();
  await world.pass(1_000);
  await world.quiet();
  expect([...world.folded().timers.values()].filter(({ kind }) => kind === 'userTimer')).toEqual([]);
  world.checkMemory();
});

test.each<[string, (position: CheckpointPosition) => Partial<CheckpointPosition>, string]>([
  ['counters', () => ({ counters: Uint8Array.of(1, 2, 3, 4, 5, 6) }), 'a stored set of counters of 6 bytes cannot be read'],
  ['a time', () => ({ timeMs: NaN }), 'is of time NaN'],
  ['an offset', ({ nextOffset }) => ({ lastOffset: nextOffset }), 'goes on at'],
  [
    'a trim point beyond the rows',
    () => ({ trimPoints: [{ timeMs: 1, lastOffset: 2 ** 50, bytes: 0 }] }),
    'a trim point at offset 1125899906842624',
  ],
  ['a trim point of no number', () => ({ trimPoints: [{ timeMs: 1, lastOffset: NaN, bytes: 0 }] }), 'a trim point at offset NaN'],
])('a damaged row of the journal itself is refused in words: %s', async (_what, damage, said) => {
  const world = new World();
  await world.start();
  await world.startWorkflow('wf');
  await world.checkpointed();
  const tables = world.tables.journal(journal);
  tables.position = { ...tables.position!, ...damage(tables.position!) };
  world.anotherProcess();
  world.host.actor.start();
  await world.pass(1_000);
  const status = JSON.stringify(world.host.actor.status());
  expect(world.host.actor.status()).toMatchObject({ state: 'failed' });
  expect(status).toContain('the row of history journal 0 in the table of journals is damaged');
  expect(status).toContain(said);
  expect(status).toContain('restore a backup of the database');
});
