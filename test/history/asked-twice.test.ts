/**
 * An ask whose answer was lost may come again with equal bytes: it has happened once, and what is repeated for certain (`same`) gets the
 * answer of the first.
 */
import { describe, expect, test } from 'vitest';
import type {
  CompleteWorkflowTask,
  DecidedRequest,
  ParentLink,
  QueryWorkflow,
  RecordActivityHeartbeat,
} from '../../src/history/commands/history-commands.ts';
import type { Rejection, StartedWorkflowTask } from '../../src/history/run/history-replies.ts';
import {
  activityRef,
  bytes,
  cancelActivity,
  key,
  namespaceId,
  partsOf,
  refOf,
  scheduleActivity,
  ShardUnderTest,
  signalAttributes,
  startChild,
  updateWorkflow,
} from './shard-under-test.ts';
import { aJobKey, startBatch } from './batch-commands.ts';
import { aScheduleKey, createSchedule, patchSchedule, updateSchedule } from './schedule-commands.ts';
import { encodeLetterTask } from '../../src/codec/letter-task-codec.ts';

/** Heartbeats have a test of their own: each one counts as a transition of its run's state. */
type Request = Exclude<DecidedRequest, RecordActivityHeartbeat> | CompleteWorkflowTask | QueryWorkflow;
type Asked<Kind extends Request['kind']> = {
  /** `task`: takes a workflow task of the workflow, or is the one that a worker has already. */
  readonly request: (shard: ShardUnderTest, task: () => StartedWorkflowTask) => Extract<Request, { readonly kind: Kind }>;
  /** `same`: the answer is the first one's; else what is special about it. */
  readonly second: 'same' | object;
};

const childKey = { namespaceId, workflowId: 'child', runId: '' };
const identity = 'worker';
const details = bytes('details');
const otherKey = { ...key, workflowId: 'other' };
const policies = { reusePolicy: 1, conflictPolicy: 1 } as const;

const allActivities = { activityId: undefined, activityType: undefined };
const plainReset = { resetHeartbeat: false, keepPaused: false, restoreOriginalOptions: false };
const noPlace = { fireTimeMs: 0, taskId: 0 };
const letter = { queue: 1, messageId: 41, generation: 0 };
const letterTask = { kind: 'runTimeout', taskId: 7, fireTimeMs: 5, key: { ...otherKey, runId: 'gone' } } as const;

/** A workflow with a child that runs, and an activity that waits for a worker. */
function workflow(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity(), startChild()]);
  shard.pumpOutbox();
  // The parent's, which hears that its child has started, and the child's.
  const [one, other] = [shard.pollWorkflowTask(), shard.pollWorkflowTask()];
  shard.complete(one.key.workflowId === key.workflowId ? one : other);
  return shard;
}

function woken(shard: ShardUnderTest): StartedWorkflowTask {
  shard.signal();
  return shard.pollWorkflowTask();
}

/** By a worker that knew of it before. */
function completeUpdate(shard: ShardUnderTest, task: StartedWorkflowTask): void {
  const acceptance = { kind: 'acceptance', requestMessageId: 'u1/request', requestSequencingEventId: 1, request: details } as const;
  const messages = [
    { id: 'a', updateId: 'u1', body: acceptance },
    { id: 'r', updateId: 'u1', body: { kind: 'response', metaUpdateId: 'u1', identity: 'worker', outcome: details } },
  ] as const;
  shard.complete(task, [], { messages });
}

function parentLink(shard: ShardUnderTest): ParentLink {
  const { runId } = shard.describe().key;
  const [child] = shard.describe().pendingChildren;
  const initiatedEventId = child?.initiatedEventId ?? 0;
  const root = { rootWorkflowId: key.workflowId, rootRunId: runId };
  return { namespaceId, namespace: 'ns', workflowId: key.workflowId, runId, initiatedEventId, ...root };
}

function startOther(shard: ShardUnderTest) {
  return shard.startCommand({ key: otherKey });
}

function refused(reason: Rejection['reason']): object {
  return { kind: 'rejected', rejection: { reason } };
}

