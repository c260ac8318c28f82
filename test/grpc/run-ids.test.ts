import { Client, Connection } from '@temporalio/client';
import { expect, onTestFinished, test } from 'vitest';
import { memoryServer } from '../support/memory-server.ts';

test('run ids have the time of their start in front: runs that start one after the other are neighbours in a database', async () => {
  const server = await memoryServer();
  onTestFinished(() => server.stop());
  const connection = await Connection.connect({ address: server.address });
  onTestFinished(() => connection.close());
  const { workflow } = new Client({ connection });
  const begunMs = Date.now();
  const started = await workflow.start('Order', { workflowId: 'started', taskQueue: 'q' });
  const signalled = await workflow.signalWithStart('Order', { workflowId: 'signalled', taskQueue: 'q', signal: 's' });
  const endMs = Date.now();
  for (const runId of [started.firstExecutionRunId, signalled.signaledRunId]) {
    expect(runId[14]).toBe('7');
    const timeMs = Number.parseInt(runId.replace('-', '').slice(0, 12), 16);
    expect([timeMs >= begunMs, timeMs <= endMs], runId).toEqual([true, true]);
  }
});
