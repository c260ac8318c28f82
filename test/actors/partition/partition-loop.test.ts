import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { CommandBudget } from '../../../src/actors/partition/command-budget.ts';
import { RECORD_BYTES_MAX } from '../../../src/actors/partition/commit-window.ts';
import { PartitionLoop } from '../../../src/actors/partition/partition-loop.ts';
import { systemClock, systemRandom } from '../../../src/ports/system-ports.ts';
import { assert } from '../../../src/kernel/assert.ts';
import { createLogger, silentLogger } from '../../../src/observability/logger.ts';
import { FAR_AWAY_MS } from '../far-away.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { jsonClaims, LedgerCore, ledgerCodec, ledgerMemory, ledgerScale, ledgerSwitchboard } from '../ledger.ts';
import { ledgerPrefetch } from '../ledger-prefetch.ts';
import { MemoryLog } from '../memory-log.ts';
import { NOBODY, ownWork, type AskFailure } from '../../../src/actors/asks/asks.ts';
import type { ClaimCodec } from '../../../src/actors/ownership/effective.ts';
import type { StoredRecord } from '../../../src/ports/log.ts';
import type { Clock } from '../../../src/ports/machine.ts';
import type { PartitionLimits } from '../../../src/actors/partition/partition-limits.ts';
import type { PartitionStatus } from '../../../src/actors/ownership/partition-owner.ts';
import type { Logger } from '../../../src/observability/logger.ts';
import type { LoadTrouble, Prefetch } from '../../../src/actors/partition/prefetch.ts';
import type { LedgerCommand, LedgerEffect, LedgerEvent, LedgerRecord, LedgerReply } from '../ledger.ts';
import { turns, until } from '../../support/event-loop.ts';

const partition = { topic: 'test.ledger', partition: 0 };

type Answer = LedgerReply | AskFailure;

class Bench {
  readonly log: MemoryLog;
  readonly router = ledgerSwitchboard(systemClock);
  readonly events: LedgerEvent[] = [];
  readonly statuses: PartitionStatus[] = [];
  core = new LedgerCore();
  readonly loop: PartitionLoop<LedgerCommand, LedgerReply, LedgerRecord, LedgerEffect>;

  constructor(
    log: MemoryLog,
    options: {
      limits?: Partial<PartitionLimits>;
      prefetch?: Prefetch<LedgerCommand>;
      owner?: string;
      logger?: Logger;
      budget?: CommandBudget;
      clock?: Clock;
      claims?: ClaimCodec;
    } = {},
  ) {
    this.log = log;
    const sink = this.router.sink(0);
    this.loop = new PartitionLoop({
      partition,
      log,
      codec: ledgerCodec,
      claims: options.claims ?? jsonClaims,
      owner: options.owner ?? 'bench',
      create: () => {
        this.core = new LedgerCore();
        const memory = ledgerMemory(
          (askId, reply) => sink.answer(askId, reply),
          (event) => this.events.push(event),
          this.core,
        );
        return options.prefetch === undefined ? memory : { ...memory, prefetch: options.prefetch };
      },
      asks: sink,
      scale: ledgerScale,
      clock: options.clock ?? systemClock,
      random: systemRandom,
      logger: options.logger ?? silentLogger,
      onStatus: (status) => this.statuses.push(status),
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      ...(options.budget === undefined ? {} : { budget: options.budget }),
    });
    this.router.attach(0, this.loop);
    benches.push(this);
  }

  async start(): Promise<this> {
    this.loop.start();
    await until(() => this.loop.status().state === 'active');
    return this;
  }

  ask(command: LedgerCommand, deadlineMs = FAR_AWAY_MS): Promise<Answer> {
    return new Promise((resolve) => this.router.ask(0, command, ownWork(deadlineMs), resolve));
  }

  states(): string[] {
    return this.statuses.map((status) => status.state).filter((state, index, all) => state !== all[index - 1]);
  }
}

let benches: Bench[] = [];

beforeEach(() => {
  benches = [];
});

afterEach(() => {
  for (const bench of benches) {
    bench.loop.close();
    bench.router.close();
  }
});

