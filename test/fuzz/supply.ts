/** Workers of the fuzzer: they poll its queues and keep what they get, so that its requests carry the tokens of tasks that wait for an answer. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Service } from './service.ts';
import { type Execution, fuzzedNamespace as namespace, stickyQueue, type WorkflowTask, type World } from './world.ts';

type PolledActivityTask = { readonly taskToken: Uint8Array; readonly workflowExecution: Execution };

type PolledWorkflowTask = PolledActivityTask & {
  readonly startedEventId: number;
  readonly query: object;
  readonly messages?: readonly { readonly protocolInstanceId: string }[];
};

/** The least that a poll takes seriously, and what answers take. */
const pollTimeoutMs = 2_300;
const [tasksMin, tasksMax] = [24, 60];
const pauseMs = 20;

export class Supply {
  readonly #service: Service;
  readonly #world: World;
  readonly #refused: (method: string, error: unknown) => void;
  #running = true;
  #loops: Promise<unknown> = Promise.resolve();
  #started = 0;
  /** By run: the task whose answer cancels its activity, once a worker has that. */
  readonly #toCancel = new Map<string, { readonly token: Uint8Array; readonly scheduledEventId: number }>();
  #polled = 0;
  #pending = 0;

  /** `refused` hears of every call that ended with an error. */
  constructor(service: Service, world: World, refused: (method: string, error: unknown) => void) {
    this.#service = service;
    this.#world = world;
    this.#refused = refused;
  }

  start(): void {
    const queues = this.#world.queues.map((name) => ({ name, kind: 1 }));
    const sticky = { name: stickyQueue, kind: 2, normalName: queues[0]?.name };
    const loops = [...queues, ...queues, sticky].map((queue) => this.#forever(() => this.#pollWorkflowTask(queue)));
    loops.push(...queues.map((queue) => this.#forever(() => this.#pollActivityTask(queue))));
    loops.push(this.#forever(() => this.#startWorkflows()));
    this.#loops = Promise.all(loops);
  }

  async stop(): Promise<void> {
    this.#running = false;
    await this.#loops;
  }

  async #forever(once: () => Promise<void>): Promise<void> {
    while (this.#running) await once();
  }

  async #pollWorkflowTask(taskQueue: object): Promise<void> {
    if (this.#world.workflowTasks.length >= tasksMax) return delay(pauseMs);
    const task = await this.#call<PolledWorkflowTask>('PollWorkflowTaskQueue', { namespace, taskQueue, identity: 'supply' });
    const { taskToken, workflowExecution: execution } = task ?? {};
    if (taskToken === undefined || taskToken.length === 0 || execution === undefined) return;
    this.#world.noteRun(execution);
    const updates = (task?.messages ?? []).map(({ protocolInstanceId }) => protocolInstanceId);
    const polled = { token: taskToken, startedEventId: task?.startedEventId ?? 0, updates, ...execution };
    if (task?.query !== undefined) this.#world.queryTokens.push(taskToken);
    else if (this.#polled++ % 3 === 0 && polled.startedEventId === 3) await this.#leavePending(polled);
    else this.#world.workflowTasks.push(polled);
  }

  /** Something for later requests to meet: an activity, sometimes one that is to be canceled, a timer, and a workflow that is idle and can be queried. */
  async #leavePending(task: WorkflowTask & Execution): Promise<void> {
    const attributes = { activityId: 'a0', activityType: { name: 'Act' }, taskQueue: { name: this.#world.queues[0], kind: 1 } };
    const scheduleActivityTaskCommandAttributes = {
      ...attributes,
      startToCloseTimeout: { seconds: 60 },
      heartbeatTimeout: { seconds: 30 },
    };
    const turn = this.#pending++ % 4;
    const goesOn = turn > 0;
    const { workflowTask: next } = await this.#complete(task.token, goesOn, [
      { commandType: 1, scheduleActivityTaskCommandAttributes },
      { commandType: 3, startTimerCommandAttributes: { timerId: 't0', startToFireTimeout: { seconds: 3_600 } } },
    ]);
    if (next === undefined || next.taskToken.length === 0) return;
    const token = next.taskToken;
    // The activity's event stands right behind the completion of the first task.
    if (turn > 1) this.#toCancel.set(task.runId, { token, scheduledEventId: task.startedEventId + 2 });
    else this.#world.workflowTasks.push({ ...task, token, updates: [] });
  }

  /** A worker has it: one that nobody has would be gone at once. */
  async #cancelActivity(execution: Execution): Promise<void> {
    const cancel = this.#toCancel.get(execution.runId);
    if (cancel === undefined) return;
    this.#toCancel.delete(execution.runId);
    const requestCancelActivityTaskCommandAttributes = { scheduledEventId: cancel.scheduledEventId };
    await this.#complete(cancel.token, false, [{ commandType: 2, requestCancelActivityTaskCommandAttributes }]);
    this.#world.noteToldToCancel(execution);
  }

  async #complete(
    taskToken: Uint8Array,
    goesOn: boolean,
    commands: readonly object[],
  ): Promise<{ readonly workflowTask?: { readonly taskToken: Uint8Array } }> {
    const message = { namespace, taskToken, returnNewWorkflowTask: goesOn, forceCreateNewWorkflowTask: goesOn, commands };
    return (await this.#call('RespondWorkflowTaskCompleted', message)) ?? {};
  }

  async #pollActivityTask(taskQueue: object): Promise<void> {
    if (this.#world.activityTokens.length >= tasksMax) return delay(pauseMs);
    const task = await this.#call<PolledActivityTask>('PollActivityTaskQueue', {
      namespace,
      taskQueue,
      identity: 'supply',
    });
    const { taskToken, workflowExecution: execution } = task ?? {};
    if (taskToken === undefined || taskToken.length === 0 || execution === undefined) return;
    this.#world.activityTokens.push(taskToken);
    this.#world.noteActivity(execution);
    await this.#cancelActivity(execution);
  }

  /** Requests close workflows, and leave them waiting for what never comes: new ones keep the tasks coming. */
  async #startWorkflows(): Promise<void> {
    const missing = tasksMin - this.#world.workflowTasks.length;
    await Promise.all(Array.from({ length: Math.max(0, missing) }, () => this.#startWorkflow()));
    await delay(pauseMs);
  }

  async #startWorkflow(): Promise<void> {
    const number = this.#started++;
    await this.#call('StartWorkflowExecution', {
      namespace,
      workflowId: `supply-${number}`,
      workflowType: { name: 'Fuzz' },
      taskQueue: { name: this.#world.queues[number % this.#world.queues.length], kind: 1 },
      requestId: `supply-${number}`,
    });
  }

  async #call<Reply>(method: string, message: Record<string, unknown>): Promise<Partial<Reply> | undefined> {
    try {
      return await this.#service.call<Reply>(method, message, method.startsWith('Poll') ? pollTimeoutMs : undefined);
    } catch (error) {
      this.#refused(method, error);
      await delay(pauseMs);
      return undefined;
    }
  }
}
