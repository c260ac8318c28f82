/** A matching host in its real loop, over a database: what is written, what is made of it again, and what happens to a database. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { DatabaseError } from '../../../src/projections/database-port.ts';
import { CheckpointedHost, QUEUES } from './checkpointed-host.ts';

const queue = fc.nat(QUEUES - 1);
const fault = fc.constantFrom('fails' as const, 'commit lost' as const, 'answer lost' as const, 'hangs' as const, 'data' as const);
const step = fc.oneof(
  { weight: 14, arbitrary: fc.record({ do: fc.constant('add' as const), queue }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant('work' as const), queue }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('time' as const), ms: fc.constantFrom(100, 1_500, 5_000) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('break' as const), fault }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('mend' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('takeOver' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('trim' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

async function run(host: CheckpointedHost, given: Step, nth: number): Promise<void> {
  switch (given.do) {
    case 'add':
      return await host.add(`task-${nth}`, given.queue);
    case 'work':
      return await host.work(given.queue);
    case 'time':
      return await host.pass(given.ms);
    case 'break':
      host.fault = given.fault;
      return undefined;
    case 'mend':
      return host.mend();
    case 'takeOver':
      await host.takeOver();
      return host.checkMemory();
    case 'restart':
      await host.drainAndStart();
      return host.checkMemory();
    case 'trim':
      return await host.trim();
  }
}

test('whatever happens to the server and its database, a restart is what was before, and no task is lost', async () => {
  let restoredRows = 0;
  let writes = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 30, maxLength: 100, size: 'max' }),
      fc.constantFrom(1, 3, 20),
      fc.constantFrom({}, { journalRetentionMs: 0 }, { journalRetentionMs: 10_000, journalRetentionBytes: 5_000 }),
      fc.constantFrom({}, { windows: { windowTasksPerLaneMax: 3, windowTasksPerHostMax: 5, windowTasksPerLaneMin: 1 } }),
      async (steps, recordsMax, trim, small) => {
        const host = new CheckpointedHost({ limits: { recordsMax, finishMsMax: 200 }, ...trim, ...small });
        await host.start();
        for (const [nth, each] of steps.entries()) {
          await run(host, each, nth);
          host.checkRows();
          if (each.do === 'takeOver' || each.do === 'restart') restoredRows += host.rows.size;
        }
        host.mend();
        await host.checkpointed();
        host.checkMemory();
        host.checkRows();
        await host.trim();
        await host.takeOver();
        host.checkMemory();
        await host.checkNothingLost();
        await host.drain();
        host.checkRows();
        expect(host.rows.size, 'nothing is left').toBe(0);
        writes += host.writes;
      },
    ),
    { numRuns: 40, endOnFailure: true },
  );
  expect(restoredRows).toBeGreaterThan(40);
  expect(writes).toBeGreaterThan(300);
}, 240_000);

test('while a database hangs tasks are stored and given out; when it answers, all of it is written', async () => {
  const host = new CheckpointedHost({ limits: { recordsMax: 5 } });
  await host.start();
  host.fault = 'hangs';
  for (let count = 0; count < 20; count++) {
    await host.add(`task-${count}`, count % 2);
    await host.pass(1_000);
  }
  await host.work(1);
  expect(host.started.size).toBe(10);
  expect(host.position, 'nothing is written').toBeUndefined();
  expect(host.unwrittenBytes).toBeGreaterThan(20 * 100);
  expect(host.lines.filter((line) => line.includes('still not written')).length).toBe(1);
  host.mend();
  await host.pass(2_000);
  await host.checkpointed();
  expect(host.unwrittenBytes).toBe(0);
  expect(host.rows.size).toBe(10);
  host.checkRows();
});

test('a task that comes and goes within a moment costs the database no row', async () => {
  const host = new CheckpointedHost();
  await host.start();
  for (let count = 0; count < 10; count++) {
    await host.add(`task-${count}`);
    await host.work();
  }
  // The last removals are journaled with the server's last command.
  await host.drain();
  expect(host.writes).toBe(1);
  expect(host.isAllWritten).toBe(true);
  expect(host.rows.size).toBe(0);
  await host.takeOver();
  host.checkMemory();
  expect(host.matching.counts().storedTasks).toBe(0);
});

test('a database that is away when the host is taken over is waited for, at whichever read', async () => {
  const host = new CheckpointedHost();
  await host.start();
  for (let count = 0; count < 5; count++) await host.add(`task-${count}`, count % QUEUES);
  await host.checkpointed();
  await host.trim();
  for (const read of ['restore', 'matchingQueues'] as const) {
    host.onRead = (what) => {
      if (what === read) throw new DatabaseError('unavailable', 'connection refused');
    };
    host.anotherProcess();
    host.host.actor.start();
    await host.pass(3_000);
    expect(host.host.actor.status().state, read).not.toBe('active');
    expect(JSON.stringify(host.host.actor.status())).toContain('its checkpoint cannot be read');
    host.onRead = () => {};
    await host.serving();
    host.checkMemory();
  }
  await host.checkNothingLost();
  expect(host.started.size).toBe(5);
});

test('an owner whose fence was taken writes nothing any more, and replays again or goes', async () => {
  const host = new CheckpointedHost();
  await host.start();
  await host.add('before');
  await host.checkpointed();
  const old = host.host;
  host.anotherProcess();
  await host.start();
  await host.add('after');
  await host.checkpointed();
  const { position, fence } = host;
  // It does not know yet, and drains: what it wrote then would stand over the rows of its successor.
  await Promise.all([old.actor.drain(), host.pass(10_000)]);
  expect(host.position).toEqual(position);
  expect(host.fence).toBe(fence);
  host.checkRows();
  host.checkMemory();
  expect(host.rows.size).toBe(2);
});

test('a backlog of several pages comes back whole, though another restores between two of them', async () => {
  const host = new CheckpointedHost();
  await host.start();
  for (let count = 0; count < 1_200; count += 100) {
    const adds = Array.from({ length: 100 }, (_, nth) => host.add(`task-${count + nth}`, nth % QUEUES));
    await Promise.all(adds);
  }
  await host.checkpointed();
  await host.trim();
  let pages = 0;
  host.onRead = (what) => {
    if (what === 'matchingQueues' && ++pages === 2) host.raiseFence();
  };
  const { fence } = host;
  await host.takeOver();
  expect(pages, 'begun anew').toBe(2 + 2);
  expect(host.fence).toBe(fence + 3);
  host.checkMemory();
  expect(host.matching.counts().storedTasks).toBe(1_200);
  await host.checkNothingLost();
  expect(host.started.size).toBe(1_200);
});

const windows = { windowTasksPerLaneMax: 40, windowTasksPerHostMax: 60, windowTasksPerLaneMin: 5, shedTasksPerTurnMax: 30 };

async function withLongBacklog(count: number): Promise<CheckpointedHost> {
  const host = new CheckpointedHost({ windows });
  await host.start();
  for (let nth = 0; nth < count; nth++) await host.add(`task-${nth}`);
  await host.checkpointed();
  await host.pass(1_000);
  return host;
}

test('of a long backlog a window is in memory, before and after a restart, and it is given out in order', async () => {
  const host = await withLongBacklog(400);
  expect(host.matching.counts().storedTasks).toBe(400);
  expect(host.inMemory).toBeLessThanOrEqual(40);
  host.checkMemory();
  await host.trim();
  await host.takeOver();
  expect(host.inMemory).toBeLessThanOrEqual(40);
  host.checkMemory();
  expect(await host.describe()).toMatchObject({ backlogCountHint: 400, ackLevel: 0, readLevel: 400 });
  for (let nth = 400; nth < 500; nth++) await host.add(`task-${nth}`);
  expect(await host.describe()).toMatchObject({ backlogCountHint: 500, ackLevel: 0, readLevel: 500 });
  await host.checkNothingLost();
  expect([...host.started]).toEqual(Array.from({ length: 500 }, (_, nth) => `task-${nth}`));
  await host.drain();
  expect(host.rows.size).toBe(0);
});

test('a takeover reads the first tasks of each queue, however many are stored behind them', async () => {
  const host = new CheckpointedHost({ windows: { ...windows, storedTasksPerTurnMax: 20, countedTasksPerReadMax: 100 } });
  await host.start();
  for (let nth = 0; nth < 3_000; nth++) await host.add(`task-${nth}`, nth % QUEUES);
  await host.checkpointed();
  await host.trim();
  host.rowsRead = 0;
  await host.takeOver();
  expect(host.rowsRead).toBeLessThanOrEqual(QUEUES * (1 + windows.windowTasksPerLaneMax));
  expect(host.inMemory).toBeLessThanOrEqual(windows.windowTasksPerHostMax + QUEUES * windows.windowTasksPerLaneMin);
  host.checkMemory();
  await host.pass(1_000);
  expect(host.rowsRead, 'they are counted, not read').toBeLessThanOrEqual(QUEUES * (1 + windows.windowTasksPerLaneMax));
  expect(host.matching.counts().storedTasks).toBe(3_000);
  for (let queue = 0; queue < QUEUES; queue++) expect(await host.describe(queue)).toMatchObject({ backlogCountHint: 1_000 });
  await host.checkNothingLost();
  expect(host.started.size).toBe(3_000);
});

test('what a replay removes of tasks that are rows alone is not counted', async () => {
  const host = await withLongBacklog(400);
  host.fault = 'fails';
  let reads = 0;
  host.onRead = (what) => {
    if (what === 'matchingTasks' && ++reads > 3) throw new DatabaseError('unavailable', 'connection refused');
  };
  await host.work();
  await host.pass(5_000);
  host.onRead = () => {};
  const left = 400 - host.started.size;
  expect(host.started.size, 'more than a window').toBeGreaterThan(windows.windowTasksPerLaneMax);
  expect(left).toBeGreaterThan(windows.windowTasksPerLaneMax);
  await host.takeOver();
  host.checkMemory();
  await host.add('task-400');
  const waiting = await host.describe();
  expect(waiting.kind === 'taskQueueDescription' && waiting.backlogCountHint).toBeLessThanOrEqual(left + 1);
  host.mend();
  await host.checkpointed();
  await host.pass(1_000);
  expect(await host.describe()).toMatchObject({ backlogCountHint: left + 1, ackLevel: 400 - left });
  expect(host.matching.counts().storedTasks).toBe(left + 1);
});

test('a queue of which a replay removes all that are rows alone is empty', async () => {
  const host = await withLongBacklog(200);
  host.fault = 'fails';
  await host.checkNothingLost();
  await host.pass(5_000);
  expect(host.rows.size).toBe(200);
  await host.takeOver();
  host.checkMemory();
  host.mend();
  await host.checkpointed();
  await host.pass(1_000);
  expect(await host.describe()).toMatchObject({ backlogCountHint: 0, backlogAgeMs: 0, ackLevel: 200 });
  expect(host.matching.counts().storedTasks).toBe(0);
  expect(host.rows.size).toBe(0);
});

test('while rows cannot be counted the queue goes on, and they are counted later', async () => {
  const host = await withLongBacklog(300);
  let refused = 0;
  host.onRead = (what) => {
    if (what !== 'countMatchingTasks') return;
    refused++;
    throw new DatabaseError('unavailable', 'connection refused');
  };
  await host.takeOver();
  await host.pass(5_000);
  expect(refused, 'it is tried again').toBeGreaterThan(1);
  for (let nth = 0; nth < 4; nth++) await host.work();
  const started = host.started.size;
  expect(started, 'more than a window').toBeGreaterThan(windows.windowTasksPerLaneMax);
  expect(host.matching.counts().storedTasks).toBeGreaterThan(0);
  host.onRead = () => {};
  await host.pass(60_000);
  expect(await host.describe()).toMatchObject({ backlogCountHint: 300 - started });
  await host.checkNothingLost();
  expect(host.started.size).toBe(300);
});

test.each(['unavailable', 'corrupt'] as const)(
  'while rows are %s what is in memory is given out, and polls for the rest wait',
  async (code) => {
    const host = await withLongBacklog(200);
    host.onRead = (what) => {
      if (what === 'matchingTasks') throw new DatabaseError(code, 'connection refused');
    };
    await host.work();
    expect([...host.started]).toEqual(Array.from({ length: 40 }, (_, nth) => `task-${nth}`));
    for (let nth = 0; nth < 20; nth++) {
      await host.pass(1_500);
      await host.work();
    }
    expect(host.started.size).toBe(40);
    // Of tasks that are not in memory.
    const described = await host.describe();
    expect(described).toMatchObject({ backlogCountHint: 160, ackLevel: 40, readLevel: 200 });
    expect(described.kind === 'taskQueueDescription' && described.backlogAgeMs).toBeGreaterThanOrEqual(20 * 1_500);
    // An outage is told where the database was opened.
    const said = code === 'unavailable' ? 0 : 1;
    expect(host.lines.filter((line) => line.includes('cannot be read; polls for them wait'))).toHaveLength(said);
    host.onRead = () => {};
    await host.checkNothingLost();
    expect([...host.started]).toEqual(Array.from({ length: 200 }, (_, nth) => `task-${nth}`));
  },
);

test('rows that were lost under a window are noticed, and the queue goes on', async () => {
  const host = await withLongBacklog(200);
  for (const taskId of [...host.rows.keys()]) if (taskId > 90 && taskId < 120) host.rows.delete(taskId);
  await host.work();
  await host.pass(2_000);
  expect(host.started.size).toBe(200 - 29);
  expect(host.lines.filter((line) => line.includes('stored tasks are missing in the database'))).toHaveLength(1);
  expect(host.started.has('task-199')).toBe(true);
});

test('the journal is trimmed behind a checkpoint, to the last record that it has; a restart begins there', async () => {
  const host = new CheckpointedHost({ journalRetentionMs: 0 });
  await host.start();
  await host.add('first');
  await host.checkpointed();
  expect(host.journalStart).toBe(host.position?.lastOffset);
  await host.pass(60_000);
  for (let count = 0; count < 5; count++) await host.add(`task-${count}`);
  await host.checkpointed();
  expect(host.journalStart).toBe(host.position?.lastOffset);
  await host.takeOver();
  expect(host.matching.counts().storedTasks).toBe(6);
  await host.checkNothingLost();
});

test.each<[string, (host: CheckpointedHost) => void, string]>([
  [
    'counters that a disk has changed',
    ({ tables }) => {
      const journal = tables.journal({ kind: 'matching', partition: 0 });
      if (journal.position !== undefined) journal.position = { ...journal.position, counters: Uint8Array.of(1, 2, 3, 4, 5, 6) };
    },
    'the row of matching journal 0 in the table of journals is damaged: DatabaseError: a stored set of counters',
  ],
  [
    'rows of a newer version',
    ({ tables }) => {
      const journal = tables.journal({ kind: 'matching', partition: 0 });
      if (journal.position !== undefined) journal.position = { ...journal.position, schema: 4 };
    },
    'start that version',
  ],
])('%s: the partition fails, and says so', async (_what, spoil, said) => {
  const host = new CheckpointedHost();
  await host.start();
  await host.add('task');
  await host.checkpointed();
  spoil(host);
  host.anotherProcess();
  host.host.actor.start();
  await host.pass(1_000);
  expect(host.host.actor.status()).toMatchObject({ state: 'failed' });
  expect(JSON.stringify(host.host.actor.status())).toContain(said);
});

test('a stored task whose row cannot be read is offered to nobody, and the others are; its row goes when the task ends', async () => {
  const host = new CheckpointedHost();
  await host.start();
  for (const name of ['one', 'bad', 'three']) await host.add(name);
  await host.checkpointed();
  const row = host.rows.get(2)!;
  host.rows.set(2, { ...row, task: Uint8Array.of(1, 2, 3, 4, 5, 6) });
  await host.takeOver();
  expect(host.host.actor.status()).toMatchObject({ state: 'active' });
  expect(host.lines.filter((line) => line.includes('ERROR') && line.includes('taskId=2'))).toHaveLength(1);
  for (let round = 0; round < 3; round++) await host.work();
  await host.pass(5_000);
  expect([...host.started].toSorted()).toEqual(['one', 'three']);
  await host.checkpointed();
  expect([...host.rows.keys()], 'it is left as it is').toEqual([2]);
  host.rows.set(2, row);
  await host.takeOver();
  await host.checkNothingLost();
  await host.checkpointed();
  expect(host.rows.size).toBe(0);
});

test('what is not written counts with the names that clients chose', async () => {
  const host = new CheckpointedHost();
  await host.start();
  const before = host.unwrittenBytes;
  for (let nth = 0; nth < 5; nth++) await host.add(`long-${nth}`.padEnd(1_000, 'x'));
  expect(host.unwrittenBytes - before, 'two bytes a character, twice').toBeGreaterThanOrEqual(5 * 4_000);
  await host.checkpointed();
  expect(host.unwrittenBytes).toBe(0);
});
