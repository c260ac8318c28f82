/** A takeover that begins at a checkpoint: the ledger on a log in memory, its rows in the database in memory. */
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { effective } from '../../../src/actors/ownership/effective.ts';
import { DatabaseError } from '../../../src/projections/database-port.ts';
import { PartitionLoop } from '../../../src/actors/partition/partition-loop.ts';
import { systemClock, systemRandom } from '../../../src/ports/system-ports.ts';
import { silentLogger } from '../../../src/observability/logger.ts';
import { openSqlite } from '../../../src/projections/sqlite/open-sqlite.ts';
import { openEmbeddedLog } from '../../../src/topics/embedded/embedded-log.ts';
import { until } from '../../support/event-loop.ts';
import { MemoryDatabase, MemoryTables } from '../../support/memory-database.ts';
import { LedgerCheckpoints, type LedgerDatabase, ledgerJournal, ledgerPosition, ledgerRow } from '../ledger-checkpoints.ts';
import { LedgerCore, jsonClaims, ledgerCodec, ledgerMemory, ledgerScale } from '../ledger.ts';
import { MemoryLog } from '../memory-log.ts';
import type { LedgerCommand, LedgerEffect, LedgerEvent, LedgerRecord, LedgerReply } from '../ledger.ts';
import type { LedgerRow } from '../ledger-checkpoints.ts';
import type { CheckpointPosition, Restored } from '../../../src/projections/database-port.ts';
import type { CheckpointSource } from '../../../src/actors/ownership/restoration.ts';
import type { PartitionStatus } from '../../../src/actors/ownership/partition-owner.ts';
import type { Log, PartitionId, StoredRecord } from '../../../src/ports/log.ts';
import type { Tenure } from '../../../src/actors/partition/partition-core.ts';
import type { DatabaseFaults } from '../../support/memory-database.ts';

type Loop = PartitionLoop<LedgerCommand, LedgerReply, LedgerRecord, LedgerEffect>;

const partition: PartitionId = { topic: 'test.ledger', partition: 0 };
const journal = ledgerJournal(0);
const owners: Owner[] = [];

afterEach(() => {
  for (const owner of owners.splice(0)) owner.loop.close();
});

/** A process with its own connection to the database; log and tables are everybody's. */
class Owner {
  readonly loop: Loop;
  readonly events: LedgerEvent[] = [];
  readonly statuses: PartitionStatus[] = [];
  readonly database: LedgerDatabase;
  core = new LedgerCore();
  checkpoints: LedgerCheckpoints | undefined;
  tenure: Tenure<LedgerCommand> | undefined;
  answers: LedgerReply[] = [];
  /** Of the wall clock; the other one stands still. */
  nowMs = 1_000;

  constructor(
    world: { readonly log: Log; readonly tables: MemoryTables } | { readonly log: Log; readonly database: LedgerDatabase },
    options: { readonly faults?: DatabaseFaults; readonly source?: Partial<CheckpointSource> } = {},
  ) {
    this.database = 'database' in world ? world.database : new MemoryDatabase(world.tables, options.faults);
    this.loop = new PartitionLoop({
      partition,
      log: world.log,
      codec: ledgerCodec,
      claims: jsonClaims,
      owner: 'restore',
      create: (tenure) => this.#create(tenure),
      checkpoints: { restore: () => this.database.restore(journal), ...options.source },
      asks: { fail: () => {}, failAll: () => {}, abandon: () => {} },
      scale: ledgerScale,
      clock: { ...systemClock, wallMs: () => this.nowMs, monoMs: () => 0 },
      random: systemRandom,
      logger: silentLogger,
      onStatus: (status) => this.statuses.push(status),
      limits: { retryDelayMs: 1, retryDelayMsMax: 2 },
    });
    owners.push(this);
  }