describe('a partition on an exclusive log', () => {
  test('restores, replays, claims, serves', async () => {
    const bench = await new Bench(new MemoryLog()).start();
    expect(bench.states()).toEqual(['restoring', 'replaying', 'claiming', 'active']);
    expect(bench.log.records(partition)).toMatchObject([{ key: '@claim', type: 'Claim', epoch: 1, sequence: 0, offset: 0 }]);
    expect(bench.loop.status()).toMatchObject({ epoch: 1, sequence: 0, offset: 1 });
  });

  test('answers after the record is in the log, with its offset first', async () => {
    const bench = await new Bench(new MemoryLog()).start();
    expect(await bench.ask({ kind: 'add', id: 'a' })).toEqual({ kind: 'added', place: 0 });
    expect(bench.log.records(partition).at(-1)).toMatchObject({ key: 'ledger/a', epoch: 1, sequence: 1, offset: 1, workflowId: 'a' });
    expect(bench.events.slice(1)).toEqual([
      { kind: 'committed', id: 'a', offset: 1, replayed: false },
      { kind: 'dispatched', id: 'a' },
    ]);
  });

  test('lets nothing out while the append is under way: no reply, no rejection, no read, no effect', async () => {
    const bench = await new Bench(new MemoryLog()).start();
    bench.log.held = true;
    const answers: Answer[] = [];
    for (const command of [{ kind: 'add', id: 'a' }, { kind: 'refuse' }, { kind: 'read' }] as const) {
      void bench.ask(command).then((answer) => answers.push(answer));
    }
    await turns(20);
    expect(bench.core.entries).toEqual(['a']);
    expect(answers).toEqual([]);
    expect(bench.events).toEqual([{ kind: 'activated', epoch: 1 }]);
    bench.log.letGo();
    await until(() => answers.length === 3);
    expect(answers).toEqual([
      { kind: 'added', place: 0 },
      { kind: 'refused', count: 1 },
      { kind: 'entries', entries: ['a'] },
    ]);
  });

  test('what gathers during an append goes with the next one', async () => {
    const bench = await new Bench(new MemoryLog()).start();
    const before = bench.log.appends;
    await Promise.all(Array.from({ length: 200 }, (_, index) => bench.ask({ kind: 'add', id: `${index}` })));
    expect(bench.log.appends - before).toBeLessThan(5);
    expect(bench.log.records(partition).map((record) => record.sequence)).toEqual([
      0,
      ...Array.from({ length: 200 }, (_, index) => index + 1),
    ]);
  });

  test('thousands that one append lets out leave some hundred in a turn of the event loop, in order, and a drain waits for them', async () => {
    const bench = await new Bench(new MemoryLog()).start();
    bench.log.held = true;
    const answered: number[] = [];
    for (let index = 0; index < 3_000; index++) {
      bench.router.ask(
        0,
        { kind: 'add', id: `${index}` },
        ownWork(FAR_AWAY_MS),
        (answer) => void answered.push(answer.kind === 'added' ? index : -1),
      );
    }
    await until(() => bench.core.entries.length === 3_000);
    bench.log.letGo();
    await until(() => answered.length > 0);
    expect(answered.length).toBeLessThanOrEqual(512);
    const drained = bench.loop.drain();
    for (let before = answered.length; answered.length < 3_000; before = answered.length) {
      await turns(1);
      expect(answered.length - before).toBeLessThanOrEqual(512);
    }
    await drained;
    expect(answered).toEqual(Array.from({ length: 3_000 }, (_, index) => index));
  });

  test('a batch holds at most 6 MiB', async () => {
    const bench = await new Bench(new MemoryLog()).start();
    const before = bench.log.appends;
    await Promise.all(Array.from({ length: 4 }, (_, index) => bench.ask({ kind: 'add', id: `${index}`, size: 3_500_000 })));
    expect(bench.log.appends - before).toBe(4);
  });

  test('a record over the limit is refused and leaves no trace', async () => {
    const bench = await new Bench(new MemoryLog()).start();
    expect(await bench.ask({ kind: 'add', id: 'big', size: RECORD_BYTES_MAX })).toMatchObject({ kind: 'tooLarge' });
    expect(await bench.ask({ kind: 'read' })).toEqual({ kind: 'entries', entries: [] });
    expect(bench.log.records(partition)).toHaveLength(1);
  });

  test('a full mailbox refuses as busy, and serves again afterwards', async () => {
    const bench = await new Bench(new MemoryLog(), { limits: { mailboxCommandsMax: 10 } }).start();
    const answers = await Promise.all(Array.from({ length: 15 }, (_, index) => bench.ask({ kind: 'add', id: `${index}` })));
    expect(answers.map((answer) => answer.kind)).toEqual([...Array(10).fill('added'), ...Array(5).fill('busy')]);
    expect(await bench.ask({ kind: 'add', id: 'later' })).toEqual({ kind: 'added', place: 10 });
  });

  test('a namespace has as much of a mailbox as it leaves to the others, which are served meanwhile', async () => {
    const bench = await new Bench(new MemoryLog(), { limits: { mailboxCommandsMax: 40 } }).start();
    const ask = (namespace: string, count: number): Promise<Answer>[] =>
      Array.from({ length: count }, (_, index) => bench.ask({ kind: 'add', id: `${namespace}/${index}` }));
    const many = ask('orders', 60);
    const few = ask('billing', 5);
    const refused = (await Promise.all(many)).filter((answer) => answer.kind === 'busy');
    expect(refused).toHaveLength(40);
    expect(refused[0]).toMatchObject({ message: expect.stringContaining('20 commands of this namespace waiting') });
    expect((await Promise.all(few)).every((answer) => answer.kind === 'added')).toBe(true);
    expect((await Promise.all(ask('orders', 20))).every((answer) => answer.kind === 'added')).toBe(true);
  });

  test('namespaces take turns: what one asks late is decided before the many that another has asked before, each in its order', async () => {
    const bench = await new Bench(new MemoryLog()).start();
    const ask = (namespace: string, count: number): Promise<Answer>[] =>
      Array.from({ length: count }, (_, index) => bench.ask({ kind: 'add', id: `${namespace}/${index}` }));
    await Promise.all([...ask('orders', 100), ...ask('billing', 3)]);
    const { entries } = bench.core;
    expect(entries.indexOf('billing/2')).toBeLessThan(10);
    expect(entries.filter((entry) => entry.startsWith('orders'))).toEqual(Array.from({ length: 100 }, (_, index) => `orders/${index}`));
  });

  test('an ask that is given up leaves the line of its namespace, whichever that is', async () => {
    const bench = await new Bench(new MemoryLog(), { limits: { mailboxCommandsMax: 40 } }).start();
    const given: number[] = [];
    for (const namespace of ['orders', 'billing', 'orders', 'stock']) {
      given.push(bench.router.ask(0, { kind: 'add', id: `${namespace}/${given.length}` }, ownWork(FAR_AWAY_MS), () => {}));
    }
    for (const askId of given) bench.router.cancel(askId);
    expect(
      (await Promise.all(Array.from({ length: 20 }, (_, index) => bench.ask({ kind: 'add', id: `orders/later ${index}` })))).length,
    ).toBe(20);
    expect(bench.core.entries.every((entry) => entry.includes('later'))).toBe(true);
  });

  test("the actor's own is taken all the same: it must not be tried again and again while thousands wait", async () => {
    const bench = await new Bench(new MemoryLog(), { limits: { mailboxCommandsMax: 10 } }).start();
    const answers = Array.from({ length: 10 }, (_, index) => bench.ask({ kind: 'add', id: `${index}` }));
    for (let index = 0; index < 20; index++) expect(bench.loop.submit(NOBODY, { kind: 'add', id: `own-${index}` })).toBeUndefined();
    expect(await bench.ask({ kind: 'read' })).toMatchObject({ kind: 'busy' });
    await Promise.all(answers);
    expect(await bench.ask({ kind: 'read' })).toMatchObject({ entries: { length: 30 } });
  });

  test('an open batch past its bound keeps commands in the mailbox, and all are answered', async () => {
    const bench = await new Bench(new MemoryLog(), { limits: { openRecordsMax: 3 } }).start();
    const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => bench.ask({ kind: 'add', id: `${index}` })));
    expect(answers.every((answer) => answer.kind === 'added')).toBe(true);
    expect(bench.log.appends).toBeGreaterThan(15);
  });

  test('a restart replays the journal and claims the next epoch', async () => {
    const log = new MemoryLog();
    const first = await new Bench(log).start();
    await first.ask({ kind: 'add', id: 'a' });
    await first.ask({ kind: 'add', id: 'b' });
    first.loop.close();
    const second = await new Bench(log).start();
    expect(second.loop.status()).toMatchObject({ epoch: 2, sequence: 0, offset: 4 });
    expect(second.events).toEqual([
      { kind: 'committed', id: 'a', offset: 1, replayed: true },
      { kind: 'committed', id: 'b', offset: 2, replayed: true },
      { kind: 'activated', epoch: 2 },
    ]);
    expect(await second.ask({ kind: 'add', id: 'a' })).toEqual({ kind: 'added', place: 0 });
    expect(await second.ask({ kind: 'read' })).toEqual({ kind: 'entries', entries: ['a', 'b'] });
  });

  test('record time never goes back, not even over a restart with a clock that does', async () => {
    const log = new MemoryLog();
    const clock = new HandClock();
    const first = await new Bench(log, { clock }).start();
    await first.ask({ kind: 'add', id: 'a' });
    const future = clock.wallMs() + 1_000_000;
    const records = log.records(partition);
    const last = records.at(-1);
    if (last === undefined) throw new Error('there is a record');
    records[records.length - 1] = { ...last, timeMs: future, value: new TextEncoder().encode(`${future} a\0`) };
    first.loop.close();
    const second = await new Bench(log, { clock }).start();
    await second.ask({ kind: 'add', id: 'b' });
    expect(log.records(partition).at(-1)?.timeMs).toBe(future);
  });

  test('draining answers what was accepted, refuses what comes, and lets go', async () => {
    const bench = await new Bench(new MemoryLog()).start();
    const accepted = bench.ask({ kind: 'add', id: 'a' });
    const hanging = bench.ask({ kind: 'await' });
    const drained = bench.loop.drain();
    expect(await bench.ask({ kind: 'add', id: 'b' })).toMatchObject({ kind: 'notHere' });
    expect(await accepted).toEqual({ kind: 'added', place: 0 });
    await drained;
    expect(await hanging).toMatchObject({ kind: 'unavailable' });
    expect(bench.loop.status().state).toBe('released');
    expect(bench.events.at(-1)).toEqual({ kind: 'deactivated' });
    expect(bench.router.openAsks).toBe(0);
  });

  test('a record that cannot be decoded stops the partition with its offset, and it is not skipped', async () => {
    const log = new MemoryLog();
    const first = await new Bench(log).start();
    await first.ask({ kind: 'add', id: 'a' });
    await first.ask({ kind: 'poison' });
    await first.ask({ kind: 'add', id: 'b' });
    first.loop.close();
    const second = new Bench(log);
    second.loop.start();
    await until(() => second.loop.status().state === 'failed');
    expect(second.loop.status().reason).toContain('offset 2');
    expect(second.events).not.toContainEqual(expect.objectContaining({ id: 'b' }));
    expect(await second.ask({ kind: 'read' })).toMatchObject({ kind: 'notHere', message: expect.stringContaining('offset 2') });
    expect(log.records(partition)).toHaveLength(4);
  });

  test.each(['throw', 'unwritable'] as const)(
    'a command that cannot be decided (%s) fails alone, with one line in the log',
    async (kind) => {
      const lines: string[] = [];
      const logger = createLogger({ level: 'error', format: 'text', write: (line) => void lines.push(line), nowMs: () => 0 });
      const bench = await new Bench(new MemoryLog(), { logger }).start();
      const waiting = bench.ask({ kind: 'await' });
      const [before, broken, after] = await Promise.all([
        bench.ask({ kind: 'add', id: 'a' }),
        bench.ask({ kind }),
        bench.ask({ kind: 'add', id: 'b' }),
      ]);
      expect([before.kind, broken.kind, after.kind]).toEqual(['added', 'internal', 'added']);
      expect(await waiting, 'and whoever waited is answered').toMatchObject({ kind: 'entries' });
      expect(bench.core.entries).toEqual(['a', 'b']);
      expect(bench.loop.status()).toMatchObject({ state: 'active', offset: 3 });
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(new RegExp(`ERROR.*command=${kind}.*planted failure`));
    },
  );

  test("one of the actor's own is the shell's to try again", async () => {
    const bench = await new Bench(new MemoryLog()).start();
    bench.loop.submit(NOBODY, { kind: 'throw' });
    bench.loop.submit(NOBODY, { kind: 'add', id: 'big', size: RECORD_BYTES_MAX });
    expect(await bench.ask({ kind: 'add', id: 'a' })).toEqual({ kind: 'added', place: 0 });
    expect(bench.events.slice(1, 3)).toEqual([
      { kind: 'undecided', own: true, command: 'throw', reason: 'Error: planted failure of the core' },
      { kind: 'undecided', own: true, command: 'add', reason: expect.stringContaining('would have') },
    ]);
  });

  test('a cancellation that cannot be decided stops nobody else', async () => {
    const bench = await new Bench(new MemoryLog()).start();
    const askId = bench.router.ask(0, { kind: 'await' }, ownWork(FAR_AWAY_MS), () => {});
    expect(await bench.ask({ kind: 'read' })).toEqual({ kind: 'entries', entries: [] });
    bench.core.cancel = () => {
      throw new RangeError('planted');
    };
    bench.router.cancel(askId);
    expect(await bench.ask({ kind: 'add', id: 'a' })).toEqual({ kind: 'added', place: 0 });
    expect(bench.loop.status().state).toBe('active');
  });

  test('a command whose state cannot be named fails alone', async () => {
    const budget = new CommandBudget();
    const lacks = (command: LedgerCommand): boolean => {
      if ('id' in command && command.id === 'odd') throw new RangeError('planted');
      return false;
    };
    const bench = await new Bench(new MemoryLog(), { budget, prefetch: ledgerPrefetch({ lacks }) }).start();
    const asked = ['a', 'odd', 'b'].map((id) => bench.ask({ kind: 'add', id }));
    expect((await Promise.all(asked)).map(({ kind }) => kind)).toEqual(['added', 'internal', 'added']);
    expect(bench.loop.status().state).toBe('active');
    expect(budget.bytes).toBe(0);
  });

  test('a record that cannot be applied although it was decided stops its partition: memory is half changed', async () => {
    const bench = await new Bench(new MemoryLog()).start();
    expect(await bench.ask({ kind: 'break' })).toMatchObject({ kind: 'unavailable' });
    expect(bench.loop.status()).toMatchObject({ state: 'failed' });
  });
});

