/**
 * Load for crash runs: clients that start, signal and read, and workers that play the workflows, all through the front door, all
 * recorded. It goes on while servers die under it: a call without an answer is recorded as such and, where its request id makes that
 * safe, made again.
 *
 *     start ─▶ [workflow task] ─▶ activity ─▶ [workflow task] … until activity done and all signals there ─▶ completed
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { CommandType, EventType, TaskQueueKind } from '../../src/wire/generated/lean/enums.ts';
import { decodeHistoryEvent, type HistoryEvent } from '../../src/wire/generated/lean/history.ts';
import * as messages from '../../src/wire/generated/lean/workflow_service.ts';
import { jsonPayloads, nextCommands, observe, storedEvents, WORKFLOW_TASK_TIMEOUT_MS } from './crash-workflow.ts';
import { type FinalRun, type ObservedEvent, type Operation, Recorder } from './recorded-history.ts';
import { type CallOutcome, type Method, ServiceClient } from '../support/service-client.ts';

const methods = {
  start: {
    name: 'StartWorkflowExecution',
    encode: messages.encodeStartWorkflowExecutionRequest,
    decode: messages.decodeStartWorkflowExecutionResponse,
  },
  signal: {
    name: 'SignalWorkflowExecution',
    encode: messages.encodeSignalWorkflowExecutionRequest,
    decode: messages.decodeSignalWorkflowExecutionResponse,
  },
  describe: {
    name: 'DescribeWorkflowExecution',
    encode: messages.encodeDescribeWorkflowExecutionRequest,
    decode: messages.decodeDescribeWorkflowExecutionResponse,
  },
  history: {
    name: 'GetWorkflowExecutionHistory',
    encode: messages.encodeGetWorkflowExecutionHistoryRequest,
    decode: messages.decodeGetWorkflowExecutionHistoryResponse,
  },
  pollWorkflow: {
    name: 'PollWorkflowTaskQueue',
    encode: messages.encodePollWorkflowTaskQueueRequest,
    decode: messages.decodePollWorkflowTaskQueueResponse,
  },
  completeWorkflow: {
    name: 'RespondWorkflowTaskCompleted',
    encode: messages.encodeRespondWorkflowTaskCompletedRequest,
    decode: messages.decodeRespondWorkflowTaskCompletedResponse,
  },
  pause: {
    name: 'PauseWorkflowExecution',
    encode: messages.encodePauseWorkflowExecutionRequest,
    decode: messages.decodePauseWorkflowExecutionResponse,
  },
  unpause: {
    name: 'UnpauseWorkflowExecution',
    encode: messages.encodeUnpauseWorkflowExecutionRequest,
    decode: messages.decodeUnpauseWorkflowExecutionResponse,
  },
  pollActivity: {
    name: 'PollActivityTaskQueue',
    encode: messages.encodePollActivityTaskQueueRequest,
    decode: messages.decodePollActivityTaskQueueResponse,
  },
  completeActivity: {
    name: 'RespondActivityTaskCompleted',
    encode: messages.encodeRespondActivityTaskCompletedRequest,
    decode: messages.decodeRespondActivityTaskCompletedResponse,
  },
} as const;

export type CrashLoadOptions = {
  /** Tried in turn: a process that does not answer is left for the next. */
  readonly addresses: readonly string[];
  readonly namespace: string;
  readonly clients: number;
  readonly pollers: number;
  /** How long a worker waits for a task, and how long the end of a run waits for its workers. */
  readonly pollTimeoutMs?: number;
  /** Uniform in [0, 1), seeded. */
  readonly random: () => number;
  /** Of workflows: starts that take their first task along, and runs that are paused for a while. Absent: none. */
  readonly eagerShare?: number;
  readonly pauseShare?: number;
};

const CALL_TIMEOUT_MS = 3_000;
const POLL_TIMEOUT_MS_DEFAULT = 8_000;
const RETRY_PAUSE_MS = 50;
const FINAL_READERS = 8;
const PAUSE_MS_MAX = 300;