  #create(tenure: Tenure<LedgerCommand>): ReturnType<typeof ledgerMemory> & { install(restored: Restored): Promise<void> } {
    const core = new LedgerCore();
    const checkpoints = new LedgerCheckpoints(this.database, journal, core);
    [this.core, this.checkpoints, this.tenure] = [core, checkpoints, tenure];
    const memory = ledgerMemory(
      (_askId, reply) => this.answers.push(reply),
      (event) => this.events.push(event),
      core,
    );
    return { ...memory, subscribers: [...memory.subscribers, checkpoints], install: (restored) => checkpoints.install(restored) };
  }

  get state(): PartitionStatus['state'] {
    return this.loop.status().state;
  }

  async start(): Promise<this> {
    this.loop.start();
    await until(() => this.state === 'active' || this.state === 'failed');
    return this;
  }

  async add(...ids: readonly string[]): Promise<void> {
    for (const id of ids) {
      const { length } = this.answers;
      expect(this.loop.submit(length + 1, { kind: 'add', id })).toBeUndefined();
      await until(() => this.answers.length > length);
    }
  }

  async write(): Promise<CheckpointPosition> {
    expect(await this.checkpoints?.write()).toBe('written');
    const position = this.checkpoints?.durable;
    expect(position).toBeDefined();
    return position as CheckpointPosition;
  }

  /** Offsets of what it folded itself. */
  folded(): number[] {
    return this.events.flatMap((event) => (event.kind === 'committed' && event.replayed ? [event.offset] : []));
  }
}

class World {
  readonly log = new MemoryLog();
  readonly tables = new MemoryTables();

  get records(): StoredRecord[] {
    return this.log.records(partition);
  }

  trim(before: number): void {
    void this.log.truncate(partition, before);
  }

  /** A row, with no rows below it. */
  set position(position: CheckpointPosition | undefined) {
    this.tables.journal(journal).position = position;
  }

  /** Ten entries, a checkpoint behind the seventh (offset 7), and nobody who serves. */
  static async of(trimTo = 0): Promise<World> {
    const world = new World();
    const first = await new Owner(world).start();
    await first.add('a', 'b', 'c', 'd', 'e', 'f', 'g');
    expect((await first.write()).lastOffset).toBe(7);
    await first.add('h', 'i', 'j');
    first.loop.close();
    world.trim(trimTo);
    return world;
  }
}

const all = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j'];

describe('where a takeover begins', () => {
  test('at the checkpoint: only what stands behind it is replayed, and it goes on as if all had been', async () => {
    const owner = await new Owner(await World.of()).start();
    expect(owner.core.entries).toEqual(all);
    expect(owner.folded()).toEqual([8, 9, 10]);
    expect(owner.loop.status()).toMatchObject({ state: 'active', epoch: 2, sequence: 0, offset: 12 });
    await owner.add('a', 'k');
    expect(owner.answers).toEqual([
      { kind: 'added', place: 0 },
      { kind: 'added', place: 10 },
    ]);
  });

  test('also where the journal was trimmed up to the witness', async () => {
    const owner = await new Owner(await World.of(7)).start();
    expect(owner.core.entries).toEqual(all);
  });

  test('without a row: at the start of the journal, under a fence of its own', async () => {
    const world = await World.of();
    world.tables.journal(journal).position = undefined;
    const owner = await new Owner(world).start();
    expect(owner.core.entries).toEqual(all);
    expect(owner.folded()).toHaveLength(10);
    expect(await owner.checkpoints?.write()).toBe('written');
  });

  test('an older backup whose witness the journal still holds: from there', async () => {
    const world = await World.of(3);
    const { tables } = world;
    const { position } = tables.journal(journal);
    const [third] = world.records.filter(({ offset }) => offset === 3);
    tables.journal(journal).position = ledgerPosition(third as StoredRecord, 1_000);
    for (const taskId of [4, 5, 6, 7]) tables.journal(journal).matchingTasks.delete(taskId);
    expect(position?.lastOffset).toBe(7);
    const owner = await new Owner(world).start();
    expect(owner.core.entries).toEqual(all);
    expect(owner.folded()).toEqual([4, 5, 6, 7, 8, 9, 10]);
  });

  test('time does not go back behind the checkpoint, whatever the clock says', async () => {
    const world = await World.of();
    world.records.splice(8);
    const owner = new Owner(world);
    owner.nowMs = 5;
    await owner.start();
    await owner.add('k');
    expect(world.records.at(-1)?.timeMs).toBeGreaterThanOrEqual(1_000);
  });
});

