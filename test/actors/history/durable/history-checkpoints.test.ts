/** How much of a checkpoint is done in one turn of the event loop. */
import { expect, test } from 'vitest';
import { HistoryCheckpoints } from '../../../../src/actors/history/durable/history-checkpoints.ts';
import { HistoryStore } from '../../../../src/actors/history/events/history-store.ts';
import { LoopTurns } from '../../../../src/ports/loop-turns.ts';
import { VisibilityRows } from '../../../../src/projections/list/visibility-rows.ts';
import { historyWire } from '../../../../src/codec/history-wire.ts';
import { stateCodecBesideHistory } from '../../../../src/codec/state-codec.ts';
import { turns } from '../../../support/event-loop.ts';
import { WorkingClock } from '../../../support/working-clock.ts';
import { key, ShardUnderTest } from '../../../history/shard-under-test.ts';

const registry = { isFolded: true, view: { position: 0, namespaceById: () => undefined } };

test('a checkpoint of many workflows that becomes durable is settled some of them at a time', async () => {
  const shard = new ShardUnderTest({}, stateCodecBesideHistory);
  shard.checks = false;
  const visibility = new VisibilityRows({ shard: 1, core: shard.core, registry, wire: historyWire });
  const store = new HistoryStore(
    1_000_000,
    () => Promise.reject(new Error('the log is not read')),
    () => Promise.resolve([]),
  );
  const clock = new WorkingClock();
  const checkpoints = new HistoryCheckpoints({ core: shard.core, store, visibility, turns: new LoopTurns(clock) });
  for (let nth = 0; nth < 100; nth++) {
    shard.start({ key: { ...key, workflowId: `wf-${nth}` } });
    const record = shard.records.at(-1)!;
    const position = { epoch: 1, sequence: nth, offset: nth };
    store.committed(record, position);
    visibility.committed(record, position, true);
  }
  checkpoints.cut();
  checkpoints.cutCommitted();
  expect(checkpoints.capture(() => true)).toBe(true);
  expect(checkpoints.captured()).toMatchObject({ kind: 'history', delta: { runs: { length: 100 }, visibility: { length: 100 } } });

  checkpoints.durable();
  expect(checkpoints.unwrittenBytes, 'that is known at once').toBe(0);
  const left = [100, visibility.waiting];
  for (; left.at(-1) !== 0; left.push(visibility.waiting)) {
    await turns();
  }
  const leaving = left.slice(1).map((waiting, turn) => left[turn]! - waiting);
  expect(Math.max(...leaving), 'of the workflows, in one turn').toBeLessThanOrEqual(3);
});
