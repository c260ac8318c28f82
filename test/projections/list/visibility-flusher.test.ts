import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Database, DatabaseError } from '../../../src/projections/database-port.ts';
import { ProcessVisibility } from '../../../src/projections/list/process-visibility.ts';
import type { VisibilityFlusher } from '../../../src/projections/list/visibility-flusher.ts';
import { VisibilityRows } from '../../../src/projections/list/visibility-rows.ts';
import { createLogger } from '../../../src/observability/logger.ts';
import { historyWire } from '../../../src/codec/history-wire.ts';
import { uuid } from '../../contract/database/samples.ts';
import { ShardUnderTest, terminateWorkflow } from '../../history/shard-under-test.ts';
import { turns, until } from '../../support/event-loop.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { MemoryDatabase, MemoryTables, type WriteFault } from '../../support/memory-database.ts';

const namespaceId = uuid();
const view = { position: 0, namespaceById: () => undefined };
const partition = { epoch: 1, sequence: 1, offset: 1 };

/** One shard whose records are committed when the test says so, and a database that can be lost, refuse, fail and hang. */
class Bench {
  readonly clock: HandClock;
  readonly #partition: number;
  readonly warnings: string[] = [];
  tables = new MemoryTables();
  fault: WriteFault | undefined;
  /** Flushes of what is refused are told so. */
  refusedRunId = '';
  flushes: (readonly string[])[] = [];
  /** Of flushes; undefined: none is held up. */
  gate: Promise<void> | undefined;
  /** Likewise, of the first call, with which the database opens. */
  opening: Promise<void> | undefined;
  readonly visibility: ProcessVisibility;
  shard = new ShardUnderTest({ retentionMsDefault: 1_000 });
  rows: VisibilityRows;
  flusher: VisibilityFlusher;
  #committed = 0;

  /** `beside`: another shard of the same process, over the same database. */
  constructor(beside?: Bench) {
    this.shard.checks = false;
    this.clock = beside?.clock ?? new HandClock();
    this.#partition = beside === undefined ? 0 : 1;
    this.visibility =
      beside?.visibility ??
      new ProcessVisibility({
        database: this.#database(),
        clock: this.clock,
        logger: createLogger({ level: 'warn', format: 'text', write: (line) => void this.warnings.push(line), nowMs: () => 0 }),
      });
    [this.rows, this.flusher] = this.#memory();
  }

  activated(): this {
    this.flusher.activated();
    return this;
  }