test('who lets go while it looks at its last record once more, misses nothing when it takes over again', async () => {
  const world = await World.of();
  const owner = new Owner(world);
  const read = world.log.read.bind(world.log);
  // Behind its claim a takeover reads on from the last record that it has folded.
  world.log.read = async (id, from) => {
    if (owner.state === 'claiming') owner.loop.close();
    return await read(id, from);
  };
  owner.loop.start();
  await until(() => owner.state === 'released');
  world.log.read = read;
  await owner.start();
  expect(owner.loop.status().reason).toBe('');
  expect(owner.core.entries).toEqual(all);
});

describe('what is refused, in words that say what to do', () => {
  const refusal = async (world: World): Promise<string> => {
    const owner = await new Owner(world).start();
    expect(owner.state).toBe('failed');
    expect(owner.core.entries, 'nothing was made of it').toEqual([]);
    return owner.loop.status().reason;
  };

  test('no row, and a journal that does not start at 0', async () => {
    const world = await World.of(5);
    world.position = undefined;
    expect(await refusal(world)).toMatch(
      /the journal starts at 5, not at 0, and the database holds no checkpoint.*Restore a backup of the database/,
    );
  });

  test('a checkpoint that ends below the start of the journal', async () => {
    const world = await World.of(8);
    expect(await refusal(world)).toMatch(
      /starts at offset 8, but the checkpoint in the database ends at offset 7.*Restore a newer backup of the database/,
    );
  });

  test('a checkpoint beyond the end of the journal', async () => {
    const world = await World.of();
    world.records.splice(6);
    expect(await refusal(world)).toMatch(/the log ends at 6, but the checkpoint in the database reaches offset 8/);
  });

  test('another record where the checkpoint ends', async () => {
    const world = await World.of(7);
    const witness = world.records[7];
    if (witness !== undefined) world.records[7] = { ...witness, sequence: 9 };
    const owner = await new Owner(world).start();
    expect(owner.state).toBe('failed');
    expect(owner.loop.status().reason).toMatch(/offset 7 held record 1\.7 .* and now holds 1\.9/);
  });

  test('no record where the checkpoint ends', async () => {
    const world = await World.of();
    const read = world.log.read.bind(world.log);
    world.log.read = async (id, from) => (await read(id, from)).filter(({ offset }) => offset !== 7);
    const owner = await new Owner(world).start();
    expect(owner.state).toBe('failed');
    expect(owner.loop.status().reason).toMatch(/offset 7 is missing from its middle/);
  });

  test.each(['misconfigured', 'corrupt'] as const)('a database that is %s', async (code) => {
    const world = await World.of();
    const restore = (): Promise<never> => Promise.reject(new DatabaseError(code, 'x.db-state belongs to another cluster'));
    const owner = await new Owner(world, { source: { restore } }).start();
    expect(owner.state).toBe('failed');
    expect(owner.loop.status().reason).toMatch(/its checkpoint cannot be restored: .*belongs to another cluster/);
  });

  test('rows that cannot be read', async () => {
    const world = await World.of();
    const onRead = (_: unknown, what: string): Promise<void> =>
      what === 'matchingTasks' ? Promise.reject(new DatabaseError('corrupt', 'a row fails its checksum')) : Promise.resolve();
    const owner = await new Owner(world, { faults: { onRead } }).start();
    expect(owner.state).toBe('failed');
    expect(owner.loop.status().reason).toMatch(/its checkpoint cannot be restored: .*checksum/);
  });
});

