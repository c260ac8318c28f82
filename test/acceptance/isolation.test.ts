/**
 * Two namespaces use the same names for everything: workflow id, task queues, activity id. Nothing of one may be seen, taken or changed
 * from the other, also not by somebody who holds a token of it.
 */
import { Connection } from '@temporalio/client';
import Long from 'long';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { WorkflowService } from '@temporalio/client';
import type { temporal } from '@temporalio/proto';
import { freePort, ServerProcess } from '../support/server-process.ts';
import { enums, payloadOf, valuesOf } from '../sdk/fields.ts';
import { refusal } from '../support/refusal.ts';

type WorkflowTask = temporal.api.workflowservice.v1.IPollWorkflowTaskQueueResponse;
type ActivityTask = temporal.api.workflowservice.v1.IPollActivityTaskQueueResponse;
type Namespace = 'blue' | 'red';

const namespaces = ['blue', 'red'] as const;
const workflowId = 'order-1';
const execution = { workflowId };
const taskQueue = { name: 'work' };
const sticky = { name: 'work-sticky', kind: enums.TaskQueueKind.TASK_QUEUE_KIND_STICKY, normalName: 'work' };
const halfAMinute = { seconds: Long.fromNumber(30) };
const otherOf = { blue: 'red', red: 'blue' } as const;

let server: ServerProcess;
let connection: Connection;
let service: WorkflowService;
const runIds = new Map<Namespace, string>();

beforeAll(async () => {
  const port = await freePort();
  const names = namespaces.flatMap((namespace) => ['--namespace', namespace]);
  server = new ServerProcess(port, ['server', 'start-dev', '--ip', '127.0.0.1', '--port', String(port), '--headless', ...names]);
  await server.start();
  connection = await Connection.connect({ address: server.address });
  service = connection.workflowService;
});
afterAll(async () => {
  await connection.close();
  await server.stop();
});

function pollWorkflow(namespace: Namespace): Promise<WorkflowTask> {
  return pollQueue(namespace, taskQueue);
}

function pollQueue(namespace: Namespace, queue: temporal.api.taskqueue.v1.ITaskQueue): Promise<WorkflowTask> {
  return connection.withDeadline(Date.now() + 10_000, () =>
    service.pollWorkflowTaskQueue({ namespace, taskQueue: queue, identity: namespace }),
  );
}

/** A task of `namespace` from whichever of its queues, while workers of the other one wait at queues of the same names and get nothing. */
async function pollBesideTheOther(namespace: Namespace, cause: () => Promise<void>): Promise<WorkflowTask> {
  const strays: WorkflowTask[] = [];
  const over = new AbortController();
  const polls = (whose: Namespace): readonly Promise<WorkflowTask>[] =>
    [taskQueue, sticky].map((queue) => connection.withAbortSignal(over.signal, () => pollQueue(whose, queue)));
  const others = polls(otherOf[namespace]).map((poll) =>
    poll.then(
      (task) => void strays.push(task),
      () => {},
    ),
  );
  const own = polls(namespace);
  await cause();
  const task = await Promise.race(own);
  over.abort();
  await Promise.all([...others, ...own.map((poll) => poll.catch(() => {}))]);
  expect(strays).toEqual([]);
  return task;
}

function pollActivity(namespace: Namespace): Promise<ActivityTask> {
  return connection.withDeadline(Date.now() + 10_000, () => service.pollActivityTaskQueue({ namespace, taskQueue, identity: namespace }));
}

async function typesOf(namespace: Namespace): Promise<readonly string[]> {
  const { history } = await service.getWorkflowExecutionHistory({ namespace, execution });
  return (history?.events ?? []).map(({ eventType }) => String(enums.EventType[eventType ?? 0]).replace('EVENT_TYPE_', ''));
}

const foreignToken = { code: 3, details: 'Operation requested with a token from a different namespace.' };

