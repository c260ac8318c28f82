/** The rows of List, built again from the runs of a shard that serves. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ListRebuildReport } from '../../../../src/projections/list/list-rebuild.ts';
import { systemSearchAttributes } from '../../../../src/cluster/search-attributes.ts';
import { isRunning, type RunView } from '../../../../src/history/run/state.ts';
import type { WorkflowCommand } from '../../../../src/history/commands/workflow-commands.ts';
import type { VisibilityRow } from '../../../../src/projections/visibility/row.ts';
import { comparable, visibilityRow } from '../../../contract/database/samples.ts';
import { namespace } from '../../../grpc/stub-ports.ts';
import {
  completeWorkflow,
  continueAsNew,
  deleteWorkflow,
  fields,
  scheduleActivity,
  startAttributes,
  startChild,
  terminateWorkflow,
} from '../../../history/shard-under-test.ts';
import { World, type WorldOptions } from '../durable/checkpointed-world.ts';

/** Of the world, for runs whose start says none. */
const RETENTION_MS_DEFAULT = 3_000;
const ids = ['wf', 'other', 'third', 'fourth'];

function newWorld(options: WorldOptions = {}): World {
  const world = new World(options);
  world.registry = {
    isFolded: true,
    view: { position: 0, registeredNameOf: () => undefined, namespaceById: () => namespace('ns'), systemSearchAttributes },
  };
  return world;
}

async function started(options: WorldOptions = {}): Promise<World> {
  const world = newWorld(options);
  await world.start();
  return world;
}

async function start(world: World, workflowId: string, color = 'red', retentionMs = 3_600_000): Promise<void> {
  const searchAttributes = fields({ CustomKeyword: `"${color}"`, CustomInt: '7' });
  await world.try({
    ...world.startCommand(workflowId, retentionMs),
    start: startAttributes({ memo: fields({ note: '1' }), searchAttributes }),
  });
}

async function terminate(world: World, workflowId: string): Promise<void> {
  const { key, ...command } = terminateWorkflow();
  await world.try({ ...command, key: { ...key, ...world.execution(workflowId) } });
}

const upsert = (color: string): WorkflowCommand => ({
  type: 'upsertWorkflowSearchAttributes',
  userMetadata: undefined,
  attributes: { searchAttributes: fields({ CustomKeyword: `"${color}"` }) },
});

const setMemo = (text: string): WorkflowCommand => ({
  type: 'modifyWorkflowProperties',
  userMetadata: undefined,
  attributes: { upsertedMemo: fields({ note: `"${text}"` }) },
});

/** All that a row shows, of each run; its version tells which of two is newer, and no more. */
function canonicalRows(world: World): readonly { readonly runId: string }[] {
  const rows = [...world.tables.visibility.values()].map(({ version: _version, slots, ...row }) => ({
    ...row,
    slots: [...slots].toSorted(([one], [other]) => (one < other ? -1 : 1)),
  }));
  const sorted = rows.toSorted((one, other) => (one.runId < other.runId ? -1 : 1));
  return sorted.map((row) => ({ runId: row.runId, row: comparable(row) }));
}

function report(world: World): ListRebuildReport | undefined {
  return world.host.report().listRebuild;
}

/** With what its end brings. */
async function rebuilt(world: World): Promise<ListRebuildReport> {
  for (let tries = 0; tries < 2_000; tries++) {
    const told = report(world);
    if (told?.state === 'done') return told;
    await world.pass(20, 10);
  }
  throw new Error(`the rows are built again in the end: ${JSON.stringify(report(world))} ${world.lines.join('\n')}`);
}

function askRebuild(world: World) {
  return world.ask({ kind: 'rebuildList' });
}

async function rebuild(world: World): Promise<ListRebuildReport> {
  const asked = askRebuild(world);
  await world.pass(50, 10);
  expect(await asked).toEqual({ kind: 'done' });
  return await rebuilt(world);
}

function rowOf(world: World, workflowId: string): VisibilityRow {
  const row = [...world.tables.visibility.values()].find((each) => each.workflowId === workflowId);
  if (row === undefined) throw new Error(`${workflowId} has a row`);
  return row;
}

function put(world: World, row: VisibilityRow): void {
  world.tables.visibility.set(`${row.namespaceId} ${row.runId}`, row);
}

function drop(world: World, row: VisibilityRow): void {
  world.tables.visibility.delete(`${row.namespaceId} ${row.runId}`);
}

/** Of rows that are all lost. It takes time, in which a retention of 2 s may end: nothing of such a run stays, and no other run may go. */
async function expectRebuiltAsBefore(world: World): Promise<void> {
  const [before, runsBefore] = [canonicalRows(world), world.folded().runs];
  for (const row of [...world.tables.visibility.values()]) drop(world, row);
  await rebuild(world);
  const left = await goneRowsGone(world);
  expect(canonicalRows(world)).toEqual(before.filter(({ runId }) => left.has(runId)));
  for (const run of runsBefore.values()) if (!left.has(run.key.runId)) expectRetentionOver(world, run);
}

