/**
 * Random programs of commands against one shard. After every record the replica, which lives on the encoded journal alone, must equal the
 * live core (shard-under-test.ts); at the end each history must be one that a worker can trust.
 */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalText } from '../../src/history/run/canonical.ts';
import { evolve } from '../../src/history/evolve/evolve.ts';
import { retryState, status, workflowTaskFailedCause } from '../../src/history/generated/enums.ts';
import type { HistoryEvent } from '../../src/history/run/events.ts';
import type { WorkflowExecutionStartedAttributes } from '../../src/history/generated/public-api.ts';
import { HistoryCore } from '../../src/history/history-core.ts';
import type { HistoryLimits } from '../../src/history/run/history-limits.ts';
import type { Description } from '../../src/history/run/history-replies.ts';
import { Shard } from '../../src/history/shard/shard.ts';
import { timersOf } from '../../src/history/run/timers-of.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { aJobKey } from './batch-commands.ts';
import { aScheduleKey } from './schedule-commands.ts';
import { fewerKinds, Program, programStep } from './random-program.ts';
import { namespaceId, ShardUnderTest, terminateWorkflow } from './shard-under-test.ts';

const closeKinds = new Set([
  'workflowExecutionCompleted',
  'workflowExecutionFailed',
  'workflowExecutionCanceled',
  'workflowExecutionTerminated',
  'workflowExecutionTimedOut',
  'workflowExecutionContinuedAsNew',
]);

/** Wakes a workflow: must not stay unseen. */
const wakeKinds = new Set([
  'workflowExecutionSignaled',
  'workflowExecutionCancelRequested',
  'timerFired',
  'activityTaskCompleted',
  'activityTaskFailed',
  'activityTaskTimedOut',
  'activityTaskCanceled',
  'childWorkflowExecutionStarted',
  'startChildWorkflowExecutionFailed',
  'childWorkflowExecutionCompleted',
  'childWorkflowExecutionFailed',
  'childWorkflowExecutionCanceled',
  'childWorkflowExecutionTimedOut',
  'childWorkflowExecutionTerminated',
  'externalWorkflowExecutionSignaled',
  'signalExternalWorkflowExecutionFailed',
  'externalWorkflowExecutionCancelRequested',
  'requestCancelExternalWorkflowExecutionFailed',
]);

function checkHistory(events: readonly HistoryEvent[]): void {
  expect(events.map(({ eventId }) => eventId)).toEqual(events.map((_, at) => at + 1));
  expect(events[0]?.type).toBe('workflowExecutionStarted');
  const closeAt = events.findIndex(({ type }) => closeKinds.has(type));
  if (closeAt >= 0) expect(closeAt, 'nothing follows a close').toBe(events.length - 1);
  const ended = new Set<string>();
  const endOnce = (what: string): void => {
    expect(ended.has(what), `${what} ends twice`).toBe(false);
    ended.add(what);
  };
  const typeAt = (id: number): string | undefined => events[id - 1]?.type;
  let openTask = 0;
  for (const event of events) {
    switch (event.type) {
      case 'workflowTaskScheduled':
        expect(openTask, 'one workflow task at a time').toBe(0);
        openTask = event.eventId;
        break;
      case 'workflowTaskStarted':
        expect(event.attributes.scheduledEventId).toBe(openTask);
        expect(typeAt(event.eventId + 1) ?? 'workflowTaskCompleted', 'a started task is followed by its end').toMatch(
          /^workflowTask(Completed|Failed|TimedOut)$/,
        );
        break;
      case 'workflowTaskCompleted':
      case 'workflowTaskFailed':
      case 'workflowTaskTimedOut':
        expect(event.attributes.scheduledEventId).toBe(openTask);
        openTask = 0;
        break;
      case 'activityTaskStarted':
        expect(typeAt(event.attributes.scheduledEventId)).toBe('activityTaskScheduled');
        break;
      case 'activityTaskCompleted':
      case 'activityTaskFailed':
      case 'activityTaskTimedOut':
      case 'activityTaskCanceled': {
        const { scheduledEventId, startedEventId } = event.attributes;
        expect(typeAt(scheduledEventId)).toBe('activityTaskScheduled');
        if (startedEventId !== 0)
          expect(events[startedEventId - 1]).toMatchObject({ type: 'activityTaskStarted', attributes: { scheduledEventId } });
        endOnce(`activity ${scheduledEventId}`);
        break;
      }
      case 'timerFired':
      case 'timerCanceled':
        expect(typeAt(event.attributes.startedEventId)).toBe('timerStarted');
        endOnce(`timer ${event.attributes.startedEventId}`);
        break;
      case 'startChildWorkflowExecutionFailed':
        endOnce(`child ${event.attributes.initiatedEventId}`);
        break;
      case 'childWorkflowExecutionCompleted':
      case 'childWorkflowExecutionFailed':
      case 'childWorkflowExecutionCanceled':
      case 'childWorkflowExecutionTimedOut':
      case 'childWorkflowExecutionTerminated':
        expect(typeAt(event.attributes.startedEventId)).toBe('childWorkflowExecutionStarted');
        endOnce(`child ${event.attributes.initiatedEventId}`);
        break;
      case 'externalWorkflowExecutionSignaled':
      case 'signalExternalWorkflowExecutionFailed':
      case 'externalWorkflowExecutionCancelRequested':
      case 'requestCancelExternalWorkflowExecutionFailed':
        endOnce(`external ${event.attributes.initiatedEventId}`);
        break;
      default:
        break;
    }
  }
}

