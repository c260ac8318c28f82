/** How fast closed runs go that a table shows as due, and are not in memory. */
import { expect, test } from 'vitest';
import { retireDueRuns } from '../../../../src/actors/history/durable/durable-shard.ts';
import { ShardTable } from '../../../../src/projections/checkpoints/shard-table.ts';
import { Tenure } from '../../../../src/actors/partition/partition-core.ts';
import type { HistoryCommand } from '../../../../src/history/commands/history-commands.ts';
import { HistoryCore } from '../../../../src/history/history-core.ts';
import { createLogger } from '../../../../src/observability/logger.ts';
import { historyWire } from '../../../../src/codec/history-wire.ts';
import { stateCodec } from '../../../../src/codec/state-codec.ts';
import { turns } from '../../../support/event-loop.ts';
import { HandClock } from '../../../support/hand-clock.ts';

/** A shard after a restart, over a table of due runs; what is retired goes from the table with `checkpoint`. */
function dueWorld(count: number) {
  const clock = new HandClock();
  const core = new HistoryCore({ wire: historyWire, stateWire: stateCodec });
  core.leaveRestInTable();
  let rows = Array.from({ length: count }, (_, n) => ({ namespaceId: 'ns', workflowId: `wf-${n}`, runId: `run-${n}`, forgetMs: 1 }));
  const records: number[] = [];
  const tenure = new Tenure<HistoryCommand>({ submit: () => undefined }, { nowMs: () => 2, fenced: () => {}, claimAnew: () => {} }, clock);
  tenure.begin();
  retireDueRuns({
    core,
    table: new ShardTable({
      journal: { kind: 'history', partition: 0 },
      database: { dueRuns: async (_journal, _untilMs, max) => ({ fence: 1, nextOffset: 0, rows: rows.slice(0, max) }) },
      checkpointer: { fence: 1, written: undefined, isSuperseded: async () => false },
    }),
    tenure,
    submit: (command) => {
      const handled = core.handle(command, 2, 0);
      core.accept(handled);
      if (handled.kind === 'commit') records.push(handled.record.retiredRuns?.length ?? 0);
    },
    logger: createLogger({ level: 'warn', format: 'text', write: () => {}, nowMs: () => 0 }),
  });
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 1_000) {
      clock.advance(1_000);
      await turns(2);
    }
  };
  const checkpoint = (): void => {
    core.changes.cut();
    const gone = new Set(core.changes.capture(() => true)?.delta.retiredRuns.map(({ runId }) => runId));
    core.changes.durable();
    rows = rows.filter(({ runId }) => !gone.has(runId));
  };
  return { records, pass, checkpoint };
}

test('many go between two checkpoints, 500 in a record, and each once', async () => {
  const world = dueWorld(2_600);
  await world.pass(40_000);
  expect(world.records).toEqual([500, 500, 500, 500, 500, 100]);
});

test('while no checkpoint deletes their rows they are not gone through without end; afterwards the others go', async () => {
  const world = dueWorld(7_000);
  await world.pass(90_000);
  expect(world.records.reduce((sum, runs) => sum + runs, 0)).toBe(5_500);
  world.checkpoint();
  await world.pass(40_000);
  expect(world.records.reduce((sum, runs) => sum + runs, 0)).toBe(7_000);
});
