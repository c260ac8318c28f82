/** A damaged row of the database is the trouble of its own workflow: its shard serves all others, and nothing of it is lost until it is mended. */
import { describe, expect, test } from 'vitest';
import { completeWorkflow, startTimer } from '../../history/shard-under-test.ts';
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
    expect(line).toContain('put its row back');
    expect(line).toMatch(/namespaceId\S+ .*workflowId=bad .*runId=\S+ .*recordsWaiting=1/);
    await world.startWorkflow('new');
    await world.work(0, [completeWorkflow()]);
    await world.checkpointed();
  });

  test('goes on with what has waited for it once its row is mended, though checkpoints were written and the journal trimmed', async () => {
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

  test('is mended before a restart: it is back with it', async () => {
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