/** What stands in both histories must be the same before and after `attack`. */
async function changesNothing(attack: () => Promise<void>): Promise<void> {
  const before = await Promise.all(namespaces.map(typesOf));
  await attack();
  expect(await Promise.all(namespaces.map(typesOf))).toEqual(before);
}

describe('the same names in two namespaces', () => {
  const workflowTasks = new Map<Namespace, WorkflowTask>();
  const activityTasks = new Map<Namespace, ActivityTask>();
  const tokenOf = (tasks: ReadonlyMap<Namespace, { taskToken?: Uint8Array | null }>, namespace: Namespace): Uint8Array =>
    tasks.get(namespace)?.taskToken ?? new Uint8Array();

  test('a workflow id runs once in each', async () => {
    for (const namespace of namespaces) {
      const input = { payloads: [payloadOf(namespace)] };
      const request = { namespace, workflowId, workflowType: { name: 'Order' }, taskQueue, input, requestId: 'the same for both' };
      runIds.set(namespace, (await service.startWorkflowExecution(request)).runId);
    }
    expect(runIds.get('blue')).not.toBe(runIds.get('red'));
  });

  test('a poll gets the tasks of its namespace', async () => {
    for (const namespace of ['red', 'blue'] as const) {
      const task = await pollWorkflow(namespace);
      expect(task.workflowExecution).toMatchObject({ workflowId, runId: runIds.get(namespace) });
      const started = task.history?.events?.[0]?.workflowExecutionStartedEventAttributes;
      expect(valuesOf(started?.input)).toEqual([namespace]);
      workflowTasks.set(namespace, task);
    }
  });

  test("a workflow task's token works in its namespace only", async () => {
    await changesNothing(async () => {
      for (const namespace of namespaces) {
        const stolen = { namespace, taskToken: tokenOf(workflowTasks, otherOf[namespace]) };
        expect(await refusal(service.respondWorkflowTaskCompleted(stolen))).toEqual(foreignToken);
        expect(await refusal(service.respondWorkflowTaskFailed({ ...stolen, failure: { message: 'x' } }))).toEqual(foreignToken);
      }
    });
    for (const namespace of namespaces) {
      const scheduleActivityTaskCommandAttributes = {
        activityId: 'pay',
        activityType: { name: 'pay' },
        taskQueue,
        startToCloseTimeout: halfAMinute,
        heartbeatTimeout: halfAMinute,
      };
      const commandType = enums.CommandType.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK;
      await service.respondWorkflowTaskCompleted({
        namespace,
        taskToken: tokenOf(workflowTasks, namespace),
        commands: [{ commandType, scheduleActivityTaskCommandAttributes }],
        stickyAttributes: { workerTaskQueue: sticky, scheduleToStartTimeout: halfAMinute },
      });
      activityTasks.set(namespace, await pollActivity(namespace));
      expect(activityTasks.get(namespace)).toMatchObject({
        workflowNamespace: namespace,
        workflowExecution: { runId: runIds.get(namespace) },
      });
    }
  });

  test("an activity's token works in its namespace only, and a token of one kind for nothing else", async () => {
    await changesNothing(async () => {
      for (const namespace of namespaces) {
        const stolen = { namespace, taskToken: tokenOf(activityTasks, otherOf[namespace]) };
        expect(await refusal(service.respondActivityTaskCompleted(stolen))).toEqual(foreignToken);
        expect(await refusal(service.respondActivityTaskFailed(stolen))).toEqual(foreignToken);
        expect(await refusal(service.respondActivityTaskCanceled(stolen))).toEqual(foreignToken);
        expect(await refusal(service.recordActivityTaskHeartbeat(stolen))).toEqual(foreignToken);
        const own = { namespace, taskToken: tokenOf(activityTasks, namespace) };
        const noSuchToken = { code: 3, details: 'Error deserializing task token.' };
        expect(await refusal(service.respondWorkflowTaskCompleted(own))).toEqual(noSuchToken);
        expect(await refusal(service.respondQueryTaskCompleted({ ...own, completedType: 1 }))).toEqual(noSuchToken);
      }
    });
  });

  test('run ids, page tokens and activity ids mean nothing in the other namespace', async () => {
    await changesNothing(async () => {
      for (const namespace of namespaces) {
        const stranger = { workflowId, runId: runIds.get(otherOf[namespace]) ?? '' };
        const notFound = { code: 5, details: expect.stringContaining(stranger.runId) };
        expect(await refusal(service.describeWorkflowExecution({ namespace, execution: stranger }))).toEqual(notFound);
        expect(await refusal(service.getWorkflowExecutionHistory({ namespace, execution: stranger }))).toEqual(notFound);
        expect(await refusal(service.signalWorkflowExecution({ namespace, workflowExecution: stranger, signalName: 's' }))).toEqual(
          notFound,
        );
        expect(await refusal(service.terminateWorkflowExecution({ namespace, workflowExecution: stranger }))).toEqual(notFound);
        expect(await refusal(service.requestCancelWorkflowExecution({ namespace, workflowExecution: stranger }))).toEqual(notFound);
        const byId = { namespace, ...stranger, activityId: 'pay' };
        expect(await refusal(service.respondActivityTaskCompletedById(byId))).toEqual(notFound);
        expect(await refusal(service.recordActivityTaskHeartbeatById(byId))).toEqual(notFound);
        const page = await service.getWorkflowExecutionHistory({ namespace: otherOf[namespace], execution, maximumPageSize: 1 });
        const { nextPageToken } = page;
        expect(nextPageToken.length).toBeGreaterThan(0);
        expect(await refusal(service.getWorkflowExecutionHistory({ namespace, execution, nextPageToken }))).toMatchObject({ code: 3 });
      }
    });
  });

  test('a query is answered by a worker of its namespace', async () => {
    let asked: Promise<temporal.api.workflowservice.v1.IQueryWorkflowResponse> | undefined;
    const task = await pollBesideTheOther('blue', async () => {
      asked = service.queryWorkflow({ namespace: 'blue', execution, query: { queryType: 'colour' } });
    });
    expect(task.query?.queryType).toBe('colour');
    const answer = { taskToken: task.taskToken ?? new Uint8Array(), completedType: enums.QueryResultType.QUERY_RESULT_TYPE_ANSWERED };
    expect(await refusal(service.respondQueryTaskCompleted({ ...answer, namespace: 'red' }))).toEqual(foreignToken);
    const queryResult = { payloads: [payloadOf('blue')] };
    await service.respondQueryTaskCompleted({ ...answer, namespace: 'blue', queryResult });
    expect(valuesOf((await asked)?.queryResult)).toEqual(['blue']);
  });

  test('a signal and a termination stay where they were sent', async () => {
    const before = await typesOf('red');
    const task = await pollBesideTheOther('blue', async () => {
      await service.signalWorkflowExecution({ namespace: 'blue', workflowExecution: execution, signalName: 'only blue' });
    });
    expect(await typesOf('red')).toEqual(before);
    await service.terminateWorkflowExecution({ namespace: 'red', workflowExecution: execution });
    expect((await typesOf('red')).at(-1)).toBe('WORKFLOW_EXECUTION_TERMINATED');
    expect((await typesOf('blue')).filter((type) => type.includes('TERMINATED'))).toEqual([]);
    expect(task.workflowExecution?.runId).toBe(runIds.get('blue'));
    const completeWorkflowExecutionCommandAttributes = {};
    const commandType = enums.CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION;
    const taskToken = task.taskToken ?? new Uint8Array();
    await service.respondWorkflowTaskCompleted({
      namespace: 'blue',
      taskToken,
      commands: [{ commandType, completeWorkflowExecutionCommandAttributes }],
    });
    expect((await typesOf('blue')).at(-1)).toBe('WORKFLOW_EXECUTION_COMPLETED');
  });
});
