import { expect, test } from 'vitest';
import { inOneLane } from '../../../src/projections/checkpoints/one-lane.ts';
import { durableRows } from '../../../src/projections/list/rows-table.ts';
import { turns } from '../../support/event-loop.ts';
import { MemoryDatabase } from '../../support/memory-database.ts';

test('the fence is answered after everything that is being written: earlier rows are written by then', async () => {
  const journal = { kind: 'history', partition: 0 } as const;
  const lane = inOneLane(new MemoryDatabase());
  const rows = durableRows({ journal, database: lane, checkpointer: { fence: 7 }, onFenced: () => {} });
  let end = (): void => {};
  const turn = lane.inTurn(() => new Promise<void>((resolve) => (end = resolve)));
  const told: unknown[] = [];
  void rows.held().then((held) => told.push(held));
  await turns(5);
  expect(told).toEqual([]);
  end();
  await turn;
  await turns(5);
  expect(told).toEqual([{ journal, fence: 7 }]);
});
