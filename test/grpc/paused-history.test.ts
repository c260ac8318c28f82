import { Client, Connection } from '@temporalio/client';
import { expect, onTestFinished, test } from 'vitest';
import { memoryServer } from '../support/memory-server.ts';

test('the last event of a paused workflow, as `temporal workflow describe` asks for it; of an open one there is none', async () => {
  const server = await memoryServer({ historyShards: 1 });
  const connection = await Connection.connect({ address: server.address });
  onTestFinished(() => connection.close());
  const { workflowService } = connection;
  await new Client({ connection }).workflow.start('Order', { workflowId: 'w', taskQueue: 'q' });
  const execution = { workflowId: 'w' };
  const lastEvent = async () => {
    const { history } = await workflowService.getWorkflowExecutionHistory({ namespace: 'default', execution, historyEventFilterType: 2 });
    return history?.events?.map(({ eventType }) => eventType);
  };
  expect(await lastEvent()).toEqual([]);
  await workflowService.pauseWorkflowExecution({ namespace: 'default', workflowId: 'w', requestId: 'p' });
  expect(await lastEvent(), 'WORKFLOW_EXECUTION_PAUSED').toEqual([58]);
});