const asked: { readonly [Kind in Request['kind']]: Asked<Kind> } = {
  startWorkflow: { request: startOther, second: 'same' },
  signalWithStartWorkflow: {
    request: (shard) => {
      const { start, newRunId, requestId, namespace } = startOther(shard);
      const signal = signalAttributes({ requestId });
      return { kind: 'signalWithStartWorkflow', key: otherKey, namespace, newRunId, requestId, start, policies, signal };
    },
    // As one that finds the workflow running.
    second: { kind: 'started', started: false },
  },
  signalWorkflow: {
    request: () => ({ kind: 'signalWorkflow', key, signal: signalAttributes({ requestId: 'one' }), childOf: undefined }),
    second: 'same',
  },
  requestCancelWorkflow: {
    request: () => ({
      kind: 'requestCancelWorkflow',
      key,
      firstExecutionRunId: '',
      cause: 'why',
      identity,
      requestId: 'one',
      links: [],
      external: undefined,
      childOf: undefined,
    }),
    second: 'same',
  },
  terminateWorkflow: {
    request: () => ({
      kind: 'terminateWorkflow',
      key,
      firstExecutionRunId: '',
      reason: 'why',
      details,
      identity,
      links: [],
      childOf: undefined,
    }),
    second: refused('workflow-closed'),
  },
  deleteWorkflow: { request: () => ({ kind: 'deleteWorkflow', key }), second: refused('workflow-not-found') },
  scheduleFirstWorkflowTask: {
    request: (shard) => {
      const child = { ...childKey, workflowId: 'second child' };
      shard.start({ key: child, parent: { ...parentLink(shard), initiatedEventId: 99 } });
      return { kind: 'scheduleFirstWorkflowTask', key: child };
    },
    second: 'same',
  },
  findChild: { request: (shard) => ({ kind: 'findChild', key: childKey, parent: parentLink(shard) }), second: 'same' },
  startWorkflowTask: {
    request: (shard) => {
      shard.start({ key: otherKey });
      const { key: taskKey, scheduledEventId, stamp, taskQueue } = shard.pendingTask('workflowTask');
      return { kind: 'startWorkflowTask', key: taskKey, scheduledEventId, stamp, pollRequestId: 'poll', identity, taskQueue };
    },
    second: 'same',
  },
  completeWorkflowTask: {
    request: (shard, task) => {
      const commands = [scheduleActivity({ activityId: 'another' })];
      // The task that follows is started at once: the answer that comes again is not for that one.
      return shard.completion(task(), commands, { returnNewWorkflowTask: true, forceCreateNewWorkflowTask: true });
    },
    second: refused('task-not-found'),
  },
  failWorkflowTask: {
    request: (_, task) => {
      return { kind: 'failWorkflowTask', task: refOf(task()), cause: 1, failure: undefined, identity, binaryChecksum: '', jitter: 0.5 };
    },
    second: refused('task-not-found'),
  },
  resetStickyTaskQueue: {
    request: (shard, task) => {
      const sticky = { taskQueue: { name: 'sticky', kind: 2, normalName: 'queue' }, scheduleToStartTimeoutMs: 5_000 };
      shard.complete(task(), [], { sticky });
      return { kind: 'resetStickyTaskQueue', key };
    },
    second: 'same',
  },
  startActivityTask: {
    request: (shard) => {
      const { key: taskKey, scheduledEventId, stamp } = shard.pendingTask('activityTask');
      const poll = { pollRequestId: 'poll', identity, workerVersion: undefined };
      return { kind: 'startActivityTask', key: taskKey, scheduledEventId, stamp, ...poll };
    },
    second: 'same',
  },
  withdrawActivityStart: {
    request: (shard) => {
      const { key: taskKey, scheduledEventId } = shard.pollActivityTask('poll');
      return { kind: 'withdrawActivityStart', key: taskKey, scheduledEventId, pollRequestId: 'poll' };
    },
    second: 'same',
  },
  completeActivityTask: {
    request: (shard) => ({ kind: 'completeActivityTask', activity: activityRef(shard.pollActivityTask()), result: details, identity }),
    second: refused('activity-not-found'),
  },
  failActivityTask: {
    request: (shard) => ({
      kind: 'failActivityTask',
      activity: activityRef(shard.pollActivityTask()),
      failure: undefined,
      lastHeartbeatDetails: undefined,
      identity,
    }),
    second: refused('activity-not-found'),
  },
  cancelActivityTask: {
    request: (shard, task) => {
      const started = shard.pollActivityTask();
      shard.complete(task(), [cancelActivity(started.scheduledEventId)]);
      return { kind: 'cancelActivityTask', activity: activityRef(started), details, identity };
    },
    second: refused('activity-not-found'),
  },
  pauseActivity: {
    request: () => ({ kind: 'pauseActivity', key, target: allActivities, identity, reason: 'why', requestId: 'one' }),
    second: 'same',
  },
  unpauseActivity: {
    request: (shard) => {
      shard.expectDone({ kind: 'pauseActivity', key, target: allActivities, identity, reason: 'why', requestId: 'one' });
      return {
        kind: 'unpauseActivity',
        key,
        target: allActivities,
        resetAttempts: true,
        resetHeartbeat: true,
        jitterMs: 0,
        jitter: 0,
        requestId: 'two',
      };
    },
    second: 'same',
  },
  resetActivity: {
    request: () => ({ kind: 'resetActivity', key, target: allActivities, ...plainReset, jitterMs: 0, jitter: 0, requestId: 'one' }),
    second: 'same',
  },
  pauseWorkflow: {
    request: () => ({ kind: 'pauseWorkflow', key, identity, reason: 'why', requestId: 'one' }),
    second: 'same',
  },
  unpauseWorkflow: {
    request: (shard) => {
      shard.expectDone({ kind: 'pauseWorkflow', key, identity, reason: 'why', requestId: 'one' });
      return { kind: 'unpauseWorkflow', key, identity, reason: 'why', requestId: 'two' };
    },
    second: 'same',
  },
  updateWorkflowOptions: {
    request: () => ({ kind: 'updateWorkflowOptions', key, fields: ['priority'], priority: Uint8Array.of(8, 3), identity }),
    second: 'same',
  },
  resetWorkflow: {
    request: (shard) => shard.resetCommand(4),
    second: 'same',
  },
  prepareReset: {
    request: (shard) => partsOf(shard.resetCommand(4), 3)[0]!,
    second: 'same',
  },
  dropReset: {
    request: (shard) => {
      const { newRunId } = shard.prepareReset(4);
      return { kind: 'dropReset', key: { ...key, runId: newRunId } };
    },
    second: 'same',
  },
  createSchedule: { request: () => createSchedule(), second: 'same' },
  updateSchedule: {
    request: (shard) => {
      shard.request(createSchedule());
      return updateSchedule({ conflictToken: 1 });
    },
    second: 'same',
  },
  patchSchedule: {
    request: (shard) => {
      shard.request(createSchedule());
      return patchSchedule({ trigger: { timeMs: 0, overlapPolicy: 0 } });
    },
    second: 'same',
  },
  deleteSchedule: {
    request: (shard) => {
      shard.request(createSchedule());
      return { kind: 'deleteSchedule', key: aScheduleKey };
    },
    second: refused('schedule-not-found'),
  },
  describeSchedule: {
    request: (shard) => {
      shard.request(createSchedule());
      return { kind: 'describeSchedule', key: aScheduleKey };
    },
    second: 'same',
  },
  startBatch: { request: () => startBatch(), second: refused('already-started') },
  stopBatch: {
    request: (shard) => {
      shard.request(startBatch());
      return { kind: 'stopBatch', key: aJobKey, reason: 'enough', identity: 'operator' };
    },
    second: refused('workflow-closed'),
  },
  describeBatch: {
    request: (shard) => {
      shard.request(startBatch());
      return { kind: 'describeBatch', key: aJobKey };
    },
    second: 'same',
  },
  recordActionClosed: {
    request: (shard) => {
      shard.request(createSchedule());
      shard.request(patchSchedule({ trigger: { timeMs: 0, overlapPolicy: 0 } }));
      const close = { kind: 'completed', result: details } as const;
      return { kind: 'recordActionClosed', key: aScheduleKey, startId: 1, workflow: { workflowId: 'w', runId: 'r' }, close };
    },
    second: 'same',
  },
  updateActivityOptions: {
    request: () => ({ kind: 'updateActivityOptions', key, target: allActivities, change: undefined, requestId: 'one' }),
    second: 'same',
  },
  queryWorkflow: {
    request: (shard) => ({ kind: 'queryWorkflow', key, queryId: 'q', query: details, rejectCondition: 0, deadlineMs: shard.nowMs + 1_000 }),
    second: 'same',
  },
  updateWorkflow: {
    request: (shard, task) => {
      completeUpdate(shard, task());
      return updateWorkflow();
    },
    second: 'same',
  },
  pollUpdate: {
    request: (shard, task) => {
      completeUpdate(shard, task());
      return { kind: 'pollUpdate', key, updateId: 'u1', waitStage: 'completed' };
    },
    second: 'same',
  },
  // The first waits for its update; so does the second.
  startAndUpdate: {
    request: (shard) => ({ kind: 'startAndUpdate', key: otherKey, start: startOther(shard), update: updateWorkflow().update }),
    second: 'same',
  },
  describeWorkflow: { request: () => ({ kind: 'describeWorkflow', key }), second: 'same' },
  describeMutableState: { request: () => ({ kind: 'describeMutableState', key }), second: 'same' },
  getHistoryPosition: {
    request: () => ({ kind: 'getHistoryPosition', key, waitBeyondEventId: -1, waitForClose: false }),
    second: 'same',
  },
  recordChildClosed: {
    request: (shard) => {
      const child = { workflowId: 'child', runId: shard.describe(childKey).key.runId };
      const named = { childFirstRunId: child.runId, childNamespace: 'ns', childWorkflowType: 'ChildType' };
      return { kind: 'recordChildClosed', parent: parentLink(shard), child, ...named, close: { kind: 'completed', result: details } };
    },
    second: 'same',
  },
  executeLetter: {
    request: () => ({ kind: 'executeLetter', key: letterTask.key, letter, resolvedBelow: 0, task: encodeLetterTask(letterTask) }),
    second: 'same',
  },
  confirmLetter: { request: () => ({ kind: 'confirmLetter', letter }), second: 'same' },
  withdrawLetter: { request: () => ({ kind: 'withdrawLetter', key: letterTask.key, letter }), second: 'same' },
  listLetterMarks: { request: () => ({ kind: 'listLetterMarks', queue: 1 }), second: 'same' },
  listTasks: { request: () => ({ kind: 'listTasks', category: 'timer', from: noPlace, to: noPlace, max: 1 }), second: 'same' },
  removeTask: {
    request: (shard) => ({
      kind: 'removeTask',
      taskId: [...shard.core.shard.transfers.values()][0]?.taskId ?? 0,
      taskType: '',
      by: 'anna',
    }),
    second: refused('task-not-found'),
  },
  // What a run that is gone would have had to do is nothing.
  addTasks: { request: () => ({ kind: 'addTasks', key: letterTask.key, tasks: [encodeLetterTask(letterTask)] }), second: 'same' },
};