/** Of runs that the journal has no more: their rows go soon behind them. Those that stay. */
async function goneRowsGone(world: World): Promise<ReadonlySet<string>> {
  for (let tries = 0; tries < 100; tries++) {
    await world.quiet();
    const left = new Set(world.folded().runs.keys());
    if ([...world.tables.visibility.values()].every(({ runId }) => left.has(runId))) return left;
    await world.pass(10, 10);
  }
  throw new Error('the row of a run that is gone goes');
}

function expectRetentionOver(world: World, run: RunView): void {
  expect(isRunning(run), `${run.key.runId} was closed when it went`).toBe(false);
  const retentionMs = run.retentionMs > 0 ? run.retentionMs : RETENTION_MS_DEFAULT;
  expect(run.closeTimeMs + retentionMs, `${run.key.runId} went when its retention was over`).toBeLessThanOrEqual(world.clock.wallMs());
}

test('rows that are missing, wrong, or of no run: all is as it was, and what the shard does meanwhile is shown', async () => {
  const world = await started();
  for (let nth = 0; nth < 600; nth++) await start(world, `wf-${nth}`, `color ${nth % 7}`);
  for (let nth = 0; nth < 600; nth += 3) await terminate(world, `wf-${nth}`);
  await world.checkpointed();
  await world.checkList();
  world.evict();
  const before = canonicalRows(world);
  for (let nth = 0; nth < 600; nth += 2) drop(world, rowOf(world, `wf-${nth}`));
  put(world, { ...rowOf(world, 'wf-1'), version: 1_000_000, status: 2, workflowType: 'Wrong', slots: new Map([['Keyword01', 'wrong']]) });
  put(world, visibilityRow({ ...rowOf(world, 'wf-3'), runId: '99999999-9999-4999-8999-999999999999', workflowId: 'never was' }));
  const ofAnotherShard = visibilityRow({ ...rowOf(world, 'wf-3'), runId: '99999999-9999-4999-8999-99999999999a', shard: 2 });
  put(world, ofAnotherShard);
  expect(await rebuild(world)).toMatchObject({ state: 'done', reason: 'asked', runs: 600, unreadRuns: 0, removedRows: 1 });
  drop(world, ofAnotherShard);
  expect(canonicalRows(world)).toEqual(before);

  for (const row of [...world.tables.visibility.values()]) drop(world, row);
  const asked = askRebuild(world);
  await start(world, 'new');
  await terminate(world, 'wf-1');
  await world.pass(50, 10);
  await asked;
  await terminate(world, 'wf-2');
  await rebuilt(world);
  await world.checkList();
  await world.drain();
});

test('a workflow that was deleted meanwhile does not come back with a page: its row is in the table of runs still', async () => {
  const world = await started();
  for (let nth = 0; nth < 300; nth++) await start(world, `wf-${nth}`);
  await world.checkpointed();
  await world.checkList();
  world.evict();
  const asked = askRebuild(world);
  for (let tries = 0; (report(world)?.runs ?? 0) === 0 && tries < 1_000; tries++) await world.pass(10, 10);
  await asked;
  expect(report(world)).toMatchObject({ state: 'runs', runs: 250 });
  world.fault = 'fails';
  for (const nth of [0, 100, 299]) await world.try(deleteWorkflow({ ...world.execution(`wf-${nth}`), runId: '' }));
  await rebuilt(world);
  await world.checkList();
  world.mend();
  await world.checkpointed();
  await world.checkList();
});

test('what cannot be read is reported, keeps its row, and stops nobody', async () => {
  const world = await started();
  for (const id of ids) await start(world, id);
  await world.checkpointed();
  await world.checkList();
  world.evict();
  const before = canonicalRows(world);
  world.damage('other');
  drop(world, rowOf(world, 'wf'));
  expect(await rebuild(world)).toMatchObject({ runs: 3, unreadRuns: 1, removedRows: 0 });
  expect(canonicalRows(world)).toEqual(before);
  expect(world.lines.filter((line) => line.includes('stays as it is'))).toEqual([expect.stringContaining('other')]);
});

test('rows that are lost are built again by whoever takes the shard over, and nothing else is', async () => {
  const world = await started();
  for (const id of ids) await start(world, id);
  await world.checkpointed();
  await world.checkList();
  const before = canonicalRows(world);
  await world.drainAndStart();
  await world.pass(1_000);
  expect(report(world)).toBeUndefined();
  for (const row of [...world.tables.visibility.values()]) drop(world, row);
  await world.drainAndStart();
  expect(await rebuilt(world)).toMatchObject({ reason: 'lost', runs: ids.length });
  expect(canonicalRows(world)).toEqual(before);
  await world.drainAndStart();
  await world.pass(1_000);
  expect(report(world)).toBeUndefined();
});

