/**
 * An owner that claims again while it serves, and journals that begin behind 0 because all that counts was written again: the ledger on a log in
 * memory.
 */
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { isClaim } from '../../../src/actors/ownership/effective.ts';
import { PartitionLoop } from '../../../src/actors/partition/partition-loop.ts';
import type { Tenure } from '../../../src/actors/partition/partition-core.ts';
import type { OffsetRange, PartitionId } from '../../../src/ports/log.ts';
import { systemClock, systemRandom } from '../../../src/ports/system-ports.ts';
import { silentLogger } from '../../../src/observability/logger.ts';
import { until } from '../../support/event-loop.ts';
import {
  jsonClaims,
  ledgerCodec,
  type LedgerCommand,
  LedgerCore,
  type LedgerEffect,
  ledgerMemory,
  type LedgerRecord,
  type LedgerReply,
  ledgerScale,
} from '../ledger.ts';
import { MemoryLog } from '../memory-log.ts';

const partition: PartitionId = { topic: 'test.ledger', partition: 0 };
const owners: Owner[] = [];

afterEach(() => {
  for (const owner of owners.splice(0)) owner.loop.close();
});

class Owner {
  readonly loop: PartitionLoop<LedgerCommand, LedgerReply, LedgerRecord, LedgerEffect>;
  readonly answers: LedgerReply[] = [];
  core = new LedgerCore();
  tenure: Tenure<LedgerCommand> | undefined;
  #asked = 0;

  /** `lost`: hears of records that are gone; absent: a journal without them is refused. */
  constructor(log: MemoryLog, lost?: (ranges: readonly OffsetRange[]) => void) {
    this.loop = new PartitionLoop<LedgerCommand, LedgerReply, LedgerRecord, LedgerEffect>({
      partition,
      log,
      codec: ledgerCodec,
      claims: jsonClaims,
      owner: 'anew',
      create: (tenure) => {
        this.tenure = tenure;
        this.core = new LedgerCore();
        const memory = ledgerMemory(
          (_askId, reply) => this.answers.push(reply),
          () => {},
          this.core,
        );
        return lost === undefined ? memory : { ...memory, recordsLost: lost };
      },
      asks: { fail: () => {}, failAll: () => {}, abandon: () => {} },
      scale: ledgerScale,
      clock: { ...systemClock, monoMs: () => 0 },
      random: systemRandom,
      logger: silentLogger,
      limits: { retryDelayMs: 1, retryDelayMsMax: 2 },
      ...(lost === undefined ? {} : { mayLack: 'anything' as const }),
    });
    owners.push(this);
  }

  async start(): Promise<this> {
    this.loop.start();
    await until(() => ['active', 'failed'].includes(this.loop.status().state));
    return this;
  }

  add(id: string): void {
    expect(this.loop.submit(++this.#asked, { kind: 'add', id })).toBeUndefined();
  }

  async answered(): Promise<void> {
    await until(() => this.answers.length === this.#asked);
  }
}

describe('a claim of its own beside service', () => {
  test('ends up behind all that was committed, and nobody notices', async () => {
    const log = new MemoryLog();
    const owner = await new Owner(log).start();
    for (const id of ['a', 'b', 'c']) owner.add(id);
    await owner.answered();
    const claims: number[] = [];
    owner.tenure?.claimAnew((offset) => claims.push(offset));
    owner.add('d');
    await until(() => claims.length === 1);
    await owner.answered();
    const records = log.records(partition);
    const [claim = -1] = claims;
    expect(records.slice(0, claim).map((record) => isClaim(record))).toEqual([true, false, false, false]);
    expect(records[claim]).toMatchObject({ epoch: 2, sequence: 0 });
    expect(owner.loop.status()).toMatchObject({ state: 'active', epoch: 2, refolds: 0 });
    expect((await new Owner(log).start()).core.entries).toEqual(['a', 'b', 'c', 'd']);
  });

  test('is none when the partition is lost meanwhile', async () => {
    const log = new MemoryLog({ exclusive: false });
    const owner = await new Owner(log).start();
    owner.add('a');
    await owner.answered();
    log.held = true;
    let claimed = 0;
    owner.tenure?.claimAnew(() => (claimed += 1));
    owner.loop.close();
    log.letGo();
    const next = await new Owner(log).start();
    next.add('b');
    await next.answered();
    expect(claimed).toBe(0);
    expect(next.core.entries).toEqual(['a', 'b']);
  });

  test('whenever it is made, each entry is there once and in order, also where appends are lost', async () => {
    const step = fc.constantFrom('add', 'claim', 'lose', 'turn');
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), async (steps) => {
        const log = new MemoryLog({ exclusive: false });
        const owner = await new Owner(log).start();
        const added: string[] = [];
        let [wanted, claimed] = [0, 0];
        for (const each of steps) {
          if (each === 'add') owner.add(`${added.push(`${added.length}`)}`);
          else if (each === 'lose') log.unknown = true;
          else if (each === 'turn') await new Promise(setImmediate);
          else {
            wanted += 1;
            owner.tenure?.claimAnew(() => (claimed += 1));
          }
          if (each === 'turn') log.unknown = false;
        }
        log.unknown = false;
        await owner.answered();
        await until(() => claimed === wanted);
        const other = await new Owner(log).start();
        expect(other.core.entries).toEqual(owner.core.entries);
        expect(new Set(other.core.entries).size).toBe(added.length);
      }),
      { numRuns: 60 },
    );
  });
});