  /** Memory is dropped and folded anew. */
  refold(): void {
    this.flusher.close();
    [this.rows, this.flusher] = this.#memory();
    const { records } = this.shard;
    for (const record of records.slice(0, this.#committed)) this.#subscribers((each) => each.committed(record, partition, true));
    for (const record of records.slice(this.#committed)) this.rows.accepted(record);
    this.flusher.activated();
  }

  start(workflowId = 'wf'): string {
    return this.#noting(() => this.shard.start({ key: { namespaceId, workflowId, runId: '' }, newRunId: uuid() }));
  }

  close(workflowId = 'wf'): void {
    this.#noting(() => this.shard.ask(terminateWorkflow({ key: { namespaceId, workflowId, runId: '' } })));
  }

  retire(): void {
    this.#noting(() => {
      this.shard.advance(1_000);
      this.shard.fireDueTimers();
    });
  }

  commit(count = Infinity): void {
    for (let nth = 0; nth < count; nth++) {
      const record = this.shard.records[this.#committed];
      if (record === undefined) return;
      this.#committed += 1;
      this.#subscribers((each) => each.committed(record, partition, false));
    }
  }

  /** In the database, as it is. */
  written(): readonly string[] {
    return [...this.tables.visibility.values()].map(({ workflowId, status }) => `${workflowId} ${status}`).toSorted();
  }

  async listed(): Promise<readonly string[]> {
    const { rows } = await this.visibility.list({ namespaceId, condition: undefined, after: undefined, max: 1_000 });
    return rows.map(({ workflowId, status }) => `${workflowId} ${status}`).toSorted();
  }

  #noting<Result>(act: () => Result): Result {
    const before = this.shard.records.length;
    const result = act();
    for (const record of this.shard.records.slice(before)) this.rows.accepted(record);
    return result;
  }

  #subscribers(tell: (subscriber: VisibilityRows | VisibilityFlusher) => void): void {
    tell(this.rows);
    tell(this.flusher);
  }

  #memory(): [VisibilityRows, VisibilityFlusher] {
    const rows = new VisibilityRows({ shard: 1, core: this.shard.core, registry: { isFolded: true, view }, wire: historyWire });
    return [rows, this.visibility.flusher({ kind: 'history', partition: this.#partition }, rows)];
  }

  #database(): Database {
    const faults = { onWrite: async () => this.fault };
    const now = (): Database => new MemoryDatabase(this.tables, faults);
    const flush: Database['flush'] = async (journal, fence, rows, retired) => {
      this.flushes.push(rows.map(({ workflowId }) => workflowId));
      await this.gate;
      if (rows.some(({ runId }) => runId === this.refusedRunId)) throw new DatabaseError('data', 'refused');
      return await now().flush(journal, fence, rows, retired);
    };
    const restore: Database['restore'] = async (journal) => {
      await this.opening;
      return await now().restore(journal);
    };
    const held: Partial<Database> = { flush, restore };
    return new Proxy(new MemoryDatabase(), { get: (_, name) => Reflect.get(held, name) ?? Reflect.get(now(), name).bind(now()) });
  }
}

test('a row is written 50 ms after its commit, and what has changed until then is one row', async () => {
  const bench = new Bench().activated();
  bench.start();
  bench.clock.advance(1_000);
  await turns(5);
  expect(bench.flushes).toEqual([]);
  bench.commit();
  bench.clock.advance(49);
  bench.close();
  bench.commit();
  await turns(5);
  expect(bench.flushes).toEqual([]);
  bench.clock.advance(1);
  await until(() => bench.written().length > 0);
  expect(bench.written()).toEqual(['wf 5']);
  expect(bench.flushes).toEqual([['wf']]);
  bench.clock.advance(10_000);
  await turns(5);
  expect(bench.flushes).toHaveLength(1);
});

test('where more than 200 rows come in a second they are written once a second, and soon again when it is quiet', async () => {
  const bench = new Bench().activated();
  const startMany = (count: number): void => {
    for (let nth = 0; nth < count; nth++) bench.start(uuid());
    bench.commit();
  };
  startMany(1);
  bench.clock.advance(50);
  await until(() => bench.written().length === 1);
  startMany(20);
  bench.clock.advance(50);
  await until(() => bench.written().length === 21);
  startMany(200);
  bench.clock.advance(999);
  await turns(5);
  expect(bench.written()).toHaveLength(21);
  bench.clock.advance(1);
  await until(() => bench.written().length === 221);
  startMany(10);
  bench.clock.advance(1_000);
  await until(() => bench.written().length === 231);
  startMany(1);
  bench.clock.advance(50);
  await until(() => bench.written().length === 232);
});

test('many rows of several shards of a process are many rows', async () => {
  const bench = new Bench().activated();
  const other = new Bench(bench).activated();
  // Each alone: 160 a second, which are written every 50 ms.
  const passSeconds = async (seconds: number): Promise<void> => {
    for (let step = 0; step < 20 * seconds; step++) {
      for (const shard of [bench, other]) {
        for (let nth = 0; nth < 8; nth++) shard.start(uuid());
        shard.commit();
      }
      bench.clock.advance(50);
      await turns(10);
    }
  };
  await passSeconds(3);
  const before = bench.flushes.length;
  await passSeconds(3);
  // Of each shard 160 rows once a second, 50 in a flush; else 120.
  expect(bench.flushes.length - before).toBeLessThanOrEqual(32);
  bench.clock.advance(1_000);
  await until(() => bench.written().length === 1_920);
});

test('a List shows what was committed before it, without any time passing; all who ask together wait for one flush', async () => {
  const bench = new Bench().activated();
  expect(await bench.listed()).toEqual([]);
  expect(bench.flushes).toEqual([]);
  bench.start('a');
  bench.commit();
  bench.start('not committed');
  const lists = await Promise.all([bench.listed(), bench.listed(), bench.listed()]);
  expect(lists).toEqual([['a 1'], ['a 1'], ['a 1']]);
  expect(bench.flushes).toEqual([['a']]);
  bench.commit();
  bench.close('a');
  bench.commit();
  expect(await bench.listed()).toEqual(['a 5', 'not committed 1']);
  expect(await bench.visibility.count({ namespaceId, condition: undefined, byStatus: false })).toMatchObject([{ count: 2 }]);
  bench.retire();
  bench.commit();
  expect(await bench.listed()).toEqual(['not committed 1']);
});

test('a List that asks while rows are being written waits for those that came behind them as well', async () => {
  const bench = new Bench().activated();
  bench.start('a');
  bench.commit();
  const gate = Promise.withResolvers<void>();
  bench.gate = gate.promise;
  bench.clock.advance(50);
  await until(() => bench.flushes.length === 1);
  bench.start('b');
  bench.commit();
  const listed = bench.listed();
  await turns(5);
  gate.resolve();
  expect(await listed).toEqual(['a 1', 'b 1']);
});

test('the first List waits for a database that is only being opened, however long its rows are under way', async () => {
  const bench = new Bench().activated();
  const opening = Promise.withResolvers<void>();
  bench.opening = opening.promise;
  bench.start('a');
  bench.commit();
  bench.clock.advance(50);
  const listed = bench.listed();
  await turns(5);
  bench.clock.advance(1_000);
  await turns(5);
  opening.resolve();
  expect(await listed).toEqual(['a 1']);
});

test('a List that comes before the first row waits for the database that the first row opens', async () => {
  const bench = new Bench().activated();
  const opening = Promise.withResolvers<void>();
  bench.opening = opening.promise;
  const listed = bench.listed();
  bench.start('a');
  bench.commit();
  await turns(5);
  bench.clock.advance(2_000);
  opening.resolve();
  expect(await listed).toEqual(['a 1']);
});

test('a database that hangs while it writes keeps a List for a second, no longer', async () => {
  const bench = new Bench().activated();
  bench.start('a');
  bench.commit();
  expect(await bench.listed()).toEqual(['a 1']);
  bench.gate = new Promise(() => {});
  bench.start('b');
  bench.commit();
  let listed: readonly string[] | undefined;
  void bench.listed().then((rows) => (listed = rows));
  await turns(5);
  bench.clock.advance(999);
  await turns(5);
  expect(listed).toBeUndefined();
  bench.clock.advance(1);
  await until(() => listed !== undefined);
  expect(listed).toEqual(['a 1']);
});

test.each(['fails', 'commit lost', 'answer lost'] as const)(
  'what cannot be written (%s) is written later, as it is then',
  async (fault) => {
    const bench = new Bench().activated();
    bench.fault = fault;
    bench.start('a');
    bench.commit();
    bench.clock.advance(50);
    await until(() => bench.flushes.length === 1);
    await turns(5);
    bench.close('a');
    bench.commit();
    bench.clock.advance(99);
    await turns(5);
    expect(bench.flushes).toHaveLength(1);
    bench.clock.advance(1);
    await until(() => bench.flushes.length === 2);
    await turns(5);
    expect(bench.warnings, 'an outage is told for all shards, where they ask').toEqual([]);
    bench.fault = undefined;
    bench.clock.advance(200);
    await until(() => bench.flushes.length === 3);
    await turns(5);
    expect(bench.written()).toEqual(['a 5']);
  },
);

test('a List or Count that is given up while it waits for rows asks the database nothing', async () => {
  const bench = new Bench().activated();
  bench.start('a');
  bench.commit();
  expect(await bench.listed()).toEqual(['a 1']);
  bench.gate = new Promise(() => {});
  bench.start('b');
  bench.commit();
  const query = { namespaceId, condition: undefined };
  const list = bench.visibility.list({ ...query, after: undefined, max: 1, asked: 1 });
  const count = (asked: number) => bench.visibility.count({ ...query, byStatus: false, asked });
  const outcomes = Promise.allSettled([list, count(2), count(3)]);
  await turns(5);
  await Promise.all([bench.visibility.giveUp(1), bench.visibility.giveUp(2)]);
  bench.clock.advance(1_000);
  const givenUp = { status: 'rejected', reason: { code: 'overtime' } };
  expect(await outcomes).toMatchObject([givenUp, givenUp, { status: 'fulfilled', value: [{ count: 1 }] }]);
});

test('a row that the database refuses keeps no other from being written', async () => {
  const bench = new Bench().activated();
  bench.start('a');
  bench.refusedRunId = bench.start('refused');
  bench.start('b');
  bench.commit();
  expect(await bench.listed()).toEqual(['a 1', 'b 1']);
  expect(bench.warnings.filter((line) => line.includes(bench.refusedRunId))).toHaveLength(1);
  bench.refusedRunId = '';
  bench.close('refused');
  bench.commit();
  expect(await bench.listed()).toEqual(['a 1', 'b 1', 'refused 5']);
});

test('a database that has lost its rows is filled again, and no List shows less', async () => {
  const bench = new Bench().activated();
  for (let nth = 0; nth < 500; nth++) bench.start(`wf-${nth}`);
  bench.commit();
  expect(await bench.listed()).toHaveLength(500);
  bench.close('wf-7');
  bench.tables = new MemoryTables();
  const listed = await bench.listed();
  expect(listed).toHaveLength(499);
  bench.commit();
  expect(await bench.listed()).toHaveLength(500);
  expect(await bench.listed()).toContain('wf-7 5');

  bench.tables = new MemoryTables();
  bench.start('later');
  bench.commit();
  await until(() => {
    bench.clock.advance(50);
    return bench.written().length === 501;
  });
});

test('a database that was away and comes back empty is filled by the first List', async () => {
  const bench = new Bench().activated();
  bench.start('a');
  bench.commit();
  expect(await bench.listed()).toEqual(['a 1']);
  bench.fault = 'fails';
  bench.start('b');
  bench.commit();
  for (let failed = 1; failed <= 4; failed++) {
    bench.clock.advance(1_000);
    await turns(5);
  }
  bench.tables = new MemoryTables();
  bench.fault = undefined;
  expect(await bench.listed()).toEqual(['a 1', 'b 1']);
});

test('a run that retires before its row was written keeps no List waiting', async () => {
  const bench = new Bench();
  bench.start('a');
  bench.close('a');
  bench.commit();
  bench.fault = 'fails';
  bench.activated();
  await bench.listed().catch(() => {});
  bench.retire();
  bench.commit();
  bench.fault = undefined;
  expect(await bench.listed()).toEqual([]);
});

test('after a start a List waits until rows of all runs are written, and is informed when that takes long', async () => {
  const bench = new Bench();
  for (let nth = 0; nth < 300; nth++) bench.start(`wf-${nth}`);
  bench.commit();
  bench.gate = new Promise(() => {});
  bench.refold();
  const refused = expect(bench.listed()).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('still being written'),
  });
  await turns(5);
  bench.clock.advance(5_000);
  await refused;

  const healthy = new Bench();
  for (let nth = 0; nth < 300; nth++) healthy.start(`wf-${nth}`);
  healthy.commit();
  healthy.refold();
  expect(await healthy.listed()).toHaveLength(300);
});

