/** A shard in its real loop, over a database: what is written, what is made of it again, and what happens to a database. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  completeWorkflow,
  continueAsNew,
  deleteWorkflow,
  scheduleActivity,
  signalAttributes,
  startChild,
  startTimer,
  terminateWorkflow,
} from '../../../history/shard-under-test.ts';
import { World } from './checkpointed-world.ts';
import type { CheckpointTrouble, ScheduledJournal } from '../../../../src/projections/checkpoints/checkpoint-schedule.ts';
import type { CheckpointReport } from '../../../../src/actors/partition/partition-report.ts';

const ids = ['wf', 'other', 'child'];
const fault = fc.constantFrom('fails' as const, 'commit lost' as const, 'answer lost' as const, 'hangs' as const, 'data' as const);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('start' as const), id: fc.nat(2) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('signal' as const), id: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('terminate' as const), id: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), id: fc.nat(2) }) },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('work' as const),
      nth: fc.nat(5),
      commands: fc.array(fc.constantFrom('activity' as const, 'timer' as const, 'child' as const), { maxLength: 3 }),
      close: fc.constantFrom(undefined, undefined, undefined, 'complete' as const, 'continue' as const),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('time' as const), ms: fc.constantFrom(100, 1_500, 5_000) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('break' as const), fault }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('mend' as const) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('evict' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('breakLoads' as const),
      fault: fc.constantFrom('fails' as const, 'hangs' as const, 'slow' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('takeOver' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('trim' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

const commandOf = {
  activity: ({ random }: World) => scheduleActivity({ activityId: random.nonce() }),
  /** Its row leaves the input to history. */
  largeActivity: ({ random }: World) => scheduleActivity({ activityId: random.nonce(), input: new Uint8Array(4_200).fill(7) }),
  timer: ({ random }: World) => startTimer(random.nonce(), 700),
  child: () => startChild({ workflowId: 'child' }),
  largeChild: () => startChild({ workflowId: 'child', input: new Uint8Array(4_200).fill(8) }),
};

async function run(world: World, given: Step): Promise<void> {
  switch (given.do) {
    case 'start':
      return await world.startWorkflow(ids[given.id] ?? 'wf');
    case 'signal':
      return await world.signal(ids[given.id] ?? 'wf');
    case 'terminate': {
      const { key, ...command } = terminateWorkflow();
      return await world.try({ ...command, key: { ...key, ...world.execution(ids[given.id] ?? 'wf') } });
    }
    case 'delete':
      return await world.try(deleteWorkflow({ ...world.execution(ids[given.id] ?? 'wf'), runId: '' }));
    case 'work': {
      const closing = { complete: [completeWorkflow()], continue: [continueAsNew()] };
      const last = given.close === undefined ? [] : closing[given.close];
      return await world.work(given.nth, [...given.commands.map((name) => commandOf[name](world)), ...last]);
    }
    case 'time':
      return await world.pass(given.ms);
    case 'break':
      world.fault = given.fault;
      return undefined;
    case 'evict':
      return world.evict();
    case 'breakLoads':
      world.loadFault = given.fault;
      return undefined;
    case 'mend':
      return world.mend();
    case 'takeOver':
      await world.takeOver();
      return world.checkMemory();
    case 'restart':
      await world.drainAndStart();
      return world.checkMemory();
    case 'trim':
      return await world.trim();
  }
}