test('a tail that is truncated and overwritten between replay and claim is noticed: a rival owns what nobody replayed (T6)', async () => {
  const log = new MemoryLog({ exclusive: false });
  const first = await new Bench(log).start();
  await first.ask({ kind: 'add', id: 'a' });
  await first.ask({ kind: 'add', id: 'b' });
  first.loop.close();
  const records = log.records(partition);
  log.held = true;
  const taking = new Bench(log);
  taking.loop.start();
  await until(() => taking.loop.status().state === 'claiming');
  // An unclean election: the new leader never had what was folded, and a rival has claimed and written there since.
  const [own, a] = records;
  assert(own !== undefined && a !== undefined, 'the first owner has claimed and written');
  const claimed = jsonClaims.encode({ ownerNonce: 'of a rival', owner: 'rival' });
  records.splice(1, 2, { ...own, epoch: 2, offset: 1, value: claimed }, { ...a, epoch: 2, offset: 2 });
  log.letGo();
  await until(() => taking.loop.status().state !== 'claiming');
  expect(taking.loop.status()).toMatchObject({ state: 'failed', reason: expect.stringContaining('vanished') });
});

describe('a bug of ours in the log', () => {
  test('fails the partition whose end it cannot tell: nobody asks again for ever, without a line', async () => {
    const bench = await new Bench(new MemoryLog({ exclusive: false })).start();
    bench.log.end = async () => {
      throw new TypeError('not a log error');
    };
    expect(await bench.ask({ kind: 'read' })).toMatchObject({ kind: 'unavailable' });
    expect(bench.loop.status()).toMatchObject({ state: 'failed', reason: expect.stringContaining('TypeError: not a log error') });
  });

  test.each(['active', 'claiming'])('fails the partition whose append cannot be sent while it is %s', async (state) => {
    const log = new MemoryLog();
    const attach = log.attach.bind(log);
    let broken = state === 'claiming';
    log.attach = (id, source) =>
      attach(id, {
        seal: () => source.seal(),
        settle: (outcome) => {
          source.settle(broken ? { kind: 'failed', generation: outcome.generation, error: new RangeError('no such number') } : outcome);
        },
      });
    const bench = new Bench(log);
    bench.loop.start();
    if (state === 'active') {
      await until(() => bench.loop.status().state === 'active');
      broken = true;
      expect(await bench.ask({ kind: 'add', id: 'a' })).toMatchObject({ kind: 'unavailable' });
    }
    await until(() => bench.loop.status().state === 'failed');
    expect(bench.loop.status().reason).toContain('cannot be sent: RangeError: no such number');
  });

  test('fails the partition whose batch cannot be sealed', async () => {
    const log = new MemoryLog();
    const bench = new Bench(log, {
      claims: {
        ...jsonClaims,
        encode: () => {
          throw new RangeError('no such number');
        },
      },
    });
    bench.loop.start();
    await until(() => bench.loop.status().state === 'failed');
    expect(bench.loop.status().reason).toContain('could not be sealed: RangeError: no such number');
  });
});

