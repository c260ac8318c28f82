/**
 * A server that is killed with -9 again and again while workflows are retried, and while others run on a schedule: no run of a chain is lost, and
 * none comes twice.
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { enums } from '../sdk/fields.ts';
import { Prng } from '../simulation/prng.ts';
import { seed } from '../support/seed.ts';
import { embeddedServer, withFolder } from '../support/servers.ts';
import { withClient } from '../support/with-client.ts';

const namespace = 'default';
const chains = 12;
const runsOfChain = 3;
const kills = 5;
const largeInput = { payloads: [{ data: Buffer.alloc(8_192, 7) }] };
const { CommandType, ContinueAsNewInitiator } = enums;

test(`chains of runs whose server is killed ${kills} times (seed ${seed})`, { timeout: 120_000 }, () =>
  withFolder(async (folder) => {
    const prng = new Prng(seed);
    const server = await embeddedServer(join(folder, 'perdure.db'));
    try {
      await server.start();
      await withClient(server.address, (client) => Promise.all(Array.from({ length: chains }, (_, nth) => start(client, nth))));
      const worker = { isOver: false };
      const working = Promise.all([1, 2, 3].map(() => work(server.address, worker)));
      for (let kill = 0; kill < kills; kill++) {
        await delay(prng.int(300, 1_200));
        await server.kill9();
        await server.start();
      }
      await withClient(server.address, async (client) => {
        for (let nth = 0; nth < chains; nth++) expect(await chainOf(client, nth), `chain ${nth}`).toEqual(expectedChain(nth));
      });
      worker.isOver = true;
      await working;
    } finally {
      await server.stop();
    }
  }),
);

function isOnSchedule(nth: number): boolean {
  return nth % 2 === 1;
}

async function start({ workflowService: service }: Client, nth: number): Promise<void> {
  const retryPolicy = { maximumAttempts: runsOfChain, initialInterval: { seconds: 1 as never } };
  await service.startWorkflowExecution({
    ...{ namespace, workflowId: `chain-${nth}`, workflowType: { name: 'T' }, taskQueue: { name: 'q' }, requestId: `chain-${nth}` },
    // What is left to history in a row, and what is not.
    ...(nth % 4 < 2 ? { input: largeInput } : {}),
    ...(isOnSchedule(nth) ? { cronSchedule: '@every 1s' } : { retryPolicy }),
  });
}

/** Asks on while the server is away. */
async function work(address: string, worker: { readonly isOver: boolean }): Promise<void> {
  while (!worker.isOver) {
    await withClient(address, async (client) => {
      while (!worker.isOver) await client.connection.withDeadline(Date.now() + 3_000, () => playOne(client));
    }).catch(() => delay(50));
  }
}

/** A retried run completes in its last attempt; one on a schedule counts, and is canceled in the end. */
async function playOne({ workflowService: service }: Client): Promise<void> {
  const task = await service.pollWorkflowTaskQueue({ namespace, taskQueue: { name: 'q' }, identity: 'worker' });
  const started = task.history?.events?.[0]?.workflowExecutionStartedEventAttributes;
  if (started === undefined || started === null) return;
  const ticks = 1 + Number(Buffer.from(started.lastCompletionResult?.payloads?.[0]?.data ?? []).toString());
  const result = { payloads: [{ data: Buffer.from(`${ticks}`) }] };
  const completed = {
    commandType: CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
    completeWorkflowExecutionCommandAttributes: { result },
  };
  const failure = { message: 'again', applicationFailureInfo: { type: 'Again' } };
  const failed = { commandType: CommandType.COMMAND_TYPE_FAIL_WORKFLOW_EXECUTION, failWorkflowExecutionCommandAttributes: { failure } };
  const canceled = { commandType: CommandType.COMMAND_TYPE_CANCEL_WORKFLOW_EXECUTION, cancelWorkflowExecutionCommandAttributes: {} };
  const onSchedule = ticks < runsOfChain ? completed : canceled;
  const retried = started.attempt === runsOfChain ? completed : failed;
  const command = started.cronSchedule === '' ? retried : onSchedule;
  await service.respondWorkflowTaskCompleted({ namespace, taskToken: task.taskToken, commands: [command], identity: 'worker' });
}

type Link = readonly [attempt: number | null | undefined, initiator: number | null | undefined, inputBytes: number, close: string];

/** From its first run on, each as soon as it is closed. */
async function chainOf({ workflowService: service, workflow }: Client, nth: number): Promise<readonly Link[]> {
  const workflowId = `chain-${nth}`;
  const { raw } = await workflow.getHandle(workflowId).describe();
  const links: Link[] = [];
  for (let runId = raw.workflowExecutionInfo?.firstRunId ?? ''; runId !== '';) {
    const execution = { workflowId, runId };
    const events = () => service.getWorkflowExecutionHistory({ namespace, execution }).then(({ history }) => history?.events ?? []);
    const isClosed = async (): Promise<boolean> => closeOf(await events()) !== undefined;
    await expect.poll(isClosed, { timeout: 60_000, interval: 50 }).toBe(true);
    const all = await events();
    const started = all[0]?.workflowExecutionStartedEventAttributes;
    const close = closeOf(all);
    links.push([started?.attempt, started?.initiator, started?.input?.payloads?.[0]?.data?.length ?? 0, close?.name ?? '']);
    runId = close?.next ?? '';
  }
  return links;
}

type Events = readonly NonNullable<
  NonNullable<Awaited<ReturnType<Client['workflowService']['getWorkflowExecutionHistory']>>['history']>['events']
>[number][];

function closeOf(events: Events): { readonly name: string; readonly next: string } | undefined {
  const {
    workflowExecutionCompletedEventAttributes: completed,
    workflowExecutionFailedEventAttributes: failed,
    workflowExecutionCanceledEventAttributes: canceled,
  } = events.at(-1) ?? {};
  if (completed) return { name: 'completed', next: completed.newExecutionRunId ?? '' };
  if (failed) return { name: 'failed', next: failed.newExecutionRunId ?? '' };
  return canceled ? { name: 'canceled', next: '' } : undefined;
}

function expectedChain(nth: number): readonly Link[] {
  const inputBytes = nth % 4 < 2 ? 8_192 : 0;
  const byCron = ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_CRON_SCHEDULE;
  const byRetry = ContinueAsNewInitiator.CONTINUE_AS_NEW_INITIATOR_RETRY;
  return Array.from({ length: runsOfChain }, (_, run): Link => {
    const isLast = run === runsOfChain - 1;
    if (isOnSchedule(nth)) return [1, byCron, inputBytes, isLast ? 'canceled' : 'completed'];
    return [run + 1, run === 0 ? 0 : byRetry, inputBytes, isLast ? 'completed' : 'failed'];
  });
}
