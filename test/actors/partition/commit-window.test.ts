import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BudgetShare, CommandBudget } from '../../../src/actors/partition/command-budget.ts';
import { CommitWindow, RECORD_BYTES_MAX } from '../../../src/actors/partition/commit-window.ts';
import { LoopTurns } from '../../../src/ports/loop-turns.ts';
import { ReadBarrier } from '../../../src/actors/ownership/read-barrier.ts';
import { HandClock } from '../../support/hand-clock.ts';
import { sealedBytes } from '../../../src/topics/append-limits.ts';
import type { CommitSubscriber } from '../../../src/ports/commit-subscriber.ts';
import type { EncodedRecord, EffectSink } from '../../../src/actors/partition/partition-core.ts';
import { APPEND_BYTES_MAX, type LogRecord, type RecordHeader, type RecordPosition } from '../../../src/ports/log.ts';

type Left = string;

class Bench implements EffectSink<string, string>, CommitSubscriber<number> {
  readonly barrier: ReadBarrier;
  readonly window: CommitWindow<string, number, string>;
  readonly left: Left[] = [];

  constructor(exclusive: boolean, clock = new HandClock('when moved'), turns = new LoopTurns(clock)) {
    this.barrier = new ReadBarrier(exclusive);
    const share = new BudgetShare(new CommandBudget());
    this.window = new CommitWindow({ barrier: this.barrier, share, turns, onTurn: () => this.letOut() });
  }

  answer(askId: number, reply: string): void {
    this.left.push(`${askId} ${reply}`);
  }

  act(effect: string): void {
    this.left.push(effect);
  }

  committed(record: number, { epoch, sequence, offset }: RecordPosition): void {
    this.left.push(`#${record} ${epoch}.${sequence}@${offset}`);
  }

  commit(record: number, encoded: EncodedRecord = recordOf('', 10)): void {
    this.commitBehind([], record, encoded);
  }

  /** In front of `record` others, each by itself. */
  commitBehind(before: readonly number[], record: number, encoded: EncodedRecord = recordOf('', 10)): void {
    const handled = { kind: 'commit', record, before, reply: 'ok', effects: [`effect ${record}`] } as const;
    this.window.commit(record, handled, { last: encoded, before: before.map(() => recordOf('', 10)) });
  }

  /** Records `first …`, sealed and committed as one batch. */
  commitBatch(first: number, count: number, position: RecordPosition): void {
    for (let record = first; record < first + count; record++) this.commit(record);
    this.window.seal(position.epoch, position.sequence);
    this.window.committed(count, position);
  }

  letOut(atOnce = false): void {
    this.window.release({ shell: this, subscribers: [this] }, () => false, atOnce);
  }

  release(): Left[] {
    this.letOut();
    return this.left.splice(0);
  }
}

const headersOf = (count: number): readonly RecordHeader[] =>
  Array.from({ length: count }, (_, index) => [`perdure.header-${index}`, '語'.repeat(1_000)]);

function recordOf(id: string, bytes: number): EncodedRecord {
  return { key: `n/${id}`, schema: 1, type: 'T', namespace: 'n', workflowId: id, runId: 'r', timeMs: 1, value: new Uint8Array(bytes) };
}

/** Turns of the event loop, counted one by one. */
class TurnByTurn extends HandClock {
  readonly #due: (() => void)[] = [];
  readonly #settled: (() => void)[] = [];

  override after(_delayMs: number, callback: () => void): { cancel(): void } {
    this.#due.push(callback);
    return { cancel: () => {} };
  }

  override settled(callback: () => void): void {
    this.#settled.push(callback);
  }

  /** False: there was nothing to do in it. */
  turn(): boolean {
    this.settle();
    const due = this.#due.splice(0);
    for (const callback of due) callback();
    this.settle();
    return due.length > 0;
  }

