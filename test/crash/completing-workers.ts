/** Workflows whose workers complete them with their first workflow task, beside servers that are killed. */
import { setTimeout as delay } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { Connection, isGrpcServiceError, type WorkflowService } from '@temporalio/client';
import Long from 'long';
import { enums } from '../sdk/fields.ts';
import { untilWithin } from './under-fire.ts';

const namespace = 'default';
const taskQueue = { name: 'orders' };
const WORKERS = 4;
export const until = untilWithin(90_000);
const { COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION: complete } = enums.CommandType;
const { EVENT_TYPE_WORKFLOW_TASK_STARTED: taskStarted } = enums.EventType;

export async function startWorkflow(service: WorkflowService, workflowId: string): Promise<void> {
  // One that was given to a worker which is killed with its answer would be another letter.
  const workflowTaskTimeout = { seconds: Long.fromNumber(120) };
  const request = { namespace, workflowId, workflowType: { name: 'Order' }, taskQueue, requestId: workflowId, workflowTaskTimeout };
  await until(`the start of ${workflowId}`, async () => {
    try {
      await service.startWorkflowExecution(request);
      return true;
    } catch (error) {
      if (!isGrpcServiceError(error) || error.code !== status.UNAVAILABLE) throw error;
      return false;
    }
  });
}

export async function isGiven(service: WorkflowService, workflowId: string): Promise<boolean> {
  const { history } = await service.getWorkflowExecutionHistory({ namespace, execution: { workflowId } });
  return (history?.events ?? []).some(({ eventType }) => eventType === taskStarted);
}

/** They complete whatever they get. */
export async function withWorkers<T>(address: string, use: (service: WorkflowService) => Promise<T>): Promise<T> {
  const channelArgs = {
    'grpc.use_local_subchannel_pool': 1,
    'grpc.initial_reconnect_backoff_ms': 100,
    'grpc.max_reconnect_backoff_ms': 500,
  };
  const connection = Connection.lazy({ address, channelArgs });
  const isOver = new AbortController();
  const workers = Array.from({ length: WORKERS }, () => worker(connection, isOver.signal));
  try {
    return await use(connection.workflowService);
  } finally {
    isOver.abort();
    await Promise.all(workers);
    await connection.close();
  }
}

async function worker(connection: Connection, signal: AbortSignal): Promise<void> {
  const { workflowService: service } = connection;
  while (!signal.aborted) {
    try {
      const poll = () => service.pollWorkflowTaskQueue({ namespace, taskQueue, identity: 'worker' });
      const { taskToken } = await connection.withDeadline(Date.now() + 10_000, () => connection.withAbortSignal(signal, poll));
      if (taskToken.length === 0) continue;
      const commands = [{ commandType: complete, completeWorkflowExecutionCommandAttributes: {} }];
      await connection.withDeadline(Date.now() + 5_000, () => service.respondWorkflowTaskCompleted({ namespace, taskToken, commands }));
    } catch {
      // Its server is gone, or its workflow is.
      await delay(50);
    }
  }
}