describe('a journal that begins behind 0', () => {
  async function cutLog(cutAt: (claims: readonly number[]) => number): Promise<MemoryLog> {
    const log = new MemoryLog();
    for (const ids of [['a', 'b'], ['c', 'd'], ['e']]) {
      const owner = await new Owner(log).start();
      for (const id of ids) owner.add(id);
      await owner.answered();
      owner.loop.close();
    }
    const claims = log.records(partition).flatMap((record) => (isClaim(record) ? [record.offset] : []));
    await log.truncate(partition, cutAt(claims));
    return log;
  }

  test('is refused where nobody said that it may', async () => {
    const owner = await new Owner(await cutLog(([, second = 0]) => second)).start();
    expect(owner.loop.status().reason).toMatch(/the journal starts at 3, not at 0/);
  });

  test('is replayed from where it begins, and served; memory hears what is gone', async () => {
    const lost: OffsetRange[] = [];
    const owner = await new Owner(await cutLog(([, second = 0]) => second), (ranges) => void lost.push(...ranges)).start();
    expect(owner.core.entries).toEqual(['c', 'd', 'e']);
    expect(lost).toEqual([{ from: 0, to: 2 }]);
    owner.add('f');
    await owner.answered();
    expect(owner.loop.status()).toMatchObject({ state: 'active', epoch: 4 });
  });

  test('also where that is in the middle of an epoch, whose claim is gone', async () => {
    const owner = await new Owner(await cutLog(([, second = 0]) => second + 2), () => undefined).start();
    expect(owner.core.entries).toEqual(['d', 'e']);
    expect(owner.loop.status()).toMatchObject({ state: 'active', epoch: 4, foreignRecords: 0, strandedRecords: 0 });
    const again = await new Owner(await cutLog(([, second = 0]) => second - 1), () => undefined).start();
    expect(again.core.entries).toEqual(['b', 'c', 'd', 'e']);
  });

  test('of which nothing is left is served as well', async () => {
    const log = await cutLog(([, , third = 0]) => third + 2);
    const owner = await new Owner(log, () => undefined).start();
    owner.add('f');
    await owner.answered();
    expect((await new Owner(log, () => undefined).start()).core.entries).toEqual(['f']);
  });

  test('whatever is gone, in the middle too: all that is left is there, once and in order', async () => {
    const step = fc.constantFrom('add', 'claim', 'delete', 'cut');
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), fc.infiniteStream(fc.nat()), async (steps, choices) => {
        const log = new MemoryLog();
        let added = 0;
        const first = await new Owner(log, () => undefined).start();
        for (const each of steps) {
          if (each === 'add') first.add(`${(added += 1)}`);
          else if (each === 'claim') await new Promise<void>((resolve) => first.tenure?.claimAnew(() => resolve()));
        }
        await first.answered();
        first.loop.close();
        const gone = new Set<number>();
        let start = 0;
        for (const each of steps) {
          const { end } = await log.bounds(partition);
          const offset = (choices.next().value ?? 0) % end;
          if (each === 'delete' && offset < end - 1) gone.add(offset);
          if (each === 'cut' && offset > start) await log.truncate(partition, (start = offset));
        }
        for (const offset of gone) log.remove(partition, offset);
        const left = log.records(partition).filter((record) => record.offset >= start && !gone.has(record.offset) && !isClaim(record));
        const lost: OffsetRange[] = [];
        const owner = await new Owner(log, (ranges) => void lost.push(...ranges)).start();
        expect(owner.core.entries).toEqual(left.map((record) => ledgerCodec.decode(record.value, 1, record).id));
        const offsets = lost.flatMap(({ from, to }) => Array.from({ length: to - from + 1 }, (_, at) => from + at));
        expect(offsets.filter((offset) => left.some((record) => record.offset === offset))).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});