/** A run that another goes on for names it, and the next one says what of the chain is its own. */
function checkChains(shard: ShardUnderTest): void {
  for (const runId of shard.runIds()) {
    const events = shard.events(runId);
    const [started, close] = [events[0], events.at(-1)];
    if (started?.type !== 'workflowExecutionStarted' || close === undefined || !('newExecutionRunId' in close.attributes)) continue;
    const { newExecutionRunId } = close.attributes;
    const { retryPolicy, cronSchedule, attempt, firstExecutionRunId } = started.attributes;
    const workflowExecutionExpirationTimeMs = expirationOf(started.attributes, events);
    const retries = 'retryState' in close.attributes && close.attributes.retryState === retryState.inProgress;
    if (retries) expect([retryPolicy !== undefined, newExecutionRunId]).not.toEqual([true, '']);
    if (retryPolicy === undefined || attempt === retryPolicy.maximumAttempts) expect(retries, 'no attempt is left').toBe(false);
    if (close.type !== 'workflowExecutionContinuedAsNew') {
      const isOver = workflowExecutionExpirationTimeMs > 0 && close.eventTimeMs >= workflowExecutionExpirationTimeMs;
      const goesOn = retries || (cronSchedule !== '' && !(isOver && close.type === 'workflowExecutionTimedOut'));
      expect(newExecutionRunId !== '', `${close.type} of a run on ${cronSchedule}`).toBe(goesOn);
    }
    if (newExecutionRunId === '') continue;
    const next = shard.events(newExecutionRunId)[0];
    expect(next?.attributes).toMatchObject({ firstExecutionRunId, continuedExecutionRunId: runId, workflowExecutionExpirationTimeMs });
    if (close.type === 'workflowExecutionContinuedAsNew') continue;
    const { input, memo, searchAttributes } = started.attributes;
    const again = {
      retryPolicy,
      cronSchedule,
      input,
      memo,
      searchAttributes,
      attempt: retries ? attempt + 1 : 1,
      initiator: retries ? 2 : 3,
    };
    expect(next?.attributes).toMatchObject(again);
  }
}

/** A reset begins the time of the chain anew. */
function expirationOf(
  { workflowExecutionExpirationTimeMs, workflowExecutionTimeoutMs }: WorkflowExecutionStartedAttributes,
  events: readonly HistoryEvent[],
): number {
  const reset = events.findLast(
    ({ type, attributes }) =>
      type === 'workflowTaskFailed' && 'cause' in attributes && attributes.cause === workflowTaskFailedCause.resetWorkflow,
  );
  if (reset === undefined || workflowExecutionTimeoutMs === 0) return workflowExecutionExpirationTimeMs;
  return reset.eventTimeMs + workflowExecutionTimeoutMs;
}

/** A schedule waits for workflows that are open, and hears of the end of each. */
function checkSchedule(shard: ShardUnderTest): void {
  const reply = shard.ask({ kind: 'describeSchedule', key: aScheduleKey });
  if (reply?.kind !== 'scheduleDescription') return;
  const { running, starting, buffered } = reply.progress;
  for (const { workflowId, runId } of running) {
    const current = shard.ask({ kind: 'describeWorkflow', key: { namespaceId, workflowId, runId: '' } });
    const open = current?.kind === 'description' && current.status === 1 ? current.firstRunId : 'none';
    expect(open, 'who is waited for is open').toBe(runId);
  }
  expect(starting, 'whoever is to begin has begun').toEqual([]);
  expect(running.length).toBeLessThanOrEqual(1);
  if (buffered.length > 0) expect(running, 'somebody is waited for').toHaveLength(1);
}