describe('a hole that reaches over the end that was asked for', () => {
  const lost = (offset: number): StoredRecord => ({
    ...ledgerCodec.encode({ id: 'x', timeMs: 1, size: 0 }),
    epoch: 9,
    sequence: 9,
    offset,
  });

  /** A log that holds what it held, nothing up to offset 5, and more from there on; it says that it ends at 3. */
  function cut(log: MemoryLog): void {
    log.records(partition).push(lost(5));
    log.bounds = async () => ({ start: 0, end: 3 });
    log.end = async () => 3;
    log.read = async (_, fromOffset) => {
      await turns();
      return log.records(partition).filter(({ offset }) => offset >= fromOffset);
    };
  }

  test('fails whoever replays the journal', async () => {
    const log = new MemoryLog();
    const first = await new Bench(log).start();
    first.loop.close();
    cut(log);
    const bench = new Bench(log);
    bench.loop.start();
    await until(() => bench.loop.status().state === 'failed');
    expect(bench.loop.status().reason).toContain('offsets 1 to 4 are missing from its middle');
  });

  test('fails who serves from it', async () => {
    const bench = await new Bench(new MemoryLog({ exclusive: false })).start();
    cut(bench.log);
    const asked = bench.ask({ kind: 'read' });
    await until(() => bench.loop.status().state === 'failed');
    expect(bench.loop.status().reason).toContain('offsets 1 to 4 are missing from its middle');
    expect(await asked).toMatchObject({ kind: 'unavailable' });
  });
});

