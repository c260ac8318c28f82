import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BudgetShare, CommandBudget } from '../../../src/actors/partition/command-budget.ts';
import { CommitWindow, RECORD_BYTES_MAX } from '../../../src/actors/partition/commit-window.ts';
import { ReadBarrier } from '../../../src/actors/ownership/read-barrier.ts';
import { sealedBytes } from '../../../src/topics/limits.ts';
import type { CommitSubscriber, EncodedRecord, EffectSink } from '../../../src/actors/partition/partition-core.ts';
import { APPEND_BYTES_MAX, type LogRecord, type RecordPosition } from '../../../src/actors/log.ts';

type Left = string;

class Bench implements EffectSink<string, string>, CommitSubscriber<number> {
  readonly barrier: ReadBarrier;
  readonly window: CommitWindow<string, number, string>;
  readonly left: Left[] = [];

  constructor(exclusive: boolean) {
    this.barrier = new ReadBarrier(exclusive);
    this.window = new CommitWindow(this.barrier, new BudgetShare(new CommandBudget()));
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
    this.window.commit(record, record, encoded, 'ok', [`effect ${record}`]);
  }

  release(): Left[] {
    this.window.release({ shell: this, subscribers: [this] }, () => false);
    return this.left.splice(0);
  }
}

function recordOf(id: string, bytes: number): EncodedRecord {
  return { key: `n/${id}`, schema: 1, type: 'T', namespace: 'n', workflowId: id, runId: 'r', timeMs: 1, value: new Uint8Array(bytes) };
}

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

  test('each record of a batch is told with its own stamp and offset', () => {
    const bench = new Bench(true);
    for (const record of [1, 2, 3]) bench.commit(record);
    bench.window.seal(4, 7);
    bench.window.committed(3, { epoch: 4, sequence: 7, offset: 20 });
    expect(bench.release().filter((left) => left.startsWith('#'))).toEqual(['#1 4.7@20', '#2 4.8@21', '#3 4.9@22']);
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
      fc.property(fc.array(fc.tuple(id, size, fc.integer({ min: 1, max: 900 })), { maxLength: 12 }), (kinds) => {
        const bench = new Bench(true);
        let count = 0;
        for (const [name, bytes, repeats] of kinds) {
          for (let repeat = 0; repeat < (bytes > 2_000 ? 1 : repeats); repeat++) bench.commit((count += 1), recordOf(name, bytes));
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
});
