import { figure, percentile } from './figures.ts';
import type { Figure } from './figures.ts';
import { GrpcConnection } from './grpc-connection.ts';
import {
  completeCommand,
  completeTask,
  completionOf,
  pollNormal,
  pollSticky,
  readEvents,
  readWorkflowTask,
  signalRequest,
  startRequest,
  timerCommand,
} from './messages.ts';
import type { Completion, Queues, WorkflowTask } from './messages.ts';
import { nextTask } from './next-task.ts';
import type { Pace } from './pace.ts';
import { uniqueQueues } from './raw-driver.ts';
import type { Target } from './target.ts';

const [timerStarted, timerFired] = [17, 18];
const timerMs = 1_000;
const timersAtOnce = 16;
const polls = 16;
/** A fifth of what servers allow by default, so that neither the count nor the length of one history ends a round. */
export const signalsPerRun = 2_000;

/** One signal at a time: from before the signal call until the worker holds the task that brings it. */
export async function signalRound(target: Target, pace: Pace, signals = signalsPerRun): Promise<readonly Figure[]> {
  const queues = uniqueQueues(target.namespace);
  const [client, worker] = [await GrpcConnection.connect(target.address), await GrpcConnection.connect(target.address)];
  const samples: number[] = [];
  const opens = performance.now() + pace.warmUpMs;
  const closes = opens + pace.windowMs;
  try {
    for (let run = 0; performance.now() < closes; run++) {
      const workflowId = `${queues.normal}-signalled-${run}`;
      await signalOneRun({ client, worker, queues, workflowId, signals, until: closes }, (begin, ms) => {
        if (begin >= opens) samples.push(ms);
      });
    }
    return [
      figure('signal to worker p50', 'ms', percentile(samples, 0.5)),
      figure('signal to worker p99', 'ms', percentile(samples, 0.99)),
    ];
  } finally {
    await worker.close();
    await client.close();
  }
}

type SignalledRun = {
  readonly client: GrpcConnection;
  readonly worker: GrpcConnection;
  readonly queues: Queues;
  readonly workflowId: string;
  readonly signals: number;
  /** By `performance.now()`. */
  readonly until: number;
};

/** Until the time is over, or the run has had its signals. */
async function signalOneRun(run: SignalledRun, sampled: (begin: number, ms: number) => void): Promise<void> {
  const { client, worker, queues, workflowId, signals, until } = run;
  const idle = completionOf(queues);
  const first = nextTask(worker, pollNormal(queues));
  await client.call('StartWorkflowExecution', startRequest(queues, workflowId, 'bench'));
  // The sticky poll is open before the completion that makes the queue sticky.
  let polled = nextTask(worker, pollSticky(queues));
  await complete(worker, await first, idle);
  for (let i = 0; i < signals && performance.now() < until; i++) {
    const begin = performance.now();
    const acknowledged = client.call('SignalWorkflowExecution', signalRequest(queues, workflowId, `${workflowId}-${i}`));
    const task = await polled;
    sampled(begin, performance.now() - begin);
    await acknowledged;
    polled = nextTask(worker, pollSticky(queues));
    await complete(worker, task, idle);
  }
  await client.call('SignalWorkflowExecution', signalRequest(queues, workflowId, `${workflowId}-last`));
  await complete(worker, await polled, completionOf(queues, completeCommand()));
}

/** Timers of one second, sixteen at once: how long after its time the worker holds the task that brings the fired timer. */
export async function timerRound(target: Target, pace: Pace): Promise<readonly Figure[]> {
  const queues = uniqueQueues(target.namespace);
  const [client, worker] = [await GrpcConnection.connect(target.address), await GrpcConnection.connect(target.address)];
  const [sleep, done] = [completionOf(queues, timerCommand(timerMs)), completionOf(queues, completeCommand())];
  const lateness: number[] = [];
  const waiting = new Map<string, () => void>();
  const opens = performance.now() + pace.warmUpMs;
  const work = async (poll: Uint8Array): Promise<void> => {
    while (!worker.isClosing) {
      const task = readWorkflowTask(await worker.call('PollWorkflowTaskQueue', poll, 70));
      if (task === undefined) continue;
      if (!task.isFirst && performance.now() >= opens) lateness.push(Math.max(0, wallClock() - dueTime(task)));
      await complete(worker, task, task.isFirst ? sleep : done);
      if (!task.isFirst) waiting.get(task.workflowId)?.();
    }
  };
  const failed = new Promise<never>((_, reject) => {
    for (let i = 0; i < polls; i++) {
      for (const poll of [pollNormal(queues), pollSticky(queues)]) {
        work(poll).catch((error: unknown) => {
          if (!worker.isClosing) reject(error instanceof Error ? error : new Error(String(error)));
        });
      }
    }
  });
  const user = async (_: unknown, number: number): Promise<void> => {
    for (let i = 0; performance.now() < opens + pace.windowMs; i++) {
      const workflowId = `${queues.normal}-${number}-${i}`;
      const finished = new Promise<void>((resolve) => waiting.set(workflowId, resolve));
      await client.call('StartWorkflowExecution', startRequest(queues, workflowId, 'bench'));
      await finished;
      waiting.delete(workflowId);
    }
  };
  try {
    await Promise.race([Promise.all(Array.from({ length: timersAtOnce }, user)), failed]);
    return [
      figure('1 s timer, late at the worker p50', 'ms', percentile(lateness, 0.5)),
      figure('1 s timer, late at the worker p99', 'ms', percentile(lateness, 0.99)),
    ];
  } finally {
    await worker.close();
    await client.close();
  }
}

async function complete(worker: GrpcConnection, task: WorkflowTask, completion: Completion): Promise<void> {
  await worker.call('RespondWorkflowTaskCompleted', completeTask(task.token, completion));
}

/** When the server said that the timer was started, and a second. */
function dueTime(task: WorkflowTask): number {
  const events = readEvents(task.body);
  const started = events.find(({ type }) => type === timerStarted);
  if (started === undefined || !events.some(({ type }) => type === timerFired)) throw new Error('a task without its timer');
  return started.time + timerMs;
}

function wallClock(): number {
  return performance.timeOrigin + performance.now();
}