describe('a log that refuses appends', () => {
  test('keeps memory, answers and order, and goes on when it is repaired', async () => {
    const said: string[] = [];
    const debug: Logger['debug'] = (message, fields) => said.push(`${message} ${JSON.stringify(fields)}`);
    const logger: Logger = { ...silentLogger, debug, with: () => logger };
    const log = new MemoryLog();
    const bench = await new Bench(log, { logger }).start();
    const { core } = bench;
    log.refusing = { denied: true };
    const answers = [bench.ask({ kind: 'add', id: 'a' }), bench.ask({ kind: 'read' })];
    await until(() => said.some((line) => line.includes('NOT_TODAY')));
    answers.push(bench.ask({ kind: 'add', id: 'b' }));
    log.refusing = undefined;
    expect(await Promise.all(answers)).toEqual([
      { kind: 'added', place: 0 },
      { kind: 'entries', entries: ['a'] },
      { kind: 'added', place: 1 },
    ]);
    expect(bench.core).toBe(core);
    expect(bench.loop.status()).toMatchObject({ epoch: 1, sequence: 2, refolds: 0 });
    expect(log.records(partition).map(({ epoch, sequence }) => `${epoch}.${sequence}`)).toEqual(['1.0', '1.1', '1.2']);
  });

  test('a read that rests on what is committed is answered meanwhile', async () => {
    const log = new MemoryLog({ exclusive: false });
    const bench = await new Bench(log).start();
    log.refusing = { denied: false };
    const read = bench.ask({ kind: 'read' });
    const add = bench.ask({ kind: 'add', id: 'a' });
    expect(await read).toEqual({ kind: 'entries', entries: [] });
    log.refusing = undefined;
    expect(await add).toEqual({ kind: 'added', place: 0 });
  });

  test('for want of rights, at start: the partition fails and says so', async () => {
    const log = new MemoryLog();
    log.refusing = { denied: true };
    const bench = new Bench(log);
    bench.loop.start();
    await until(() => bench.loop.status().state === 'failed');
    expect(bench.loop.status().reason).toContain('NOT_TODAY');
  });
});

