/** What a replay brings into memory before it applies records. */
import { expect, test } from 'vitest';
import { HistoryReadAhead } from '../../../../src/actors/history/durable/cold-loads.ts';
import type { LoadRuns } from '../../../../src/actors/history/durable/events-left-out.ts';
import { LoopTurns } from '../../../../src/ports/loop-turns.ts';
import { HistoryCore } from '../../../../src/history/history-core.ts';
import type { RunKey } from '../../../../src/kernel/run-key.ts';
import { historyWire } from '../../../../src/codec/history-wire.ts';
import { stateCodecBesideHistory } from '../../../../src/codec/state-codec.ts';
import { turns } from '../../../support/event-loop.ts';
import { WorkingClock } from '../../../support/working-clock.ts';
import { key, ShardUnderTest } from '../../../history/shard-under-test.ts';

test('runs that were loaded come into memory some at a time, however many there are', async () => {
  const shard = new ShardUnderTest({}, stateCodecBesideHistory);
  shard.checks = false;
  const keys: RunKey[] = [];
  for (let nth = 0; nth < 100; nth++) {
    const workflowId = `wf-${nth}`;
    keys.push({ ...key, workflowId, runId: shard.start({ key: { ...key, workflowId } }) });
  }
  shard.core.changes.cut();
  const checkpoint = shard.core.changes.capture(() => true)!;
  const rows = new Map(checkpoint.delta.runs.map((row) => [row.runId, row]));

  const core = new HistoryCore({ wire: historyWire, stateWire: stateCodecBesideHistory });
  core.install({ runs: [], currentRuns: [], transferTasks: [], timers: [] }, checkpoint);
  core.leaveRestInTable();
  const clock = new WorkingClock();
  const load: LoadRuns = (wanted) =>
    Promise.resolve(
      wanted.map((each) => {
        const runId = each.kind === 'run' ? each.runId : '';
        return { currentRunId: runId, run: rows.get(runId) };
      }),
    );
  const readAhead = new HistoryReadAhead({ core, load, turns: new LoopTurns(clock), makeRoom: () => {}, onInstalled: () => {} });
  const inMemory = [0];
  let isOver = false;
  const loading = readAhead.loadRuns(keys).finally(() => (isOver = true));
  while (!isOver) {
    await turns();
    inMemory.push(core.shard.runs.size);
  }
  expect(await loading).toBeUndefined();
  expect(inMemory.at(-1)).toBe(100);
  const installed = inMemory.slice(1).map((runs, turn) => runs - inMemory[turn]!);
  expect(Math.max(...installed), 'in one turn').toBeLessThanOrEqual(3);
});
