/** Random programs of commands against one shard, as worker, client and clock together would cause them. */
import fc from 'fast-check';
import { expect } from 'vitest';
import type { ActivityOperationRequest, ResetWorkflow } from '../../src/history/commands/operation-commands.ts';
import type { RunKey } from '../../src/kernel/run-key.ts';
import type { OutboxMessage, StartAttributes, StartWorkflow } from '../../src/history/commands/history-commands.ts';
import type { HistoryEffect } from '../../src/history/run/effects.ts';
import { outboxOutcome } from '../../src/history/tasks/outbox.ts';
import { type DispatchTask, isDispatch, isSide, type SideTask, type TransferTask } from '../../src/history/run/tasks.ts';
import type { UpdateMessage } from '../../src/history/commands/update-commands.ts';
import type { WorkflowCommand } from '../../src/history/commands/workflow-commands.ts';
import type { StartedActivityTask, StartedWorkflowTask } from '../../src/history/run/history-replies.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { aJobKey, startBatch } from './batch-commands.ts';
import { aScheduleKey, createSchedule, patchSchedule, updateSchedule } from './schedule-commands.ts';
import {
  activityRef,
  bytes,
  cancelActivity,
  cancelTimer,
  completeWorkflow,
  continueAsNew,
  deleteWorkflow,
  fields,
  namespaceId,
  optionsChange,
  partsOf,
  protocolMessage,
  refOf,
  scheduleActivity,
  type ShardUnderTest,
  signalAttributes,
  startChild,
  startTimer,
  terminateWorkflow,
  updateRequest,
} from './shard-under-test.ts';

const ids = ['wf', 'other', 'child'];
const number = fc.nat(1000);

/** JSON texts by name, as workers set them; some of them unset their attribute, some fit no column of a database. */
export const searchAttributeTexts: readonly Readonly<Record<string, string>>[] = [
  { CustomKeywordField: '"red"' },
  { CustomKeywordField: '"a\\u0000b\\ud800"', CustomIntField: '[5]' },
  { CustomKeywordField: '["blue"]', CustomIntField: 'null' },
  { CustomKeywordField: '""', CustomIntField: '9007199254740993' },
  { CustomIntField: '1e30' },
  { CustomIntField: '-7' },
  { CustomKeywordField: 'null' },
];

/** Attempts of a retry policy; undefined: there is none. */
const retriesOf = fc.constantFrom(undefined, undefined, 0, 1, 2);
const cronOf = fc.constantFrom('', '', '', '@every 2s', '* * * * *');

const workflowCommand = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant('schedule' as const),
      id: fc.nat(3),
      eager: fc.boolean(),
      attempts: fc.nat(2),
      s2c: fc.constantFrom(0, 5000),
      heartbeat: fc.constantFrom(0, 2000),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('timer' as const), id: fc.nat(2), ms: fc.constantFrom(0, 500, 5000) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancelTimer' as const), id: fc.nat(2) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('cancelActivity' as const), n: number }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('child' as const), id: fc.nat(2), policy: fc.nat(3), retries: retriesOf, cron: cronOf }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('signalOther' as const), id: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancelOther' as const), id: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('marker' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('upsert' as const), attributes: fc.constantFrom(...searchAttributeTexts) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('memo' as const), value: fc.constantFrom('1', '"two"', 'null') }) },
);
/** What a worker says of the updates that come with a task. */
const updateAnswers = ['complete', 'complete', 'accept', 'reject', 'reject', 'ignore', 'unknown', 'respond'] as const;
const closeCommand = fc.oneof(
  { weight: 8, arbitrary: fc.constant(null) },
  { weight: 1, arbitrary: fc.constantFrom('complete' as const, 'fail' as const, 'cancel' as const, 'continue' as const) },
);