/** What waits for a worker is in a queue, and nothing else is. */
function checkTasks(shard: ShardUnderTest, { key, status, pendingWorkflowTask, pendingActivities, aside }: Description): void {
  const tasks = [...shard.core.shard.transfers.values()].filter((task) => task.key.runId === key.runId);
  if (aside !== undefined) return expect(tasks, 'what is put aside has no task in a queue').toEqual([]);
  const dispatched = tasks.filter(({ kind }) => kind === 'workflowTask').length;
  const waits = pendingWorkflowTask?.started === false && !isSpeculative(shard, key);
  expect(dispatched, 'a workflow task is queued until it starts').toBe(waits ? 1 : 0);
  const queued = tasks.filter(({ kind }) => kind === 'activityTask').length;
  const waiting = pendingActivities.filter(
    ({ nextAttemptScheduleTimeMs, attempt, lastStartedTimeMs, lastAttemptCompleteTimeMs, pause }) => {
      const started =
        lastStartedTimeMs > lastAttemptCompleteTimeMs || (lastStartedTimeMs !== 0 && attempt === 1 && lastAttemptCompleteTimeMs === 0);
      return nextAttemptScheduleTimeMs === 0 && !started && pause === undefined;
    },
  );
  expect(queued, 'an attempt is queued until it starts').toBeGreaterThanOrEqual(waiting.length);
  if (status !== 1) expect(dispatched + queued, 'a closed run has no work for workers').toBe(0);
}

/** Such a task is in no queue of the journal. */
function isSpeculative(shard: ShardUnderTest, key: Description['key']): boolean {
  const reply = shard.ask({ kind: 'describeMutableState', key });
  return reply?.kind === 'mutableState' && reply.workflowTask?.type === 3;
}

/** A child is woken by its parent, unless that was put aside: then once somebody terminates the parent. */
function checkNobodySleeps(shard: ShardUnderTest): void {
  const described = (runId: string): Description | undefined => {
    const key = { namespaceId, workflowId: workflowIdOf(shard.events(runId)), runId };
    const reply = shard.ask({ kind: 'describeWorkflow', key });
    return reply?.kind === 'description' ? reply : undefined;
  };
  for (const runId of shard.runIds()) {
    const description = described(runId);
    if (description?.aside !== undefined && description.status === 1) shard.ask(terminateWorkflow({ key: description.key }));
  }
  shard.pumpOutboxIfPossible();
  for (const runId of shard.runIds()) {
    const description = described(runId);
    if (description?.status !== 1 || description.pendingWorkflowTask !== undefined) continue;
    const startsLater = description.executionTimeMs > description.startTimeMs;
    expect(shard.events(runId).length === 1 && !startsLater, 'a child that nobody will ever wake').toBe(false);
  }
}

/** All that is open is ended, all that waits has its time: nothing of it is left, in state or beside it. */
function checkNothingStays(shard: ShardUnderTest): void {
  shard.ask({ kind: 'deleteSchedule', key: aScheduleKey });
  shard.ask({ kind: 'stopBatch', key: aJobKey, reason: 'the end', identity: '' });
  for (let round = 0; round < 4; round++) {
    for (const runId of shard.runIds())
      shard.ask(terminateWorkflow({ key: { namespaceId, workflowId: workflowIdOf(shard.events(runId)), runId } }));
    shard.pumpOutboxIfPossible();
    shard.advance(3 * 3_600_000);
    shard.fireDueTimers();
    flushAll(shard);
  }
  const { core, records } = shard;
  const nothing = new Shard();
  for (const { tasks } of records) for (const { taskId } of tasks) nothing.taskIdLast = Math.max(nothing.taskIdLast, taskId);
  nothing.timeMs = records.at(-1)?.timeMs ?? 0;
  expect(core.canonicalState()).toBe(canonicalText(nothing));
  expect(core.canonicalVolatile()).toBe(new HistoryCore({ wire: historyWire }).canonicalVolatile());
}

/** One record takes no more of them than it may. */
function flushAll(shard: ShardUnderTest): void {
  for (let left = Infinity; shard.transfers().length < left;) {
    left = shard.transfers().length;
    shard.ask({ kind: 'flushFinishedTasks' });
  }
}

/** Whatever a pause has kept back is under way again, and is looked at as everything else. */
function unpauseAll(shard: ShardUnderTest): void {
  for (const runId of shard.runIds()) {
    const key = { namespaceId, workflowId: workflowIdOf(shard.events(runId)), runId };
    const reply = shard.ask({ kind: 'describeWorkflow', key });
    if (reply?.kind !== 'description' || reply.status !== status.paused) continue;
    expect(reply.pendingWorkflowTask?.started ?? true, 'no workflow task waits for a worker').toBe(true);
    shard.expectDone({ kind: 'unpauseWorkflow', key, identity: 'operator', reason: '', requestId: '' });
  }
}

