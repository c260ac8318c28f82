/** What events say of durations, as clients read it: as it was sent, and as Temporal writes it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import protobuf from 'protobufjs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { RunningServer } from '../../src/config/server-options.ts';
import { encodeMessage } from '../fuzz/descriptors.ts';
import type { Plain } from '../fuzz/mutate.ts';
import { Service, rpcs } from '../fuzz/service.ts';
import { memoryServer } from '../support/memory-server.ts';

const namespace = 'default';
const taskQueue = { name: 'orders' };
const execution = { workflowId: 'order' };

let folder: string;
let server: RunningServer;
let service: Service;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-events-'));
  await begin();
});
afterEach(async () => {
  await end();
  await rm(folder, { recursive: true, force: true });
});

async function begin(): Promise<void> {
  server = await memoryServer({ log: { kind: 'embedded', filename: join(folder, 'x.db'), sqlitePragmas: [] } });
  service = new Service(server.address);
}

async function end(): Promise<void> {
  service.close();
  await server.stop();
}

test('the intervals of a retry policy stay as they were sent, also over a restart; a retry waits for a millisecond', async () => {
  const sent = { initialInterval: { nanos: 1 }, maximumInterval: { seconds: 3, nanos: 100 } };
  await start({ retryPolicy: sent });
  await completeTask(scheduleActivity({ retryPolicy: sent }));
  const first = await service.call<ActivityTask>('PollActivityTaskQueue', { namespace, taskQueue });
  expect(first.retryPolicy).toMatchObject(sent);
  const failure = { message: 'again', applicationFailureInfo: {} };
  await service.call('RespondActivityTaskFailed', { namespace, taskToken: first.taskToken, failure });
  expect(await service.call('PollActivityTaskQueue', { namespace, taskQueue })).toMatchObject({ attempt: 2 });
  await end();
  await begin();
  const [started, , , , scheduled] = await events();
  expect(started).toMatchObject({ workflowExecutionStartedEventAttributes: { retryPolicy: sent } });
  expect(scheduled).toMatchObject({ activityTaskScheduledEventAttributes: { retryPolicy: sent } });
  expect(await service.call('DescribeWorkflowExecution', { namespace, execution })).toMatchObject({
    pendingActivities: [{ attempt: 2, activityOptions: { retryPolicy: sent } }],
  });
});

test('where a policy says no longest interval, it is a hundred times the first, to the nanosecond', async () => {
  await start({ retryPolicy: { initialInterval: { nanos: 7 } } });
  const [started] = await events();
  const retryPolicy = { initialInterval: { nanos: 7 }, maximumInterval: { nanos: 700 } };
  expect(started).toMatchObject({ workflowExecutionStartedEventAttributes: { retryPolicy } });
});

test('durations that Temporal always writes are written where they are nothing', async () => {
  await start({});
  await completeTask(scheduleActivity({}), {
    commandType: 11,
    startChildWorkflowExecutionCommandAttributes: { workflowId: 'child', workflowType: { name: 'Child' }, taskQueue: { name: 'children' } },
  });
  const [started, , , , scheduled, initiated] = await events();
  expect(started).toMatchObject({ workflowExecutionStartedEventAttributes: { firstWorkflowTaskBackoff: {} } });
  expect(scheduled).toMatchObject({ activityTaskScheduledEventAttributes: { heartbeatTimeout: {} } });
  expect(initiated).toMatchObject({
    startChildWorkflowExecutionInitiatedEventAttributes: { workflowRunTimeout: {}, workflowTaskTimeout: { seconds: 10 } },
  });
});

test('the started event of an activity says which build has taken it', async () => {
  await start({});
  await completeTask(scheduleActivity({}));
  const workerVersionCapabilities = { buildId: 'build-7' };
  const { taskToken } = await service.call<ActivityTask>('PollActivityTaskQueue', { namespace, taskQueue, workerVersionCapabilities });
  await service.call('RespondActivityTaskCompleted', { namespace, taskToken });
  const started = (await events()).find((event) => event['activityTaskStartedEventAttributes'] !== undefined);
  expect(started).toMatchObject({ activityTaskStartedEventAttributes: { workerVersion: { buildId: 'build-7' } } });
});

test('an activity that starts eagerly says which build has taken it, and nothing else that came with it: each keeps a copy', async () => {
  await start({});
  const { taskToken } = await service.call<ActivityTask>('PollWorkflowTaskQueue', { namespace, taskQueue });
  const message = { namespace, taskToken, commands: [scheduleActivity({ requestEagerExecution: true })] };
  const tooLong = { workerVersionStamp: { buildId: 'x'.repeat(1_001) } };
  const refused = service.call('RespondWorkflowTaskCompleted', { ...message, ...tooLong });
  await expect(refused).rejects.toThrow('INVALID_ARGUMENT: BuildId length exceeds limit.');
  const { path, requestType, responseType } = rpcs.get('RespondWorkflowTaskCompleted')!;
  const buildAndMode = [10, 1, 0x37, 24, 1];
  const stamp = bytesField(10, Buffer.concat([Buffer.from(buildAndMode), bytesField(15, Buffer.alloc(100_000))]));
  const answer = await service.raw.call(path, Buffer.concat([encodeMessage(requestType, message), stamp]));
  const { activityTasks: [eager] = [] } = responseType.toObject(responseType.decode(answer)) as { activityTasks?: readonly ActivityTask[] };
  await service.call('RespondActivityTaskCompleted', { namespace, taskToken: eager?.taskToken });
  const [, , , completed, , started] = await events();
  const workerVersion = { buildId: '7', useVersioning: true };
  expect(completed).toMatchObject({ workflowTaskCompletedEventAttributes: { workerVersion } });
  expect(started).toMatchObject({ activityTaskStartedEventAttributes: { workerVersion } });
  const { workflowExecutionInfo } = await service.call<{ workflowExecutionInfo: { historySizeBytes: number } }>(
    'DescribeWorkflowExecution',
    { namespace, execution },
  );
  expect(workflowExecutionInfo?.historySizeBytes).toBeLessThan(10_000);
});

/** Of a number that the message may not know. */
function bytesField(number: number, bytes: Uint8Array): Uint8Array {
  return protobuf.Writer.create()
    .uint32(number * 8 + 2)
    .bytes(bytes)
    .finish();
}

type ActivityTask = { readonly taskToken: Uint8Array; readonly retryPolicy: Plain };

async function start(more: Plain): Promise<void> {
  const requestId = 'start';
  await service.call('StartWorkflowExecution', { namespace, ...execution, requestId, workflowType: { name: 'Order' }, taskQueue, ...more });
}

async function completeTask(...commands: readonly Plain[]): Promise<void> {
  const { taskToken } = await service.call<{ taskToken: Uint8Array }>('PollWorkflowTaskQueue', {
    namespace,
    taskQueue,
    identity: 'worker',
  });
  await service.call('RespondWorkflowTaskCompleted', { namespace, taskToken, commands });
}

function scheduleActivity(more: Plain): Plain {
  const attributes = { activityId: 'charge', activityType: { name: 'Charge' }, taskQueue, startToCloseTimeout: { seconds: 60 } };
  return { commandType: 1, scheduleActivityTaskCommandAttributes: { ...attributes, ...more } };
}

async function events(): Promise<readonly Plain[]> {
  const { history } = await service.call<{ history: { events: readonly Plain[] } }>('GetWorkflowExecutionHistory', {
    namespace,
    execution,
  });
  return history?.events ?? [];
}
