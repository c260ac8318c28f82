/**
 * Load for crash runs: clients that start, signal, update, pause, reset and read, and workers that play the workflows, all through the front door, all
 * recorded. It goes on while servers die under it: a call without an answer is recorded as such and, where its request id makes that
 * safe, made again.
 *
 *     start ─▶ [workflow task] ─▶ activity ─▶ [workflow task] … until activity done and all signals there ─▶ completed
 *                     └─ reset: from here, in another run, once more
 *     start ─▶ run ─▶ the next one: after a failure, on a schedule, continued as new, timed out ─▶ … ─▶ completed, failed, canceled or timed out
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { TaskQueueKind } from '../../src/wire/generated/lean/enums.ts';
import { decodeHistoryEvent } from '../../src/wire/generated/lean/history.ts';
import * as messages from '../../src/wire/generated/lean/workflow_service.ts';
import type { CallOutcome, Method } from '../support/service-client.ts';
import { CrashCalls, methods, RETRY_PAUSE_MS } from './crash-calls.ts';
import type { Program } from './crash-program.ts';
import { answerOf, isToBeAskedAgain, updateRequest } from './crash-updates.ts';
import { changesNothing, closesRun, play, programStart } from './crash-workflow.ts';
import { FinalRuns } from './final-runs.ts';
import { jsonPayloads } from './json-payloads.ts';
import type { FinalRun, Operation, Recorder, UpdateName } from './recorded-history.ts';

export type CrashLoadOptions = {
  /** Tried in turn: a process that does not answer is left for the next. */
  readonly addresses: readonly string[];
  readonly namespace: string;
  readonly clients: number;
  readonly pollers: number;
  /** Of each client, from one workflow to the next. Absent: none, it starts as many as are answered. */
  readonly pauseMs?: number;
  /** How long a worker waits for a task, and how long the end of a run waits for its workers. */
  readonly pollTimeoutMs?: number;
  /** Uniform in [0, 1), seeded. */
  readonly random: () => number;
  /** Of workflows: starts that take their first task along, runs that are paused for a while, and such as are reset. Absent: none. */
  readonly eagerShare?: number;
  readonly pauseShare?: number;
  readonly resetShare?: number;
  /** Of those that have one run: which are updated. Absent: none. */
  readonly updateShare?: number;
  /** Of workflows: those of which one run follows the other. Absent: none. */
  readonly chainShare?: number;
};

const POLL_TIMEOUT_MS_DEFAULT = 8_000;
const PAUSE_MS_MAX = 300;
/** What is left to history in a row, and what is not. */
const paddings = [0, 0, 0, 8_192] as const;
const RESETTABLE_WITHIN_MS = 1_500;
const RESET_AGAIN_SHARE = 0.3;
const UPDATE_PAUSE_MS_MAX = 300;
const OPTIONAL_UPDATE_SHARE = 0.4;
const resettable: ReadonlySet<string> = new Set(['WorkflowTaskCompleted', 'WorkflowTaskFailed', 'WorkflowTaskTimedOut']);

export class CrashLoad {
  readonly #options: CrashLoadOptions;
  readonly #calls: CrashCalls;
  readonly #taskQueue = `crash-${randomUUID()}`;
  readonly #workflowIds: string[] = [];
  readonly #clients: Promise<void>[] = [];
  readonly #operators: Promise<void>[] = [];
  readonly #workers: Promise<void>[] = [];
  #starting = true;
  #working = true;
  /** Updates are asked for until then. */
  #patientUntilMs = Infinity;

  constructor(options: CrashLoadOptions) {
    this.#options = options;
    this.#calls = new CrashCalls(options.addresses, options.namespace, options.pollTimeoutMs ?? POLL_TIMEOUT_MS_DEFAULT);
  }

  /** Polls for workflow tasks that ended without one, by their identity, and when. */
  readonly emptyPolls = new Map<string, number>();

  get recorder(): Recorder {
    return this.#calls.recorder;
  }

  get startedCount(): number {
    return this.#workflowIds.length;
  }

