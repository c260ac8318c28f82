import type { temporal } from '@temporalio/proto';
import { rawWorkflowType } from './harness.ts';
import type { Run, Stage } from './harness.ts';
import { enums, payloadOf } from './fields.ts';

type Task = temporal.api.workflowservice.v1.IPollWorkflowTaskQueueResponse;
type ActivityTask = temporal.api.workflowservice.v1.IPollActivityTaskQueueResponse;
type Completion = temporal.api.workflowservice.v1.IRespondWorkflowTaskCompletedRequest;
type Command = temporal.api.command.v1.ICommand;
type StartRequest = temporal.api.workflowservice.v1.IStartWorkflowExecutionRequest;

const pollTimeoutMs = 10_000;

/**
 * A worker played by the scenario itself, one call at a time, on a queue of its own: for what an SDK worker never shows (a lost worker, a
 * wrong command, the exact answer of a call).
 */
export class RawWorker {
  readonly taskQueue: string;
  readonly identity = 'raw-worker';
  readonly #stage: Stage;

  constructor(stage: Stage) {
    this.#stage = stage;
    this.taskQueue = `${stage.id}-queue`;
  }

  async start(request: StartRequest = {}): Promise<Run> {
    const workflowId = request.workflowId ?? this.#stage.id;
    const { runId } = await this.#stage.service.startWorkflowExecution(this.startRequest(request));
    return this.#stage.track(this.#stage.client.workflow.getHandle(workflowId), runId);
  }

  startRequest(request: StartRequest = {}): StartRequest {
    return {
      namespace: this.#stage.namespace,
      workflowId: this.#stage.id,
      workflowType: { name: rawWorkflowType },
      taskQueue: { name: this.taskQueue },
      requestId: crypto.randomUUID(),
      identity: 'raw-client',
      ...request,
    };
  }

  /** An answer without a task token means that the poll ended without a task. */
  poll(queue: temporal.api.taskqueue.v1.ITaskQueue = { name: this.taskQueue }, timeoutMs = pollTimeoutMs): Promise<Task> {
    const { namespace, service, client } = this.#stage;
    return client.connection.withDeadline(Date.now() + timeoutMs, () =>
      service.pollWorkflowTaskQueue({ namespace, taskQueue: queue, identity: this.identity }),
    );
  }

  /** The worker's own queue; the server falls back to the normal one when nobody polls it. */
  pollSticky(timeoutMs = pollTimeoutMs): Promise<Task> {
    return this.poll({ name: this.stickyQueue, kind: enums.TaskQueueKind.TASK_QUEUE_KIND_STICKY, normalName: this.taskQueue }, timeoutMs);
  }

  get stickyQueue(): string {
    return `${this.taskQueue}-sticky`;
  }

  stickyFor(milliseconds: number): Completion {
    return {
      stickyAttributes: {
        workerTaskQueue: { name: this.stickyQueue, kind: enums.TaskQueueKind.TASK_QUEUE_KIND_STICKY, normalName: this.taskQueue },
        scheduleToStartTimeout: durationOf(milliseconds),
      },
    };
  }

  complete(
    task: Task,
    commands: readonly Command[] = [],
    more: Completion = {},
  ): Promise<temporal.api.workflowservice.v1.RespondWorkflowTaskCompletedResponse> {
    return this.#stage.service.respondWorkflowTaskCompleted({
      namespace: this.#stage.namespace,
      taskToken: task.taskToken ?? new Uint8Array(),
      identity: this.identity,
      commands: [...commands],
      ...more,
    });
  }

  pollActivity(timeoutMs = pollTimeoutMs): Promise<ActivityTask> {
    const { namespace, service, client } = this.#stage;
    return client.connection.withDeadline(Date.now() + timeoutMs, () =>
      service.pollActivityTaskQueue({ namespace, taskQueue: { name: this.taskQueue }, identity: this.identity }),
    );
  }

  async completeActivity(task: ActivityTask, result: unknown): Promise<void> {
    await this.#stage.service.respondActivityTaskCompleted({
      namespace: this.#stage.namespace,
      taskToken: task.taskToken ?? new Uint8Array(),
      identity: this.identity,
      result: { payloads: [payloadOf(result)] },
    });
  }

  scheduleActivity(activityId: string, more: temporal.api.command.v1.IScheduleActivityTaskCommandAttributes = {}): Command {
    return {
      commandType: enums.CommandType.COMMAND_TYPE_SCHEDULE_ACTIVITY_TASK,
      scheduleActivityTaskCommandAttributes: {
        activityId,
        activityType: { name: 'raw-activity' },
        taskQueue: { name: this.taskQueue },
        startToCloseTimeout: durationOf(10_000),
        ...more,
      },
    };
  }

  async fail(task: Task, cause: temporal.api.enums.v1.WorkflowTaskFailedCause): Promise<void> {
    await this.#stage.service.respondWorkflowTaskFailed({
      namespace: this.#stage.namespace,
      taskToken: task.taskToken ?? new Uint8Array(),
      identity: this.identity,
      cause,
      failure: { message: 'the worker gave up' },
    });
  }
}

export function completeWorkflow(result: unknown): Command {
  return {
    commandType: enums.CommandType.COMMAND_TYPE_COMPLETE_WORKFLOW_EXECUTION,
    completeWorkflowExecutionCommandAttributes: { result: { payloads: [payloadOf(result)] } },
  };
}

export function startTimer(timerId: string, milliseconds: number): Command {
  return {
    commandType: enums.CommandType.COMMAND_TYPE_START_TIMER,
    startTimerCommandAttributes: { timerId, startToFireTimeout: durationOf(milliseconds) },
  };
}

export function durationOf(milliseconds: number): { seconds: never; nanos: number } {
  // protobufjs types 64-bit fields as Long and takes numbers as well; `never` is the one type that both accept.
  return { seconds: Math.floor(milliseconds / 1000) as never, nanos: (milliseconds % 1000) * 1e6 };
}
