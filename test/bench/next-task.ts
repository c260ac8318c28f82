import type { GrpcConnection } from './grpc-connection.ts';
import { readWorkflowTask } from './messages.ts';
import type { WorkflowTask } from './messages.ts';

/** One poll after the other, until one brings a task. */
export async function nextTask(worker: GrpcConnection, poll: Uint8Array): Promise<WorkflowTask> {
  for (;;) {
    const task = readWorkflowTask(await worker.call('PollWorkflowTaskQueue', poll, 70));
    if (task !== undefined) return task;
  }
}