describe('a database that is away', () => {
  test.each(['restore', 'matchingTasks'] as const)('at "%s": the takeover waits for it, says why, and goes on', async (away) => {
    const world = await World.of(7);
    let isAway = true;
    let asked = 0;
    const onRead = (_: unknown, what: string): Promise<void> => {
      if (!isAway || what !== away) return Promise.resolve();
      asked += 1;
      return Promise.reject(new DatabaseError('unavailable', 'connection refused'));
    };
    const owner = new Owner(world, { faults: { onRead } });
    owner.loop.start();
    await until(() => asked >= 4);
    expect(owner.loop.status()).toMatchObject({
      state: 'restoring',
      reason: expect.stringMatching(/checkpoint cannot be read.*connection refused/),
    });
    expect(
      owner.statuses.some(({ reason }) => reason.includes('connection refused')),
      'others were told',
    ).toBe(true);
    expect(owner.loop.submit(1, { kind: 'read' })).toMatchObject({
      kind: 'notHere',
      message: expect.stringContaining('connection refused'),
    });
    expect(world.records, 'and claims nothing').toHaveLength(11);
    isAway = false;
    await until(() => owner.state === 'active');
    expect(owner.core.entries).toEqual(all);
    expect(owner.loop.status().reason).toBe('');
  });

  test('it can be told to stop meanwhile, and to start again', async () => {
    const world = await World.of();
    let isAway = true;
    const onRead = (): Promise<void> =>
      isAway ? Promise.reject(new DatabaseError('unavailable', 'connection refused')) : Promise.resolve();
    const owner = new Owner(world, { faults: { onRead } });
    owner.loop.start();
    await until(() => owner.loop.status().reason !== '');
    await owner.loop.drain();
    expect(owner.loop.status()).toMatchObject({ state: 'released', reason: '' });
    isAway = false;
    await owner.start();
    expect(owner.core.entries).toEqual(all);
  });
});

