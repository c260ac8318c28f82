/** The largest things that clients and workers may send, alone and together: accepted, kept, and there again after a crash. */
import { join } from 'node:path';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { Connection } from '@temporalio/client';
import Long from 'long';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { temporal } from '@temporalio/proto';
import type { ServerProcess } from '../support/server-process.ts';
import { embeddedServer } from '../support/servers.ts';
import { enums } from '../sdk/fields.ts';

type WorkflowTask = temporal.api.workflowservice.v1.IPollWorkflowTaskQueueResponse;
type ActivityTask = temporal.api.workflowservice.v1.IPollActivityTaskQueueResponse;
type HistoryRequest = temporal.api.workflowservice.v1.IGetWorkflowExecutionHistoryRequest;
type Command = temporal.api.command.v1.ICommand;

const namespace = 'default';
const mib = 1024 * 1024;
const seconds = (count: number) => ({ seconds: Long.fromNumber(count) });

let folder: string;
let server: ServerProcess;
let connection: Connection;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdure-test-'));
  server = await embeddedServer(join(folder, 'perdure.db'));
  await server.start();
  connection = await Connection.connect({ address: server.address });
});
afterAll(async () => {
  await connection.close();
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

function payloads(size: number): temporal.api.common.v1.IPayloads {
  return { payloads: [{ data: new Uint8Array(size) }] };
}

/** Every workflow has queues of its own, named after it. */
class Story {
  readonly workflowId: string;
  /** '' = the present run. */
  runId = '';
  readonly #call = { namespace, identity: 'test' };

  constructor(workflowId: string) {
    this.workflowId = workflowId;
  }

  async start(): Promise<void> {
    const taskQueue = { name: this.workflowId };
    const request = { ...this.#call, workflowId: this.workflowId, workflowType: { name: 'T' }, taskQueue, requestId: this.workflowId };
    await connection.workflowService.startWorkflowExecution(request);
  }

  signal(size: number): Promise<unknown> {
    const workflowExecution = { workflowId: this.workflowId };
    return connection.workflowService.signalWorkflowExecution({
      ...this.#call,
      workflowExecution,
      signalName: 's',
      requestId: `${this.workflowId} ${size}`,
      input: payloads(size),
    });
  }

  pollWorkflow(): Promise<WorkflowTask> {
    const request = { ...this.#call, taskQueue: { name: this.workflowId } };
    return connection.withDeadline(Date.now() + 30_000, () => connection.workflowService.pollWorkflowTaskQueue(request));
  }

  pollActivity(): Promise<ActivityTask> {
    const request = { ...this.#call, taskQueue: { name: this.workflowId } };
    return connection.withDeadline(Date.now() + 30_000, () => connection.workflowService.pollActivityTaskQueue(request));
  }

  async complete({ taskToken }: WorkflowTask, commands: Command[]): Promise<void> {
    await connection.workflowService.respondWorkflowTaskCompleted({ ...this.#call, taskToken: taskToken!, commands });
  }

  /** An activity is under way, and a worker has a workflow task while a signal of that size comes in. */
  async busyWith(signalBytes: number, heartbeatTimeoutSeconds: number): Promise<ActivityTask> {
    await this.start();
    await this.complete(await this.pollWorkflow(), [this.#activity(heartbeatTimeoutSeconds)]);
    const activity = await this.pollActivity();
    await this.signal(1);
    await this.pollWorkflow();
    await this.signal(signalBytes);
    return activity;
  }

  #activity(heartbeatTimeoutSeconds: number): Command {
    return {
      commandType: enums.CommandType.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
      scheduleActivityTaskCommandAttributes: {
        activityId: 'a',
        activityType: { name: 'A' },
        taskQueue: { name: this.workflowId },
        scheduleToCloseTimeout: seconds(600),
        heartbeatTimeout: seconds(heartbeatTimeoutSeconds),
        retryPolicy: { maximumAttempts: 1 },
      },
    };
  }

  /** All pages. */
  async history(): Promise<readonly string[]> {
    const types: string[] = [];
    let nextPageToken: Uint8Array | undefined;
    do {
      const request = { namespace, execution: { workflowId: this.workflowId, runId: this.runId }, nextPageToken: nextPageToken ?? null };
      const page = await connection.workflowService.getWorkflowExecutionHistory(request);
      for (const { eventType } of page.history?.events ?? []) {
        types.push(String(enums.EventType[eventType ?? 0]).replace('EVENT_TYPE_', ''));
      }
      nextPageToken = page.nextPageToken ?? undefined;
    } while (nextPageToken !== undefined && nextPageToken.length > 0);
    return types;
  }

  /** Waits for news of this run until it has that event. */
  async until(type: string): Promise<void> {
    const wanted = enums.EventType[`EVENT_TYPE_${type}` as keyof typeof enums.EventType];
    const request: HistoryRequest = { namespace, execution: { workflowId: this.workflowId }, waitNewEvent: true };
    for (;;) {
      const page = await connection.withDeadline(Date.now() + 40_000, () =>
        connection.workflowService.getWorkflowExecutionHistory(request),
      );
      if (page.history?.events?.some(({ eventType }) => eventType === wanted) === true) return;
      request.nextPageToken = page.nextPageToken;
    }
  }
}

describe('the largest things that may be sent', () => {
  const stories: Story[] = [];
  const told = new Map<string, readonly string[]>();
  const story = (workflowId: string): Story => {
    const one = new Story(workflowId);
    stories.push(one);
    return one;
  };

  test('fifty thousand commands in one completion', async () => {
    const one = story('markers');
    await one.start();
    const marker: Command = {
      commandType: enums.CommandType.COMMAND_TYPE_RECORD_MARKER,
      recordMarkerCommandAttributes: { markerName: 'm' },
    };
    await one.complete(await one.pollWorkflow(), Array<Command>(50_000).fill(marker));
    expect((await one.history()).filter((type) => type === 'MARKER_RECORDED')).toHaveLength(50_000);
  });

  test('a result of 1.3 MiB while signals of 1.6 MiB wait', async () => {
    const one = story('result');
    const { taskToken } = await one.busyWith(1.6 * mib, 0);
    await connection.workflowService.respondActivityTaskCompleted({ namespace, taskToken: taskToken!, result: payloads(1.3 * mib) });
    expect(await one.history()).toContain('ACTIVITY_TASK_COMPLETED');
  });

  test('a heartbeat of 1.4 MiB, a signal of 1.8 MiB that waits, and the worker is gone', async () => {
    const one = story('heartbeat');
    const { taskToken } = await one.busyWith(1.8 * mib, 3);
    await connection.workflowService.recordActivityTaskHeartbeat({ namespace, taskToken: taskToken!, details: payloads(1.4 * mib) });
    await one.until('ACTIVITY_TASK_TIMED_OUT');
  });

  test('continue as new with an input of 1.3 MiB and a memo of 0.9 MiB', async () => {
    const one = story('continued');
    await one.start();
    const task = await one.pollWorkflow();
    one.runId = task.workflowExecution?.runId ?? '';
    await one.complete(task, [
      {
        commandType: enums.CommandType.COMMAND_TYPE_CONTINUE_AS_NEW_WORKFLOW_EXECUTION,
        continueAsNewWorkflowExecutionCommandAttributes: {
          input: payloads(1.3 * mib),
          memo: { fields: { k: { data: new Uint8Array(0.9 * mib) } } },
        },
      },
    ]);
    expect((await one.history()).at(-1)).toBe('WORKFLOW_EXECUTION_CONTINUED_AS_NEW');
  });

  test('all of it is there again after a crash', async () => {
    for (const one of stories) told.set(one.workflowId, await one.history());
    await server.kill9();
    await server.start();
    for (const one of stories) expect(await one.history()).toEqual(told.get(one.workflowId));
    const result = stories.find(({ workflowId }) => workflowId === 'result')!;
    const task = await result.pollWorkflow();
    await result.complete(task, [
      { commandType: enums.CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION, completeWorkflowExecutionCommandAttributes: {} },
    ]);
    expect((await result.history()).at(-1)).toBe('WORKFLOW_EXECUTION_COMPLETED');
  });
});