export class CrashLoad {
  readonly recorder = new Recorder();
  readonly #options: CrashLoadOptions;
  readonly #pollTimeoutMs: number;
  readonly #taskQueue = `crash-${randomUUID()}`;
  readonly #clients: readonly ServiceClient[];
  /** For polls alone: in the end they are given up, and nothing else is. */
  readonly #polling: readonly ServiceClient[];
  readonly #workflowIds: string[] = [];
  readonly #loops: Promise<void>[] = [];
  #current = 0;
  #starting = true;
  #working = true;
  #abandoned = false;

  constructor(options: CrashLoadOptions) {
    this.#options = options;
    this.#pollTimeoutMs = options.pollTimeoutMs ?? POLL_TIMEOUT_MS_DEFAULT;
    this.#clients = options.addresses.map((address) => new ServiceClient(address));
    this.#polling = options.addresses.map((address) => new ServiceClient(address));
  }

  get startedCount(): number {
    return this.#workflowIds.length;
  }

  run(): void {
    for (let i = 0; i < this.#options.clients; i++) this.#loops.push(this.#clientLoop());
    for (let i = 0; i < this.#options.pollers; i++) this.#loops.push(this.#workflowLoop(), this.#activityLoop());
  }

  /**
   * No more starts; waits until every workflow is closed, or until none has closed for `patienceMs`. Then the workers stop, and what is
   * still open is read once more: a history that was read before the last answer of a worker would prove nothing.
   */
  async finish(patienceMs: number): Promise<readonly FinalRun[]> {
    this.#starting = false;
    const closed: FinalRun[] = [];
    let open: readonly string[] = this.#workflowIds;
    for (let patientUntilMs = Date.now() + patienceMs; open.length > 0 && Date.now() < patientUntilMs;) {
      const runs = await this.#finalRuns(open, (run) => run.events.at(-1)?.type === 'WorkflowExecutionCompleted');
      if (runs.finals.length > 0) patientUntilMs = Date.now() + patienceMs;
      closed.push(...runs.finals);
      open = runs.open;
      await delay(RETRY_PAUSE_MS);
    }
    this.#working = false;
    // Most of them wait for tasks of workflows that are all closed.
    for (const client of this.#polling) client.giveUp();
    await Promise.all(this.#loops);
    const { finals } = await this.#finalRuns(open, () => true);
    this.#close();
    return [...closed, ...finals];
  }

  /** Of the first acknowledged workflows those that the server says do not exist. */
  async absent(): Promise<readonly string[]> {
    const absent: string[] = [];
    const acknowledged = this.recorder.entries.filter(({ type, operation }) => type === 'ok' && operation.f === 'start');
    for (const { operation } of acknowledged.slice(0, 40)) {
      if (operation.f !== 'start') continue;
      const read = await this.#readHistory(operation.workflowId, '');
      if (read.kind === 'fail') absent.push(operation.workflowId);
    }
    return absent;
  }

  /** Ends all that is under way, for a run that has failed already or a server that will not come back. */
  async abandon(): Promise<void> {
    this.#abandoned = true;
    this.#starting = false;
    this.#working = false;
    this.#close();
    await Promise.all(this.#loops);
  }

  #close(): void {
    for (const client of [...this.#clients, ...this.#polling]) client.close();
  }

  /** Reads them all; those that were never started are in neither list. */
  async #finalRuns(
    workflowIds: readonly string[],
    isFinal: (run: Omit<FinalRun, 'workflowId'>) => boolean,
  ): Promise<{ readonly finals: readonly FinalRun[]; readonly open: readonly string[] }> {
    const finals: FinalRun[] = [];
    const open: string[] = [];
    const queue = workflowIds.values();
    const reader = async (): Promise<void> => {
      for (const workflowId of queue) {
        const read = await this.#readHistory(workflowId, '');
        if (read.kind === 'unknown' || (read.kind === 'ok' && !isFinal(read.response))) open.push(workflowId);
        else if (read.kind === 'ok') finals.push(await this.#withRequestId(workflowId, read.response));
      }
    };
    await Promise.all(Array.from({ length: FINAL_READERS }, reader));
    return { finals, open };
  }

  /** The request that started a run is not in its history; Describe knows it. */
  async #withRequestId(workflowId: string, run: Omit<FinalRun, 'workflowId'>): Promise<FinalRun> {
    const request = {
      ...messages.emptyDescribeWorkflowExecutionRequest(),
      namespace: this.#options.namespace,
      execution: { workflowId, runId: run.runId },
    };
    const described = await this.#call(methods.describe, request, CALL_TIMEOUT_MS);
    if (described.kind === 'unknown') return this.#withRequestId(workflowId, run);
    if (described.kind === 'fail') throw new Error(`${workflowId} has a history but cannot be described: ${described.message}`);
    const requestIds = described.response.workflowExtendedInfo?.requestIdInfos ?? new Map<string, { readonly eventType: number }>();
    const requestId = [...requestIds].find(([, info]) => info.eventType === EventType.WORKFLOW_EXECUTION_STARTED)?.[0] ?? '';
    return { workflowId, runId: run.runId, events: run.events.map((event, index) => (index === 0 ? { ...event, requestId } : event)) };
  }

  async #clientLoop(): Promise<void> {
    const process = this.recorder.newProcess();
    while (this.#starting) {
      const workflowId = `crash-${randomUUID()}`;
      const signals = Math.floor(this.#options.random() * 3);
      this.#workflowIds.push(workflowId);
      const runId = await this.#start(process, workflowId, signals);
      if (runId === undefined) continue;
      const pauses = this.#happens(this.#options.pauseShare);
      if (pauses) await this.#pause(process, 'pause', workflowId, runId);
      for (let i = 0; i < signals; i++) await this.#signal(process, workflowId, runId);
      if (pauses) {
        await delay(this.#options.random() * PAUSE_MS_MAX);
        await this.#pause(process, 'unpause', workflowId, runId);
      }
      if (this.#options.random() < 0.3) await this.#recordRead(process, workflowId, runId);
    }
  }

  #happens(share = 0): boolean {
    return share > 0 && this.#options.random() < share;
  }

  /** Until there is a definite answer: asked again, it is the same pause; an unpause is refused once it has happened. */
  async #pause(process: number, f: 'pause' | 'unpause', workflowId: string, runId: string): Promise<void> {
    const operation: Operation = { f, workflowId, runId, requestId: randomUUID() };
    const request = {
      ...{ namespace: this.#options.namespace, workflowId, runId },
      ...{ identity: 'crash-operator', reason: 'crash', requestId: operation.requestId },
    };
    for (;;) {
      const outcome = await (f === 'pause'
        ? this.#recorded(process, operation, methods.pause, request)
        : this.#recorded(process, operation, methods.unpause, request));
      if (outcome.kind !== 'unknown') return;
    }
  }

  /** Until there is a definite answer: a start that never learns its outcome would leave a workflow waiting for its signals. */
  async #start(process: number, workflowId: string, signals: number): Promise<string | undefined> {
    const requestId = randomUUID();
    const request: messages.StartWorkflowExecutionRequest = {
      ...messages.emptyStartWorkflowExecutionRequest(),
      namespace: this.#options.namespace,
      workflowId,
      workflowType: { name: 'crash' },
      taskQueue: { name: this.#taskQueue, kind: TaskQueueKind.NORMAL, normalName: '' },
      input: jsonPayloads(signals),
      workflowTaskTimeoutMs: WORKFLOW_TASK_TIMEOUT_MS,
      identity: 'crash-client',
      requestId,
      requestEagerExecution: this.#happens(this.#options.eagerShare),
    };
    for (;;) {
      const operation: Operation = { f: 'start', workflowId, requestId };
      const outcome = await this.#recorded(process, operation, methods.start, request, (response) => ({
        ...operation,
        runId: response.runId,
      }));
      if (outcome.kind === 'ok') {
        const { runId, eagerWorkflowTask } = outcome.response;
        if (eagerWorkflowTask !== undefined) await this.#playWorkflowTask(process, eagerWorkflowTask);
        return runId;
      }
      if (outcome.kind === 'fail') return undefined;
    }
  }

  async #signal(process: number, workflowId: string, runId: string): Promise<void> {
    const requestId = randomUUID();
    const request: messages.SignalWorkflowExecutionRequest = {
      ...messages.emptySignalWorkflowExecutionRequest(),
      namespace: this.#options.namespace,
      workflowExecution: { workflowId, runId },
      signalName: 'go',
      identity: 'crash-client',
      requestId,
    };
    for (;;) {
      const outcome = await this.#recorded(process, { f: 'signal', workflowId, runId, requestId }, methods.signal, request);
      if (outcome.kind !== 'unknown') return;
    }
  }

  async #recordRead(process: number, workflowId: string, runId: string): Promise<void> {
    const operation: Operation = { f: 'read', workflowId, runId, events: [] };
    this.recorder.add('invoke', process, operation);
    const read = await this.#readHistory(workflowId, runId);
    if (read.kind === 'ok') this.recorder.add('ok', process, { ...operation, events: read.response.events });
    else this.recorder.add(read.kind === 'fail' ? 'fail' : 'info', process, operation);
  }

  async #readHistory(
    workflowId: string,
    runId: string,
  ): Promise<CallOutcome<{ readonly runId: string; readonly events: readonly ObservedEvent[] }>> {
    const events: HistoryEvent[] = [];
    let nextPageToken: Uint8Array = new Uint8Array();
    do {
      const request = {
        ...messages.emptyGetWorkflowExecutionHistoryRequest(),
        namespace: this.#options.namespace,
        execution: { workflowId, runId },
        nextPageToken,
      };
      const page = await this.#call(methods.history, request, CALL_TIMEOUT_MS);
      if (page.kind !== 'ok') return page;
      events.push(...(page.response.history?.events ?? []).map((bytes) => decodeHistoryEvent(bytes)));
      nextPageToken = page.response.nextPageToken;
    } while (nextPageToken.length > 0);
    const originalRunId = events[0]?.workflowExecutionStartedEventAttributes?.originalExecutionRunId ?? '';
    return { kind: 'ok', response: { runId: runId === '' ? originalRunId : runId, events: storedEvents(events).map(observe) } };
  }

  async #workflowLoop(): Promise<void> {
    const process = this.recorder.newProcess();
    while (this.#working) {
      const request: messages.PollWorkflowTaskQueueRequest = {
        ...messages.emptyPollWorkflowTaskQueueRequest(),
        namespace: this.#options.namespace,
        taskQueue: { name: this.#taskQueue, kind: TaskQueueKind.NORMAL, normalName: '' },
        identity: 'crash-worker',
      };
      const poll = await this.#call(methods.pollWorkflow, request, this.#pollTimeoutMs, this.#polling);
      if (poll.kind === 'ok' && poll.response.taskToken.length > 0) await this.#playWorkflowTask(process, poll.response);
    }
  }

  async #playWorkflowTask(process: number, task: messages.PollWorkflowTaskQueueResponse): Promise<void> {
    const events = (task.history?.events ?? []).map((bytes) => decodeHistoryEvent(bytes));
    const { workflowId, runId } = task.workflowExecution!;
    const scheduledEventId = task.startedEventId - 1;
    this.#deliver(process, { f: 'deliver', task: 'workflow', runId, scheduledEventId, attempt: task.attempt, pollId: randomUUID() });
    const commands = nextCommands(events, this.#taskQueue);
    const closes = commands.some((command) => command.commandType === CommandType.COMPLETE_WORKFLOW_EXECUTION);
    const operation: Operation = { f: 'completeWorkflowTask', workflowId, runId, startedEventId: task.startedEventId, closes };
    const request: messages.RespondWorkflowTaskCompletedRequest = {
      ...messages.emptyRespondWorkflowTaskCompletedRequest(),
      namespace: this.#options.namespace,
      taskToken: task.taskToken,
      identity: 'crash-worker',
      commands,
    };
    await this.#untilAnswered(process, operation, methods.completeWorkflow, request);
  }

  async #activityLoop(): Promise<void> {
    const process = this.recorder.newProcess();
    while (this.#working) {
      const request: messages.PollActivityTaskQueueRequest = {
        ...messages.emptyPollActivityTaskQueueRequest(),
        namespace: this.#options.namespace,
        taskQueue: { name: this.#taskQueue, kind: TaskQueueKind.NORMAL, normalName: '' },
        identity: 'crash-worker',
      };
      const poll = await this.#call(methods.pollActivity, request, this.#pollTimeoutMs, this.#polling);
      if (poll.kind === 'ok' && poll.response.taskToken.length > 0) await this.#playActivity(process, poll.response);
    }
  }

  async #playActivity(process: number, task: messages.PollActivityTaskQueueResponse): Promise<void> {
    const { workflowId, runId } = task.workflowExecution!;
    const scheduledEventId = Number(task.activityId);
    this.#deliver(process, { f: 'deliver', task: 'activity', runId, scheduledEventId, attempt: task.attempt, pollId: randomUUID() });
    const result = `${runId} attempt ${task.attempt}`;
    const operation: Operation = { f: 'completeActivity', workflowId, runId, scheduledEventId, result };
    const request: messages.RespondActivityTaskCompletedRequest = {
      ...messages.emptyRespondActivityTaskCompletedRequest(),
      namespace: this.#options.namespace,
      taskToken: task.taskToken,
      identity: 'crash-worker',
      result: jsonPayloads(result),
    };
    await this.#untilAnswered(process, operation, methods.completeActivity, request);
  }

