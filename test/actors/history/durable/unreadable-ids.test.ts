/** Rows of SQLite that do not say whose they are: their workflow is reported as damaged, and never taken for one that was never there. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, describe, expect, test } from 'vitest';
import { sqliteDatabase } from '../../../../src/projections/sqlite/sqlite-database.ts';
import { startTimer } from '../../../history/shard-under-test.ts';
import { World } from './checkpointed-world.ts';

const folder = mkdtempSync(join(tmpdir(), 'perdure-unreadable-ids-'));
afterAll(() => rmSync(folder, { recursive: true }));

let files = 0;

/** Two open workflows in the table, one of them damaged; a process that has none in memory, and has built its filter of keys. */
async function damagedWorld(damage: string): Promise<{ world: World; rows: (sql: string) => readonly unknown[] }> {
  const filename = join(folder, `x-${files++}.db-state`);
  const world = new World({ database: () => sqliteDatabase({ filename }) });
  await world.start();
  for (const workflowId of ['bad', 'good']) {
    await world.startWorkflow(workflowId);
    await world.work(0, [startTimer('t', 600_000)]);
  }
  await world.quiet();
  await world.drainAndStart();
  const other = new DatabaseSync(filename);
  expect(other.prepare(damage).run().changes).toBe(1);
  await world.takeOver();
  for (let waited = 0; world.memory.core.residency.keys.isStale; waited++) {
    expect(waited, 'the filter is built').toBeLessThan(1_000);
    await world.pass(100);
  }
  return { world, rows: (sql) => other.prepare(sql).all() };
}

const describeCommand = (world: World, workflowId: string, runId = '') =>
  ({ kind: 'describeWorkflow', key: { ...world.execution(workflowId), runId } }) as const;
const deleteCommand = (world: World, workflowId: string) =>
  ({ kind: 'deleteWorkflow', key: { ...world.execution(workflowId), runId: '' } }) as const;

function runIdOf(world: World, workflowId: string): string {
  return [...world.folded().runs.values()].find(({ key }) => key.workflowId === workflowId)?.key.runId ?? '';
}

describe('the row of a run whose namespace cannot be read', () => {
  const damage = `UPDATE runs SET namespace_id = x'01' WHERE workflow_id = CAST('bad' AS BLOB)`;

  test('is damage for who asks, and no second run begins beside it', async () => {
    const { world } = await damagedWorld(damage);
    expect(await world.ask(describeCommand(world, 'bad'))).toMatchObject({ kind: 'dataLoss' });
    expect(await world.ask(world.startCommand('bad'))).toMatchObject({ kind: 'dataLoss' });
    expect(await world.ask(describeCommand(world, 'good'))).toMatchObject({ kind: 'description' });
    expect(await world.ask(world.startCommand('new'))).toMatchObject({ kind: 'started' });
  });

  test('goes when its workflow is deleted', async () => {
    const { world, rows } = await damagedWorld(damage);
    expect(await world.ask(deleteCommand(world, 'bad'))).toEqual({ kind: 'done' });
    await world.drain();
    expect(rows('SELECT run_id FROM runs')).toHaveLength(1);
    expect(rows('SELECT run_id FROM executions')).toHaveLength(1);
  });
});

describe('the row that says which run of a workflow is the newest, and cannot be read', () => {
  const damage = `UPDATE executions SET run_id = x'01' WHERE workflow_id = CAST('bad' AS BLOB)`;

  test('nothing is deleted for it, and nothing begins beside the run', async () => {
    const { world, rows } = await damagedWorld(damage);
    const deleted = await world.ask(deleteCommand(world, 'bad'));
    expect(deleted).toMatchObject({ kind: 'dataLoss', message: expect.not.stringContaining('DeleteWorkflowExecution') });
    expect(await world.ask(world.startCommand('bad'))).toMatchObject({ kind: 'dataLoss' });
    await world.drain();
    expect(rows('SELECT run_id FROM runs')).toHaveLength(2);
  });

  test('the run goes on for who names it', async () => {
    const { world } = await damagedWorld(damage);
    const runId = runIdOf(world, 'bad');
    expect(await world.ask(describeCommand(world, 'bad', runId))).toMatchObject({ kind: 'description', status: 1 });
  });
});

test('a row that names the run of another workflow as the newest: that one is not deleted for it', async () => {
  const { world, rows } = await damagedWorld(
    `UPDATE executions SET run_id = (SELECT run_id FROM runs WHERE workflow_id = CAST('good' AS BLOB)) WHERE workflow_id = CAST('bad' AS BLOB)`,
  );
  expect(await world.ask(deleteCommand(world, 'bad'))).toMatchObject({ kind: 'dataLoss' });
  expect(await world.ask(describeCommand(world, 'good'))).toMatchObject({ kind: 'description', status: 1 });
  await world.drain();
  expect(rows('SELECT run_id FROM runs')).toHaveLength(2);
});