test('a crash between any two of its steps: the next owner does it, and the one before writes nothing more', async () => {
  for (let crashAt = 1; ; crashAt++) {
    const world = await started();
    for (let nth = 0; nth < 260; nth++) await start(world, `wf-${nth}`);
    await world.checkpointed();
    await world.checkList();
    const before = canonicalRows(world);
    for (const row of [...world.tables.visibility.values()]) drop(world, row);
    const stray = visibilityRow({ namespaceId: '00000000-0000-4000-8000-0000000000aa', shard: 1 });
    put(world, stray);
    const first = world.flushes;
    const asked = askRebuild(world);
    for (let tries = 0; world.flushes - first < crashAt && report(world)?.state !== 'done' && tries < 2_000; tries++)
      await world.pass(10, 10);
    await asked;
    const isOver = report(world)?.state === 'done';
    world.flushFault = 'hangs';
    await world.takeOver();
    world.mend();
    await world.pass(200);
    if (isOver) {
      expect(crashAt).toBeGreaterThan(8);
      return;
    }
    await rebuilt(world);
    expect(canonicalRows(world), `it crashed behind write ${crashAt}`).toEqual(before);
  }
}, 60_000);

test('rows that are lost and are built again by half, at a crash, are built again whole', async () => {
  const world = await started();
  for (let nth = 0; nth < 260; nth++) await start(world, `wf-${nth}`);
  await world.checkpointed();
  await world.checkList();
  const before = canonicalRows(world);
  for (const row of [...world.tables.visibility.values()]) drop(world, row);
  await world.drainAndStart();
  for (let tries = 0; world.tables.visibility.size === 0 && tries < 2_000; tries++) await world.pass(10, 10);
  world.flushFault = 'hangs';
  await world.takeOver();
  world.mend();
  expect(world.tables.visibility.size).toBeLessThan(260);
  expect(await rebuilt(world)).toMatchObject({ reason: 'asked', runs: 260 });
  expect(canonicalRows(world)).toEqual(before);
});

test('asked again while it goes on, it begins again; a database that is away is waited for', async () => {
  const world = await started();
  for (let nth = 0; nth < 300; nth++) await start(world, `wf-${nth}`);
  await world.checkpointed();
  await world.checkList();
  const before = canonicalRows(world);
  const asked = askRebuild(world);
  for (let tries = 0; (report(world)?.runs ?? 0) === 0 && tries < 1_000; tries++) await world.pass(10, 10);
  await asked;
  expect(report(world)).toMatchObject({ state: 'runs' });
  // The page that was written is wrong again.
  for (const row of [...world.tables.visibility.values()]) drop(world, row);
  const again = askRebuild(world);
  await world.pass(20, 10);
  await again;
  world.flushFault = 'fails';
  await world.pass(1_000, 10);
  expect(report(world)).toMatchObject({ trouble: expect.stringContaining('does not answer') });
  world.mend();
  expect(await rebuilt(world)).toMatchObject({ runs: 300 });
  expect(report(world)).not.toHaveProperty('trouble');
  expect(canonicalRows(world)).toEqual(before);

  world.flushFault = 'fails';
  expect(await askRebuild(world)).toEqual({ kind: 'unavailable', message: expect.stringContaining('does not answer') });
});

test('a run whose retention ends while rows are built again goes, and no other', async () => {
  const world = await started({ limits: { recordsMax: 1, finishMsMax: 200 } });
  for (const id of ['wf', 'other']) await start(world, id, 'red', id === 'wf' ? 2_000 : 3_600_000);
  for (const id of ['wf', 'other']) await terminate(world, id);
  await world.pass(1_970, 10);
  await world.checkList();
  expect([...world.tables.visibility.values()].map(({ workflowId }) => workflowId).toSorted()).toEqual(['other', 'wf']);
  await expectRebuiltAsBefore(world);
  expect([...world.tables.visibility.values()].map(({ workflowId }) => workflowId)).toEqual(['other']);
  await world.drain();
});

// ── Whatever happens beside it ───────────────────────────────────────────────────────────────────────────────────────────────────

