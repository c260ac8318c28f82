import { expect, test } from 'vitest';
import { defaultHistoryLimits } from '../../src/history/run/history-limits.ts';
import { memoryServer } from '../support/memory-server.ts';
import { signalRound, signalsPerRun } from './scenario-latency.ts';

test('a server may be fast: a workflow that has had its signals makes room for the next', async () => {
  const signalsPerRunMax = 5;
  const server = await memoryServer({ dynamicConfig: new Map([['history.maximumSignalsPerExecution', signalsPerRunMax]]) });
  const target = { name: 'memory', address: server.address, namespace: 'default', pids: [] };
  // The last one tells the workflow to end.
  const figures = await signalRound(target, { warmUpMs: 0, windowMs: 500, rounds: 1 }, signalsPerRunMax - 1);
  expect(figures.map(({ value }) => value > 0)).toEqual([true, true]);
  await server.stop();
});

test('by default a workflow has fewer than servers allow', () => {
  expect(signalsPerRun).toBeLessThan(defaultHistoryLimits.signalsPerRunMax);
});
