/**
 * One shard in a test: a live core, and a replica that lives on the encoded journal alone. After every command both must be equal.
 *
 *   const shard = new ShardUnderTest();
 *   shard.start();                                   a workflow 'wf'
 *   const task = shard.pollWorkflowTask();           a worker takes its workflow task
 *   shard.complete(task, [completeWorkflow()]);      and answers it
 *   expect(shard.history()).toEqual([...]);
 */
import type { ActivityOptionsChange, PrepareReset, ResetWorkflow } from '../../src/history/commands/operation-commands.ts';
import assert from 'node:assert/strict';
import type { FailureFacts } from '../../src/history/commands/failure.ts';
import type { HistoryEffect } from '../../src/history/run/effects.ts';
import type { RunKey } from '../../src/kernel/run-key.ts';
import type {
  CompleteWorkflowTask,
  DeleteWorkflow,
  DecidedRequest,
  HistoryCommand,
  OutboxMessage,
  QueryWorkflow,
  ResolvedCompletion,
  SignalAttributes,
  StartAttributes,
  StartWorkflow,
  TerminateWorkflow,
  WorkflowTaskRef,
} from '../../src/history/commands/history-commands.ts';
import type { UpdateAttributes, UpdateWorkflow } from '../../src/history/commands/update-commands.ts';
import type { WorkflowCommand } from '../../src/history/commands/workflow-commands.ts';
import type { EventKind, EventOf, HistoryEvent } from '../../src/history/run/events.ts';
import { canonicalText } from '../../src/history/run/canonical.ts';
import type { StateWire } from '../../src/history/shard/state-wire.ts';
import { type HandledHistory, HistoryCore } from '../../src/history/history-core.ts';
import type { HistoryLimits } from '../../src/history/run/history-limits.ts';
import type { HistoryRecord } from '../../src/history/run/record.ts';
import type {
  CompletedWorkflowTask,
  Description,
  HistoryReply,
  Rejection,
  StartedActivityTask,
  StartedWorkflowTask,
} from '../../src/history/run/history-replies.ts';
import { outboxOutcome } from '../../src/history/tasks/outbox.ts';
import { isDispatch, isSide, type TimerTask, type TransferTask } from '../../src/history/run/tasks.ts';
import type { TaskPlace } from '../../src/history/commands/shard-task-commands.ts';
import { historyCodec } from '../../src/codec/history-codec.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { encodeCallback } from '../../src/wire/generated/lean/callback.ts';
import { encodeRequest, type Request as UpdateRequest } from '../../src/wire/generated/lean/update.ts';
import { stepOf } from './batch-step.ts';
import { completion } from './completion.ts';

export const namespaceId = 'ns-id';
export const key: RunKey = { namespaceId, workflowId: 'wf', runId: '' };

/** What is registered. */
const searchAttributeTypes: ReadonlyMap<string, number> = new Map([
  ['CustomKeywordField', 2],
  ['CustomIntField', 3],
]);

export class ShardUnderTest {
  core: HistoryCore;
  readonly #replica: HistoryCore;
  readonly records: HistoryRecord[] = [];
  readonly effects: HistoryEffect[] = [];
  readonly #histories = new Map<string, HistoryEvent[]>();
  nowMs = 1_700_000_000_000;
  /** Of its namespace, as its shell knows it when a run's time is over. */
  retentionMs: number | undefined;
  #nextAskId = 1;
  #nextRun = 1;
  #nextRequest = 1;
  readonly #settled = new Set<number>();
  /** Checks the replica after every command; turned off where only speed matters. */
  checks = true;

  /** `stateWire`: its state can be written to a table (checkpointed-shard.ts). */
  constructor(limits: Partial<HistoryLimits> = {}, stateWire?: StateWire) {
    this.core = new HistoryCore({ wire: historyWire, limits, ...(stateWire === undefined ? {} : { stateWire }) });
    this.#replica = new HistoryCore({ wire: historyWire, limits });
  }

