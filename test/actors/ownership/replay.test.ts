import { afterEach, expect, test } from 'vitest';
import { PartitionLoop } from '../../../src/actors/partition/partition-loop.ts';
import { LoopTurns } from '../../../src/ports/loop-turns.ts';
import { systemClock, systemRandom } from '../../../src/ports/system-ports.ts';
import { silentLogger } from '../../../src/observability/logger.ts';
import { jsonClaims, ledgerCodec, ledgerMemory, ledgerScale } from '../ledger.ts';
import { MemoryLog } from '../memory-log.ts';
import type { PartitionId, StoredRecord } from '../../../src/ports/log.ts';
import type { PartitionStatus } from '../../../src/actors/ownership/partition-owner.ts';
import type { Clock } from '../../../src/ports/machine.ts';
import type { Logger } from '../../../src/observability/logger.ts';
import type { LedgerCommand, LedgerEffect, LedgerRecord, LedgerReply } from '../ledger.ts';
import { turns } from '../../support/event-loop.ts';

type Loop = PartitionLoop<LedgerCommand, LedgerReply, LedgerRecord, LedgerEffect>;

const loops: Loop[] = [];
afterEach(() => {
  for (const loop of loops.splice(0)) loop.close();
});

/** Partitions with a claim and `count` records each, and a clock by which folding a record takes a while. */
class Replay {
  readonly log = new MemoryLog();
  readonly statuses: PartitionStatus[] = [];
  readonly lines: { readonly message: string; readonly fields: unknown }[] = [];
  folded = 0;
  #nowMs = 0;
  readonly #clock: Clock = { ...systemClock, monoMs: () => this.#nowMs };
  readonly #turns = new LoopTurns(this.#clock);
  readonly #foldMs: number;
  readonly #readsAhead: boolean;

  /** `readsAhead`: what the records of a read need is brought in before they are applied. */
  constructor(foldMs: number, readsAhead = false) {
    this.#foldMs = foldMs;
    this.#readsAhead = readsAhead;
  }

  start(partition: number, count: number): Loop {
    const id: PartitionId = { topic: 'test.ledger', partition };
    const records = this.log.records(id);
    const claim = { key: '@claim', schema: 1, epoch: 1, sequence: 0, type: 'Claim', namespace: '', workflowId: '', runId: '', timeMs: 1 };
    records.push({ ...claim, value: jsonClaims.encode({ ownerNonce: 'n', owner: 'o' }), offset: 0 });
    for (let sequence = 1; sequence <= count; sequence++) {
      records.push({ ...ledgerCodec.encode({ id: `e${sequence}`, timeMs: 1, size: 0 }), epoch: 1, sequence, offset: sequence });
    }
    const logger: Logger = { ...silentLogger, info: (message, fields) => void this.lines.push({ message, fields }), with: () => logger };
    const loop: Loop = new PartitionLoop({
      partition: id,
      log: this.log,
      scale: ledgerScale,
      codec: { ...ledgerCodec, decode: (value, schema, stored) => this.#decode(value, schema, stored) },
      claims: jsonClaims,
      owner: 'replay',
      create: () => {
        const memory = ledgerMemory(
          () => {},
          () => {},
        );
        return this.#readsAhead ? { ...memory, readAhead: { load: () => undefined } } : memory;
      },
      asks: { fail: () => {}, failAll: () => {}, abandon: () => {} },
      clock: this.#clock,
      random: systemRandom,
      logger,
      onStatus: (status) => this.statuses.push(status),
      turns: this.#turns,
    });
    loops.push(loop);
    loop.start();
    return loop;
  }

  #decode(value: Uint8Array, schema: number, stored: StoredRecord): LedgerRecord {
    this.folded += 1;
    this.#nowMs += this.#foldMs;
    return ledgerCodec.decode(value, schema, stored);
  }
}

async function turnsUntil(done: () => boolean, eachTurn: () => void): Promise<void> {
  while (!done()) {
    await turns();
    eachTurn();
  }
}

const active = (loop: Loop): boolean => loop.status().state === 'active';

test.each([
  { readsAhead: false, title: 'all partitions together fold for less than 20 ms in one turn of the event loop' },
  { readsAhead: true, title: 'so they do where the records of a read are decoded before the first of them is applied' },
])('$title', async ({ readsAhead }) => {
  const replay = new Replay(1, readsAhead);
  const replaying = [0, 1, 2, 3].map((partition) => replay.start(partition, 300));
  let before = 0;
  let most = 0;
  await turnsUntil(
    () => replaying.every(active),
    () => {
      most = Math.max(most, replay.folded - before);
      before = replay.folded;
    },
  );
  // The last record is read once more before the claim.
  expect(replay.folded).toBeGreaterThanOrEqual(1_200);
  expect(most).toBeLessThan(20);
});

test('a partition that replays leaves room for one that serves', async () => {
  const replay = new Replay(1);
  const serving = replay.start(0, 0);
  await turnsUntil(
    () => active(serving),
    () => {},
  );
  const replaying = replay.start(1, 2_000);
  let answered = 0;
  await turnsUntil(
    () => active(replaying),
    () => {
      if (serving.submit(1, { kind: 'read' }) === undefined) answered += 1;
    },
  );
  expect(answered).toBeGreaterThan(2_000 / 20);
});

test('says how far it has come every five seconds, and tells at least as often that it moves', async () => {
  const replay = new Replay(100);
  const loop = replay.start(0, 120);
  await turnsUntil(
    () => active(loop),
    () => {},
  );
  const lines = replay.lines.filter(({ message }) => message === 'replaying');
  expect(lines).toHaveLength(2);
  expect(lines[0]?.fields).toMatchObject({ records: 52, percent: 42, 'records-per-second': 10 });
  expect(replay.statuses.filter(({ state }) => state === 'replaying').length).toBeGreaterThanOrEqual(12);
  expect(loop.status().replayed).toMatchObject({ records: 122, ms: 12_000 });
  expect(loop.status().replayed.bytes).toBeGreaterThan(120 * 64);
});

test('ends at once when it is asked to', async () => {
  const replay = new Replay(1);
  const loop = replay.start(0, 1_000);
  await turnsUntil(
    () => replay.folded > 0,
    () => {},
  );
  await loop.drain();
  const { folded } = replay;
  expect(loop.status().state).toBe('released');
  await turns();
  await turns();
  expect(replay.folded).toBe(folded);
  expect(folded).toBeLessThan(1_000);
});