describe('two that restore', () => {
  test('whoever restores first writes nothing any more, also before the other has claimed', async () => {
    const world = new World();
    const first = await new Owner(world).start();
    await first.add('a', 'b');
    await new MemoryDatabase(world.tables).restore(journal);
    expect(await first.checkpoints?.write()).toBe('fenced');
    expect(first.state).toBe('active');
  });

  test('who is fenced and still owns the journal restores again: new epoch, new fence, new memory', async () => {
    const world = new World();
    const owner = await new Owner(world).start();
    await owner.add('a', 'b');
    await new MemoryDatabase(world.tables).restore(journal);
    const { core } = owner;
    expect(await owner.checkpoints?.write()).toBe('fenced');
    owner.tenure?.fenced();
    await until(() => owner.state === 'active');
    expect(owner.core).not.toBe(core);
    expect(owner.loop.status()).toMatchObject({ epoch: 2, refolds: 1 });
    await owner.add('c');
    expect(await owner.checkpoints?.write()).toBe('written');
    expect(owner.core.entries).toEqual(['a', 'b', 'c']);
  });

  test('who is fenced and was succeeded, loses the partition', async () => {
    const world = new World();
    const first = await new Owner(world).start();
    await first.add('a');
    const second = await new Owner(world).start();
    first.tenure?.fenced();
    await until(() => first.state === 'unassigned');
    expect(first.loop.status().rival?.epoch).toBe(2);
    await second.add('b');
    expect(second.core.entries).toEqual(['a', 'b']);
  });

  test('who was fenced while it took over, restores once more when it serves', async () => {
    const world = await World.of();
    let fence = (): void => {};
    const onRead = (_: unknown, what: string): Promise<void> => {
      if (what === 'matchingTasks') fence();
      return Promise.resolve();
    };
    const owner = new Owner(world, { faults: { onRead } });
    fence = () => {
      fence = () => {};
      owner.tenure?.fenced();
    };
    await owner.start();
    await until(() => owner.state === 'active' && owner.loop.status().refolds === 1);
    expect(owner.core.entries).toEqual(all);
    expect(await owner.checkpoints?.write()).toBe('written');
  });

  test('a journal that a rival has trimmed behind its own checkpoint, in the middle of a restore, is no loss', async () => {
    const world = await World.of(7);
    let rival: (() => Promise<void>) | undefined = async () => {
      rival = undefined;
      const other = await new Owner(world).start();
      await other.add('k');
      world.trim((await other.write()).lastOffset);
      other.loop.close();
    };
    // Between our restore and our look at the journal.
    const owner = new Owner(world, {
      source: {
        restore: async () => {
          const restored = await owner.database.restore(journal);
          await rival?.();
          return restored;
        },
      },
    });
    await owner.start();
    expect(owner.loop.status().reason).toBe('');
    expect(owner.core.entries).toEqual([...all, 'k']);
  });

  test('so is one that is trimmed in the middle of the replay', async () => {
    const world = await World.of(7);
    const read = world.log.read.bind(world.log);
    let rival: (() => Promise<void>) | undefined = async () => {
      rival = undefined;
      const other = await new Owner(world).start();
      await other.add('k');
      world.trim((await other.write()).lastOffset);
      other.loop.close();
    };
    world.log.read = async (id, from) => {
      await rival?.();
      return await read(id, from);
    };
    const owner = await new Owner(world).start();
    expect(owner.loop.status().reason).toBe('');
    expect(owner.core.entries).toEqual([...all, 'k']);
    expect(owner.loop.status().refolds).toBe(1);
  });

  test('an owner whose successor has trimmed beyond all that it knows, loses the partition and says so', async () => {
    const world = new World();
    const first = await new Owner(world).start();
    await first.add('a');
    const second = await new Owner(world).start();
    await second.add('b', 'c', 'd');
    world.trim((await second.write()).lastOffset);
    first.loop.submit(1, { kind: 'add', id: 'late' });
    await until(() => first.state !== 'active');
    expect(first.loop.status()).toMatchObject({
      state: 'unassigned',
      rival: { epoch: 2 },
      reason: expect.stringContaining('ownership lost'),
    });
    expect(first.answers).toHaveLength(1);
  });
});

describe('a row that is gone while its owner serves', () => {
  const withoutRow = async (trimTo: number): Promise<Owner> => {
    const world = await World.of(trimTo);
    const owner = await new Owner(world).start();
    const tables = world.tables.journal(journal);
    Object.assign(tables, { fence: 0, position: undefined });
    tables.matchingTasks.clear();
    expect(await owner.checkpoints?.write()).toBe('fenced');
    owner.tenure?.fenced();
    await until(() => owner.state === 'active' || owner.state === 'failed');
    return owner;
  };

  test('the journal from 0 has it all', async () => {
    const owner = await withoutRow(0);
    expect(owner.core.entries).toEqual(all);
    expect(await owner.checkpoints?.write()).toBe('written');
  });

  test('a journal that was trimmed has not: the partition stops', async () => {
    const owner = await withoutRow(7);
    expect(owner.loop.status().reason).toMatch(/the journal starts at 7, not at 0, and the database holds no checkpoint/);
  });
});

test('on the embedded log and SQLite: one owner after the other, each trims behind its checkpoint', async () => {
  const log = await openEmbeddedLog({ filename: undefined, topics: [{ name: partition.topic, partitions: 1 }] });
  const database = openSqlite({ filename: undefined });
  const entries: string[] = [];
  for (let generation = 0; generation < 5; generation++) {
    const owner = await new Owner({ log, database }).start();
    expect(owner.core.entries).toEqual(entries);
    expect(owner.folded(), 'what stands behind the checkpoint alone').toHaveLength(generation === 0 ? 0 : 2);
    const ids = Array.from({ length: 12 }, (_, index) => `${generation}-${index}`);
    await owner.add(...ids.slice(0, 10));
    const { lastOffset } = await owner.write();
    await log.truncate(partition, lastOffset);
    await owner.add(...ids.slice(10));
    entries.push(...ids);
    expect((await log.bounds(partition)).start).toBe(lastOffset);
    owner.loop.close();
  }
  await log.truncate(partition, (await log.bounds(partition)).end - 1);
  const last = await new Owner({ log, database }).start();
  expect(last.state).toBe('failed');
  expect(last.loop.status().reason).toMatch(/Restore a newer backup of the database/);
  last.loop.close();
  await database.close();
  await log.close();
});