  /** Until so many more workflows are begun: what happens after that hits something, however slow the machine is. */
  async begun(count: number): Promise<void> {
    const wanted = this.startedCount + count;
    while (this.startedCount < wanted && this.#starting) await delay(10);
  }

  run(): void {
    for (let i = 0; i < this.#options.clients; i++) this.#clients.push(this.#clientLoop());
    for (let i = 0; i < this.#options.pollers; i++) this.#workers.push(this.#workflowLoop(), this.#activityLoop());
  }

  /**
   * No more starts; waits until every workflow is closed, or until none has closed for `patienceMs`. Then the workers stop, and all runs are read:
   * a history that was read before the last answer of a worker would prove nothing.
   */
  async finish(patienceMs: number): Promise<readonly FinalRun[]> {
    this.#starting = false;
    this.#patientUntilMs = Date.now() + patienceMs;
    // One that is closed goes on if it is reset.
    await Promise.all(this.#clients);
    await Promise.all(this.#operators);
    const finals = new FinalRuns(this.#calls);
    const open = await finals.close(this.#workflowIds, patienceMs);
    this.#working = false;
    // Most of them wait for tasks of workflows that are all closed.
    this.#calls.giveUpPolls();
    await Promise.all(this.#workers);
    const runs = await finals.read(open);
    this.#calls.close();
    return runs;
  }

  /** Of the first acknowledged workflows those that the server says do not exist. */
  async absent(): Promise<readonly string[]> {
    const absent: string[] = [];
    const acknowledged = this.recorder.entries.filter(({ type, operation }) => type === 'ok' && operation.f === 'start');
    for (const { operation } of acknowledged.slice(0, 40)) {
      if (operation.f !== 'start') continue;
      const read = await this.#calls.readHistory(operation.workflowId, '');
      if (read.kind === 'fail') absent.push(operation.workflowId);
    }
    return absent;
  }

  /** Ends all that is under way, for a run that has failed already or a server that will not come back. */
  async abandon(): Promise<void> {
    this.#starting = false;
    this.#working = false;
    this.#calls.abandon();
    await Promise.all([...this.#clients, ...this.#workers]);
    await Promise.all(this.#operators);
  }

  // ── Clients ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #clientLoop(): Promise<void> {
    const process = this.recorder.newProcess();
    while (this.#starting) {
      const workflowId = `crash-${randomUUID()}`;
      const program = this.#program();
      this.#workflowIds.push(workflowId);
      const runId = await this.#start(process, workflowId, program);
      if (runId === undefined) continue;
      // At once: a signal meets the one run or the other, and is in both if it meets the first one.
      const isReset = this.#happens(this.#options.resetShare);
      if (isReset) this.#operators.push(this.#resets(workflowId, runId));
      if (program.kind === 'plain' && program.updates > 0) this.#operators.push(this.#updates(workflowId, program.updates));
      if (program.kind !== 'plain') await this.#signalChain(process, workflowId);
      else if (!isReset) await this.#signalAndPause(process, workflowId, runId, program.signals);
      else for (let i = 0; i < program.signals; i++) await this.#signal(process, workflowId, '');
      if (this.#options.random() < 0.3) await this.#recordRead(process, workflowId, runId);
      if (this.#options.pauseMs !== undefined) await delay(this.#options.pauseMs);
    }
  }

  #program(): Program {
    const { random, chainShare, updateShare } = this.#options;
    const upTo = (max: number): number => Math.floor(random() * (max + 1));
    if (!this.#happens(chainShare)) return { kind: 'plain', signals: upTo(2), updates: this.#happens(updateShare) ? 1 + upTo(1) : 0 };
    const kind = random();
    if (kind < 0.4) return { kind: 'retried', failures: 1 + upTo(2), maximumAttempts: upTo(4) };
    if (kind < 0.6) return { kind: 'timedOut', attempts: 1 + upTo(1) };
    return kind < 0.8 ? { kind: 'scheduled', runs: 1 + upTo(1) } : { kind: 'continued', more: 1 };
  }

  async #signalAndPause(process: number, workflowId: string, runId: string, signals: number): Promise<void> {
    const pauses = this.#happens(this.#options.pauseShare);
    if (pauses) await this.#pause(process, 'pause', workflowId, runId);
    for (let i = 0; i < signals; i++) await this.#signal(process, workflowId, runId);
    if (!pauses) return;
    await delay(this.#options.random() * PAUSE_MS_MAX);
    await this.#pause(process, 'unpause', workflowId, runId);
  }

  async #resets(workflowId: string, runId: string): Promise<void> {
    const process = this.recorder.newProcess();
    const made = await this.#reset(process, workflowId, runId);
    if (this.#happens(RESET_AGAIN_SHARE)) await this.#reset(process, workflowId, made);
  }

  /** One after the other: those that the workflow waits for, and perhaps one that it does not, which may find it closed. */
  async #updates(workflowId: string, awaited: number): Promise<void> {
    const process = this.recorder.newProcess();
    const any = (names: readonly UpdateName[]): UpdateName => names[Math.floor(this.#options.random() * names.length)]!;
    const names = Array.from({ length: awaited }, () => any(['now', 'later']));
    if (this.#happens(OPTIONAL_UPDATE_SHARE))
      names.splice(Math.floor(this.#options.random() * (awaited + 1)), 0, any(['now', 'later', 'refused', 'refused']));
    for (const name of names) {
      // By then it waits, as a rule, and no task is under way that the update could ride on.
      await delay(this.#options.random() * UPDATE_PAUSE_MS_MAX);
      await this.#update(process, { f: 'update', workflowId, updateId: randomUUID(), name });
    }
  }

  /** Until it is over, or can never be: asked again, it is the same update. */
  async #update(process: number, operation: Extract<Operation, { readonly f: 'update' }>): Promise<void> {
    const request = updateRequest(this.#calls.namespace, operation);
    while (Date.now() < this.#patientUntilMs) {
      const outcome = await this.#calls.recorded(process, operation, methods.update, request, (response) => ({
        ...operation,
        answer: answerOf(response),
      }));
      if (!isToBeAskedAgain(outcome)) return;
      await delay(RETRY_PAUSE_MS);
    }
  }

  /** Once: the run after the one that had it does not know it, and would take it again. */
  async #signalChain(process: number, workflowId: string): Promise<void> {
    await this.#signalOnce(process, { f: 'signal', workflowId, runId: '', requestId: randomUUID() });
  }

  #happens(share = 0): boolean {
    return share > 0 && this.#options.random() < share;
  }

  /** Until there is a definite answer: asked again, it is the same pause; an unpause is refused once it has happened. */
  async #pause(process: number, f: 'pause' | 'unpause', workflowId: string, runId: string): Promise<void> {
    const operation: Operation = { f, workflowId, runId, requestId: randomUUID() };
    const request = {
      ...{ namespace: this.#calls.namespace, workflowId, runId },
      ...{ identity: 'crash-operator', reason: 'crash', requestId: operation.requestId },
    };
    for (;;) {
      const outcome = await (f === 'pause'
        ? this.#calls.recorded(process, operation, methods.pause, request)
        : this.#calls.recorded(process, operation, methods.unpause, request));
      if (outcome.kind !== 'unknown') return;
    }
  }

  /** Until there is a definite answer: a start that never learns its outcome would leave a workflow waiting for its signals. */
  async #start(process: number, workflowId: string, program: Program): Promise<string | undefined> {
    const requestId = randomUUID();
    const request: messages.StartWorkflowExecutionRequest = {
      ...messages.emptyStartWorkflowExecutionRequest(),
      namespace: this.#calls.namespace,
      workflowId,
      ...programStart(program, paddings[Math.floor(this.#options.random() * paddings.length)] ?? 0),
      taskQueue: { name: this.#taskQueue, kind: TaskQueueKind.NORMAL, normalName: '' },
      identity: 'crash-client',
      requestId,
      requestEagerExecution: this.#happens(this.#options.eagerShare),
    };
    for (;;) {
      const operation: Operation = { f: 'start', workflowId, requestId, program };
      const outcome = await this.#calls.recorded(process, operation, methods.start, request, (response) => ({
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

  /** Until there is a definite answer: the workflow waits for it. */
  async #signal(process: number, workflowId: string, runId: string): Promise<void> {
    const operation: Operation = { f: 'signal', workflowId, runId, requestId: randomUUID() };
    for (let isAnswered = false; !isAnswered;) isAnswered = (await this.#signalOnce(process, operation)) !== 'unknown';
  }

  async #signalOnce(process: number, operation: Extract<Operation, { readonly f: 'signal' }>): Promise<CallOutcome<unknown>['kind']> {
    const { workflowId, runId, requestId } = operation;
    const request: messages.SignalWorkflowExecutionRequest = {
      ...messages.emptySignalWorkflowExecutionRequest(),
      namespace: this.#calls.namespace,
      workflowExecution: { workflowId, runId },
      signalName: 'go',
      identity: 'crash-client',
      requestId,
    };
    return (await this.#calls.recorded(process, operation, methods.signal, request)).kind;
  }

  /** To a workflow task that is over, until there is a definite answer: asked again, it is the same reset. Answers the run that goes on. */
  async #reset(process: number, workflowId: string, runId: string): Promise<string> {
    const finishEventId = await this.#resettable(workflowId, runId);
    if (finishEventId === undefined) return runId;
    const operation: Operation = { f: 'reset', workflowId, runId, requestId: randomUUID(), finishEventId };
    const request: messages.ResetWorkflowExecutionRequest = {
      ...messages.emptyResetWorkflowExecutionRequest(),
      namespace: this.#calls.namespace,
      workflowExecution: { workflowId, runId },
      workflowTaskFinishEventId: finishEventId,
      reason: 'crash',
      identity: 'crash-operator',
      requestId: operation.requestId,
    };
    for (;;) {
      const outcome = await this.#calls.recorded(process, operation, methods.reset, request, (response) => ({
        ...operation,
        newRunId: response.runId,
      }));
      if (outcome.kind !== 'unknown') return outcome.kind === 'ok' ? outcome.response.runId : runId;
    }
  }

  /** As soon as there is one, or never. */
  async #resettable(workflowId: string, runId: string): Promise<number | undefined> {
    for (const untilMs = Date.now() + RESETTABLE_WITHIN_MS; Date.now() < untilMs; await delay(20)) {
      const read = await this.#calls.readHistory(workflowId, runId);
      const ends = read.kind === 'ok' ? read.response.filter(({ type }) => resettable.has(type)) : [];
      if (ends.length > 0) return ends[Math.floor(this.#options.random() * ends.length)]?.eventId;
    }
    return undefined;
  }

  async #recordRead(process: number, workflowId: string, runId: string): Promise<void> {
    const operation: Operation = { f: 'read', workflowId, runId, events: [] };
    this.recorder.add('invoke', process, operation);
    const read = await this.#calls.readHistory(workflowId, runId);
    if (read.kind === 'ok') this.recorder.add('ok', process, { ...operation, events: read.response });
    else this.recorder.add(read.kind === 'fail' ? 'fail' : 'info', process, operation);
  }

  // ── Workers ────────────────────────────────────────────────────────────────────────────────────────────────────────────────

  async #workflowLoop(): Promise<void> {
    const process = this.recorder.newProcess();
    while (this.#working) {
      const request: messages.PollWorkflowTaskQueueRequest = {
        ...messages.emptyPollWorkflowTaskQueueRequest(),
        namespace: this.#calls.namespace,
        taskQueue: { name: this.#taskQueue, kind: TaskQueueKind.NORMAL, normalName: '' },
        identity: `crash-worker ${randomUUID()}`,
      };
      const poll = await this.#calls.poll(methods.pollWorkflow, request);
      if (poll.kind !== 'ok') continue;
      if (poll.response.taskToken.length > 0) await this.#playWorkflowTask(process, poll.response);
      else this.emptyPolls.set(request.identity, Date.now());
    }
  }

  async #playWorkflowTask(process: number, task: messages.PollWorkflowTaskQueueResponse): Promise<void> {
    const events = (task.history?.events ?? []).map((bytes) => decodeHistoryEvent(bytes));
    const { workflowId, runId } = task.workflowExecution!;
    const { startedEventId, attempt } = task;
    const pollId = randomUUID();
    const speculative = task.messages.length === 0 ? {} : { speculativeSinceMs: task.startedTimeMs };
    this.#deliver(process, {
      f: 'deliver',
      task: 'workflow',
      runId,
      scheduledEventId: startedEventId - 1,
      attempt,
      pollId,
      ...speculative,
    });
    const played = play(events, task.messages, { taskQueue: this.#taskQueue, outcome: pollId });
    const operation: Operation = {
      ...{ f: 'completeWorkflowTask', workflowId, runId, startedEventId },
      ...{ closes: closesRun(played.commands), changesNothing: changesNothing(played) },
    };
    const request: messages.RespondWorkflowTaskCompletedRequest = {
      ...messages.emptyRespondWorkflowTaskCompletedRequest(),
      namespace: this.#calls.namespace,
      taskToken: task.taskToken,
      identity: 'crash-worker',
      capabilities: { discardSpeculativeWorkflowTaskWithEvents: true },
      ...played,
    };
    await this.#untilAnswered(process, operation, methods.completeWorkflow, request, ({ resetHistoryEventId }) => ({
      ...operation,
      isDropped: resetHistoryEventId > 0,
    }));
  }

  async #activityLoop(): Promise<void> {
    const process = this.recorder.newProcess();
    while (this.#working) {
      const request: messages.PollActivityTaskQueueRequest = {
        ...messages.emptyPollActivityTaskQueueRequest(),
        namespace: this.#calls.namespace,
        taskQueue: { name: this.#taskQueue, kind: TaskQueueKind.NORMAL, normalName: '' },
        identity: 'crash-worker',
      };
      const poll = await this.#calls.poll(methods.pollActivity, request);
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
      namespace: this.#calls.namespace,
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
    completed?: (response: Response) => Operation,
  ): Promise<void> {
    for (;;) {
      const outcome = await this.#calls.recorded(process, operation, method, request, completed);
      if (outcome.kind !== 'unknown' || !this.#working) return;
    }
  }
}
