/**
 * A server that is killed with -9 again and again while schedules act each second: whatever was due has one workflow, also what somebody has
 * asked to be made up for meanwhile, and where one waits for the other, none is told a result twice.
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
const schedules = 8;
const kills = 5;
const { CommandType } = enums;
const overlapPolicy = { bufferAll: 3, allowAll: 6 } as const;
/** Long ago, one in a minute: nobody takes them for those of the spec. */
const backfilledMs = [0, 1, 2, 3, 4].map((minute) => Date.UTC(2020, 0, 1, 0, minute));

test(`schedules whose server is killed ${kills} times (seed ${seed})`, { timeout: 120_000 }, () =>
  withFolder(async (folder) => {
    const prng = new Prng(seed);
    const server = await embeddedServer(join(folder, 'perdure.db'));
    try {
      await server.start();
      const each = (use: (client: Client, nth: number) => Promise<void>): Promise<void> =>
        withClient(server.address, async (client) => {
          await Promise.all(Array.from({ length: schedules }, (_, nth) => use(client, nth)));
        });
      await each(create);
      const worker = { isOver: false };
      const working = Promise.all([1, 2, 3].map(() => work(server.address, worker)));
      for (let kill = 0; kill < kills; kill++) {
        const asked = each((client, nth) => backfill(client, nth, kill)).catch(() => {});
        await delay(prng.int(100, 1_500));
        await server.kill9();
        await asked;
        await server.start();
      }
      for (let kill = 0; kill < kills; kill++) await each((client, nth) => backfill(client, nth, kill));
      await each(actsBySpec);
      await each(pause);
      await each(expectEachOnce);
      worker.isOver = true;
      await working;
    } finally {
      await server.stop();
    }
  }),
);

function waits(nth: number): boolean {
  return nth % 2 === 0;
}

const scheduleId = (nth: number): string => `schedule-${nth}`;

async function create({ workflowService: service }: Client, nth: number): Promise<void> {
  await service.createSchedule({
    ...{ namespace, scheduleId: scheduleId(nth), requestId: 'create' },
    schedule: {
      spec: { interval: [{ interval: { seconds: 1 as never } }] },
      action: {
        startWorkflow: {
          ...{ workflowId: `w-${nth}`, workflowType: { name: 'T' }, taskQueue: { name: 'q' } },
          // Of a task whose answer a kill takes along.
          workflowTaskTimeout: { seconds: 1 as never },
        },
      },
      policies: { overlapPolicy: waits(nth) ? overlapPolicy.bufferAll : overlapPolicy.allowAll },
    },
  });
}

/** The same request, however often. */
async function backfill({ workflowService: service }: Client, nth: number, which: number): Promise<void> {
  const atMs = backfilledMs[which] ?? 0;
  const time = { seconds: (atMs / 1_000) as never };
  const patch = { backfillRequest: [{ startTime: time, endTime: time }] };
  await service.patchSchedule({ namespace, scheduleId: scheduleId(nth), requestId: `backfill-${which}`, patch });
}

/** A pause forgets what waits: where the kills have held up the first workflow for long, that would be all that was due. */
async function actsBySpec(client: Client, nth: number): Promise<void> {
  const actions = async (): Promise<number> => Number((await infoOf(client, nth)).actionCount ?? 0);
  await expect.poll(actions, { timeout: 60_000, interval: 100 }).toBeGreaterThan(backfilledMs.length);
}

async function pause({ workflowService: service }: Client, nth: number): Promise<void> {
  await service.patchSchedule({ namespace, scheduleId: scheduleId(nth), requestId: 'pause', patch: { pause: 'enough' } });
}

/** Asks on while the server is away. */
async function work(address: string, worker: { readonly isOver: boolean }): Promise<void> {
  while (!worker.isOver) {
    await withClient(address, async (client) => {
      while (!worker.isOver) await client.connection.withDeadline(Date.now() + 3_000, () => countOne(client));
    }).catch(() => delay(50));
  }
}

const json = { encoding: Buffer.from('json/plain') };

/** A workflow's result is one more than that of the one before. */
async function countOne({ workflowService: service }: Client): Promise<void> {
  const task = await service.pollWorkflowTaskQueue({ namespace, taskQueue: { name: 'q' }, identity: 'worker' });
  const started = task.history?.events?.[0]?.workflowExecutionStartedEventAttributes;
  if (started === undefined || started === null) return;
  const count = 1 + Number(Buffer.from(started.lastCompletionResult?.payloads?.[0]?.data ?? []).toString());
  const command = {
    commandType: CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
    completeWorkflowExecutionCommandAttributes: { result: { payloads: [{ metadata: json, data: Buffer.from(`${count}`) }] } },
  };
  await service.respondWorkflowTaskCompleted({ namespace, taskToken: task.taskToken, commands: [command], identity: 'worker' });
}

async function expectEachOnce(client: Client, nth: number): Promise<void> {
  const info = await settled(client, nth);
  const timesMs: number[] = [];
  for await (const { workflowId } of client.workflow.list({ query: `TemporalScheduledById = '${scheduleId(nth)}'` })) {
    timesMs.push(Date.parse(workflowId.slice(`w-${nth}-`.length)));
  }
  timesMs.sort((a, b) => a - b);
  const bySpec = timesMs.slice(backfilledMs.length);
  expect(timesMs.slice(0, backfilledMs.length), scheduleId(nth)).toEqual(backfilledMs);
  expect(bySpec.length, scheduleId(nth)).toBeGreaterThan(0);
  expect(bySpec, scheduleId(nth)).toEqual(bySpec.map((_, second) => bySpec[0]! + second * 1_000));
  const { actionCount, missedCatchupWindow, overlapSkipped, bufferDropped } = info;
  expect([actionCount, missedCatchupWindow, overlapSkipped, bufferDropped].map(Number), scheduleId(nth)).toEqual([timesMs.length, 0, 0, 0]);
  if (!waits(nth)) return;
  const last = info.recentActions?.at(-1)?.startWorkflowResult;
  expect(await client.workflow.getHandle(last?.workflowId ?? '', last?.runId ?? '').result(), scheduleId(nth)).toBe(timesMs.length);
}

type Info = NonNullable<Awaited<ReturnType<Client['workflowService']['describeSchedule']>>['info']>;

async function infoOf({ workflowService: service }: Client, nth: number): Promise<Info> {
  return (await service.describeSchedule({ namespace, scheduleId: scheduleId(nth) })).info ?? {};
}

/** All that was due has begun, and what is waited for has closed. */
async function settled(client: Client, nth: number): Promise<Info> {
  let before = -1;
  await expect
    .poll(
      async () => {
        const { bufferSize, runningWorkflows, actionCount } = await infoOf(client, nth);
        const isCalm = Number(bufferSize) === 0 && (runningWorkflows ?? []).length === 0 && Number(actionCount) === before;
        before = Number(actionCount);
        return isCalm;
      },
      { timeout: 60_000, interval: 1_500 },
    )
    .toBe(true);
  return infoOf(client, nth);
}
