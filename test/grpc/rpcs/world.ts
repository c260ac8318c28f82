/** What the calls of the table are about: workflows, tasks, schedules, made when a call needs one, by the same RPCs. */
import { encodeMessage, messageType } from '../../fuzz/descriptors.ts';
import type { Plain } from '../../fuzz/mutate.ts';
import type { Service } from '../../fuzz/service.ts';

export const namespace = 'default';
export const identity = 'rpcs';

type Execution = { readonly workflowId: string; readonly runId: string };
type Started = Execution & { readonly execution: Execution; readonly queue: string };
type Message = { readonly id: string; readonly protocolInstanceId: string };
type Task = {
  readonly taskToken: Uint8Array;
  readonly query: Plain | null;
  readonly queries: Readonly<Record<string, Plain>>;
  readonly messages: readonly Message[];
};

/** Ends the time of a worker that is never given what it waits for. */
const tasksMax = 5;
const [scheduleActivity, requestCancelActivity, protocolMessage] = [1, 2, 14];

export const seconds = (count: number): Plain => ({ seconds: count });
export const text = (value: string): Uint8Array => new TextEncoder().encode(value);
export const payload = (value: unknown): Plain => ({
  metadata: { encoding: text('json/plain') },
  data: text(JSON.stringify(value)),
});

const result = { payloads: [payload(7)] };

export class World {
  readonly #service: Service;
  #names = 0;

  constructor(service: Service) {
    this.#service = service;
  }

  name(of: string): string {
    return `${of}-${++this.#names}`;
  }

  call<Reply>(method: string, message: Plain): Promise<Partial<Reply>> {
    return this.#service.call<Reply>(method, message);
  }

  /** A start on a queue of its own. */
  start(): Plain & { readonly workflowId: string; readonly taskQueue: { readonly name: string } } {
    const workflowId = this.name('workflow');
    return {
      namespace,
      workflowId,
      workflowType: { name: 'Rpc' },
      taskQueue: { name: `${workflowId}-queue` },
      requestId: workflowId,
      identity,
    };
  }

  async started(): Promise<Started> {
    const start = this.start();
    const { runId = '' } = await this.call<Execution>('StartWorkflowExecution', start);
    const execution = { workflowId: start.workflowId, runId };
    return { ...execution, execution, queue: start.taskQueue.name };
  }

  async closed(): Promise<Started> {
    const run = await this.started();
    await this.call('TerminateWorkflowExecution', { namespace, workflowExecution: run.execution, identity });
    return run;
  }

  async poll(queue: string): Promise<Task> {
    const task = await this.call<Task>('PollWorkflowTaskQueue', { namespace, taskQueue: { name: queue }, identity });
    return { taskToken: new Uint8Array(0), query: null, queries: {}, messages: [], ...task };
  }

  complete({ taskToken }: Task, more: Plain = {}): Promise<unknown> {
    return this.call('RespondWorkflowTaskCompleted', { namespace, taskToken, identity, ...more });
  }

  async workflowTask(): Promise<Started & { readonly task: Task }> {
    const run = await this.started();
    return { ...run, task: await this.poll(run.queue) };
  }

  /** A workflow whose first task is done. */
  async idle(): Promise<Started> {
    const { task, ...run } = await this.workflowTask();
    await this.complete(task);
    return run;
  }

  async scheduledActivity(): Promise<Started & { readonly activityId: string }> {
    const { task, ...run } = await this.workflowTask();
    const attributes = {
      activityId: 'a',
      activityType: { name: 'Act' },
      taskQueue: { name: run.queue },
      startToCloseTimeout: seconds(60),
      heartbeatTimeout: seconds(60),
    };
    await this.complete(task, {
      commands: [{ commandType: scheduleActivity, scheduleActivityTaskCommandAttributes: attributes }],
    });
    return { ...run, activityId: 'a' };
  }

  async activityTask(): Promise<Started & { readonly activityId: string; readonly taskToken: Uint8Array }> {
    const run = await this.scheduledActivity();
    const task = await this.call<Task>('PollActivityTaskQueue', { namespace, taskQueue: { name: run.queue }, identity });
    return { ...run, taskToken: task.taskToken ?? new Uint8Array(0) };
  }

