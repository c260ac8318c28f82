/** Rows of List beside the state of their shard: one fence for both, and no row is lost with the journal behind a checkpoint. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { namespace } from '../../../grpc/stub-ports.ts';
import { completeWorkflow, continueAsNew, fields, startAttributes, terminateWorkflow } from '../../../history/shard-under-test.ts';
import { MemoryDatabase } from '../../../support/memory-database.ts';
import { turns } from '../../../support/event-loop.ts';
import { World } from './checkpointed-world.ts';

const journal = { kind: 'history', partition: 0 } as const;
const ids = ['wf', 'other', 'third'];

async function terminate(world: World, workflowId: string): Promise<void> {
  const { key, ...command } = terminateWorkflow();
  await world.try({ ...command, key: { ...key, ...world.execution(workflowId) } });
}

test('rows and state are written under one fence, which nobody raises but a takeover', async () => {
  const world = new World();
  await world.start();
  const { fence } = world;
  await world.startWorkflow('wf');
  await world.pass(100);
  expect(world.flushes).toBe(1);
  await world.checkpointed();
  await terminate(world, 'wf');
  await world.checkList();
  await world.checkpointed();
  expect([world.flushes, world.fence]).toEqual([2, fence]);
});

test('a flush that finds itself fenced ends this memory: the partition is restored, and goes on', async () => {
  const world = new World({ limits: { idleMs: 60_000, busyMs: 60_000 } });
  await world.start();
  await world.startWorkflow('wf');
  await world.pass(100);
  await new MemoryDatabase(world.tables).restore(journal);
  const { fence } = world;
  await world.startWorkflow('other');
  await world.pass(100);
  await world.served();
  expect(world.writes, 'a flush has told, no checkpoint').toBe(0);
  expect(world.fence).toBe(fence + 1);
  expect(world.lines.filter((line) => line.includes('lost its rows'))).toEqual([]);
  await world.checkList();
});

test('after a restart rows are there: nothing is written again, and a List waits for nothing', async () => {
  const world = new World();
  await world.start();
  for (let nth = 0; nth < 30; nth++) await world.startWorkflow(`wf-${nth}`);
  await world.drainAndStart();
  world.flushFault = 'fails';
  const { flushes } = world;
  const startedMs = world.clock.nowMs;
  expect(await world.listed()).toHaveLength(30);
  await world.pass(5_000);
  expect(world.flushes).toBe(flushes);
  expect(world.clock.nowMs - startedMs).toBeLessThan(5_100);
});

test('a database that has no rows of a journal gets them all from its replay, and a List waits for them', async () => {
  const world = new World({ limits: { idleMs: 60_000, busyMs: 60_000 } });
  await world.start();
  world.flushFault = 'fails';
  for (let nth = 0; nth < 30; nth++) await world.startWorkflow(`wf-${nth}`);
  await world.takeOver();
  expect(world.position, 'the journal is folded from its start').toBeUndefined();
  await expect(world.listed()).rejects.toMatchObject({ code: 'unavailable', message: expect.stringContaining('still being written') });
  world.mend();
  await world.checkList();
});

test('a checkpoint takes along what no flush has written: the journal behind it does not tell it again', async () => {
  const world = new World();
  await world.start();
  await world.startWorkflow('wf');
  await world.startWorkflow('other');
  await world.checkList();
  world.flushFault = 'fails';
  await terminate(world, 'other');
  await world.startWorkflow('third');
  await world.checkpointed();
  await turns(2);
  expect(world.memory.visibility?.waiting, 'what a checkpoint has written waits for no flush').toBe(0);
  await world.takeOver();
  await world.checkList();
});

test('rows of a checkpoint that cannot be written are flushed meanwhile; when it is, it replaces nothing that is newer', async () => {
  const world = new World();
  await world.start();
  world.flushFault = 'fails';
  world.fault = 'fails';
  await world.startWorkflow('wf');
  await world.startWorkflow('other');
  await world.pass(2_000);
  expect(world.writes).toBeGreaterThan(0);
  world.flushFault = undefined;
  await terminate(world, 'wf');
  await world.checkList();
  world.mend();
  await world.pass(1_000);
  expect(world.position).toBeDefined();
  await world.checkList();
  await world.takeOver();
  await world.checkList();
});

test('a row that was on its way for long does not come back behind the checkpoint that retires its run', async () => {
  const world = new World();
  await world.start();
  world.flushFault = 'hangs';
  await world.startWorkflow('wf');
  await terminate(world, 'wf');
  await world.pass(10_000);
  expect(world.folded().runs.size, 'it has retired').toBe(0);
  world.mend();
  world.flushFault = 'fails';
  await world.checkpointed();
  await world.takeOver();
  world.mend();
  expect(await world.listed()).toEqual([]);
});

test('while nobody knows which attributes there are, no row is written without them', async () => {
  const world = new World({ limits: { recordsMax: 1 } });
  const unknown = world.registry.view;
  const registered = {
    ...namespace('ns'),
    searchAttributeTypes: new Map([['CustomKeywordField', 2]]),
    searchAttributeSlots: new Map([['CustomKeywordField', 'Keyword03']]),
  };
  const registry = { isFolded: true, view: { ...unknown, namespaceById: () => registered } };
  world.registry = registry;
  await world.takeOver();
  world.fault = 'fails';
  const start = startAttributes({ searchAttributes: fields({ CustomKeywordField: '"red"' }) });
  await world.try({ ...world.startCommand('wf', 3_600_000), start });
  const slots = (): unknown => [...world.tables.visibility.values()].map((row) => row.slots);
  await world.listed();
  expect(slots()).toEqual([new Map([['Keyword03', 'red']])]);

  const folding = { isFolded: false, view: unknown };
  world.registry = folding;
  world.mend();
  await world.takeOver();
  await world.pass(5_000);
  expect(slots()).toEqual([new Map([['Keyword03', 'red']])]);
  Object.assign(folding, registry);
  await terminate(world, 'wf');
  await world.checkpointed();
  await world.checkList();
  expect(slots()).toEqual([new Map([['Keyword03', 'red']])]);
});

test.each([
  ['a flush', { flushFault: 'hangs', fault: 'fails' }],
  ['a checkpoint', { flushFault: 'fails', fault: 'fails' }],
  ['a checkpoint whose outcome nobody knows', { flushFault: 'fails', fault: 'hangs' }],
] as const)(
  'what a removed attribute has left is cleared behind rows that were made with it, here on their way by %s',
  async (_way, faults) => {
    const world = new World();
    const unknown = world.registry.view;
    const registered = {
      ...namespace('ns'),
      searchAttributeTypes: new Map([['CustomKeywordField', 2]]),
      searchAttributeSlots: new Map([['CustomKeywordField', 'Keyword03']]),
    };
    const registry = { isFolded: true, view: { ...unknown, namespaceById: () => registered } };
    world.registry = registry;
    await world.takeOver();
    const start = startAttributes({ searchAttributes: fields({ CustomKeywordField: '"red"' }) });
    const slots = (): unknown => [...world.tables.visibility.values()].map((row) => Object.fromEntries(row.slots));
    await world.try({ ...world.startCommand('wf', 3_600_000), start });
    await world.listed();
    expect(slots()).toEqual([{ Keyword03: 'red' }]);
    Object.assign(world, faults);
    await world.try({ ...world.startCommand('other', 3_600_000), start });
    await world.pass(2_000);

    Object.assign(registry, { view: { ...unknown, position: 7 } });
    const left = { namespaceIds: [world.execution('wf').namespaceId], slots: ['Keyword03'] };
    const isCleared = async (): Promise<boolean> => {
      const held = await world.ask({ kind: 'holdRows', registryPosition: 7 });
      if (held.kind !== 'rowsHeld') return false;
      return await world.visibility.clearSlots(left, [{ journal: { kind: 'history', partition: 0 }, fence: held.fence }]);
    };
    expect(await isCleared()).toBe(false);
    world.mend();
    while (!(await isCleared())) await world.pass(100);
    expect(slots()).toEqual([{}, {}]);
    await terminate(world, 'wf');
    await world.checkpointed();
    await world.takeOver();
    await world.checkList();
    expect(slots()).toEqual([{}, {}]);
  },
);

const fault = fc.constantFrom('fails' as const, 'commit lost' as const, 'answer lost' as const, 'hangs' as const);
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('start' as const), id: fc.nat(2) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('signal' as const), id: fc.nat(2) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('terminate' as const), id: fc.nat(2) }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('work' as const), nth: fc.nat(5), goesOn: fc.boolean() }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('time' as const), ms: fc.constantFrom(50, 100, 1_500, 5_000) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('breakFlushes' as const), fault }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('breakCheckpoints' as const), fault }) },
  { weight: 2, arbitrary: fc.constant({ do: 'mend' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'list' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'takeOver' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'restart' as const }) },
  { weight: 2, arbitrary: fc.constant({ do: 'trim' as const }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

async function run(world: World, given: Step): Promise<void> {
  switch (given.do) {
    case 'start':
      return await world.startWorkflow(ids[given.id] ?? 'wf');
    case 'signal':
      return await world.signal(ids[given.id] ?? 'wf');
    case 'terminate':
      return await terminate(world, ids[given.id] ?? 'wf');
    case 'work':
      return await world.work(given.nth, [given.goesOn ? continueAsNew() : completeWorkflow()]);
    case 'time':
      return await world.pass(given.ms, 50);
    case 'breakFlushes':
      world.flushFault = given.fault;
      return undefined;
    case 'breakCheckpoints':
      world.fault = given.fault;
      return undefined;
    case 'mend':
      return world.mend();
    case 'list':
      void world.visibility.count({ namespaceId: ids[0] ?? '', condition: undefined, byStatus: false }).catch(() => {});
      return undefined;
    case 'takeOver':
      return await world.takeOver();
    case 'restart':
      return await world.drainAndStart();
    case 'trim':
      return await world.trim();
  }
}

test('whatever is lost between two steps, a List after a restart shows every run as it was committed, and no other', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 10, maxLength: 60, size: 'max' }),
      fc.constantFrom(1, 3, 20),
      fc.boolean(),
      async (steps, recordsMax, isCheckpointed) => {
        const world = new World({ limits: { recordsMax, finishMsMax: 200 } });
        await world.start();
        for (const each of steps) await run(world, each);
        if (isCheckpointed) {
          world.fault = undefined;
          await world.pass(1_000);
          await world.trim();
        }
        await world.takeOver();
        world.mend();
        await world.quiet();
        await world.checkList();
        await world.checkpointed();
        await world.checkList();
        await world.drain();
      },
    ),
    { numRuns: 60 },
  );
}, 120_000);
