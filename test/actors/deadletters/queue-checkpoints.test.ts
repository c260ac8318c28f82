/** A dead letter queue in its real loop, over a database: its index is what its journal says, and a restart is what was before. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { CheckpointedQueue } from './checkpointed-queue.ts';

const MIB = 2 ** 20;
const shard = fc.integer({ min: 1, max: 3 });
const fault = fc.constantFrom('fails' as const, 'commit lost' as const, 'answer lost' as const, 'hangs' as const, 'data' as const);
const step = fc.oneof(
  { weight: 10, arbitrary: fc.record({ do: fc.constant('handOver' as const), shard, count: fc.integer({ min: 1, max: 9 }) }) },
  { weight: 8, arbitrary: fc.record({ do: fc.constant('purge' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('time' as const), ms: fc.constantFrom(100, 1_500, 5_000) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('break' as const), fault }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('mend' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('takeOver' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('lose' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

async function run(queue: CheckpointedQueue, given: Step): Promise<void> {
  switch (given.do) {
    case 'handOver':
      return void (await queue.handOver(given.shard, given.count));
    case 'purge': {
      const ids = [...queue.rows.keys()].filter((id) => (id * 0.618) % 1 < given.share);
      return ids.length === 0 ? undefined : await queue.purge(ids);
    }
    case 'time':
      return await queue.pass(given.ms);
    case 'break':
      queue.fault = given.fault;
      return undefined;
    case 'mend':
      return queue.mend();
    case 'takeOver':
      await queue.takeOver();
      return queue.checkMemory();
    case 'restart':
      await queue.drainAndStart();
      return queue.checkMemory();
    case 'lose':
      queue.loseDatabase();
      await queue.takeOver();
      return queue.checkMemory();
  }
}

test('whatever happens to the server and its database: the index is what the journal says, and a restart is what was before', async () => {
  let restoredRows = 0;
  let cuts = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 30, maxLength: 80, size: 'max' }),
      fc.constantFrom(1, 3, 20),
      async (steps, recordsMax) => {
        const queue = new CheckpointedQueue({ recordsMax, finishMsMax: 200 });
        await queue.start();
        for (const each of steps) {
          await run(queue, each);
          queue.checkRows();
          if (each.do === 'takeOver' || each.do === 'restart') restoredRows += queue.rows.size;
        }
        queue.mend();
        await queue.checkpointed();
        queue.checkMemory();
        queue.checkRows();
        if (queue.journalStart > 0) cuts += 1;
        await queue.takeOver();
        queue.checkMemory();
        await queue.drain();
      },
    ),
    { numRuns: 40, endOnFailure: true },
  );
  expect(restoredRows).toBeGreaterThan(100);
  expect(cuts).toBeGreaterThan(10);
}, 240_000);

test('a journal of 20,000 dead letters is replayed as the database takes their rows, never all in memory', async () => {
  const first = new CheckpointedQueue();
  await first.start();
  for (let nth = 0; nth < 200; nth++) await first.handOver(1 + (nth % 3), 100);
  await first.checkpointed();

  const queue = new CheckpointedQueue();
  for (const [name, records] of first.log.partitions) queue.log.partitions.set(name, records);
  queue.log.recordsPerRead = 1_000;
  queue.fault = 'hangs';
  queue.host.actor.start();
  await queue.quiet();
  expect(queue.host.actor.status().state).toBe('replaying');
  expect(queue.unwrittenBytes).toBeGreaterThan(4 * MIB);
  expect(queue.unwrittenBytes).toBeLessThan(9 * MIB);
  queue.mend();
  await queue.serving();
  await queue.checkpointed();
  queue.checkRows();
  expect(queue.rows.size).toBe(20_000);
}, 60_000);