test('while a journal is read nothing is written, but for what would grow too large', async () => {
  const bench = new Bench();
  bench.start();
  const [record] = bench.shard.records;
  const [run] = record?.runs ?? [];
  const summary = bench.shard.core.summaryOf(run?.runId ?? '');
  if (record === undefined || run === undefined || summary === undefined) throw new Error('it has started');
  const core = { summaryOf: (runId: string) => ({ ...summary, key: { ...summary.key, runId } }), shard: { runs: new Map() } };
  const rows = new VisibilityRows({ shard: 1, core, registry: { isFolded: true, view }, wire: historyWire });
  const flusher = bench.visibility.flusher({ kind: 'history', partition: 1 }, rows);
  const replay = (): void => {
    const another = { ...record, runs: [{ ...run, runId: uuid() }] };
    for (const each of [rows, flusher]) each.committed(another, partition, true);
  };
  for (let nth = 0; nth < 9_999; nth++) replay();
  bench.clock.advance(60_000);
  await turns(5);
  expect(bench.flushes).toEqual([]);
  replay();
  await until(() => bench.written().length === 10_000);
});

test('a memory that is dropped writes no more, nor what it has under way', async () => {
  const bench = new Bench().activated();
  bench.start('a');
  bench.commit();
  expect(await bench.listed()).toEqual(['a 1']);
  const gate = Promise.withResolvers<void>();
  bench.gate = gate.promise;
  const runId = bench.start('b');
  bench.commit();
  bench.clock.advance(50);
  await until(() => bench.flushes.length === 2);
  bench.gate = undefined;
  bench.refold();
  bench.close('b');
  bench.commit();
  expect(await bench.listed()).toEqual(['a 1', 'b 5']);
  bench.retire();
  bench.commit();
  expect(await bench.listed()).toEqual(['a 1']);
  gate.resolve();
  await turns(5);
  expect([...bench.tables.visibility.values()].some((row) => row.runId === runId)).toBe(false);
});

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('start' as const), wf: fc.nat(5) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('close' as const), wf: fc.nat(5) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'retire' as const }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('commit' as const), count: fc.nat(4) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('time' as const), ms: fc.nat(2_000) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('turns' as const), count: fc.nat(6) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('fault' as const), fault: fc.constantFrom(undefined, 'fails', 'commit lost', 'answer lost') }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'lose' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'refold' as const }) },
  { weight: 1, arbitrary: fc.constant({ do: 'list' as const }) },
);