export const programStep = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('start' as const),
      id: fc.nat(2),
      reuse: fc.nat(2),
      conflict: fc.nat(2),
      delay: fc.constantFrom(0, 0, 1000),
      run: fc.constantFrom(0, 0, 8000),
      execution: fc.constantFrom(0, 0, 0, 20_000),
      retries: retriesOf,
      cron: cronOf,
      eager: fc.constantFrom(false, false, true),
      attributes: fc.constantFrom(undefined, ...searchAttributeTexts),
    }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('signal' as const), id: fc.nat(2), repeat: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('signalWithStart' as const), id: fc.nat(2), terminate: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('cancel' as const), id: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('terminate' as const), id: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('delete' as const), id: fc.nat(2) }) },
  { weight: 12, arbitrary: fc.record({ do: fc.constant('pollWorkflow' as const), n: number, normal: fc.boolean() }) },
  {
    weight: 12,
    arbitrary: fc.record({
      do: fc.constant('completeTask' as const),
      n: number,
      commands: fc.array(workflowCommand, { maxLength: 4 }),
      close: closeCommand,
      retries: retriesOf,
      cron: cronOf,
      sticky: fc.boolean(),
      inline: fc.boolean(),
      force: fc.boolean(),
      keep: fc.boolean(),
      updates: fc.constantFrom(...updateAnswers),
      discards: fc.boolean(),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('failTask' as const), n: number }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('pollActivity' as const), n: number }) },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constant('activity' as const), n: number, how: fc.nat(5), keep: fc.boolean() }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('operate' as const),
      id: fc.nat(2),
      how: fc.constantFrom('pause' as const, 'unpause' as const, 'reset' as const, 'update' as const, 'restore' as const),
      activity: fc.constantFrom('a0', 'a1', undefined),
      flags: fc.nat(7),
      jitterMs: fc.constantFrom(0, 0, 3000, 20_000),
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('time' as const), ms: fc.constantFrom(1, 400, 2000, 12_000) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('outbox' as const), n: number, answerLost: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('send' as const), n: number }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('arrive' as const), n: number, answerLost: fc.boolean() }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('resetSticky' as const), id: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('query' as const), id: fc.nat(2) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('update' as const),
      id: fc.nat(2),
      update: fc.nat(4),
      accepted: fc.boolean(),
      poll: fc.boolean(),
      starts: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('endSpeculative' as const), id: fc.nat(2) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('reset' as const), id: fc.nat(2), run: number, finish: number, signals: fc.boolean() }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('scheduled' as const),
      how: fc.constantFrom('create' as const, 'create' as const, 'update' as const, 'pause' as const, 'unpause' as const),
      overlap: fc.integer({ min: 1, max: 6 }),
      intervalMs: fc.constantFrom(1000, 5000),
      pauseOnFailure: fc.boolean(),
      actions: fc.constantFrom(undefined, undefined, 1, 3),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('act' as const),
      how: fc.constantFrom('trigger' as const, 'trigger' as const, 'backfill' as const, 'delete' as const),
      overlap: fc.nat(6),
      repeat: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('batch' as const),
      how: fc.constantFrom('start' as const, 'start' as const, 'start' as const, 'stop' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('pause' as const),
      id: fc.nat(2),
      how: fc.constantFrom('pause' as const, 'unpause' as const, 'unpause' as const),
      again: fc.boolean(),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('options' as const),
      id: fc.nat(2),
      field: fc.constantFrom('priority' as const, 'priority.priorityKey' as const, 'priority.fairnessKey' as const),
      priority: fc.constantFrom(undefined, Uint8Array.of(8, 2), Uint8Array.of(8, 5, 18, 1, 97)),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('putAside' as const), id: fc.nat(2), often: fc.nat(3) }) },
);
export type ProgramStep = typeof programStep extends fc.Arbitrary<infer Value> ? Value : never;

/**
 * Programs that leave out some kinds of steps and commands, each of them others: what ends a run, or comes in between, keeps the rest from
 * going far.
 */
export function fewerKinds(programs: fc.Arbitrary<ProgramStep[]>): fc.Arbitrary<ProgramStep[]> {
  return fc.tuple(fc.oneof(fc.constant([]), fc.subarray(dispensable)), programs).map(([leftOut, steps]) => {
    const without = new Set<string>(leftOut);
    return steps.filter((step) => !without.has(step.do)).map((step) => (step.do === 'completeTask' ? onlyCommands(step, without) : step));
  });
}

const dispensable = [
  ...['signal', 'signalWithStart', 'cancel', 'terminate', 'delete', 'failTask', 'pollActivity', 'activity', 'time', 'outbox', 'send'],
  ...['resetSticky', 'query', 'update', 'endSpeculative', 'putAside', 'operate', 'reset', 'scheduled', 'act', 'batch', 'pause', 'options'],
  ...['schedule', 'timer', 'cancelTimer', 'cancelActivity', 'child', 'signalOther', 'cancelOther', 'marker', 'upsert', 'memo'],
  ...['complete', 'fail', 'continue'],
];