  /** The rest of this turn. */
  settle(): void {
    for (let next = this.#settled.shift(); next !== undefined; next = this.#settled.shift()) next();
  }
}

describe('what one commit lets out takes turns of the event loop', () => {
  const stepsMax = 512;

  test('in order, nothing twice, each record with its own stamp and offset, however many batches are committed meanwhile', () => {
    const clock = new TurnByTurn();
    const bench = new Bench(true, clock);
    bench.commitBatch(1, 1_000, { epoch: 1, sequence: 1, offset: 50 });
    bench.letOut();
    expect(bench.window.awaitsTurn).toBe(true);
    bench.commitBatch(1_001, 3, { epoch: 2, sequence: 1, offset: 9_000 });
    bench.window.hold(7, 'read', []);
    bench.commitBatch(1_004, 200, { epoch: 2, sequence: 4, offset: 9_500 });
    bench.letOut();
    clock.settle();
    const perTurn = [bench.left.length];
    for (let before = bench.left.length; clock.turn(); before = bench.left.length) perTurn.push(bench.left.length - before);
    // Of each commit: its record and answer, and its effect.
    for (const left of perTurn) expect(left).toBeLessThanOrEqual((3 * stepsMax) / 2 + 3);
    expect(perTurn.length).toBeGreaterThan(3);
    const expected: Left[] = [];
    for (let record = 1; record <= 1_203; record++) {
      if (record === 1_004) expected.push('7 read');
      const at =
        record <= 1_000 ? `1.${record}@${49 + record}` : `2.${record - 1_000}@${record <= 1_003 ? 7_999 + record : 8_496 + record}`;
      expected.push(`#${record} ${at}`, `${record} ok`, `effect ${record}`);
    }
    expect(bench.left).toEqual(expected);
    expect(bench.window.empty).toBe(true);
  });

  test('all partitions of a process share a turn, one after another', () => {
    const clock = new TurnByTurn();
    const turns = new LoopTurns(clock);
    const benches = Array.from({ length: 3 }, () => new Bench(true, clock, turns));
    for (const bench of benches) bench.commitBatch(1, 1_000, { epoch: 1, sequence: 1, offset: 0 });
    const leftOfAll = (): number => benches.reduce((sum, { left }) => sum + left.length, 0);
    for (const bench of benches) bench.letOut();
    clock.settle();
    expect(leftOfAll()).toBeLessThanOrEqual((3 * stepsMax) / 2 + 3);
    for (let before = leftOfAll(); clock.turn(); before = leftOfAll()) {
      expect(leftOfAll() - before).toBeLessThanOrEqual((3 * stepsMax) / 2 + 3);
      const left = benches.map((bench) => bench.left.length);
      expect(Math.max(...left) - Math.min(...left), 'none is far ahead').toBeLessThanOrEqual(50);
    }
    for (const bench of benches) expect(bench.left).toHaveLength(3_000);
  });

  test('what one command lets out as well: its effects, behind its answer and before what comes next', () => {
    const clock = new TurnByTurn();
    const bench = new Bench(true, clock);
    const effects = Array.from({ length: 2_000 }, (_, nth) => `waiter ${nth}`);
    bench.window.commit(1, { kind: 'commit', record: 1, reply: 'ok', effects }, { last: recordOf('', 10), before: [] });
    bench.window.hold(7, 'read', []);
    bench.window.seal(1, 1);
    bench.window.committed(1, { epoch: 1, sequence: 1, offset: 0 });
    bench.letOut();
    clock.settle();
    for (let before = 0; bench.left.length < 2_003; before = bench.left.length) {
      expect(bench.left.length - before).toBeLessThanOrEqual(stepsMax + 2);
      expect(bench.window.empty).toBe(false);
      expect(clock.turn()).toBe(true);
    }
    expect(bench.left).toEqual(['#1 1.1@0', '1 ok', ...effects, '7 read']);
    expect(bench.window.empty).toBe(true);
  });

  test('all of it at once where nothing is released later', () => {
    const clock = new TurnByTurn();
    const bench = new Bench(true, clock);
    bench.commitBatch(1, 2_000, { epoch: 1, sequence: 1, offset: 0 });
    bench.letOut();
    expect(bench.left.length).toBeLessThan(6_000);
    bench.letOut(true);
    expect(bench.left).toHaveLength(6_000);
    while (clock.turn());
    expect(bench.left).toHaveLength(6_000);
  });
});

describe('commit window', () => {
  test('what rests on a record leaves after it, in order: record, reply, effects', () => {
    const bench = new Bench(true);
    bench.commit(1);
    bench.window.hold(7, 'read', ['seen']);
    bench.commit(2);
    expect(bench.release()).toEqual([]);
    expect(bench.window.seal(1, 1)).toHaveLength(2);
    expect(bench.release()).toEqual([]);
    bench.window.committed(1, { epoch: 1, sequence: 1, offset: 40 });
    expect(bench.release()).toEqual(['#1 1.1@40', '1 ok', 'effect 1', '7 read', 'seen']);
    bench.window.committed(1, { epoch: 1, sequence: 2, offset: 90 });
    expect(bench.release()).toEqual(['#2 1.2@90', '2 ok', 'effect 2']);
    expect(bench.window.empty).toBe(true);
  });

  test('each record of a batch is reported with its own stamp and offset', () => {
    const bench = new Bench(true);
    for (const record of [1, 2, 3]) bench.commit(record);
    bench.window.seal(4, 7);
    bench.window.committed(3, { epoch: 4, sequence: 7, offset: 20 });
    expect(bench.release().filter((left) => left.startsWith('#'))).toEqual(['#1 4.7@20', '#2 4.8@21', '#3 4.9@22']);
  });

  test('of a command that writes many records each is reported, and the answer leaves with the last', () => {
    const bench = new Bench(true);
    bench.commitBehind([1, 2], 3);
    expect(bench.window.seal(1, 1)).toHaveLength(3);
    bench.window.committed(2, { epoch: 1, sequence: 1, offset: 20 });
    expect(bench.release()).toEqual(['#1 1.1@20', '#2 1.2@21']);
    bench.window.committed(1, { epoch: 1, sequence: 3, offset: 25 });
    expect(bench.release()).toEqual(['#3 1.3@25', '3 ok', 'effect 3']);
  });

  test('a read passes the barrier with a proof that was asked for after it, no other', () => {
    const bench = new Bench(false);
    const before = bench.barrier.beginProof();
    bench.window.hold(1, 'read', []);
    bench.barrier.prove(before);
    expect(bench.release()).toEqual([]);
    expect(bench.window.waitingMark).toBe(before);
    bench.barrier.prove(bench.barrier.beginProof());
    expect(bench.release()).toEqual(['1 read']);
    expect(bench.window.waitingMark).toBeUndefined();
  });

  test('a batch is stamped when it is sealed, one sequence after the other', () => {
    const bench = new Bench(true);
    for (const record of [1, 2, 3]) bench.commit(record);
    expect(bench.window.seal(5, 9).map(({ epoch, sequence }) => `${epoch}.${sequence}`)).toEqual(['5.9', '5.10', '5.11']);
  });

  test('no batch is larger than an append may be, whatever its records are; none is lost, none empty', () => {
    const id = fc.oneof(fc.constant(''), fc.constant('x'.repeat(1_000)), fc.constant('語'.repeat(1_000)));
    const size = fc.oneof(fc.nat(2_000), fc.constantFrom(1_000_000, 4 * 1024 * 1024, RECORD_BYTES_MAX));
    fc.assert(
      fc.property(fc.array(fc.tuple(id, size, fc.integer({ min: 1, max: 900 })), { maxLength: 12 }), fc.nat(3), (kinds, headers) => {
        const bench = new Bench(true);
        let count = 0;
        for (const [name, bytes, repeats] of kinds) {
          for (let repeat = 0; repeat < (bytes > 2_000 ? 1 : repeats); repeat++)
            bench.commit((count += 1), { ...recordOf(name, bytes), headers: headersOf(headers) });
        }
        let sealed = 0;
        while (bench.window.openRecords > 0) {
          const records: LogRecord[] = bench.window.seal(1, sealed + 1);
          expect(records.length).toBeGreaterThan(0);
          expect(sealedBytes({ generation: 1, records })).toBeLessThanOrEqual(APPEND_BYTES_MAX);
          sealed += records.length;
        }
        expect(sealed).toBe(count);
        expect(bench.window.openBytes).toBe(0);
      }),
      { numRuns: 40 },
    );
  });

  test('however many wait for what one command lets out, each of them is known, also those whose turn has not come', () => {
    const clock = new TurnByTurn();
    const turns = new LoopTurns(clock);
    const share = new BudgetShare(new CommandBudget());
    type Waiter = { readonly askId: number };
    const window = new CommitWindow<string, number, Waiter>({ barrier: new ReadBarrier(true), share, turns, onTurn: () => {} });
    const effects = Array.from({ length: 200_000 }, (_, nth) => ({ askId: nth + 1 }));
    window.hold(0, undefined, effects);
    expect(window.waitingAsks()).toHaveLength(effects.length);
    const told: number[] = [];
    window.release({ shell: { answer: () => {}, act: ({ askId }) => void told.push(askId) }, subscribers: [] }, () => false);
    expect(told.length).toBeGreaterThan(0);
    expect([...told, ...window.waitingAsks()]).toEqual(effects.map(({ askId }) => askId));
  });
});
