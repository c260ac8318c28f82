import { expect, test } from 'vitest';
import { Turns } from '../../src/grpc/turns.ts';

test('work of many steps lets others have a turn every few milliseconds', async () => {
  let others = 0;
  let isOver = false;
  const other = (): void => {
    others += 1;
    if (!isOver) setImmediate(other);
  };
  setImmediate(other);
  const turns = new Turns();
  for (let step = 0; step < 10; step += 1) {
    await turns.next();
    const untilMs = performance.now() + 5;
    while (performance.now() < untilMs);
  }
  isOver = true;
  expect(others).toBeGreaterThanOrEqual(9);
});
