import { Connection } from '@temporalio/client';

type Of = { readonly namespace: string; readonly taskQueue: { readonly name: string }; readonly polls: number };

/** Ids of the workflows of which so many polls get a workflow task; each of them gets one. */
export async function polledWorkflows(address: string, { namespace, taskQueue, polls }: Of): Promise<ReadonlySet<string>> {
  const connection = await Connection.connect({ address });
  try {
    const poll = () => connection.workflowService.pollWorkflowTaskQueue({ namespace, taskQueue, identity: 'test' });
    const tasks = await connection.withDeadline(Date.now() + 30_000, () => Promise.all(Array.from({ length: polls }, poll)));
    return new Set(tasks.map(({ workflowExecution }) => workflowExecution?.workflowId ?? ''));
  } finally {
    await connection.close();
  }
}
