/**
 * A merge of many dead letters, whose server is killed with -9 again and again in the middle of it:
 *
 *     orders, each waits for a child ─▶ all starts of children fail ─▶ letters ─▶ a server without the fault ─▶ one job merges them all
 *                                                                                     ▲ killed, started again ┘ workers complete children and orders
 *
 * In the end the job has ended by itself; of each dead letter one thing has come, and of each order one child, which ended once.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { Connection, isGrpcServiceError, type WorkflowService } from '@temporalio/client';
import { run } from '../cli/capture.ts';
import { enums } from '../sdk/fields.ts';
import type { Prng } from '../simulation/prng.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { untilWithin } from './under-fire.ts';

export type MergeCampaign = {
  /** Its starts of children fail for good. */
  readonly faulty: ServerProcess;
  /** At the same address, on the same journals; without the fault. */
  readonly mended: ServerProcess;
  readonly letters: number;
  readonly kills: number;
  /** Letters a second: so slow that each kill meets some. 0: as fast as it goes. */
  readonly rps?: number;
  readonly prng: Prng;
  readonly say?: (line: string) => void;
};

export type MergeReport = {
  /** Of the job, as the command line shows it. */
  readonly job: JobShown;
  readonly open: number;
  /** Letters that were there still, at each kill. */
  readonly openAtKills: readonly number[];
  /** By workflow id: what is wrong with it. */
  readonly wrong: readonly string[];
};

export type JobShown = {
  readonly state: string;
  readonly counts: Readonly<
    Record<'selected' | 'merged' | 'mergedNoop' | 'purged' | 'failed' | 'skipped' | 'gone' | 'notTried' | 'remaining', number>
  >;
};

const namespace = 'default';
const taskQueue = { name: 'orders' };
const PARALLEL = 16;
const CALL_MS = 5_000;
const POLL_MS = 10_000;
/** Of gRPC: a bug of this test. */
const INVALID_ARGUMENT = 3;
const until = untilWithin(600_000);
const queue = ['admin', 'queue', 'dlq'];

const { COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION: complete, COMMAND_TYPE_START_CHILD_WORKFLOW_EXECUTION: startChild } = enums.CommandType;
const {
  EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED: childStarted,
  EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED: childCompleted,
  EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED: ended,
} = enums.EventType;

export async function mergeUnderFire({
  faulty,
  mended,
  letters,
  kills,
  rps = 0,
  prng,
  say = () => {},
}: MergeCampaign): Promise<MergeReport> {
  await faulty.start();
  await withWorkers(faulty.address, async (service) => {
    await startAll(service, letters);
    say(`${letters} orders started`);
    await until(`${letters} letters`, async () => (await openLetters(faulty)) === letters);
  });
  await faulty.kill9();

  await mended.start();
  await until('a count', async () => (await openLetters(mended)) === letters);
  const openAtKills: number[] = [];
  const report = await withWorkers(mended.address, async (service) => {
    const jobId = await mergeAll(mended, rps);
    for (let kill = 1; kill <= kills; kill++) {
      // Some are merged in each life, and some are left for the next.
      await until('some merges', async () => (await openLetters(mended)) <= letters - (letters * kill) / (kills + 1.5));
      await delay(prng.fraction() * 100);
      openAtKills.push(await openLetters(mended));
      await mended.kill9();
      await mended.start();
      say(`killed with ${openAtKills.at(-1)} letters left`);
    }
    const job = await untilEnded(mended, jobId);
    say(`the job is ${job.state}`);
    const wrong = await whatIsWrong(service, letters);
    return { job, open: await openLetters(mended), openAtKills, wrong };
  });
  return report;
}