/** What stands in a journal of our ledger: who wrote it, and whether it was there before the checkpoint. */
const journals = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.constant({ kind: 'entry' as const }) },
    { weight: 2, arbitrary: fc.constant({ kind: 'claim' as const }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'duplicate' as const }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'fenced' as const }) },
    { weight: 1, arbitrary: fc.constant({ kind: 'stranger' as const }) },
  ),
  { minLength: 1, maxLength: 14 },
);

test('from every record that counts a takeover comes to the same as from the start', { timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(journals, async (kinds) => {
      const records = written(kinds);
      const whole = await takenOver(records, undefined, []);
      const cursor = { epoch: 0, sequence: 0, offset: 0 };
      const rows: LedgerRow[] = [];
      for (const record of records) {
        const verdict = effective(cursor, record, jsonClaims);
        if (verdict === 'record') rows.push({ id: record.workflowId, offset: record.offset, timeMs: record.timeMs });
        if (verdict !== 'record' && verdict !== 'claim') continue;
        const position = ledgerPosition({ ...cursor, offset: record.offset }, record.timeMs);
        for (const start of [0, record.offset]) expect(await takenOver(records, position, rows, start)).toEqual(whole);
      }
    }),
    { numRuns: 40 },
  );
});

/** Whatever it was folded from: state, position and claim of the new owner, and the time of its first record. */
async function takenOver(
  records: readonly StoredRecord[],
  position: CheckpointPosition | undefined,
  rows: readonly LedgerRow[],
  start = 0,
): Promise<unknown> {
  const world = new World();
  world.records.push(...records);
  world.trim(start);
  world.position = position;
  const { matchingTasks } = world.tables.journal(journal);
  rows.forEach((row, index) => matchingTasks.set(index + 1, ledgerRow(row, index + 1)));
  const owner = new Owner(world);
  owner.nowMs = 1;
  await owner.start();
  const { state, reason, epoch, sequence, offset } = owner.loop.status();
  await owner.add('one more');
  owner.loop.close();
  const entries = [...owner.core.entries];
  return {
    state,
    reason,
    epoch,
    sequence,
    offset,
    entries,
    rows: owner.checkpoints?.rows.slice(0, -1),
    time: world.records.at(-1)?.timeMs,
  };
}

function written(kinds: readonly { readonly kind: string }[]): StoredRecord[] {
  const records: StoredRecord[] = [];
  let epoch = 0;
  let sequence = 0;
  const push = (record: Partial<StoredRecord>): void => {
    const { length: offset } = records;
    const timeMs = 1_000 + 10 * offset;
    records.push({ ...ledgerCodec.encode({ id: `e${offset}`, timeMs, size: 0 }), epoch, sequence, offset, ...record });
  };
  const claim = (): void => {
    epoch += 1;
    sequence = 0;
    push({ key: '@claim', value: jsonClaims.encode({ ownerNonce: `n${epoch}`, owner: 'earlier' }) });
  };
  claim();
  for (const { kind } of kinds) {
    if (kind === 'claim') claim();
    else if (kind === 'entry') {
      sequence += 1;
      push({});
    } else if (kind === 'duplicate') push({});
    else if (kind === 'fenced') push({ epoch: epoch - 1, sequence: sequence + 1 });
    else push({ epoch: 0, key: 'who knows' });
  }
  return records;
}