const step = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('start' as const),
      id: fc.nat(3),
      color: fc.nat(3),
      retentionMs: fc.constantFrom(2_000, 3_600_000),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('signal' as const), id: fc.nat(3) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('terminate' as const), id: fc.nat(3) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), id: fc.nat(3) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('work' as const), nth: fc.nat(5), what: fc.nat(5), color: fc.nat(3) }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('time' as const), ms: fc.constantFrom(20, 100, 1_500, 5_000) }) },
  { weight: 2, arbitrary: fc.constant({ do: 'evict' as const }) },
  { weight: 3, arbitrary: fc.constant({ do: 'rebuild' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'takeOver' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
);
const trouble = fc.oneof(
  { weight: 2, arbitrary: fc.record({ do: fc.constant('damage' as const), nth: fc.nat(9), how: fc.nat(2) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('breakFlushes' as const),
      fault: fc.constantFrom('fails' as const, 'commit lost' as const, 'answer lost' as const, 'hangs' as const),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('breakCheckpoints' as const),
      fault: fc.constantFrom('fails' as const, 'commit lost' as const, 'answer lost' as const, 'hangs' as const),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ do: 'mend' as const }) },
);
type Step =
  | (typeof step extends fc.Arbitrary<infer Value> ? Value : never)
  | (typeof trouble extends fc.Arbitrary<infer Value> ? Value : never);

function commandsOf(what: number, color: number): readonly WorkflowCommand[] {
  const kinds: readonly (readonly WorkflowCommand[])[] = [
    [completeWorkflow()],
    [continueAsNew()],
    [startChild({ workflowId: ids[color] ?? 'wf' })],
    [upsert(`color ${color}`)],
    [setMemo(`memo ${color}`)],
    [scheduleActivity()],
  ];
  return kinds[what] ?? [];
}

function damageRow(world: World, nth: number, how: number): void {
  const rows = [...world.tables.visibility.values()];
  const row = rows[nth % Math.max(1, rows.length)];
  if (row === undefined) return;
  if (how === 0) drop(world, row);
  else if (how === 1) put(world, { ...row, version: row.version + 1_000, status: 3, workflowType: 'Wrong' });
  else put(world, visibilityRow({ namespaceId: row.namespaceId, shard: 1 }));
}

async function run(world: World, given: Step): Promise<void> {
  switch (given.do) {
    case 'start':
      return await start(world, ids[given.id] ?? 'wf', `color ${given.color}`, given.retentionMs);
    case 'signal':
      return await world.signal(ids[given.id] ?? 'wf');
    case 'terminate':
      return await terminate(world, ids[given.id] ?? 'wf');
    case 'delete':
      return await world.try(deleteWorkflow({ ...world.execution(ids[given.id] ?? 'wf'), runId: '' }));
    case 'work':
      return await world.work(given.nth, commandsOf(given.what, given.color));
    case 'time':
      return await world.pass(given.ms, 20);
    case 'evict':
      return world.evict();
    case 'rebuild':
      void askRebuild(world);
      return await world.pass(20, 10);
    case 'takeOver':
      return await world.takeOver();
    case 'restart':
      return await world.drainAndStart();
    case 'damage':
      return damageRow(world, given.nth, given.how);
    case 'breakFlushes':
      world.flushFault = given.fault;
      return undefined;
    case 'breakCheckpoints':
      world.fault = given.fault;
      return undefined;
    case 'mend':
      return world.mend();
  }
}

const limitsOf = (recordsMax: number): WorldOptions => ({ limits: { recordsMax, finishMsMax: 200 } });
const runs = Number(process.env['LIST_REBUILD_RUNS'] ?? 25);

/** Of any program of such steps, in a world of its own. */
async function always<Given extends Step>(
  steps: fc.Arbitrary<Given[]>,
  check: (world: World, steps: readonly Given[]) => Promise<void>,
): Promise<void> {
  await fc.assert(
    fc.asyncProperty(steps, fc.constantFrom(1, 5, 50), async (given, recordsMax) => {
      const world = await started(limitsOf(recordsMax));
      await check(world, given);
      await world.drain();
    }),
    { numRuns: runs },
  );
}

test('rows that are built again are those that were there: open, closed, upserted, continued, children, of any program', async () => {
  await always(fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }), async (world, steps) => {
    for (const each of steps) await run(world, each);
    await world.checkpointed();
    await world.checkList();
    await expectRebuiltAsBefore(world);
  });
}, 120_000);

test('while rows are built again, whoever lists sees every run as it is committed, and no other', async () => {
  await always(fc.array(step, { minLength: 10, maxLength: 50, size: 'max' }), async (world, steps) => {
    for (const each of steps) {
      await run(world, each);
      await world.quiet();
      await world.checkList();
    }
  });
}, 120_000);

test('rows that are damaged beside it, and a database that fails, loses and hangs: once more, and all is right', async () => {
  const troubled = fc.oneof({ weight: 5, arbitrary: step }, { weight: 2, arbitrary: trouble });
  await always(fc.array(troubled, { minLength: 10, maxLength: 60, size: 'max' }), async (world, steps) => {
    for (const each of steps) await run(world, each);
    world.mend();
    await world.served();
    await world.quiet();
    await rebuild(world);
    await world.checkList();
    for (const row of world.tables.visibility.values()) expect(row.workflowType).not.toBe('Wrong');
  });
}, 120_000);