function onlyCommands(step: Completion, without: ReadonlySet<string>): Completion {
  const commands = step.commands.filter((command) => !without.has(command.do));
  return { ...step, commands, close: step.close !== null && without.has(step.close) ? null : step.close };
}

/** As a field of bytes says it: of keys 2 and 4. */
const priorities = [undefined, Uint8Array.of(8, 2), Uint8Array.of(8, 4)];

const resettable: ReadonlySet<string> = new Set(['workflowTaskCompleted', 'workflowTaskFailed', 'workflowTaskTimedOut']);

type Completion = Extract<ProgramStep, { readonly do: 'completeTask' }>;
type Command = typeof workflowCommand extends fc.Arbitrary<infer Value> ? Value : never;

type Speculative = Extract<HistoryEffect, { readonly kind: 'speculativeOffered' | 'speculativeStarted' }>;

function isSpeculative(effect: HistoryEffect): effect is Speculative {
  return effect.kind === 'speculativeOffered' || effect.kind === 'speculativeStarted';
}

export class Program {
  readonly shard: ShardUnderTest;
  readonly #workflowTasks: StartedWorkflowTask[] = [];
  readonly #activityTasks: StartedActivityTask[] = [];
  /** On their way, by the id of their task. Whoever sends one again has taken the first out of its target's mailbox. */
  readonly #messages = new Map<number, { readonly task: TaskForOthers; readonly message: OutboxMessage }>();
  #lastSignal = 'none';
  /** Runs that go on from an event of another one. */
  readonly #resetRuns = new Set<string>();

  constructor(shard: ShardUnderTest) {
    this.shard = shard;
  }