/** Children complete at once; an order starts a child, and completes when that has. */
async function withWorkers<T>(address: string, use: (service: WorkflowService) => Promise<T>): Promise<T> {
  const connection = await Connection.connect({ address });
  const isOver = new AbortController();
  const workers = Array.from({ length: PARALLEL }, () => worker(connection, isOver.signal));
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
      const poll = () => service.pollWorkflowTaskQueue({ namespace, taskQueue });
      const task = await connection.withDeadline(Date.now() + POLL_MS, () => connection.withAbortSignal(signal, poll));
      const { taskToken, history, workflowType, workflowExecution } = task;
      if (taskToken.length === 0) continue;
      const isDone = workflowType?.name === 'Child' || (history?.events ?? []).some(({ eventType }) => eventType === childCompleted);
      const isBegun = (history?.events ?? []).some(({ startChildWorkflowExecutionInitiatedEventAttributes: begun }) => begun !== null);
      const child = { namespace, workflowId: `child of ${workflowExecution?.workflowId}`, workflowType: { name: 'Child' }, taskQueue };
      const next = isBegun ? [] : [{ commandType: startChild, startChildWorkflowExecutionCommandAttributes: child }];
      const commands = isDone ? [{ commandType: complete, completeWorkflowExecutionCommandAttributes: {} }] : next;
      await connection.withDeadline(Date.now() + CALL_MS, () => service.respondWorkflowTaskCompleted({ namespace, taskToken, commands }));
    } catch (error) {
      if (!signal.aborted && (!isGrpcServiceError(error) || error.code === INVALID_ARGUMENT)) throw error;
      // Its server is gone, or the poll is over; what was asked comes again.
      await delay(50);
    }
  }
}

function order(nth: number): string {
  return `order-${nth}`;
}

async function startAll(service: WorkflowService, count: number): Promise<void> {
  await inParallel(count, async (nth) => {
    const workflowId = order(nth);
    await service.startWorkflowExecution({ namespace, workflowId, workflowType: { name: 'Order' }, taskQueue, requestId: workflowId });
  });
}

async function inParallel(count: number, use: (nth: number) => Promise<void>): Promise<void> {
  let next = 0;
  const line = async (): Promise<void> => {
    for (let nth = next++; nth < count; nth = next++) await use(nth);
  };
  await Promise.all(Array.from({ length: PARALLEL }, line));
}

async function mergeAll(server: ServerProcess, rps: number): Promise<string> {
  const pace = ['--rps', String(rps), '--concurrency', '64', '--no-wait', '-o', 'json'];
  const out = await answered(server, [...queue, 'merge', '--category', 'transfer', ...pace]);
  const { jobIds } = JSON.parse(out) as { readonly jobIds: readonly string[] };
  return jobIds[0] ?? '';
}

async function untilEnded(server: ServerProcess, jobId: string): Promise<JobShown> {
  let job: JobShown | undefined;
  await until('the end of the job', async () => {
    job = JSON.parse(await answered(server, [...queue, 'job', 'describe', jobId, '-o', 'json'])) as JobShown;
    return job.state !== 'running';
  });
  if (job === undefined) throw new Error('there is no job');
  return job;
}

async function openLetters(server: ServerProcess): Promise<number> {
  return Number(await answered(server, [...queue, 'count', '--category', 'transfer']));
}

/** What a command prints once its server answers. */
async function answered(server: ServerProcess, line: readonly string[]): Promise<string> {
  let out = '';
  await until(line.join(' '), async () => {
    const ran = await run([...line, '--address', server.address]);
    ({ out } = ran);
    return ran.code === 0;
  });
  return out;
}

/** Each has started one child, which ended once, and then the order did. */
async function whatIsWrong(service: WorkflowService, count: number): Promise<readonly string[]> {
  const wrong: string[] = [];
  await inParallel(count, async (nth) => {
    const workflowId = order(nth);
    let seen = '';
    const isOver = async (): Promise<boolean> => {
      const { history } = await service.getWorkflowExecutionHistory({ namespace, execution: { workflowId } });
      const types = (history?.events ?? []).map(({ eventType }) => eventType);
      seen = [childStarted, childCompleted, ended].map((type) => types.filter((each) => each === type).length).join();
      return types.includes(ended);
    };
    await until(`the end of ${workflowId}`, isOver);
    if (seen !== '1,1,1') wrong.push(`${workflowId}: ${seen}`);
    const { executions } = await service.listWorkflowExecutions({ namespace, query: `WorkflowId = "child of ${workflowId}"` });
    if (executions.length !== 1) wrong.push(`${workflowId} has ${executions.length} children`);
  });
  return wrong;
}