test('whatever fails and is lost on the way, in the end a List shows every run as it was committed, and no other', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
      const bench = new Bench().activated();
      const open = new Set<number>();
      for (const each of steps) {
        if (each.do === 'start' && !open.has(each.wf)) {
          open.add(each.wf);
          bench.start(`wf-${each.wf}`);
        } else if (each.do === 'close' && open.delete(each.wf)) bench.close(`wf-${each.wf}`);
        else if (each.do === 'retire') bench.retire();
        else if (each.do === 'commit') bench.commit(each.count);
        else if (each.do === 'time') bench.clock.advance(each.ms);
        else if (each.do === 'turns') await turns(each.count);
        else if (each.do === 'fault') bench.fault = each.fault;
        else if (each.do === 'lose') bench.tables = new MemoryTables();
        else if (each.do === 'refold') bench.refold();
        else if (each.do === 'list') void bench.listed().catch(() => {});
      }
      bench.commit();
      bench.fault = undefined;
      // Whatever fails has failed.
      await turns(10);
      const { core } = bench.shard;
      const expected = [...core.shard.runs.keys()].map((runId) => {
        const summary = core.summaryOf(runId);
        return `${summary?.key.workflowId} ${summary?.status}`;
      });
      expect(await bench.listed()).toEqual(expected.toSorted());
    }),
    { numRuns: 300 },
  );
});