const kinds = Object.keys(asked) as Request['kind'][];

describe.each(kinds)('%s', (kind) => {
  test.each([
    ['no workflow task is pending', false],
    ['a worker has a workflow task, so that events are buffered', true],
  ])('while %s', (_, busy) => {
    const shard = workflow();
    const running = busy ? woken(shard) : undefined;
    const { request, second } = asked[kind];
    const asking = request(shard, () => running ?? woken(shard));
    const answer = shard.request(asking);
    expect(answer?.kind).not.toBe('rejected');
    const state = shard.core.canonicalState();
    const events = shard.runIds().map((runId) => shard.history(runId));

    const answerAgain = shard.request(asking);
    expect(shard.core.canonicalState()).toBe(state);
    expect(shard.runIds().map((runId) => shard.history(runId))).toEqual(events);
    if (second === 'same') expect(answerAgain).toEqual(answer);
    else expect(answerAgain).toMatchObject(second);
  });
});

describe('a start that meets a running workflow', () => {
  test('and attaches its request id, attaches it once', () => {
    const shard = workflow();
    const onConflict = { attachRequestId: true, attachCallbacks: false, attachLinks: true, links: [bytes('link')] };
    const start = shard.startCommand({ policies: { reusePolicy: 1, conflictPolicy: 2 }, onConflict });
    const answer = shard.request(start);
    expect(shard.request(start)).toEqual(answer);
    expect(shard.history().filter((type) => type === 'workflowExecutionOptionsUpdated')).toHaveLength(1);
  });

  test('and ends it, does not end the run that it made', () => {
    const shard = workflow();
    const start = shard.startCommand({ policies: { reusePolicy: 1, conflictPolicy: 3 } });
    const answer = shard.request(start);
    expect(shard.request(start)).toEqual(answer);
    expect(shard.runIds().filter((runId) => shard.history(runId).at(-1) === 'workflowExecutionTerminated')).toHaveLength(1);
  });
});

