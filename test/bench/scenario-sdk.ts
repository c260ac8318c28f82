import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { figure, percentile } from './figures.ts';
import type { Figure } from './figures.ts';
import { GrpcConnection } from './grpc-connection.ts';
import { resultRequest, startRequest } from './messages.ts';
import type { Pace } from './pace.ts';
import { uniqueQueues } from './raw-driver.ts';
import { cpuMsOf } from './target.ts';
import type { Target } from './target.ts';

/** A real worker in its own process; the clients stay light, so that the worker gets the cores. */
export async function sdkRound(target: Target, users: number, pace: Pace): Promise<readonly Figure[]> {
  const queues = uniqueQueues(target.namespace);
  const worker = await startWorker(target, queues.normal);
  const client = await GrpcConnection.connect(target.address);
  const ends: number[] = [];
  const opens = performance.now() + pace.warmUpMs;
  const closes = opens + pace.windowMs;
  const user = async (_: unknown, number: number): Promise<void> => {
    for (let i = 0; performance.now() < closes; i++) {
      const workflowId = `${queues.normal}-${number}-${i}`;
      const begin = performance.now();
      await client.call('StartWorkflowExecution', startRequest(queues, workflowId, 'bench'));
      await resultOf(client, resultRequest(queues, workflowId));
      const now = performance.now();
      if (now >= opens && now < closes) ends.push(now - begin);
    }
  };
  try {
    const cpu = Promise.all([cpuAt(opens, target, worker), cpuAt(closes, target, worker)]);
    await Promise.all(Array.from({ length: users }, user));
    const [before, after] = await cpu;
    const label = `TypeScript worker ${users} at a time:`;
    return [
      figure(`${label} workflows`, '/s', ends.length / (pace.windowMs / 1000)),
      figure(`${label} end to end p50`, 'ms', percentile(ends, 0.5)),
      figure(`${label} server CPU a workflow`, 'ms', (after.server - before.server) / ends.length),
      figure(`${label} worker CPU a workflow`, 'ms', (after.worker - before.worker) / ends.length),
    ];
  } finally {
    await client.close();
    await stopWorker(worker);
  }
}

/** An answer without events means: still running, ask again. */
async function resultOf(client: GrpcConnection, request: Uint8Array): Promise<void> {
  for (;;) {
    const answer = await client.call('GetWorkflowExecutionHistory', request, 30);
    const hasEvents = answer[0] === 0x0a && (answer[1] ?? 0) > 0;
    if (hasEvents) return;
  }
}

async function startWorker(target: Target, taskQueue: string): Promise<ChildProcess> {
  const worker = fork(fileURLToPath(new URL('./sdk-worker.ts', import.meta.url)), [target.address, target.namespace, taskQueue]);
  const ready = once(worker, 'message');
  const exited = once(worker, 'exit').then(() => Promise.reject(new Error('the TypeScript worker did not start')));
  await Promise.race([ready, exited]);
  exited.catch(() => {});
  return worker;
}

async function stopWorker(worker: ChildProcess): Promise<void> {
  if (worker.exitCode !== null) return;
  const exited = once(worker, 'exit');
  worker.send('stop');
  const timer = setTimeout(() => worker.kill('SIGKILL'), 15_000);
  await exited;
  clearTimeout(timer);
}

async function cpuAt(time: number, target: Target, worker: ChildProcess): Promise<{ readonly server: number; readonly worker: number }> {
  await new Promise((resolve) => setTimeout(resolve, time - performance.now()));
  return { server: cpuMsOf(target.pids), worker: cpuMsOf(worker.pid === undefined ? [] : [worker.pid]) };
}