describe('a log that does not answer', () => {
  const kib = 1024;

  test('what callers send is bounded in bytes, whatever they were answered meanwhile; afterwards all continues', async () => {
    const budget = new CommandBudget(8 * 1024 * kib, 2 * 1024 * kib);
    const bench = await new Bench(new MemoryLog(), { budget, limits: { openBytesMax: 1024 * kib } }).start();
    bench.log.held = true;
    const kinds = new Map<string, number>();
    let highest = 0;
    for (let id = 0; id < 200; id++) {
      const askId = bench.router.ask(0, { kind: 'add', id: `${id}`, size: 256 * kib }, ownWork(FAR_AWAY_MS), (answer) =>
        kinds.set(answer.kind, (kinds.get(answer.kind) ?? 0) + 1),
      );
      await turns(1);
      highest = Math.max(highest, budget.bytes);
      if (id % 3 === 0) bench.router.cancel(askId);
    }
    expect(highest).toBeGreaterThan(2 * 1024 * kib);
    expect(highest).toBeLessThanOrEqual(4 * 1024 * kib);
    expect(kinds.get('busy')).toBeGreaterThan(50);
    bench.log.letGo();
    expect(await bench.ask({ kind: 'add', id: 'later' }).then((answer) => answer.kind)).toMatch(/added|busy/);
    await until(() => bench.router.openAsks === 0);
    expect(await bench.ask({ kind: 'add', id: 'last' })).toMatchObject({ kind: 'added' });
    expect(budget.bytes).toBe(0);
  });

  test('there is room for others, however many hang', async () => {
    const budget = new CommandBudget(8 * 1024 * kib, 2 * 1024 * kib);
    const make = (): Promise<Bench> => new Bench(new MemoryLog(), { budget, limits: { openBytesMax: 1024 * kib } }).start();
    const others = await make();
    for (let hanging = 1; hanging <= 3; hanging++) {
      const bench = await make();
      bench.log.held = true;
      let refused = 0;
      for (let id = 0; id < 500 && refused < 50; id++) {
        void bench.ask({ kind: 'add', id: `${id}`, size: 16 * kib }).then(({ kind }) => (refused += kind === 'busy' ? 1 : 0));
        await turns(1);
      }
      expect(refused).toBe(50);
      // As much as is left to each of those who hang.
      const asks = Array.from({ length: 16 }, (_, id) => others.ask({ kind: 'add', id: `${hanging}-${id}`, size: 16 * kib }));
      expect((await Promise.all(asks)).map(({ kind }) => kind)).toEqual(asks.map(() => 'added'));
    }
    for (const bench of benches) bench.log.letGo();
    await until(() => benches.every((bench) => bench.router.openAsks === 0));
    expect(budget.bytes).toBe(0);
  });

  test('what is given up before it is decided leaves at once, and does not happen', async () => {
    const budget = new CommandBudget();
    const bench = await new Bench(new MemoryLog(), { budget, limits: { openRecordsMax: 1 } }).start();
    bench.log.held = true;
    void bench.ask({ kind: 'add', id: 'first' });
    await turns(2);
    const before = budget.bytes;
    const asked: number[] = [];
    for (let index = 0; index < 5_000; index++) {
      asked.push(bench.router.ask(0, { kind: 'add', id: `${index}`, size: kib }, ownWork(FAR_AWAY_MS), () => {}));
      if (index % 100 === 0) bench.loop.submit(NOBODY, { kind: 'refuse' });
    }
    expect(budget.bytes - before).toBeGreaterThan(5_000 * kib);
    for (const askId of asked.filter((_, index) => index !== 77)) bench.router.cancel(askId);
    expect(budget.bytes - before).toBeLessThan(10 * kib);
    bench.log.letGo();
    expect(await bench.ask({ kind: 'read' })).toEqual({ kind: 'entries', entries: ['first', '77'] });
  });

  test('whoever waits for it hears so within 5 s, and so does whoever asks; what was decided is committed once it answers', async () => {
    const clock = new HandClock();
    const bench = await new Bench(new MemoryLog(), { clock, limits: { openRecordsMax: 1 } }).start();
    const waiting = bench.ask({ kind: 'await' });
    bench.log.held = true;
    const decided = bench.ask({ kind: 'add', id: 'decided' });
    await turns(2);
    const undecided = bench.ask({ kind: 'add', id: 'undecided' });
    bench.loop.submit(NOBODY, { kind: 'add', id: 'own' });
    const answers: Answer[] = [];
    for (const ask of [waiting, decided, undecided]) void ask.then((answer) => answers.push(answer));
    clock.advance(2_500);
    await turns(5);
    expect(answers).toEqual([]);
    clock.advance(500);
    await turns(5);
    const message = expect.stringContaining('has had no answer from its log for 3 s');
    expect(answers).toHaveLength(3);
    expect(answers).toContainEqual({ kind: 'unavailable', message });
    expect(answers).toContainEqual({ kind: 'notHere', message, hint: '', epoch: 1 });
    expect(await bench.ask({ kind: 'read' })).toEqual({ kind: 'notHere', message, hint: '', epoch: 1 });
    bench.log.letGo();
    await until(() => bench.core.entries.length === 2);
    expect(await bench.ask({ kind: 'read' })).toEqual({ kind: 'entries', entries: ['decided', 'own'] });
    expect(bench.loop.status().state).toBe('active');
  });

  test('within 5 s even when the flood makes late what it meets: 1.5 s until a request is here, and each timer', async () => {
    const clock = new HandClock();
    const bench = await new Bench(new MemoryLog(), { clock }).start();
    bench.log.held = true;
    clock.advance(1_500);
    const asked = bench.ask({ kind: 'add', id: 'asked' });
    let answer: Answer | undefined;
    void asked.then((given) => (answer = given));
    await turns(2);
    for (let stalls = 0; stalls < 5; stalls++) {
      clock.advance(700);
      await turns(2);
    }
    expect(answer).toMatchObject({ kind: 'unavailable' });
  });

  test('what is dropped with its memory no longer counts', async () => {
    const budget = new CommandBudget();
    const prefetch = ledgerPrefetch({ lacks: (command) => 'id' in command && command.id === 'cold' });
    const bench = await new Bench(new MemoryLog(), { budget, prefetch, limits: { openRecordsMax: 1 } }).start();
    const cold = bench.ask({ kind: 'add', id: 'cold', size: 256 * kib });
    await turns(2);
    bench.log.held = true;
    const asked = ['sent', 'open', 'waits', 'waits too'].map((id) => bench.ask({ kind: 'add', id, size: 256 * kib }));
    await turns(2);
    expect(budget.bytes).toBeGreaterThan(5 * 256 * kib);
    bench.loop.close();
    // What was sent may have happened; nothing has become of the others.
    const kinds = (await Promise.all([cold, ...asked])).map(({ kind }) => kind);
    expect(kinds).toEqual(['notHere', 'unavailable', 'notHere', 'notHere', 'notHere']);
    expect(budget.bytes).toBe(0);
  });

  test('nobody asked it but the owner that looks for its successor: it is logged all the same, until the log answers', async () => {
    const clock = new HandClock();
    const log = new MemoryLog({ exclusive: false });
    const bench = await new Bench(log, { clock }).start();
    const passes = async (ms: number): Promise<void> => {
      clock.advance(ms);
      await turns(3);
    };
    for (let seconds = 0; seconds < 20; seconds++) await passes(1_000);
    log.endsHeld = true;
    await passes(1_000);
    const askedMs = clock.nowMs;
    await passes(2_999);
    expect(bench.statuses.filter(({ silentSinceMs }) => silentSinceMs !== undefined)).toEqual([]);
    await passes(1);
    expect(bench.loop.status()).toMatchObject({ state: 'active', silentSinceMs: askedMs, reason: 'as the test wants it' });
    expect(bench.statuses.at(-1)).toMatchObject({ silentSinceMs: askedMs });
    const message = 'test.ledger/0 has had no answer from its log for 3 s (as the test wants it)';
    expect(await bench.ask({ kind: 'read' })).toMatchObject({ kind: 'notHere', message });
    // What the actor decides for itself, and lets out without the log, is no answer of the log.
    bench.loop.cancel(4711);
    await passes(30_000);
    expect(bench.statuses.at(-1)).toMatchObject({ silentSinceMs: askedMs });
    log.tellEnds();
    await turns(5);
    expect(bench.statuses.at(-1)).toMatchObject({ state: 'active', silentSinceMs: undefined, reason: '' });
    expect(await bench.ask({ kind: 'read' })).toMatchObject({ kind: 'entries' });
  });

  test('a slow log that answers is no silent one', async () => {
    const clock = new HandClock();
    const bench = await new Bench(new MemoryLog(), { clock }).start();
    for (let round = 0; round < 5; round++) {
      bench.log.held = true;
      const answer = bench.ask({ kind: 'add', id: `${round}` });
      await turns(2);
      clock.advance(2_500);
      await turns(2);
      bench.log.letGo();
      expect(await answer).toMatchObject({ kind: 'added' });
    }
  });

  test('in doubt it is the same, with the reason', async () => {
    const clock = new HandClock();
    const bench = await new Bench(new MemoryLog(), { clock }).start();
    bench.log.unknown = true;
    const decided = bench.ask({ kind: 'add', id: 'decided' });
    await until(() => bench.loop.status().state === 'claiming');
    bench.log.held = true;
    const later = bench.ask({ kind: 'read' });
    clock.advance(5_000);
    expect(await decided).toMatchObject({ kind: 'unavailable', message: expect.stringContaining('as the test wants it') });
    expect(await later).toMatchObject({ kind: 'notHere' });
    bench.log.unknown = false;
    bench.log.letGo();
    const settled = async (): Promise<boolean> => {
      clock.advance(1_000);
      await turns(5);
      return (await bench.ask({ kind: 'read' })).kind === 'entries';
    };
    while (!(await settled()));
    expect(bench.core.entries).toEqual(['decided']);
  });
});

