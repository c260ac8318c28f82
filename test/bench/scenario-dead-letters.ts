/**
 * What dead letters cost, and how fast they come and go, on our own development server. Those of the namespace `broken` come of first workflow tasks
 * that fail for good, and their workflows are terminated then, so that a merge finds nothing left to do.
 *
 *     workflows alone ─▶ letters come ─▶ list, count, groups ─▶ merge, as fast as it goes ─▶ merge beside workflows ─▶ the rest is purged
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { LetterClient, type Plain } from '../grpc/deadletter-service/letter-client.ts';
import { figure, percentile, type Figure } from './figures.ts';
import type { Pace } from './pace.ts';
import { rawRound } from './scenario-raw.ts';
import { ServerProcess } from './server-process.ts';
import type { Target } from './target.ts';

const namespace = 'broken';
const queue = { category: 'transfer' };
const faults = `--namespace ${namespace} --dev-faults task=TASK_TYPE_TRANSFER_WORKFLOW_TASK,namespace=${namespace},kind=permanent,error=planted`;
const callers = 32;
const repetitions = 9;
/** As jobs are paced when nobody says otherwise. */
const usualRps = 100;

export async function deadLettersRound(
  command: string,
  target: Pick<Target, 'name' | 'namespace'>,
  users: number,
  pace: Pace,
  letters: number,
): Promise<readonly Figure[]> {
  const server = await ServerProcess.start(`${command} ${faults}`);
  const connection = await Connection.connect({ address: server.address });
  const client = new LetterClient(server.address);
  try {
    const at: Target = { ...target, address: server.address, pids: [server.pid] };
    const alone = await workflowsPerSecond(at, users, pace);
    const capturedMs = await timed(() => capture(connection, client, letters));
    const reads = await read(client);
    await inParallel(letters, (nth) =>
      connection.workflowService.terminateWorkflowExecution({ namespace, workflowExecution: execution(nth) }),
    );
    const merged = Math.floor(letters / 4);
    const mergedMs = await timed(() => jobOver(client, 'OPERATION_MERGE', { maxMessageId: merged - 1 }, 0));
    const beside = await besideMerge(client, at, users, pace, merged);
    const left = await count(client);
    const purgedMs = await timed(() => jobOver(client, 'OPERATION_PURGE', {}, 0));
    return [
      figure('letters that come', '/s', perSecond(letters, capturedMs)),
      ...reads,
      figure('letters merged, nothing left to do', '/s', perSecond(merged, mergedMs)),
      figure('letters purged', '/s', perSecond(left, purgedMs)),
      figure(`raw ${users} at a time: workflows`, '/s', alone),
      figure(`… beside a merge of ${usualRps} dead letters a second`, '/s', beside),
      { ...figure('… of what they are alone', '%', (100 * beside) / alone), lowerIsBetter: false },
    ];
  } finally {
    client.close();
    await connection.close();
    await server.stop();
  }
}

async function workflowsPerSecond(target: Target, users: number, pace: Pace): Promise<number> {
  const [workflows] = await rawRound(target, users, pace);
  return workflows?.value ?? Number.NaN;
}

function execution(nth: number): { readonly workflowId: string } {
  return { workflowId: `order-${nth}` };
}

/** Until all are there. */
async function capture({ workflowService: service }: Connection, client: LetterClient, letters: number): Promise<void> {
  const [workflowType, taskQueue] = [{ name: 'Order' }, { name: 'nobody' }];
  await inParallel(letters, (nth) =>
    service.startWorkflowExecution({ namespace, ...execution(nth), workflowType, taskQueue, requestId: `order-${nth}` }),
  );
  while ((await count(client)) < letters) await delay(20);
}

async function inParallel(total: number, call: (nth: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const caller = async (): Promise<void> => {
    for (let nth = next++; nth < total; nth = next++) await call(nth);
  };
  await Promise.all(Array.from({ length: callers }, caller));
}

async function count(client: LetterClient): Promise<number> {
  const { count: counted = 0 } = await client.onceServed('CountDeadLetters', { queues: [queue] });
  return Number(counted);
}

async function read(client: LetterClient): Promise<readonly Figure[]> {
  const asked: readonly (readonly [name: string, method: string, request: Plain])[] = [
    ['list, first page of 1,000, p50', 'ListDeadLetters', { queues: [queue], pageSize: 1_000 }],
    ['count p50', 'CountDeadLetters', { queues: [queue] }],
    ['groups p50', 'GroupDeadLetters', { queues: [queue], by: 'fingerprint' }],
  ];
  const figures: Figure[] = [];
  for (const [name, method, request] of asked) {
    const samples: number[] = [];
    for (let nth = 0; nth < repetitions; nth++) samples.push(await timed(() => client.onceServed(method, request)));
    figures.push(figure(name, 'ms', percentile(samples, 0.5)));
  }
  return figures;
}

async function jobOver(client: LetterClient, operation: string, selection: Plain, rps: number): Promise<void> {
  const jobId = await beginJob(client, operation, selection, { rps, concurrency: rps === 0 ? 64 : 8 });
  let state = 'running';
  while (state === 'running') {
    const { job } = await client.onceServed('DescribeJob', { jobId, unlessState: state, waitMs: 1_000 });
    state = String((job as Plain)['state']);
  }
  if (state !== 'completed') throw new Error(`a job over dead letters is ${state}`);
}

async function beginJob(client: LetterClient, operation: string, selection: Plain, options: Plain): Promise<string> {
  const { plan } = await client.onceServed('PlanDeadLetters', { operation, queue, selection, options });
  const { planId, hash } = plan as Plain;
  await client.onceServed('ApplyPlan', { planId, hash });
  return String(planId);
}

/** The merge lasts longer than they do, and is cancelled then. */
async function besideMerge(client: LetterClient, target: Target, users: number, pace: Pace, minMessageId: number): Promise<number> {
  const jobId = await beginJob(client, 'OPERATION_MERGE', { minMessageId }, { rps: usualRps, concurrency: 8 });
  const workflows = await workflowsPerSecond(target, users, pace);
  const { job } = await client.onceServed('DescribeJob', { jobId });
  if ((job as Plain)['state'] !== 'running') throw new Error('the merge was over before the workflows: more --letters');
  await client.onceServed('CancelJob', { jobId });
  for (let state = 'running'; state !== 'cancelled'; await delay(20)) {
    const { job: now } = await client.onceServed('DescribeJob', { jobId });
    state = String((now as Plain)['state']);
  }
  return workflows;
}

async function timed(what: () => Promise<unknown>): Promise<number> {
  const beganMs = performance.now();
  await what();
  return performance.now() - beganMs;
}

function perSecond(total: number, ms: number): number {
  return (1_000 * total) / ms;
}