  run(step: ProgramStep): void {
    const { shard } = this;
    switch (step.do) {
      case 'start':
        this.#start(
          shard.startCommand({
            key: keyOf(step.id),
            policies: { reusePolicy: [1, 2, 3][step.reuse] as 1 | 2 | 3, conflictPolicy: [1, 2, 3][step.conflict] as 1 | 2 | 3 },
            onConflict: { attachRequestId: true, attachCallbacks: false, attachLinks: false, links: [] },
            eager: step.eager,
            start: {
              startDelayMs: step.cron === '' ? step.delay : 0,
              runTimeoutMs: step.run,
              executionTimeoutMs: step.execution,
              retryPolicy: policyOf(step.retries),
              cronSchedule: step.cron,
              searchAttributes: step.attributes === undefined ? undefined : fields(step.attributes),
            },
          }),
        );
        return;
      case 'signal':
        if (!step.repeat) this.#lastSignal = shard.newRequestId();
        shard.ask({
          kind: 'signalWorkflow',
          key: keyOf(step.id),
          signal: signalAttributes({ requestId: this.#lastSignal }),
          childOf: undefined,
        });
        return;
      case 'signalWithStart': {
        const { start, newRunId, requestId, namespace } = shard.startCommand();
        const policies = { reusePolicy: 1, conflictPolicy: step.terminate ? 3 : 2 } as const;
        const signal = signalAttributes({ requestId: shard.newRequestId() });
        shard.ask({ kind: 'signalWithStartWorkflow', key: keyOf(step.id), namespace, newRunId, requestId, start, policies, signal });
        return;
      }
      case 'cancel':
        shard.ask({
          kind: 'requestCancelWorkflow',
          key: keyOf(step.id),
          firstExecutionRunId: '',
          cause: '',
          identity: 'client',
          requestId: shard.newRequestId(),
          links: [],
          external: undefined,
          childOf: undefined,
        });
        return;
      case 'terminate':
        shard.ask(terminateWorkflow({ key: keyOf(step.id) }));
        return;
      case 'delete':
        shard.ask(deleteWorkflow(keyOf(step.id)));
        return;
      case 'pollWorkflow':
        return this.#pollWorkflow(step.n, step.normal);
      case 'completeTask':
        return this.#completeTask(step);
      case 'failTask': {
        const task = pick(this.#workflowTasks, step.n);
        if (task === undefined) return;
        shard.ask({
          kind: 'failWorkflowTask',
          task: refOf(task),
          cause: 14,
          failure: undefined,
          identity: 'worker',
          binaryChecksum: '',
          jitter: 0.5,
        });
        return;
      }
      case 'pollActivity':
        return this.#pollActivity(step.n);
      case 'activity':
        return this.#endActivity(step.n, step.how, step.keep);
      case 'operate':
        shard.ask(operation(step));
        return;
      case 'time':
        shard.advance(step.ms);
        shard.fireDueTimers();
        return;
      case 'outbox': {
        const task = pick(shard.transfers().filter(isForOthers), step.n);
        if (task === undefined) return;
        this.#messages.delete(task.taskId);
        if (step.answerLost) shard.carryInVain(task);
        else shard.tryCarry(task);
        return;
      }
      case 'send': {
        const task = pick(shard.transfers().filter(isForOthers), step.n);
        if (task === undefined) return;
        this.#messages.delete(task.taskId);
        const message = shard.outboxMessage(task.taskId);
        if (message !== undefined) this.#messages.set(task.taskId, { task, message });
        return;
      }
      case 'arrive': {
        const sent = pick([...this.#messages.values()], step.n);
        if (sent === undefined) return;
        const { task, message } = sent;
        this.#messages.delete(task.taskId);
        const reply = shard.ask(message.command);
        if (step.answerLost) return;
        const outcome = reply === undefined ? undefined : outboxOutcome(task.kind, reply);
        if (outcome !== undefined) shard.expectDone({ kind: 'finishOutboxTask', taskId: task.taskId, outcome });
        return;
      }
      case 'resetSticky':
        shard.ask({ kind: 'resetStickyTaskQueue', key: keyOf(step.id) });
        return;
      case 'query':
        shard.request({
          kind: 'queryWorkflow',
          key: keyOf(step.id),
          queryId: shard.newRequestId(),
          query: bytes('query'),
          rejectCondition: 1,
          deadlineMs: shard.nowMs + 10_000,
        });
        return;
      case 'putAside': {
        const reply = shard.ask({ kind: 'describeWorkflow', key: keyOf(step.id) });
        // Seldom: a program that ends here is a dull one.
        if (reply?.kind !== 'description' || step.often > 0) return;
        shard.expectDone({ kind: 'putAside', key: reply.key, failedCommand: 'fireTimer', taskId: 0, reason: 'random' });
        return;
      }
      case 'pause':
        shard.ask({
          kind: step.how === 'pause' ? 'pauseWorkflow' : 'unpauseWorkflow',
          key: keyOf(step.id),
          identity: 'operator',
          reason: 'random',
          requestId: step.again ? 'again' : shard.newRequestId(),
        });
        return;
      case 'options': {
        const { field, priority } = step;
        shard.ask({ kind: 'updateWorkflowOptions', key: keyOf(step.id), fields: [field], priority, identity: 'operator' });
        return;
      }
      case 'reset':
        return this.#reset(step);
      case 'scheduled':
        return this.#schedule(step);
      case 'act':
        return this.#act(step);
      case 'batch':
        if (step.how === 'start') shard.ask(startBatch({ newRunId: shard.newRunId() }));
        else shard.ask({ kind: 'stopBatch', key: aJobKey, reason: 'random', identity: 'client' });
        return;
      case 'update':
        return this.#update(step);
      case 'endSpeculative':
        return this.#endSpeculative(keyOf(step.id));
    }
  }

  #schedule({ how, overlap, intervalMs, pauseOnFailure, actions }: Extract<ProgramStep, { readonly do: 'scheduled' }>): void {
    const { shard } = this;
    const defined = { intervalMs, policies: { overlapPolicy: overlap, pauseOnFailure } };
    const state = { paused: false, notes: '', limitedActions: actions !== undefined, remainingActions: actions ?? 0 };
    const requestId = shard.newRequestId();
    if (how === 'create') shard.ask(createSchedule({ newRunId: shard.newRunId(), requestId, defined, state }));
    else if (how === 'update') shard.ask(updateSchedule({ requestId, defined, state }));
    else shard.ask(patchSchedule(how === 'pause' ? { pause: 'paused' } : { unpause: 'goes on' }, requestId));
  }

  #lastPatch = 'none';

  #act({ how, overlap, repeat }: Extract<ProgramStep, { readonly do: 'act' }>): void {
    const { shard } = this;
    if (!repeat) this.#lastPatch = shard.newRequestId();
    const backfills = [{ fromMs: shard.nowMs - 20_000, toMs: shard.nowMs, overlapPolicy: overlap }];
    if (how === 'delete') shard.ask({ kind: 'deleteSchedule', key: aScheduleKey });
    else if (how === 'backfill') shard.ask(patchSchedule({ backfills }, this.#lastPatch));
    else shard.ask(patchSchedule({ trigger: { timeMs: 0, overlapPolicy: overlap } }, this.#lastPatch));
  }

  /** Of the current run, or, seldom, of any that there ever was. */
  #reset({ id, run, finish, signals }: Extract<ProgramStep, { readonly do: 'reset' }>): void {
    const { shard } = this;
    const current = shard.ask({ kind: 'describeWorkflow', key: keyOf(id) });
    const runId = run % 4 === 0 ? pick(shard.runIds(), run) : current?.kind === 'description' ? current.key.runId : undefined;
    if (runId === undefined) return;
    const events = shard.events(runId);
    const ends = events.filter(({ type }) => resettable.has(type));
    const finishEventId = pick(ends, finish)?.eventId ?? events.length;
    if (finishEventId < 2) return;
    const encoded = events.map((event) => historyWire.encodeEvent(event));
    const reset: ResetWorkflow = {
      kind: 'resetWorkflow',
      key: { ...keyOf(id), runId },
      newRunId: shard.newRunId(),
      requestId: shard.newRequestId(),
      reason: 'random',
      isPrepared: false,
      keptEvents: encoded.slice(0, finishEventId - 1),
      laterEvents: encoded.slice(finishEventId - 1),
      readTo: { runId, lastEventId: events.length },
      reappliesSignals: signals,
      priorityChanges: [run % 3, run % 2].map((change) => ({ fields: ['priority'], priority: priorities[change] })),
    };
    // In parts, and sometimes nobody goes on with it, or somebody drops it.
    const parts = finish % 3 === 0 ? partsOf(reset, 1 + (run % 5)) : [];
    for (const part of parts) if (shard.ask(part)?.kind !== 'workflowReset') return;
    const isPrepared = parts.length > 0;
    if (isPrepared && finish % 5 === 0) return;
    if (isPrepared && finish % 5 === 1) return shard.expectDone({ kind: 'dropReset', key: { ...reset.key, runId: reset.newRunId } });
    const reply = shard.ask(isPrepared ? { ...reset, isPrepared, keptEvents: [] } : reset);
    if (reply?.kind !== 'workflowReset') return;
    expect(reply.runId, 'it was read to its end').not.toBe('');
    this.#resetRuns.add(reply.runId);
  }

  #update({ id, update, accepted, poll, starts }: Extract<ProgramStep, { readonly do: 'update' }>): void {
    const { shard } = this;
    const before = shard.effects.length;
    const key = keyOf(id);
    const attributes = {
      updateId: `u${update}`,
      request: updateRequest(`u${update}`),
      waitStage: accepted ? 'accepted' : 'completed',
    } as const;
    if (!starts) shard.ask({ kind: 'updateWorkflow', key, firstExecutionRunId: '', update: attributes });
    else {
      const start = shard.startCommand({ key, policies: { reusePolicy: 1, conflictPolicy: 2 } });
      shard.ask({ kind: 'startAndUpdate', key, start, update: attributes });
    }
    const offered = shard.effects.slice(before).find((effect) => effect.kind === 'speculativeOffered');
    if (offered?.kind !== 'speculativeOffered') return;
    if (!poll) return;
    const { scheduledEventId, stamp, taskQueue } = offered;
    const pollRequestId = shard.newRequestId();
    const start = { kind: 'startWorkflowTask', scheduledEventId, stamp, pollRequestId, identity: 'worker', taskQueue } as const;
    const reply = shard.ask({ ...start, key: offered.key });
    if (reply?.kind === 'workflowTask') this.#workflowTasks.push(reply);
  }

  #start(command: StartWorkflow): void {
    const reply = this.shard.ask(command);
    if (reply?.kind !== 'started' || reply.workflowTask === undefined) return;
    expect(reply.workflowTask).toMatchObject({ attempt: 1, startedEventId: 3, historyLastEventId: 3 });
    this.#workflowTasks.push(reply.workflowTask);
    // Whoever asks again gets the same.
    expect(this.shard.ask({ ...command, newRunId: this.shard.newRunId() })).toEqual(reply);
  }

  /** The last one of the workflow: nobody has polled it, or its worker does not answer. */
  #endSpeculative({ workflowId }: RunKey): void {
    const { shard } = this;
    const last = shard.effects.filter(isSpeculative).findLast(({ key }) => key.workflowId === workflowId);
    if (last === undefined) return;
    const { key, scheduledEventId } = last;
    const end = { kind: 'endSpeculative', key, scheduledEventId, jitter: 0.5 } as const;
    if (last.kind === 'speculativeOffered') shard.ask({ ...end, sinceMs: last.scheduledTimeMs, because: 'scheduleToStart' });
    else shard.ask({ ...end, sinceMs: last.startedTimeMs, because: 'startToClose' });
  }

  #pollWorkflow(n: number, normal: boolean): void {
    const task = pick(
      this.shard.transfers().filter(({ kind }) => kind === 'workflowTask'),
      n,
    );
    if (task?.kind !== 'workflowTask') return;
    const { key, scheduledEventId, stamp } = task;
    const taskQueue = normal ? { name: 'queue', kind: 1, normalName: '' } : task.taskQueue;
    const pollRequestId = this.shard.newRequestId();
    const reply = this.shard.ask({ kind: 'startWorkflowTask', key, scheduledEventId, stamp, pollRequestId, identity: 'worker', taskQueue });
    expect(reply?.kind, 'a pending task can be started').toBe('workflowTask');
    if (reply?.kind !== 'workflowTask') return;
    expect(reply.historyLastEventId + reply.tailEvents.length).toBe(reply.startedEventId);
    this.#workflowTasks.push(reply);
    // The same poll again gets the same task.
    const again = this.shard.ask({
      kind: 'startWorkflowTask',
      key,
      scheduledEventId: reply.scheduledEventId,
      stamp: stampOf(this.shard, reply, stamp),
      pollRequestId,
      identity: 'worker',
      taskQueue,
    });
    if (again?.kind === 'workflowTask') expect(again).toEqual(reply);
  }

  #completeTask(step: Completion): void {
    const { shard } = this;
    const task = pick(this.#workflowTasks, step.n);
    if (task === undefined) return;
    const commands: WorkflowCommand[] = step.commands.map((command) => this.#command(command, task.key.runId));
    if (step.close === 'complete') commands.push(completeWorkflow());
    if (step.close === 'continue') commands.push(continueAsNew({ retryPolicy: policyOf(step.retries), cronSchedule: step.cron }));
    if (step.close === 'cancel')
      commands.push({ type: 'cancelWorkflowExecution', userMetadata: undefined, attributes: { details: undefined } });
    if (step.close === 'fail') {
      const facts = { kind: 'application', type: 'T', nonRetryable: step.n % 5 === 0, nextRetryDelayMs: 0, message: 'f' } as const;
      const info = { kind: 'application', type: 'T', nonRetryable: facts.nonRetryable } as const;
      const failure = { facts, bytes: historyWire.encodeFailure({ message: 'f', cause: undefined, info }) };
      commands.push({ type: 'failWorkflowExecution', userMetadata: undefined, attributes: { failure } });
    }
    const messages = [...task.updates, ...(this.#resetRuns.has(task.key.runId) ? admittedByEvent(shard, task) : [])].flatMap(
      ({ updateId }) => answersTo(updateId, step.updates),
    );
    // Where commands place messages, a close comes behind them.
    const placed = messages.filter(({ body }) => body.kind !== 'rejection').map(({ id }) => protocolMessage(id));
    const reply = shard.ask(
      shard.completion(task, [...placed, ...commands], {
        messages,
        discardsSpeculativeEvents: step.discards,
        sticky: step.sticky ? { taskQueue: { name: 'sticky', kind: 2, normalName: 'queue' }, scheduleToStartTimeoutMs: 3000 } : undefined,
        returnNewWorkflowTask: step.inline,
        forceCreateNewWorkflowTask: step.force && step.close === null,
      }),
    );
    // Kept ones are answered again later: a late repeat must do no harm.
    if (!step.keep) this.#workflowTasks.splice(this.#workflowTasks.indexOf(task), 1);
    if (reply?.kind !== 'workflowTaskCompleted') return;
    if (reply.workflowTask !== undefined) this.#workflowTasks.push(reply.workflowTask);
    this.#activityTasks.push(...reply.activityTasks);
  }

  #command(command: Command, runId: string): WorkflowCommand {
    switch (command.do) {
      case 'schedule':
        return scheduleActivity({
          activityId: `a${command.id}`,
          requestEagerExecution: command.eager,
          scheduleToCloseTimeoutMs: command.s2c,
          heartbeatTimeoutMs: command.heartbeat,
          retryPolicy: {
            initialIntervalMs: 700,
            backoffCoefficient: 2,
            maximumIntervalMs: 0,
            maximumAttempts: command.attempts,
            nonRetryableErrorTypes: [],
          },
        });
      case 'timer':
        return startTimer(`t${command.id}`, command.ms);
      case 'cancelTimer':
        return cancelTimer(`t${command.id}`);
      case 'cancelActivity':
        return cancelActivity(
          pick(
            this.shard.events(runId).filter(({ type }) => type === 'activityTaskScheduled'),
            command.n,
          )?.eventId ?? 1,
        );
      case 'child':
        return startChild({
          workflowId: ids[command.id] ?? 'child',
          parentClosePolicy: command.policy,
          retryPolicy: policyOf(command.retries),
          cronSchedule: command.cron,
        });
      case 'signalOther':
        return {
          type: 'signalExternalWorkflowExecution',
          userMetadata: undefined,
          attributes: {
            namespace: '',
            namespaceId: '',
            execution: { workflowId: ids[command.id] ?? 'other', runId: '' },
            signalName: 'external',
            input: undefined,
            control: '',
            childWorkflowOnly: false,
            header: undefined,
          },
        };
      case 'cancelOther':
        return {
          type: 'requestCancelExternalWorkflowExecution',
          userMetadata: undefined,
          attributes: {
            namespace: '',
            namespaceId: '',
            workflowId: ids[command.id] ?? 'other',
            runId: '',
            control: '',
            childWorkflowOnly: false,
            reason: 'random',
          },
        };
      case 'marker':
        return {
          type: 'recordMarker',
          userMetadata: bytes('metadata'),
          attributes: { markerName: 'm', details: new Map([['x', bytes('y')]]), header: undefined, failure: undefined },
        };
      case 'upsert':
        return {
          type: 'upsertWorkflowSearchAttributes',
          userMetadata: undefined,
          attributes: { searchAttributes: fields(command.attributes) },
        };
      case 'memo':
        return { type: 'modifyWorkflowProperties', userMetadata: undefined, attributes: { upsertedMemo: fields({ note: command.value }) } };
    }
  }

  #pollActivity(n: number): void {
    const task = pick(
      this.shard.transfers().filter(({ kind }) => kind === 'activityTask'),
      n,
    );
    if (task?.kind !== 'activityTask') return;
    const { key, scheduledEventId, stamp } = task;
    const pollRequestId = this.shard.newRequestId();
    const reply = this.shard.ask({
      kind: 'startActivityTask',
      key,
      scheduledEventId,
      stamp,
      pollRequestId,
      identity: 'worker',
      workerVersion: undefined,
    });
    expect(reply?.kind, 'a pending task can be started').toBe('activityTask');
    if (reply?.kind !== 'activityTask') return;
    if (n % 7 === 0) this.shard.expectDone({ kind: 'withdrawActivityStart', key, scheduledEventId, pollRequestId });
    else this.#activityTasks.push(reply);
  }

  #endActivity(n: number, how: number, keep: boolean): void {
    const { shard } = this;
    const task = pick(this.#activityTasks, n);
    if (task === undefined) return;
    const activity = activityRef(task);
    const identity = 'worker';
    const facts = { kind: 'application', type: 'T', nonRetryable: how === 2, nextRetryDelayMs: 0, message: 'x' } as const;
    if (how === 0) shard.ask({ kind: 'completeActivityTask', activity, result: bytes('r'), identity });
    if (how === 1 || how === 2)
      shard.ask({ kind: 'failActivityTask', activity, failure: { facts, bytes: bytes('f') }, lastHeartbeatDetails: bytes('h'), identity });
    if (how === 3) shard.ask({ kind: 'cancelActivityTask', activity, details: undefined, identity });
    if (how === 4) shard.ask({ kind: 'recordActivityHeartbeat', activity, details: bytes('beat'), identity });
    if (how === 5)
      shard.ask({ kind: 'completeActivityTask', activity: { ...activity, scheduledEventId: 0, attempt: 0 }, result: undefined, identity });
    if (!keep && how !== 4) this.#activityTasks.splice(this.#activityTasks.indexOf(task), 1);
  }
}

/** `flags` choose what the request has to choose. */
function operation({ id, how, activity, flags, jitterMs }: Extract<ProgramStep, { readonly do: 'operate' }>): ActivityOperationRequest {
  const target = { activityId: activity, activityType: undefined };
  const requestId = ['', 'one', 'other'][flags % 3] ?? '';
  const draw = { jitterMs, jitter: 0.5, requestId };
  const [first, second, third] = [(flags & 1) !== 0, (flags & 2) !== 0, (flags & 4) !== 0];
  const key = keyOf(id);
  switch (how) {
    case 'pause':
      return { kind: 'pauseActivity', key, target, identity: 'operator', reason: 'random', requestId: first ? 'one' : 'other' };
    case 'unpause':
      return { kind: 'unpauseActivity', key, target, resetAttempts: first, resetHeartbeat: second, ...draw };
    case 'reset':
      return { kind: 'resetActivity', key, target, resetHeartbeat: first, keepPaused: second, restoreOriginalOptions: third, ...draw };
    case 'restore':
      return { kind: 'updateActivityOptions', key, target, change: undefined, requestId };
    case 'update': {
      const change = optionsChange({
        fields: [
          'scheduleToCloseTimeout',
          ...(first ? (['retryPolicy.initialInterval', 'retryPolicy.maximumAttempts'] as const) : []),
          ...(third ? (['retryPolicy.nonRetryableErrorTypes'] as const) : []),
          ...(second ? (['taskQueue.name', 'heartbeatTimeout'] as const) : []),
        ],
        scheduleToCloseTimeoutMs: third ? 9000 : 0,
        heartbeatTimeoutMs: 400,
        taskQueue: 'elsewhere',
        retryPolicy: {
          initialIntervalMs: 3000,
          backoffCoefficient: 1,
          maximumIntervalMs: 0,
          maximumAttempts: 3,
          nonRetryableErrorTypes: ['Other'],
        },
      });
      return { kind: 'updateActivityOptions', key, target, change, requestId };
    }
  }
}

type TaskForOthers = Exclude<TransferTask, DispatchTask | SideTask>;

function isForOthers(task: TransferTask): task is TaskForOthers {
  return !isDispatch(task) && !isSide(task);
}

function stampOf(shard: ShardUnderTest, reply: StartedWorkflowTask, stamp: number): number {
  // A transient task that became normal at its start was scheduled once more.
  const renewed = shard.records
    .at(-1)
    ?.runs.some(({ events }) =>
      events.some(({ event }) => event.type === 'workflowTaskScheduled' && event.eventId === reply.scheduledEventId),
    );
  return renewed === true ? stamp + 1 : stamp;
}

function policyOf(maximumAttempts: number | undefined): StartAttributes['retryPolicy'] {
  if (maximumAttempts === undefined) return undefined;
  return { initialIntervalMs: 300, backoffCoefficient: 3, maximumIntervalMs: 2_000, maximumAttempts, nonRetryableErrorTypes: ['Other'] };
}

function keyOf(id: number): RunKey {
  return { namespaceId, workflowId: ids[id] ?? 'wf', runId: '' };
}

function pick<Item>(items: readonly Item[], n: number): Item | undefined {
  return items.length === 0 ? undefined : items[n % items.length];
}

/** What a reset has brought along comes with the history of a task. */
function admittedByEvent(shard: ShardUnderTest, { key, startedEventId }: StartedWorkflowTask): readonly { readonly updateId: string }[] {
  const events = shard.events(key.runId).filter(({ eventId }) => eventId < startedEventId);
  const accepted = new Set(
    events.map((event) => (event.type === 'workflowExecutionUpdateAccepted' ? event.attributes.protocolInstanceId : '')),
  );
  return events.flatMap((event) => {
    if (event.type !== 'workflowExecutionUpdateAdmitted' || event.attributes.request === undefined) return [];
    const updateId = historyWire.updateIdOf(event.attributes.request);
    return accepted.has(updateId) ? [] : [{ updateId }];
  });
}

function answersTo(updateId: string, how: (typeof updateAnswers)[number]): readonly UpdateMessage[] {
  const acceptance: UpdateMessage = {
    id: `${updateId}/acceptance`,
    updateId,
    body: { kind: 'acceptance', requestMessageId: `${updateId}/request`, requestSequencingEventId: 1, request: undefined },
  };
  const response: UpdateMessage = {
    id: `${updateId}/response`,
    updateId,
    body: { kind: 'response', metaUpdateId: updateId, identity: 'worker', outcome: bytes('outcome') },
  };
  switch (how) {
    case 'complete':
      return [acceptance, response];
    case 'accept':
      return [acceptance];
    case 'respond':
      return [response];
    case 'reject':
      return [{ id: `${updateId}/rejection`, updateId, body: { kind: 'rejection', hasRequest: true, failure: bytes('failure') } }];
    case 'unknown':
      return answersTo(`not ${updateId}`, 'accept');
    case 'ignore':
      return [];
  }
}