describe('asks', () => {
  test('a canceled wait reaches the core and its answer goes nowhere', async () => {
    const bench = await new Bench(new MemoryLog()).start();
    let answers = 0;
    const askId = bench.router.ask(0, { kind: 'await' }, ownWork(FAR_AWAY_MS), () => (answers += 1));
    bench.router.cancel(askId);
    expect(await bench.ask({ kind: 'add', id: 'a' })).toEqual({ kind: 'added', place: 0 });
    expect(answers).toBe(0);
    expect(bench.router.openAsks).toBe(0);
  });

  test('a deadline answers and cancels', async () => {
    const bench = await new Bench(new MemoryLog()).start();
    const before = performance.now();
    expect(await bench.ask({ kind: 'await' }, before + 30)).toMatchObject({ kind: 'deadline' });
    expect(performance.now()).toBeGreaterThanOrEqual(before + 30);
    expect(bench.router.openAsks).toBe(0);
  });

  test('an answer never comes before ask has returned', async () => {
    const router = ledgerSwitchboard(systemClock);
    let returned = false;
    const answered = new Promise<boolean>((resolve) => {
      router.ask(0, { kind: 'read' }, ownWork(FAR_AWAY_MS), () => resolve(returned));
      returned = true;
    });
    expect(await answered).toBe(true);
  });
});

