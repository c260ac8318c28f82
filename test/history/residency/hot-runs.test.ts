/** Which run leaves next, and what those in memory cost. */
import { expect, test } from 'vitest';
import { HotRuns } from '../../../src/history/shard/hot-runs.ts';

function offered(hot: HotRuns, looksMax = 100, stays: (runId: string) => boolean = () => true): readonly string[] {
  const runIds: string[] = [];
  hot.makeRoom(hot.bytes, looksMax, (runId) => {
    runIds.push(runId);
    if (stays(runId)) return false;
    hot.left(runId);
    return true;
  });
  return runIds;
}

test('those that were not used for longest come first, closed ones before all; what stays comes again behind the others', () => {
  const hot = new HotRuns();
  for (const [at, runId] of ['a', 'b', 'c', 'd'].entries()) hot.add(runId, at);
  hot.used('a', 10);
  hot.sized('c', 100, true);
  expect([offered(hot), hot.oldestMs]).toEqual([['c', 'b', 'd', 'a'], 2]);
  expect(offered(hot, 2)).toEqual(['c', 'b']);
  expect(offered(hot, 100, (runId) => runId === 'a')).toEqual(['c', 'd', 'a', 'b']);
  expect([offered(hot), hot.oldestMs]).toEqual([['a'], 10]);
});

test('no more leave than have to', () => {
  const hot = new HotRuns();
  for (let n = 0; n < 10; n++) {
    hot.add(`${n}`, n);
    hot.sized(`${n}`, 1_000, false);
  }
  const { bytes } = hot;
  let left = 0;
  hot.makeRoom(bytes / 2 - 1, 100, (runId) => {
    hot.left(runId);
    left += 1;
    return true;
  });
  expect([left, hot.bytes]).toEqual([5, bytes / 2]);
});

test('however many closed ones cannot leave, open ones are offered as well', () => {
  const hot = new HotRuns();
  for (let n = 0; n < 100; n++) hot.add(`${n}`, n);
  for (let n = 0; n < 90; n++) hot.sized(`${n}`, 10, true);
  expect(offered(hot, 10)).toEqual(['0', '1', '2', '3', '4', '90', '91', '92', '93', '94']);
});

test('what nobody has any more costs nothing', () => {
  const hot = new HotRuns();
  hot.add('a', 1);
  hot.sized('a', 10_000, false);
  hot.left('a');
  hot.left('a');
  hot.used('a', 2);
  hot.sized('a', 5, true);
  expect([hot.bytes, hot.oldestMs]).toEqual([0, Infinity]);
});
