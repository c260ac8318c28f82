import { expect, test } from 'vitest';
import { memoryServer } from './support/memory-server.ts';

test('whoever starts a server hears of each step of each partition: a start that moves is not given up', async () => {
  let steps = 0;
  const server = await memoryServer({ onProgress: () => void (steps += 1) });
  // The cluster, a shard and a matching host are restored, replayed, claimed and active.
  expect(steps).toBeGreaterThanOrEqual(3 * 4);
  await server.stop();
});