  /** An activity that was told to stop. */
  async cancelledActivity(): Promise<Awaited<ReturnType<World['activityTask']>>> {
    const activity = await this.activityTask();
    await this.call('SignalWorkflowExecution', { namespace, workflowExecution: activity.execution, signalName: 's', identity });
    const scheduledEventId = 5;
    await this.complete(await this.poll(activity.queue), {
      commands: [{ commandType: requestCancelActivity, requestCancelActivityTaskCommandAttributes: { scheduledEventId } }],
    });
    return activity;
  }

  /** The token of a query that goes to a worker by itself. */
  async queryToken(): Promise<Uint8Array> {
    const run = await this.idle();
    this.call('QueryWorkflow', { namespace, execution: run.execution, query: { queryType: 'q' } }).catch(() => undefined);
    return (await this.poll(run.queue)).taskToken;
  }

  /** A worker that answers one query, or one update, of whatever comes first on its queue. */
  answerOne(queue: string): void {
    const answered = async (): Promise<void> => {
      for (let tasks = 0; tasks < tasksMax; tasks++) {
        const task = await this.poll(queue);
        if (task.query !== null) {
          await this.call('RespondQueryTaskCompleted', { namespace, taskToken: task.taskToken, completedType: 1, queryResult: result });
          return;
        }
        const queryResults = Object.fromEntries(Object.keys(task.queries).map((id) => [id, { resultType: 1, answer: result }]));
        const messages = task.messages.flatMap(updateAnswers);
        const commands = messages.map(({ id }) => ({
          commandType: protocolMessage,
          protocolMessageCommandAttributes: { messageId: id },
        }));
        await this.complete(task, { queryResults, messages, commands });
        if (messages.length > 0 || Object.keys(queryResults).length > 0) return;
      }
    };
    answered().catch(() => undefined);
  }

  update(execution: Execution, updateId = 'u'): Plain {
    return {
      namespace,
      workflowExecution: execution,
      waitPolicy: { lifecycleStage: 3 },
      request: { meta: { updateId, identity }, input: { name: 'update' } },
    };
  }

  async updated(): Promise<Started> {
    const run = await this.started();
    this.answerOne(run.queue);
    await this.call('UpdateWorkflowExecution', this.update(run.execution));
    return run;
  }

  schedule(): Plain {
    const startWorkflow = { workflowId: this.name('scheduled'), workflowType: { name: 'Rpc' }, taskQueue: { name: 'scheduled' } };
    return { spec: { interval: [{ interval: seconds(3600) }] }, action: { startWorkflow } };
  }

  async scheduleId(): Promise<string> {
    const scheduleId = this.name('schedule');
    await this.call('CreateSchedule', { namespace, scheduleId, schedule: this.schedule(), identity, requestId: scheduleId });
    return scheduleId;
  }

  async namespace(): Promise<string> {
    const name = this.name('namespace');
    await this.call('RegisterNamespace', { namespace: name, workflowExecutionRetentionPeriod: seconds(86_400) });
    return name;
  }

  /** A batch that is still under way when the next call comes. */
  async batch(): Promise<Plain & { readonly jobId: string }> {
    const { workflowId } = await this.started();
    const jobId = this.name('batch');
    const executions = [{ workflowId }, { workflowId: this.name('unknown') }, { workflowId: this.name('unknown') }];
    return { namespace, jobId, reason: 'r', executions, maxOperationsPerSecond: 0.1, signalOperation: { signal: 's', identity } };
  }

  async batchStarted(): Promise<string> {
    const batch = await this.batch();
    await this.call('StartBatchOperation', batch);
    return batch.jobId;
  }

  heartbeat(workerInstanceKey = this.name('worker')): Plain {
    return { namespace, identity, workerHeartbeat: [{ workerInstanceKey, workerIdentity: identity, taskQueue: 'q', status: 1 }] };
  }

  async heartbeaten(): Promise<string> {
    const key = this.name('worker');
    await this.call('RecordWorkerHeartbeat', this.heartbeat(key));
    return key;
  }
}

function updateAnswers({ id, protocolInstanceId }: Message): (Plain & { readonly id: string })[] {
  const said = (type: string, body: Plain): Plain & { readonly id: string } => ({
    id: `${protocolInstanceId}/${type}`,
    protocolInstanceId,
    body: {
      type_url: `type.googleapis.com/temporal.api.update.v1.${type}`,
      value: encodeMessage(messageType(`temporal.api.update.v1.${type}`), body),
    },
  });
  const outcome = { success: result };
  return [
    said('Acceptance', { acceptedRequestMessageId: id, acceptedRequestSequencingEventId: 2 }),
    said('Response', { meta: { updateId: protocolInstanceId }, outcome }),
  ];
}