  #deliver(process: number, operation: Operation): void {
    this.recorder.add('invoke', process, operation);
    this.recorder.add('ok', process, operation);
  }

  /** A completion whose answer was lost is sent again: it is refused then if it had been applied, or if its time was over. */
  async #untilAnswered<Request, Response>(
    process: number,
    operation: Operation,
    method: Method<Request, Response>,
    request: Request,
  ): Promise<void> {
    for (;;) {
      const outcome = await this.#recorded(process, operation, method, request);
      if (outcome.kind !== 'unknown' || !this.#working) return;
    }
  }

  async #recorded<Request, Response>(
    process: number,
    operation: Operation,
    method: Method<Request, Response>,
    request: Request,
    completed: (response: Response) => Operation = () => operation,
  ): Promise<CallOutcome<Response>> {
    this.recorder.add('invoke', process, operation);
    const outcome = await this.#call(method, request, CALL_TIMEOUT_MS);
    if (outcome.kind === 'ok') this.recorder.add('ok', process, completed(outcome.response));
    else this.recorder.add(outcome.kind === 'fail' ? 'fail' : 'info', process, operation);
    return outcome;
  }

  async #call<Request, Response>(
    method: Method<Request, Response>,
    request: Request,
    timeoutMs: number,
    clients = this.#clients,
  ): Promise<CallOutcome<Response>> {
    if (this.#abandoned) return { kind: 'fail', code: 1, message: 'abandoned' };
    const index = this.#current;
    const outcome = await clients[index]!.call(method, request, timeoutMs);
    if (outcome.kind === 'unknown') {
      if (this.#current === index) this.#current = (index + 1) % clients.length;
      await delay(RETRY_PAUSE_MS);
    }
    return outcome;
  }
}