test('a signal-with-start that signals what runs, signals it once', () => {
  const shard = workflow();
  const { start, newRunId, requestId, namespace } = shard.startCommand();
  const signal = signalAttributes({ requestId });
  const using = { reusePolicy: 1, conflictPolicy: 2 } as const;
  const request = { kind: 'signalWithStartWorkflow', key, namespace, newRunId, requestId, start, policies: using, signal } as const;
  const answer = shard.request(request);
  expect(answer).toMatchObject({ started: false });
  expect(shard.request(request)).toEqual(answer);
  expect(shard.history().filter((type) => type === 'workflowExecutionSignaled')).toHaveLength(1);
});

test('a failed attempt of an activity fails once, also when the next one is with a worker', () => {
  const shard = workflow();
  const activity = activityRef(shard.pollActivityTask());
  const failing = { kind: 'failActivityTask', activity, failure: undefined, lastHeartbeatDetails: undefined, identity } as const;
  shard.expectDone(failing);
  shard.fireNextTimer();
  expect(shard.pollActivityTask()).toMatchObject({ attempt: 2 });
  expect(shard.expectRejected(failing)).toMatchObject({ reason: 'activity-not-found' });
});

test('a heartbeat says twice what it says once', () => {
  const shard = workflow();
  const activity = activityRef(shard.pollActivityTask());
  const heartbeat = { kind: 'recordActivityHeartbeat', activity, details, identity } as const;
  const answer = shard.request(heartbeat);
  const [pending] = shard.describe().pendingActivities;
  expect(shard.request(heartbeat)).toEqual(answer);
  expect(shard.describe().pendingActivities).toEqual([pending]);
  expect(pending).toMatchObject({ heartbeatDetails: details });
});

test('a query that is asked twice while it waits for a workflow task is answered twice, with what the worker said once', () => {
  const shard = workflow();
  shard.signal();
  const query = { queryId: 'q', query: details, rejectCondition: 0, deadlineMs: shard.nowMs + 1_000 };
  const askIds = [1, 2].map(() => {
    expect(shard.request({ kind: 'queryWorkflow', key, ...query })).toBeUndefined();
    return shard.lastAskId;
  });
  const task = shard.pollWorkflowTask();
  expect([...task.queries.keys()]).toEqual(['q']);
  const result = { answered: true, answer: bytes('answer'), errorMessage: '', failure: undefined };
  shard.complete(task, [], { queryResults: new Map([['q', result]]) });
  const reply = { kind: 'queryAnswered', answer: bytes('answer') };
  expect(shard.effects).toEqual(askIds.map((askId) => ({ kind: 'reply', askId, reply })));
});