test('whatever happens to the server and its database, and whatever leaves memory, a restart is what was before, and histories are whole', async () => {
  let restored = 0;
  let evicted = 0;
  let writes = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 30, maxLength: 100, size: 'max' }),
      fc.constantFrom(1, 3, 20),
      fc.constantFrom(0, 2_000, 1_000_000),
      fc.constantFrom({}, { journalRetentionMs: 0 }, { journalRetentionMs: 10_000, journalRetentionBytes: 20_000 }),
      fc.boolean(),
      fc.constantFrom({}, { hotStateBytesMax: 0, evictionsPerCheck: 3 }, { hotStateBytesMax: 10_000, evictionsPerCheck: 1 }),
      async (steps, recordsMax, cacheBytesMax, trim, evictsAlways, hot) => {
        const world = new World({ limits: { recordsMax, finishMsMax: 200 }, cacheBytesMax, ...trim, ...hot });
        await world.start();
        for (const each of steps) {
          await run(world, each);
          if (evictsAlways) world.evict();
          world.checkRows();
          if (world.position !== undefined && (each.do === 'takeOver' || each.do === 'restart')) restored++;
        }
        world.mend();
        await world.checkpointed();
        world.checkMemory();
        world.checkRows();
        await world.checkHistories();
        await world.trim();
        await world.takeOver();
        world.checkMemory();
        world.evict();
        await world.checkHistories();
        await world.drain();
        expect(world.lines.filter((line) => line.includes('differs from its row'))).toEqual([]);
        writes += world.writes;
        evicted += world.evicted;
      },
    ),
    { numRuns: 40, endOnFailure: true },
  );
  expect(restored).toBeGreaterThan(40);
  expect(writes).toBeGreaterThan(300);
  expect(evicted).toBeGreaterThan(60);
}, 240_000);

test('while a database hangs workflows go on and operators are informed; when it answers, all of it is written', async () => {
  const world = new World({ limits: { recordsMax: 5 } });
  await world.start();
  world.fault = 'hangs';
  for (let round = 0; round < 10; round++) {
    await world.startWorkflow(`wf-${round}`);
    await world.work(0, [startTimer('t', 50)]);
    await world.pass(3_000);
  }
  expect(world.folded().runs.size, 'all were started').toBe(10);
  expect(world.folded().timers.size, 'timers fired').toBe(0);
  expect(world.position, 'nothing is written').toBeUndefined();
  expect(world.memory.checkpointer?.unwrittenBytes).toBeGreaterThan(10 * 300);
  expect(world.lines.filter((line) => line.includes('still not written')).length).toBe(2);
  world.mend();
  await world.checkpointed();
  expect(world.memory.checkpointer?.unwrittenBytes).toBe(0);
  world.checkRows();
});

test('a shard that waits for its turn behind partitions whose database hangs says so, and what a restart would read', async () => {
  const world = new World({ scheduleLimits: { atOnceMax: 1 } });
  await world.start();
  await world.startWorkflow('before');
  await world.checkpointed();
  const checkpoint = (): Partial<CheckpointReport> => world.host.report().checkpoint ?? {};
  expect(checkpoint()).toMatchObject({ tailRecords: 0, tailBytes: 0 });
  expect(checkpoint().trouble).toBeUndefined();

  const matching: ScheduledJournal & { writeTrouble: CheckpointTrouble | undefined } = {
    tailRecords: 1,
    unwrittenBytes: 0,
    writeTrouble: undefined,
    begin: () => true,
    noTurn: () => {},
  };
  world.schedule.wants(matching);
  await world.signal('before');
  await world.pass(5_000);
  expect(checkpoint().trouble, 'they may only be slow').toBeUndefined();
  matching.writeTrouble = { sinceMs: 0, reason: 'connection refused' };
  expect(checkpoint()).toMatchObject({ tailRecords: 1, trouble: { reason: 'connection refused' } });
  matching.writeTrouble = undefined;
  await world.pass(10_000);
  expect(checkpoint().trouble?.reason).toMatch('are written first');
  expect(checkpoint().trouble?.seconds).toBeGreaterThanOrEqual(10);

  world.schedule.ended(matching);
  await world.checkpointed();
  expect(checkpoint()).toMatchObject({ tailRecords: 0, tailBytes: 0 });
  expect(checkpoint().trouble).toBeUndefined();
  world.fault = 'hangs';
  await world.signal('before');
  await world.pass(3_000);
  expect(checkpoint(), 'a cut that is not written is no checkpoint').toMatchObject({ tailRecords: 1 });
  expect(checkpoint().tailBytes).toBeGreaterThan(0);
  world.mend();
  await world.checkpointed();
});

