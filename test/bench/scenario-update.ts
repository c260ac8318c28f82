import { figure, percentile } from './figures.ts';
import type { Figure } from './figures.ts';
import { GrpcConnection } from './grpc-connection.ts';
import {
  completeCommand,
  completedUpdate,
  completeTask,
  completionOf,
  pollNormal,
  pollSticky,
  signalRequest,
  startRequest,
  updateRequest,
} from './messages.ts';
import type { WorkflowTask } from './messages.ts';
import { nextTask } from './next-task.ts';
import type { Pace } from './pace.ts';
import { uniqueQueues } from './raw-driver.ts';
import type { Target } from './target.ts';

/** A run takes 2,000 of them by default; two thirds, so that nobody suggests to continue as new. */
export const updatesPerRun = 1_300;

/** One update at a time: from before the call until its outcome is there. A worker polls its sticky queue, accepts it and completes it at once. */
export async function updateRound(target: Target, pace: Pace, updates = updatesPerRun): Promise<readonly Figure[]> {
  const queues = uniqueQueues(target.namespace);
  const [client, worker] = [await GrpcConnection.connect(target.address), await GrpcConnection.connect(target.address)];
  const samples: number[] = [];
  const opens = performance.now() + pace.warmUpMs;
  const closes = opens + pace.windowMs;
  const complete = async ({ token }: WorkflowTask, ...commands: readonly Uint8Array[]): Promise<void> => {
    await worker.call('RespondWorkflowTaskCompleted', completeTask(token, completionOf(queues, ...commands)));
  };
  try {
    for (let run = 0; performance.now() < closes; run++) {
      const workflowId = `${queues.normal}-updated-${run}`;
      const first = nextTask(worker, pollNormal(queues));
      await client.call('StartWorkflowExecution', startRequest(queues, workflowId, 'bench'));
      // The sticky poll is open before the completion that makes the queue sticky.
      let polled = nextTask(worker, pollSticky(queues));
      await complete(await first);
      for (let n = 0; n < updates && performance.now() < closes; n++) {
        const updateId = `update-${n}`;
        const begin = performance.now();
        const answered = client.call('UpdateWorkflowExecution', updateRequest(queues, workflowId, updateId));
        const taken = await polled;
        polled = nextTask(worker, pollSticky(queues));
        const completed = complete(taken, ...completedUpdate(updateId));
        await answered;
        if (begin >= opens) samples.push(performance.now() - begin);
        await completed;
      }
      await client.call('SignalWorkflowExecution', signalRequest(queues, workflowId, `${workflowId}-last`));
      await complete(await polled, completeCommand());
    }
    return [figure('update answered p50', 'ms', percentile(samples, 0.5)), figure('update answered p99', 'ms', percentile(samples, 0.99))];
  } finally {
    await worker.close();
    await client.close();
  }
}
