import { figure, percentile } from './figures.ts';
import type { Figure } from './figures.ts';
import { GrpcConnection } from './grpc-connection.ts';
import {
  anotherTask,
  completeTask,
  completionWithoutSticky,
  markerCommand,
  pollNormal,
  readRunId,
  resetRequest,
  startRequest,
} from './messages.ts';
import type { WorkflowTask } from './messages.ts';
import { nextTask } from './next-task.ts';
import type { Pace } from './pace.ts';
import { uniqueQueues } from './raw-driver.ts';
import type { Target } from './target.ts';

const tasksOfHistory = 10;
/** With the three events of the task that they come with: a thousand a task. Markers, for a run takes no more than 10,000 signals. */
const markersPerTask = 997;

/**
 * One run with some 10,000 events is reset behind its last workflow task, again and again: the call, and until a worker holds the first task of
 * the new run (the run of the reset before is terminated each time).
 */
export async function resetRound(target: Target, pace: Pace): Promise<readonly Figure[]> {
  const queues = uniqueQueues(target.namespace);
  const [client, worker] = [await GrpcConnection.connect(target.address), await GrpcConnection.connect(target.address)];
  const workflowId = `${queues.normal}-reset`;
  const task = (): Promise<WorkflowTask> => nextTask(worker, pollNormal(queues));
  const complete = async ({ token }: WorkflowTask, ...parts: readonly Uint8Array[]): Promise<void> => {
    await worker.call('RespondWorkflowTaskCompleted', completeTask(token, completionWithoutSticky(queues, ...parts)));
  };
  try {
    const baseRunId = readRunId(await client.call('StartWorkflowExecution', startRequest(queues, workflowId, 'bench')));
    const markers = Array.from({ length: markersPerTask }, () => markerCommand());
    for (let n = 0; n < tasksOfHistory; n++) await complete(await task(), ...markers, anotherTask());
    await complete(await task());
    const finishEventId = 1 + tasksOfHistory * (markersPerTask + 3) + 3;
    const [calls, tasks]: [number[], number[]] = [[], []];
    const opens = performance.now() + pace.warmUpMs;
    for (let n = 0; performance.now() < opens + pace.windowMs; n++) {
      const polled = task();
      // What failed first is what is said.
      polled.catch(() => {});
      const begin = performance.now();
      const reset = { workflowId, runId: baseRunId, finishEventId, requestId: `${workflowId}-${n}` };
      await client.call('ResetWorkflowExecution', resetRequest(queues, reset));
      const callMs = performance.now() - begin;
      await polled;
      if (begin < opens) continue;
      calls.push(callMs);
      tasks.push(performance.now() - begin);
    }
    return [
      figure(`reset of ${finishEventId} events p50`, 'ms', percentile(calls, 0.5)),
      figure(`reset of ${finishEventId} events p99`, 'ms', percentile(calls, 0.99)),
      figure('reset to worker p50', 'ms', percentile(tasks, 0.5)),
    ];
  } finally {
    await worker.close();
    await client.close();
  }
}