test('while a database is so far behind that memory must not grow, nothing is started, and what runs goes on', async () => {
  const world = new World({ limits: { recordsMax: 5 }, scheduleLimits: { unwrittenStateBytesMax: 3_000 } });
  await world.start();
  await world.startWorkflow('before');
  world.fault = 'hangs';
  for (let round = 0; round < 20; round++) await world.signal('before');
  const start = world.startCommand('later');
  expect(await world.ask(start)).toMatchObject({ kind: 'rejected', rejection: { reason: 'no-room' } });
  expect(world.lines.join(), 'people were told before').toMatch(/the database is falling behind.*no workflow is started until/s);
  const both = { ...world.startCommand('before'), kind: 'signalWithStartWorkflow', signal: signalAttributes({}) } as const;
  expect(await world.ask(both), 'a signal of one that runs').toMatchObject({ kind: 'started', started: false });
  const records = world.folded().runs.size;
  await world.work(0, [completeWorkflow()]);
  expect(
    [...world.folded().runs.values()].map(({ status }) => status),
    'what runs goes on',
  ).toEqual([2]);
  world.mend();
  await world.checkpointed();
  expect(await world.ask(start)).toMatchObject({ kind: 'started' });
  expect(world.folded().runs.size).toBe(records + 1);
});

test('a server that stops leaves nothing that its database does not have', async () => {
  const world = new World();
  await world.start();
  await world.startWorkflow('wf');
  await world.work(0, [startTimer('t', 60_000)]);
  expect(world.position).toBeUndefined();
  await world.drain();
  expect(world.isAllWritten).toBe(true);
  world.checkRows();
});

test('a checkpoint comes a moment after the last record, and under load by the number of records', async () => {
  const idle = new World();
  await idle.start();
  await idle.startWorkflow('wf');
  await idle.pass(3_000);
  expect(idle.isAllWritten).toBe(true);
  const { writes } = idle;
  await idle.pass(60_000);
  expect(idle.writes, 'nothing has happened').toBe(writes);

  const busy = new World({ limits: { recordsMax: 10 } });
  await busy.start();
  for (let count = 0; count < 40; count++) await busy.startWorkflow(`wf-${count}`);
  await busy.quiet();
  expect(busy.writes, 'with the clock standing still').toBeGreaterThanOrEqual(3);
});

test('histories are read from rows when the journal is trimmed, with nothing in memory', async () => {
  const world = new World({ cacheBytesMax: 0 });
  await world.start();
  await world.startWorkflow('wf');
  await world.work(0, [scheduleActivity()]);
  await world.checkpointed();
  await world.trim();
  await world.checkHistories(2);
  await world.takeOver();
  await world.signal('wf');
  await world.checkHistories(2);
  await world.checkHistories(100);
});

test('the journal is trimmed by its size as well, also by what was counted before a restart', async () => {
  const world = new World({ journalRetentionMs: 86_400_000, journalRetentionBytes: 5_000, cacheBytesMax: 0 });
  await world.start();
  await world.startWorkflow('wf');
  let trims = 0;
  for (let round = 1; round <= 30; round++) {
    const before = world.journalStart;
    await world.signal('wf');
    await world.checkpointed();
    if (round % 5 === 0) await world.drain();
    if (round % 5 === 0) await world.start();
    await world.pass(61_000);
    if (world.journalStart > before) trims += 1;
    // Each record counts as 256 bytes and its events.
    if (round === 5) expect(trims, 'there are fewer').toBe(0);
  }
  expect(trims).toBeGreaterThan(0);
  const { lastOffset = 0 } = world.position ?? {};
  expect(lastOffset - world.journalStart).toBeGreaterThan(5);
  expect(lastOffset - world.journalStart).toBeLessThan(30);
  await world.takeOver();
  world.checkMemory();
  await world.checkHistories();
});

test('the journal is trimmed behind a checkpoint, once a minute, to the last record that it has; a restart begins there', async () => {
  const world = new World({ journalRetentionMs: 0, cacheBytesMax: 0 });
  await world.start();
  await world.startWorkflow('wf');
  await world.checkpointed();
  expect(world.journalStart).toBe(world.position?.lastOffset);
  const start = world.journalStart;
  await world.signal('wf');
  await world.checkpointed();
  expect(world.journalStart, 'within a minute').toBe(start);
  await world.pass(60_000);
  await world.signal('wf');
  await world.checkpointed();
  expect(world.journalStart).toBe(world.position?.lastOffset);
  await world.takeOver();
  world.checkMemory();
  await world.checkHistories();
});