  get lastAskId(): number {
    return this.#nextAskId - 1;
  }

  advance(ms: number): void {
    this.nowMs += ms;
  }

  newRunId(): string {
    return `00000000-0000-4000-8000-${String(this.#nextRun++).padStart(12, '0')}`;
  }

  newRequestId(): string {
    return `request-${this.#nextRequest++}`;
  }

  /** Undefined: the answer comes later, as an effect. */
  ask(command: HistoryCommand): HistoryReply | undefined {
    const handled = this.decide(command);
    this.effects.push(...handled.effects);
    this.core.accept(handled);
    if (handled.kind === 'wait') return undefined;
    if (handled.kind === 'commit') this.#committed(handled.record);
    return handled.reply;
  }

  /** As the shard's shell hands it on. */
  request(request: DecidedRequest | CompleteWorkflowTask | QueryWorkflow): HistoryReply | undefined {
    if (request.kind === 'completeWorkflowTask')
      return this.ask({ ...request, searchAttributeTypes, searchAttributeTypesElsewhere: undefined });
    if (request.kind === 'queryWorkflow') return this.ask({ ...request, remainingMs: request.deadlineMs - this.nowMs });
    return this.ask(request);
  }

  /** The partition hands the command back: its record is larger than the journal takes. Undefined: it is refused. */
  tooLarge(command: HistoryCommand): HistoryReply | undefined {
    const handled = this.core.tooLarge(command, this.nowMs, this.#nextAskId++);
    if (handled === undefined) return undefined;
    this.effects.push(...handled.effects);
    this.core.accept(handled);
    if (handled.kind === 'commit') this.#committed(handled.record);
    return handled.kind === 'wait' ? undefined : handled.reply;
  }

  /** What would become of the command: a decision only reads. */
  decide(command: HistoryCommand): HandledHistory {
    const before = this.checks ? this.#memory() : '';
    const handled = this.core.handle(command, this.nowMs, this.#nextAskId++);
    if (this.checks) assert.equal(this.#memory(), before, `${command.kind} changed memory while it was decided`);
    return handled;
  }

  /** The caller of that ask no longer waits. */
  cancel(askId: number): void {
    this.core.accept(this.core.cancel(askId));
  }

  #memory(): string {
    return `${this.core.canonicalState()}\n${this.core.canonicalVolatile()}`;
  }

  #committed(record: HistoryRecord): void {
    this.records.push(record);
    const { value, schema } = historyCodec.encode(record);
    const decoded = historyCodec.decode(value, schema);
    for (const { runId, events } of decoded.runs) {
      const history = this.#histories.get(runId) ?? [];
      this.#histories.set(runId, history);
      for (const { event } of events) history.push(event);
    }
    if (!this.checks) return;
    assert.equal(canonicalText(decoded), canonicalText(byTaskKind(record)), 'what was written is what is read');
    this.#replica.evolve(decoded);
    assert.equal(this.#replica.canonicalState(), this.core.canonicalState(), 'replay equals live');
  }

  expectDone(command: HistoryCommand): void {
    assert.deepEqual(this.ask(command), { kind: 'done' });
  }

  expectRejected(command: HistoryCommand): Rejection {
    const before = this.core.canonicalState();
    const reply = this.ask(command);
    assert.equal(this.core.canonicalState(), before, 'a rejection changes nothing');
    if (reply?.kind !== 'rejected') throw new Error(`expected a rejection, got ${JSON.stringify(reply)}`);
    return reply.rejection;
  }

  start(change: Partial<Omit<StartWorkflow, 'start'>> & { readonly start?: Partial<StartAttributes> } = {}): string {
    const reply = this.ask(this.startCommand(change));
    if (reply?.kind !== 'started') throw new Error(`not started: ${JSON.stringify(reply)}`);
    return reply.runId;
  }

  startCommand(change: Partial<Omit<StartWorkflow, 'start'>> & { readonly start?: Partial<StartAttributes> } = {}): StartWorkflow {
    return {
      kind: 'startWorkflow',
      key,
      namespace: 'ns',
      newRunId: this.newRunId(),
      requestId: this.newRequestId(),
      policies: { reusePolicy: 1, conflictPolicy: 1 },
      parent: undefined,
      onConflict: undefined,
      ...change,
      start: startAttributes(change.start),
    };
  }

  signal(change: Partial<SignalAttributes> = {}): HistoryReply | undefined {
    return this.ask({
      kind: 'signalWorkflow',
      key,
      signal: signalAttributes({ requestId: this.newRequestId(), ...change }),
      childOf: undefined,
    });
  }

  /** As the edge asks it, that has read the run: another one goes on in the place of its event `finishEventId`. */
  resetCommand(finishEventId: number, change: Partial<ResetWorkflow> = {}): ResetWorkflow {
    const runKey = this.describe(change.key).key;
    const events = this.events(runKey.runId);
    const encoded = events.map((event) => historyWire.encodeEvent(event));
    return {
      kind: 'resetWorkflow',
      newRunId: this.newRunId(),
      requestId: this.newRequestId(),
      reason: 'a bad deployment',
      isPrepared: false,
      keptEvents: encoded.slice(0, finishEventId - 1),
      laterEvents: encoded.slice(finishEventId - 1),
      readTo: { runId: runKey.runId, lastEventId: events.length },
      reappliesSignals: true,
      priorityChanges: [],
      ...change,
      key: runKey,
    };
  }

  /** The same of a long history: the run has been given its events, so many at once, and the last command is left to ask. */
  prepareReset(finishEventId: number, change: Partial<ResetWorkflow> = {}, eventsAtOnce = 2): ResetWorkflow {
    const { keptEvents, ...command } = this.resetCommand(finishEventId, change);
    for (const part of partsOf({ ...command, keptEvents }, eventsAtOnce)) {
      assert.deepEqual(this.ask(part), { kind: 'workflowReset', runId: command.newRunId });
    }
    return { ...command, isPrepared: true, keptEvents: [] };
  }

  /** Answers the id of the run that goes on. */
  reset(finishEventId: number, change: Partial<ResetWorkflow> = {}): string {
    const reply = this.ask(this.resetCommand(finishEventId, change));
    if (reply?.kind !== 'workflowReset') throw new Error(`not reset: ${JSON.stringify(reply)}`);
    return reply.runId;
  }

  /** By their ids, in memory or not. */
  transfers(): readonly TransferTask[] {
    return [...this.core.shard.transfers.values()].toSorted((one, other) => one.taskId - other.taskId);
  }

  pendingTask<Kind extends TransferTask['kind']>(kind: Kind): Extract<TransferTask, { readonly kind: Kind }> {
    for (const task of this.transfers()) {
      if (task.kind === kind) return task as Extract<TransferTask, { readonly kind: Kind }>;
    }
    throw new Error(`no ${kind} task is pending`);
  }

  pendingTasks(): readonly TransferTask['kind'][] {
    return this.transfers().map((task) => task.kind);
  }

  pollWorkflowTask(pollRequestId = this.newRequestId()): StartedWorkflowTask {
    const { key: taskKey, scheduledEventId, stamp, taskQueue } = this.pendingTask('workflowTask');
    const reply = this.ask({
      kind: 'startWorkflowTask',
      key: taskKey,
      scheduledEventId,
      stamp,
      pollRequestId,
      identity: 'worker',
      taskQueue,
    });
    if (reply?.kind !== 'workflowTask') throw new Error(`no workflow task: ${JSON.stringify(reply)}`);
    return reply;
  }

  pollActivityTask(pollRequestId = this.newRequestId()): StartedActivityTask {
    const { key: taskKey, scheduledEventId, stamp } = this.pendingTask('activityTask');
    const reply = this.ask({
      kind: 'startActivityTask',
      key: taskKey,
      scheduledEventId,
      stamp,
      pollRequestId,
      identity: 'worker',
      workerVersion: undefined,
    });
    if (reply?.kind !== 'activityTask') throw new Error(`no activity task: ${JSON.stringify(reply)}`);
    return reply;
  }

  completion(
    task: StartedWorkflowTask,
    commands: readonly WorkflowCommand[],
    change: Partial<ResolvedCompletion> = {},
  ): ResolvedCompletion {
    return {
      ...completion(task, commands),
      newRunId: this.newRunId(),
      pollRequestId: this.newRequestId(),
      searchAttributeTypes,
      searchAttributeTypesElsewhere: undefined,
      ...change,
    };
  }

  complete(
    task: StartedWorkflowTask,
    commands: readonly WorkflowCommand[] = [],
    change: Partial<ResolvedCompletion> = {},
  ): CompletedWorkflowTask {
    const reply = this.ask(this.completion(task, commands, change));
    if (reply?.kind !== 'workflowTaskCompleted') throw new Error(`not completed: ${JSON.stringify(reply)}`);
    return reply;
  }

  /** A completion that is refused; what it wrote all the same is in the history. */
  completeBadly(task: StartedWorkflowTask, commands: readonly WorkflowCommand[], change: Partial<ResolvedCompletion> = {}): Rejection {
    const reply = this.ask(this.completion(task, commands, change));
    if (reply?.kind !== 'rejected') throw new Error(`expected a rejection, got ${JSON.stringify(reply)}`);
    return reply.rejection;
  }

  completeActivity(task: StartedActivityTask, result: Uint8Array | undefined = bytes('result')): void {
    this.expectDone({ kind: 'completeActivityTask', activity: activityRef(task), result, identity: 'worker' });
  }

  describe(runKey: RunKey = key): Description {
    const reply = this.ask({ kind: 'describeWorkflow', key: runKey });
    if (reply?.kind !== 'description') throw new Error(`no description: ${JSON.stringify(reply)}`);
    return reply;
  }

  /** Carries the outbox, as the shell does, until nothing is left to carry. */
  pumpOutbox(): void {
    for (let step = 0; step < 100; step++) {
      const task = this.transfers().find(
        ({ kind, taskId }) => kind !== 'workflowTask' && kind !== 'activityTask' && kind !== 'invokeCallback' && !this.#settled.has(taskId),
      );
      if (task === undefined) {
        this.ask({ kind: 'flushFinishedTasks' });
        return;
      }
      this.carry(task);
    }
    throw new Error('the outbox never gets empty');
  }

  /** Undefined: there is nothing to ask (any more). */
  outboxMessage(taskId: number, newRunId = this.newRunId()): OutboxMessage | undefined {
    const handled = this.decide({ kind: 'runOutboxTask', taskId, newRunId, tries: { attempt: 1, failures: 0 } });
    assert.equal(handled.kind, 'wait', 'a message writes nothing');
    const [effect] = handled.effects;
    if (effect?.kind !== 'deliver') return undefined;
    assert.equal(effect.taskId, taskId);
    return effect.message;
  }

  carry(task: TransferTask): void {
    if (!this.tryCarry(task)) throw new Error(`${task.kind} is not settled`);
  }

  /** False: the target is busy, the shell would try again later. */
  tryCarry(task: TransferTask): boolean {
    if (isDispatch(task) || isSide(task)) throw new Error(`${task.kind} is for no other shard`);
    const outbox = this.outboxMessage(task.taskId);
    const reply = outbox === undefined ? undefined : this.ask(outbox.command);
    const outcome = reply === undefined ? ({ kind: 'done' } as const) : outboxOutcome(task.kind, reply);
    if (outcome === undefined) {
      const isBusy = reply?.kind === 'rejected' && reply.rejection.reason === 'busy-workflow';
      assert.equal(isBusy, true, `${task.kind} can be tried again`);
      return false;
    }
    this.expectDone({ kind: 'finishOutboxTask', taskId: task.taskId, outcome });
    this.#settled.add(task.taskId);
    return true;
  }

  /** The target is asked, and its answer does not arrive. */
  carryInVain(task: TransferTask): void {
    const outbox = this.outboxMessage(task.taskId);
    if (outbox !== undefined) this.ask(outbox.command);
  }

  /** Carries what can be carried; a busy target keeps what is for it. */
  pumpOutboxIfPossible(): void {
    for (let round = 0; round < 20; round++) {
      const tasks = this.transfers().filter(
        ({ kind, taskId }) => kind !== 'workflowTask' && kind !== 'activityTask' && !this.#settled.has(taskId),
      );
      for (const task of tasks) this.tryCarry(task);
    }
  }

  /** Fires every timer that is due. */
  fireDueTimers(): void {
    for (let fired = 0; fired < 1000; fired++) {
      const next = this.nextTimer();
      if (next === undefined || next.fireTimeMs > this.nowMs) return;
      const task = this.core.shard.timers.get(next.taskId);
      if (task?.kind === 'batchStep') this.#takeBatchStep(task);
      else this.ask({ kind: 'fireTimer', taskId: next.taskId, jitter: 0.5, newRunId: this.newRunId(), retentionMs: this.retentionMs });
    }
    throw new Error('timers fire without end');
  }

  /** As a job over a few workflows would have it taken beside the shard. */
  #takeBatchStep({ key, taskId }: TimerTask): void {
    const job = this.ask({ kind: 'describeBatch', key });
    if (job?.kind !== 'batchDescription') throw new Error(`a step is due of ${job?.kind}`);
    const next = job.progress.steps < 3 ? ({ kind: 'goesOn', pauseMs: 1_000 } as const) : ({ kind: 'completed' } as const);
    this.ask({ kind: 'batchStepped', key, taskId, step: stepOf(job.progress, { next }) });
  }

  nextTimer(): TaskPlace | undefined {
    return this.core.shard.timers.next();
  }

  /** Lets time pass up to the next timer, and fires it. */
  fireNextTimer(): void {
    const next = this.nextTimer();
    if (next === undefined) throw new Error('no timer is armed');
    this.nowMs = Math.max(this.nowMs, next.fireTimeMs);
    this.fireDueTimers();
  }

  events(runId?: string): readonly HistoryEvent[] {
    return this.#histories.get(runId ?? this.describe().key.runId) ?? [];
  }

  history(runId?: string): readonly EventKind[] {
    return this.events(runId).map((event) => event.type);
  }

  lastEvent<Kind extends EventKind>(kind: Kind, runId?: string): EventOf<Kind> {
    const found = this.events(runId).findLast((event) => event.type === kind);
    if (found === undefined) throw new Error(`no ${kind} in ${this.history(runId).join(', ')}`);
    return found as EventOf<Kind>;
  }

  runIds(): readonly string[] {
    return [...this.#histories.keys()];
  }
}

/** The journal keeps transfer tasks and timers apart; the order among each of them stays. */
function byTaskKind(record: HistoryRecord): HistoryRecord {
  const timers = record.tasks.filter((task) => 'fireTimeMs' in task);
  return { ...record, tasks: [...record.tasks.filter((task) => !('fireTimeMs' in task)), ...timers] };
}

export function refOf(task: StartedWorkflowTask): WorkflowTaskRef {
  const { key: taskKey, scheduledEventId, startedEventId, startedTimeMs, attempt } = task;
  return { key: taskKey, scheduledEventId, startedEventId, startedTimeMs, attempt };
}

export function activityRef(task: StartedActivityTask) {
  return { key: task.key, scheduledEventId: task.scheduledEventId, activityId: task.activityId, attempt: task.attempt };
}

export function startAttributes(change: Partial<StartAttributes> = {}): StartAttributes {
  return {
    workflowType: 'Type',
    taskQueue: { name: 'queue', kind: 1, normalName: '' },
    input: bytes('input'),
    header: undefined,
    memo: undefined,
    searchAttributes: undefined,
    executionTimeoutMs: 0,
    runTimeoutMs: 0,
    taskTimeoutMs: 0,
    startDelayMs: 0,
    identity: 'client',
    userMetadata: undefined,
    links: [],
    priority: undefined,
    retryPolicy: undefined,
    cronSchedule: '',
    ...change,
  };
}

export function signalAttributes(change: Partial<SignalAttributes> = {}): SignalAttributes {
  return {
    signalName: 'signal',
    input: undefined,
    header: undefined,
    identity: 'client',
    requestId: '',
    links: [],
    externalWorkflowExecution: undefined,
    ...change,
  };
}

export function terminateWorkflow(change: Partial<TerminateWorkflow> = {}): TerminateWorkflow {
  return {
    kind: 'terminateWorkflow',
    key,
    firstExecutionRunId: '',
    reason: 'enough',
    details: undefined,
    identity: 'client',
    links: [],
    childOf: undefined,
    ...change,
  };
}

export function updateWorkflow(
  updateId = 'u1',
  change: Partial<UpdateWorkflow> & { readonly waitStage?: 'accepted' | 'completed' } = {},
): UpdateWorkflow {
  const { waitStage = 'completed', ...others } = change;
  const update = { updateId, request: new TextEncoder().encode(`request of ${updateId}`), waitStage };
  return { kind: 'updateWorkflow', key, firstExecutionRunId: '', update, ...others };
}

/** As the edge passes one on. */
export function updateRequest(updateId: string, change: Partial<UpdateRequest> = {}): Uint8Array {
  const input = { header: undefined, name: 'add', args: undefined };
  const meta = { updateId, identity: 'caller' };
  return encodeRequest({ meta, input, requestId: '', completionCallbacks: [], links: [], ...change });
}

const callback = encodeCallback({ nexus: { url: 'http://example.com/', header: new Map() }, links: [] });

/** With completion callbacks. */
export function attachingUpdate(updateId: string, requestId: string, callbacks: readonly Uint8Array[] = [callback]): UpdateAttributes {
  return {
    updateId,
    request: updateRequest(updateId, { requestId, completionCallbacks: callbacks }),
    waitStage: 'completed',
    attachment: { requestId, callbacks, callbacksMax: 2_000, updateCallbacksMax: 32 },
  };
}

export function protocolMessage(messageId: string): WorkflowCommand {
  return { type: 'protocolMessage', userMetadata: undefined, attributes: { messageId } };
}

export function deleteWorkflow(runKey: RunKey = key): DeleteWorkflow {
  return { kind: 'deleteWorkflow', key: runKey };
}

export function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

export function failWorkflow(change: Partial<FailureFacts> = {}): WorkflowCommand {
  const facts = { kind: 'application', type: 'Passing', nonRetryable: false, nextRetryDelayMs: 0, message: 'no', ...change } as const;
  return {
    type: 'failWorkflowExecution',
    userMetadata: undefined,
    attributes: {
      failure: {
        facts,
        bytes: historyWire.encodeFailure({ message: 'no', cause: undefined, info: { kind: 'server', nonRetryable: false } }),
      },
    },
  };
}

/** An encoded Memo or SearchAttributes: a JSON text for each name. */
export function fields(values: Readonly<Record<string, string>>): Uint8Array {
  const entries = Object.entries(values).map(([name, text]): [string, Uint8Array] => [name, jsonPayload(text)]);
  return historyWire.encodeFields(new Map(entries));
}

/** A Payload: the metadata map's entry, then the data. */
function jsonPayload(text: string): Uint8Array {
  const encoding = [10, 8, ...bytes('encoding'), 18, 10, ...bytes('json/plain')];
  return Uint8Array.from([10, encoding.length, ...encoding, 18, bytes(text).length, ...bytes(text)]);
}

type AttributesFor<Type extends WorkflowCommand['type']> = NonNullable<Extract<WorkflowCommand, { readonly type: Type }>['attributes']>;

export function scheduleActivity(change: Partial<AttributesFor<'scheduleActivityTask'>> = {}): WorkflowCommand {
  return {
    type: 'scheduleActivityTask',
    userMetadata: undefined,
    attributes: {
      activityId: 'a1',
      activityType: 'Activity',
      taskQueue: { name: 'queue', kind: 1, normalName: '' },
      header: undefined,
      input: bytes('activity input'),
      scheduleToCloseTimeoutMs: 0,
      scheduleToStartTimeoutMs: 0,
      startToCloseTimeoutMs: 10_000,
      heartbeatTimeoutMs: 0,
      retryPolicy: undefined,
      requestEagerExecution: false,
      useWorkflowBuildId: false,
      priority: undefined,
      ...change,
    },
  };
}

export function startTimer(timerId = 't1', startToFireTimeoutMs = 1000): WorkflowCommand {
  return { type: 'startTimer', userMetadata: undefined, attributes: { timerId, startToFireTimeoutMs } };
}

export function cancelTimer(timerId = 't1'): WorkflowCommand {
  return { type: 'cancelTimer', userMetadata: undefined, attributes: { timerId } };
}

export function cancelActivity(scheduledEventId: number): WorkflowCommand {
  return { type: 'requestCancelActivityTask', userMetadata: undefined, attributes: { scheduledEventId } };
}

export function completeWorkflow(result: Uint8Array | undefined = bytes('done')): WorkflowCommand {
  return { type: 'completeWorkflowExecution', userMetadata: undefined, attributes: { result } };
}

export function startChild(change: Partial<AttributesFor<'startChildWorkflowExecution'>> = {}): WorkflowCommand {
  return {
    type: 'startChildWorkflowExecution',
    userMetadata: undefined,
    attributes: {
      namespace: '',
      namespaceId: '',
      workflowId: 'child',
      workflowType: 'ChildType',
      taskQueue: undefined,
      input: undefined,
      header: undefined,
      memo: undefined,
      searchAttributes: undefined,
      executionTimeoutMs: 0,
      runTimeoutMs: 0,
      taskTimeoutMs: 0,
      parentClosePolicy: 0,
      workflowIdReusePolicy: 0,
      control: '',
      retryPolicy: undefined,
      cronSchedule: '',
      inheritBuildId: false,
      priority: undefined,
      ...change,
    },
  };
}

export function continueAsNew(change: Partial<AttributesFor<'continueAsNewWorkflowExecution'>> = {}): WorkflowCommand {
  return {
    type: 'continueAsNewWorkflowExecution',
    userMetadata: undefined,
    attributes: {
      workflowType: '',
      taskQueue: undefined,
      input: bytes('next input'),
      header: undefined,
      memo: undefined,
      searchAttributes: undefined,
      runTimeoutMs: 0,
      taskTimeoutMs: 0,
      backoffStartIntervalMs: 0,
      initiator: 1,
      failure: undefined,
      lastCompletionResult: undefined,
      retryPolicy: undefined,
      cronSchedule: '',
      inheritBuildId: false,
      ...change,
    },
  };
}

export function optionsChange(change: Partial<ActivityOptionsChange>): ActivityOptionsChange {
  return {
    fields: [],
    taskQueue: '',
    scheduleToCloseTimeoutMs: 0,
    scheduleToStartTimeoutMs: 0,
    startToCloseTimeoutMs: 0,
    heartbeatTimeoutMs: 0,
    retryPolicy: undefined,
    priority: undefined,
    ...change,
  };
}

/** The kept events of a reset, as the edge sends them of a long history. */
export function partsOf({ key: base, newRunId, requestId, keptEvents }: ResetWorkflow, eventsAtOnce: number): readonly PrepareReset[] {
  const parts: PrepareReset[] = [];
  for (let at = 0; at < keptEvents.length; at += eventsAtOnce) {
    const events = keptEvents.slice(at, at + eventsAtOnce);
    parts.push({ kind: 'prepareReset', key: base, newRunId, requestId, firstEventId: at + 1, events });
  }
  return parts;
}