function checkAll(shard: ShardUnderTest): void {
  shard.pumpOutboxIfPossible();
  unpauseAll(shard);
  for (const runId of shard.runIds()) {
    const events = shard.events(runId);
    checkHistory(events);
    const reply = shard.ask({ kind: 'describeWorkflow', key: { namespaceId, workflowId: workflowIdOf(events), runId } });
    if (reply?.kind !== 'description') continue;
    checkTasks(shard, reply);
    if (reply.status !== 1 || reply.pendingWorkflowTask !== undefined) continue;
    const seenUntil = events.findLastIndex(({ type }) => type === 'workflowTaskStarted');
    const unseen = events.slice(seenUntil + 1).filter(({ type }) => wakeKinds.has(type));
    const inBackoff = seenUntil < 0 && reply.executionTimeMs > reply.startTimeMs;
    expect(inBackoff ? [] : unseen.map(({ type }) => type), 'news without a workflow task').toEqual([]);
  }
  checkChains(shard);
  checkSchedule(shard);
  checkNobodySleeps(shard);
  checkNothingStays(shard);
}

/** Of Temporal, and so small that every program meets them. */
const limits = fc.constantFrom<Partial<HistoryLimits>[]>(
  {},
  {
    pendingActivitiesMax: 2,
    pendingChildrenMax: 1,
    pendingExternalSignalsMax: 1,
    pendingExternalCancelsMax: 1,
    signalsPerRunMax: 5,
    attachedRequestIdsMax: 1,
    timersFiredTogetherMax: 1,
    bufferedEventsMax: 2,
    finishedTasksPerRecordMax: 1,
  },
  { historyEventsMax: 25, bufferedEventsMax: 0 },
);

test('random programs: replay equals live at every step, and every history is sound', () => {
  fc.assert(
    fc.property(fewerKinds(fc.array(programStep, { minLength: 30, maxLength: 120, size: 'max' })), limits, (steps, limited) => {
      const program = new Program(new ShardUnderTest({ ...limited, retentionMsDefault: 3_600_000 }));
      for (const each of steps) program.run(each);
      checkAll(program.shard);
    }),
    { numRuns: 120 },
  );
}, 120_000);

test('random programs: a record changes only the runs that it names or brings tasks of, and tasks end by their ids alone', () => {
  fc.assert(
    fc.property(fc.array(programStep, { minLength: 30, maxLength: 80, size: 'max' }), (steps) => {
      const program = new Program(new ShardUnderTest({ retentionMsDefault: 3_600_000 }));
      for (const each of steps) program.run(each);
      program.shard.pumpOutboxIfPossible();
      const shard = new Shard();
      let before = new Map<string, string>();
      for (const record of program.shard.records) {
        evolve(shard, record, historyWire);
        const after = new Map([...shard.runs].map(([runId, run]) => [runId, canonicalText(run)]));
        const retired = record.retiredRuns?.map(({ runId }) => runId) ?? [];
        const named = new Set([...record.runs.map(({ runId }) => runId), ...record.tasks.map((task) => task.key.runId), ...retired]);
        for (const [runId, text] of before) if (!named.has(runId)) expect(after.get(runId), `${record.type} changes ${runId}`).toBe(text);
        before = after;
      }
    }),
    { numRuns: 50 },
  );
}, 120_000);

test('random programs: what a timer is for remembers it, so that a run can be quarantined with all of its timers', () => {
  fc.assert(
    fc.property(fc.array(programStep, { minLength: 30, maxLength: 80, size: 'max' }), (steps) => {
      const program = new Program(new ShardUnderTest({ retentionMsDefault: 3_600_000 }));
      for (const each of steps) program.run(each);
      program.shard.pumpOutboxIfPossible();
      const shard = new Shard();
      for (const record of program.shard.records) {
        evolve(shard, record, historyWire);
        for (const { kind, key, taskId } of shard.timers.values()) {
          const run = shard.runs.get(key.runId);
          const known = run !== undefined && (kind === 'retention' || [...timersOf(run)].includes(taskId));
          expect(known, `${record.type}: the ${kind} timer ${taskId} of ${key.runId}`).toBe(true);
        }
      }
    }),
    { numRuns: 50 },
  );
}, 120_000);

function workflowIdOf(events: readonly HistoryEvent[]): string {
  const first = events[0];
  return first?.type === 'workflowExecutionStarted' ? first.attributes.workflowId : '';
}
