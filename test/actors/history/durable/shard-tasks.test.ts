/** What a takeover must have of the tasks of a shard. */
import { expect, test } from 'vitest';
import { shardTasks } from '../../../../src/actors/history/durable/history-checkpoints.ts';
import type { Database } from '../../../../src/projections/database-port.ts';
import { stateCodecBesideHistory } from '../../../../src/codec/state-codec.ts';

test('runs that are put aside may have more tasks than a call may have arguments', async () => {
  const count = 200_000;
  const transferTasks = Array.from({ length: count }, (_, at) => ({
    taskId: count - at,
    task: new Uint8Array(),
    aside: true,
    atMatching: false,
  }));
  const fence = 3;
  const database: Pick<Database, 'transferTasks' | 'tasksAside'> = {
    transferTasks: async () => ({ fence, nextOffset: 0, rows: [] }),
    tasksAside: async () => ({ fence, nextOffset: 0, rows: { transferTasks, timers: [] } }),
  };
  const restored = await shardTasks(database, stateCodecBesideHistory, { kind: 'history', partition: 0 }, fence);
  expect(restored.transferTasks.map(({ taskId }) => taskId)).toEqual(transferTasks.map(({ taskId }) => taskId).toReversed());
});
