import { figure, percentile } from './figures.ts';
import type { Figure } from './figures.ts';
import { GrpcConnection } from './grpc-connection.ts';
import { completeCommand, completeTask, completionOf, pollNormal, signalWithStartRequest } from './messages.ts';
import { nextTask } from './next-task.ts';
import type { Pace } from './pace.ts';
import { uniqueQueues } from './raw-driver.ts';
import type { Target } from './target.ts';

/** One at a time, each starts a workflow: the call, and from before it until the worker holds the task that brings start and signal. */
export async function signalWithStartRound(target: Target, pace: Pace): Promise<readonly Figure[]> {
  const queues = uniqueQueues(target.namespace);
  const [client, worker] = [await GrpcConnection.connect(target.address), await GrpcConnection.connect(target.address)];
  const [calls, tasks]: [number[], number[]] = [[], []];
  const opens = performance.now() + pace.warmUpMs;
  const closes = opens + pace.windowMs;
  const done = completionOf(queues, completeCommand());
  try {
    for (let n = 0; performance.now() < closes; n++) {
      const polled = nextTask(worker, pollNormal(queues));
      const begin = performance.now();
      let callMs = 0;
      const called = client
        .call('SignalWithStartWorkflowExecution', signalWithStartRequest(queues, `${queues.normal}-${n}`, 'bench'))
        .then(() => (callMs = performance.now() - begin));
      const task = await polled;
      const taskMs = performance.now() - begin;
      await called;
      if (begin >= opens) {
        calls.push(callMs);
        tasks.push(taskMs);
      }
      await worker.call('RespondWorkflowTaskCompleted', completeTask(task.token, done));
    }
    return [
      figure('signal with start p50', 'ms', percentile(calls, 0.5)),
      figure('signal with start p99', 'ms', percentile(calls, 0.99)),
      figure('signal with start to worker p50', 'ms', percentile(tasks, 0.5)),
    ];
  } finally {
    await worker.close();
    await client.close();
  }
}
