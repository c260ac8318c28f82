/** The filter of workflow ids is built behind the back of those who wait for the database. */
import { expect, test } from 'vitest';
import type { RunKey } from '../../../../src/kernel/run-key.ts';
import { KeyFilterBuild } from '../../../../src/actors/history/durable/key-filter-build.ts';
import { ShardTable } from '../../../../src/projections/checkpoints/shard-table.ts';
import { oneAtATime } from '../../../../src/kernel/one-at-a-time.ts';
import { HistoryCore } from '../../../../src/history/history-core.ts';
import { historyWire } from '../../../../src/codec/history-wire.ts';
import { stateCodec } from '../../../../src/codec/state-codec.ts';
import { HandClock } from '../../../support/hand-clock.ts';
import { turns } from '../../../support/event-loop.ts';
import { silentLogger } from '../../../../src/observability/logger.ts';

const pageMs = 4;

test('shards read one short page at a time, and the database has three quarters of its time for others', async () => {
  const clock = new HandClock();
  const inTurn = oneAtATime();
  const reads: { readonly shard: number; readonly fromMs: number; readonly max: number }[] = [];
  const cores = [1, 2, 3].map((shard) => {
    const core = new HistoryCore({ wire: historyWire, stateWire: stateCodec });
    core.leaveRestInTable();
    const ids = Array.from({ length: 1_000 }, (_, n): RunKey => ({
      namespaceId: 'ns',
      workflowId: `wf-${shard}-${n}`,
      runId: `${10_000 + n}`,
    }));
    const table = new ShardTable<'runIds'>({
      journal: { kind: 'history', partition: shard - 1 },
      checkpointer: { fence: 1, written: undefined, isSuperseded: async () => false },
      database: {
        runIds: async (_journal, after, max) => {
          reads.push({ shard, fromMs: clock.monoMs(), max });
          await new Promise<void>((resolve) => void clock.after(pageMs, resolve));
          return { fence: 1, nextOffset: 0, rows: ids.filter(({ runId }) => runId > after).slice(0, max) };
        },
      },
    });
    new KeyFilterBuild({ core, table, inTurn, clock, logger: silentLogger, onFenced: () => {} }).start();
    return core;
  });
  for (let ms = 0; ms < 1_000; ms++) {
    clock.advance(1);
    await turns(2);
  }
  expect(cores.map(({ residency }) => residency.keys.isStale)).toEqual([false, false, false]);
  for (const [at, core] of cores.entries()) {
    expect(core.residency.keys.mayHave({ namespaceId: 'ns', workflowId: `wf-${at + 1}-999` })).toBe(true);
    expect(core.residency.keys.mayHave({ namespaceId: 'ns', workflowId: 'nobody' })).toBe(false);
  }
  expect(new Set(reads.map(({ max }) => max <= 250))).toEqual(new Set([true]));
  const gaps = reads.slice(1).map(({ fromMs }, at) => fromMs - reads[at]!.fromMs);
  // The last page of a shard is empty, and rests for nothing.
  expect(gaps.filter((gap) => gap < 4 * pageMs).length).toBeLessThanOrEqual(cores.length);
  expect(Math.min(...gaps)).toBeGreaterThanOrEqual(pageMs);
});