describe('prefetch', () => {
  const large = 256 * 1024;

  test('a command of a cold key waits for it; order per key is kept, other keys overtake', async () => {
    const loads: { readonly key: string; readonly done: () => void }[] = [];
    const hot = new Set(['b']);
    const keyOf = (command: LedgerCommand): string => (command.kind === 'add' ? (command.id[0] ?? '') : '');
    const prefetch = ledgerPrefetch({
      keyOf,
      lacks: (command) => command.kind === 'add' && !hot.has(keyOf(command)),
      load: (key, _command, done) => loads.push({ key, done }),
    });
    const bench = await new Bench(new MemoryLog(), { prefetch }).start();
    const order: string[] = [];
    const add = (id: string): Promise<void> => bench.ask({ kind: 'add', id }).then(() => void order.push(id));
    const cold = [add('a1'), add('b1'), add('a2')];
    await until(() => order.length === 1);
    expect(order).toEqual(['b1']);
    expect(loads.map((load) => load.key)).toEqual(['a']);
    hot.add('a');
    const late = add('a3');
    loads[0]?.done();
    await Promise.all([...cold, late]);
    expect(order).toEqual(['b1', 'a1', 'a2', 'a3']);
  });

  test('when its state cannot be loaded, all of its key end, in their order, and nothing has happened; the actor’s own are given back', async () => {
    const loads: ((trouble?: LoadTrouble) => void)[] = [];
    const own: string[] = [];
    const prefetch = ledgerPrefetch({
      keyOf: () => 'k',
      lacks: (command) => 'id' in command && command.id !== 'hot',
      load: (_key, _command, done) => loads.push(done),
      ownWaits: () => own.push('waits'),
      ownNotLoaded: (_command, reason) => own.push(reason),
    });
    const bench = await new Bench(new MemoryLog(), { prefetch }).start();
    const first = bench.ask({ kind: 'add', id: 'first' });
    await until(() => loads.length === 1);
    bench.loop.submit(NOBODY, { kind: 'add', id: 'own' });
    const hot = bench.ask({ kind: 'add', id: 'hot' });
    await turns(2);
    const drained = bench.loop.drain();
    loads[0]?.({ kind: 'away', message: 'connection refused' });
    expect(await Promise.all([first, hot])).toMatchObject([
      { kind: 'notHere', message: 'connection refused' },
      { kind: 'notHere', message: 'connection refused' },
    ]);
    await drained;
    expect(own).toEqual(['waits', 'connection refused']);
    expect(bench.core.entries).toEqual([]);
  });

  test('no more than so many wait for their state; the others go on', async () => {
    const prefetch = ledgerPrefetch({ lacks: (command) => 'id' in command && command.id.startsWith('cold') });
    const bench = await new Bench(new MemoryLog(), { prefetch, limits: { parkedAsksMax: 2 } }).start();
    const [, , refused, hot] = ['cold 1', 'cold 2', 'cold 3', 'hot'].map((id) => bench.ask({ kind: 'add', id }));
    expect(await refused).toMatchObject({ kind: 'busy' });
    expect(await hot).toEqual({ kind: 'added', place: 0 });
  });

  test('of those places a namespace has as many as it leaves to the others', async () => {
    const prefetch = ledgerPrefetch({ lacks: (command) => 'id' in command && command.id.includes('cold') });
    const bench = await new Bench(new MemoryLog(), { prefetch, limits: { parkedAsksMax: 8 } }).start();
    const answers: (string | undefined)[] = [];
    for (const id of ['orders', 'orders', 'orders', 'orders', 'orders', 'billing', 'stock']) {
      const at = answers.push(undefined) - 1;
      void bench.ask({ kind: 'add', id: `${id}/cold ${at}` }).then(({ kind }) => (answers[at] = kind));
    }
    expect(await bench.ask({ kind: 'add', id: 'orders/hot' })).toMatchObject({ kind: 'added' });
    // Three of one, while two others have one each.
    expect(answers).toEqual([undefined, undefined, undefined, 'busy', 'busy', undefined, undefined]);
  });

  test('a command whose state was loaded while an append was in doubt is decided when that is settled', async () => {
    const loads: (() => void)[] = [];
    let hot = true;
    const prefetch = ledgerPrefetch({ keyOf: () => 'k', lacks: () => !hot, load: (_key, _command, done) => loads.push(done) });
    const log = new MemoryLog();
    const bench = await new Bench(log, { prefetch }).start();
    log.unknown = true;
    const doubtful = bench.ask({ kind: 'add', id: 'doubtful' });
    await until(() => bench.core.entries.length === 1);
    hot = false;
    const cold = bench.ask({ kind: 'add', id: 'cold' });
    await until(() => loads.length === 1 && bench.loop.status().state === 'claiming');
    hot = true;
    loads[0]?.();
    log.unknown = false;
    expect(await doubtful).toEqual({ kind: 'added', place: 0 });
    expect(await cold).toEqual({ kind: 'added', place: 1 });
  });

  test('what is loaded while an append is in doubt comes before what arrived since', async () => {
    const loads: (() => void)[] = [];
    let hot = true;
    const prefetch = ledgerPrefetch({ keyOf: () => 'k', lacks: () => !hot, load: (_key, _command, done) => loads.push(done) });
    const log = new MemoryLog();
    const bench = await new Bench(log, { prefetch }).start();
    log.unknown = true;
    const doubtful = bench.ask({ kind: 'add', id: 'doubtful' });
    await until(() => bench.core.entries.length === 1);
    hot = false;
    const order: string[] = [];
    const first = bench.ask({ kind: 'add', id: 'first' }).then(() => order.push('first'));
    await until(() => loads.length === 1 && bench.loop.status().state === 'claiming');
    const second = bench.ask({ kind: 'add', id: 'second' }).then(() => order.push('second'));
    hot = true;
    loads[0]?.();
    log.unknown = false;
    expect(await doubtful).toEqual({ kind: 'added', place: 0 });
    await Promise.all([first, second]);
    expect(order).toEqual(['first', 'second']);
    expect(bench.core.entries).toEqual(['doubtful', 'first', 'second']);
  });

  test('what waits for its state leaves at once when it is given up, although nothing is decided meanwhile', async () => {
    const budget = new CommandBudget();
    const loads: string[] = [];
    const prefetch = ledgerPrefetch({
      lacks: (command) => 'id' in command && command.id === 'cold',
      load: (key) => loads.push(key),
    });
    const bench = await new Bench(new MemoryLog(), { budget, prefetch, limits: { openRecordsMax: 1 } }).start();
    const cold = bench.router.ask(0, { kind: 'add', id: 'cold', size: large }, ownWork(FAR_AWAY_MS), () => {});
    await until(() => loads.length === 1);
    bench.log.held = true;
    void bench.ask({ kind: 'add', id: 'open' });
    await until(() => bench.core.entries.length === 1);
    const before = budget.bytes;
    bench.router.cancel(cold);
    expect(before - budget.bytes).toBeGreaterThanOrEqual(large);
  });

  test('what is loaded while an append is in doubt leaves at once when it is given up, and hears that the log does not answer', async () => {
    const budget = new CommandBudget();
    const clock = new HandClock();
    const loads: (() => void)[] = [];
    let hot = true;
    const prefetch = ledgerPrefetch({ keyOf: () => 'k', lacks: () => !hot, load: (_key, _command, done) => loads.push(done) });
    const log = new MemoryLog();
    const bench = await new Bench(log, { budget, clock, prefetch }).start();
    log.unknown = true;
    const doubtful = bench.ask({ kind: 'add', id: 'doubtful' });
    await until(() => bench.core.entries.length === 1);
    hot = false;
    const givenUp = bench.router.ask(0, { kind: 'add', id: 'given up', size: large }, ownWork(FAR_AWAY_MS), () => {});
    const told = bench.ask({ kind: 'add', id: 'told', size: large });
    await until(() => loads.length === 1 && bench.loop.status().state === 'claiming');
    log.held = true;
    hot = true;
    loads[0]?.();
    const before = budget.bytes;
    bench.router.cancel(givenUp);
    expect(before - budget.bytes).toBeGreaterThanOrEqual(large);
    clock.advance(5_000);
    expect(await doubtful).toMatchObject({ kind: 'unavailable' });
    expect(await told).toMatchObject({ kind: 'notHere' });
    expect(budget.bytes).toBeLessThan(large);
  });
});
