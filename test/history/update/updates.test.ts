/** Updates: admitted in memory, delivered with a workflow task, and in history only if a worker accepts them. */
import { describe, expect, test } from 'vitest';
import { status } from '../../../src/history/generated/enums.ts';
import type { HistoryReply, StartedWorkflowTask } from '../../../src/history/run/history-replies.ts';
import type { UpdateMessage } from '../../../src/history/commands/update-commands.ts';
import {
  activityRef,
  bytes,
  completeWorkflow,
  continueAsNew,
  key,
  protocolMessage,
  scheduleActivity,
  ShardUnderTest,
  startTimer,
  terminateWorkflow,
  updateRequest,
  updateWorkflow,
} from '../shard-under-test.ts';

const scheduled = ['workflowTaskScheduled', 'workflowTaskStarted', 'workflowTaskCompleted'];

/** Its last task is the end of its history: nothing new is shipped with the next one. */
function idleWorkflow(limits = {}): ShardUnderTest {
  const shard = new ShardUnderTest(limits);
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('t1', 60_000)]);
  shard.fireNextTimer();
  shard.complete(shard.pollWorkflowTask());
  shard.effects.length = 0;
  return shard;
}

function offered(shard: ShardUnderTest) {
  const effect = shard.effects.findLast(({ kind }) => kind === 'speculativeOffered');
  if (effect?.kind !== 'speculativeOffered') throw new Error('no task was offered');
  return effect;
}

function poll(shard: ShardUnderTest, pollRequestId = 'poll', taskQueue = offered(shard).taskQueue): StartedWorkflowTask {
  const { scheduledEventId, stamp } = offered(shard);
  const reply = shard.ask({ kind: 'startWorkflowTask', key, scheduledEventId, stamp, pollRequestId, identity: 'worker', taskQueue });
  if (reply?.kind !== 'workflowTask') throw new Error(`no workflow task: ${JSON.stringify(reply)}`);
  return reply;
}

/** Waits: answers the id of its ask. */
function update(shard: ShardUnderTest, ...args: Parameters<typeof updateWorkflow>): number {
  expect(shard.ask(updateWorkflow(...args))).toBeUndefined();
  return shard.lastAskId;
}

function answerTo(shard: ShardUnderTest, askId: number): HistoryReply | undefined {
  const effect = shard.effects.find((each) => each.kind === 'reply' && each.askId === askId);
  return effect?.kind === 'reply' ? effect.reply : undefined;
}

const acceptance = (updateId = 'u1'): UpdateMessage => ({
  id: `${updateId}/accepted`,
  updateId,
  body: { kind: 'acceptance', requestMessageId: `${updateId}/request`, requestSequencingEventId: 7, request: undefined },
});
const response = (updateId = 'u1', outcome = bytes('outcome')): UpdateMessage => ({
  id: `${updateId}/completed`,
  updateId,
  body: { kind: 'response', metaUpdateId: updateId, identity: 'worker', outcome },
});
const rejection = (updateId = 'u1', hasRequest = false): UpdateMessage => ({
  id: `${updateId}/rejected`,
  updateId,
  body: { kind: 'rejection', hasRequest, failure: bytes('no') },
});
const placed = (messages: readonly UpdateMessage[]) => messages.map(({ id }) => protocolMessage(id));

/** As an SDK does it: what changes the workflow is placed among the commands. */
function answer(shard: ShardUnderTest, task: StartedWorkflowTask, messages: readonly UpdateMessage[], change = {}) {
  return shard.complete(task, placed(messages.filter(({ body }) => body.kind !== 'rejection')), { messages, ...change });
}

const stage = (reply: HistoryReply | undefined) => (reply?.kind === 'updateStage' ? reply.stage : reply);
const textOf = (outcome: Uint8Array | undefined) => new TextDecoder().decode(outcome);

describe('what a worker brings', () => {
  const broughtBy = (updateId: string, request: Uint8Array): UpdateMessage => ({
    id: 'm',
    updateId,
    body: { kind: 'acceptance', requestMessageId: `${updateId}/request`, requestSequencingEventId: 7, request },
  });

  test('an id that no client may have is none of an update, and a request id that none may have is left out', () => {
    const shard = new ShardUnderTest();
    shard.start();
    const long = 'u'.repeat(1_001);
    shard.completeBadly(shard.pollWorkflowTask(), [protocolMessage('m')], { messages: [broughtBy(long, updateRequest(long))] });
    expect(shard.describe().requestIds.size).toBe(1);
    const again = shard.pollWorkflowTask();
    const withLongRequestId = updateRequest('u1', { requestId: 'r'.repeat(1_001) });
    shard.complete(again, [protocolMessage('m')], { messages: [broughtBy('u1', withLongRequestId)] });
    expect(shard.history()).toContain('workflowExecutionUpdateAccepted');
    expect(shard.describe().requestIds.size).toBe(1);
  });
});

describe('the speculative task', () => {
  test('refused: no trace in the journal, and the worker goes on from where it was', () => {
    const shard = idleWorkflow();
    const before = { records: shard.records.length, state: shard.core.canonicalState(), history: shard.history() };
    const ask = update(shard);
    const task = poll(shard);
    const { historyLength } = shard.describe();
    expect(task).toMatchObject({
      scheduledEventId: historyLength + 1,
      startedEventId: historyLength + 2,
      historyLastEventId: historyLength,
    });
    expect(task.updates).toEqual([{ updateId: 'u1', request: bytes('request of u1') }]);
    expect(task.tailEvents).toHaveLength(2);
    expect(answer(shard, task, [rejection()]).resetHistoryEventId).toBe(task.previousStartedEventId);
    const reply = answerTo(shard, ask);
    expect(reply).toMatchObject({ kind: 'updateStage', stage: 'completed', completedEventId: 0 });
    expect(reply?.kind === 'updateStage' && textOf(reply.outcome)).toContain('no');
    expect({ records: shard.records.length, state: shard.core.canonicalState(), history: shard.history() }).toEqual(before);
    // Its id may be used again.
    update(shard);
    expect(poll(shard, 'another').updates).toHaveLength(1);
  });

  test('accepted and completed: made real, as if it had been a normal one', () => {
    const shard = idleWorkflow();
    const written = shard.history().length;
    const ask = update(shard);
    answer(shard, poll(shard), [acceptance(), response()]);
    expect(shard.history().slice(written)).toEqual([...scheduled, 'workflowExecutionUpdateAccepted', 'workflowExecutionUpdateCompleted']);
    expect(answerTo(shard, ask)).toMatchObject({ stage: 'completed', outcome: bytes('outcome') });
    const accepted = shard.events().find(({ type }) => type === 'workflowExecutionUpdateAccepted');
    expect(accepted?.attributes).toEqual({
      protocolInstanceId: 'u1',
      acceptedRequestMessageId: 'u1/request',
      acceptedRequestSequencingEventId: 7,
      acceptedRequest: bytes('request of u1'),
    });
  });

  test('something else happens: it becomes a real one first, and both hold', () => {
    const shard = idleWorkflow();
    update(shard);
    const task = poll(shard);
    const written = shard.history().length;
    shard.signal();
    expect(shard.history().slice(written)).toEqual(['workflowTaskScheduled', 'workflowTaskStarted']);
    answer(shard, task, [rejection()]);
    expect(shard.history().slice(written + 2)).toEqual(['workflowTaskCompleted', 'workflowExecutionSignaled', 'workflowTaskScheduled']);
  });

  test('something else happens before a worker has it: one real task, and the update rides on it', () => {
    const shard = idleWorkflow();
    update(shard);
    shard.signal();
    expect(shard.history().slice(-2)).toEqual(['workflowTaskScheduled', 'workflowExecutionSignaled']);
    const task = shard.pollWorkflowTask();
    expect(task.updates).toHaveLength(1);
    answer(shard, task, [acceptance(), response()]);
    expect(shard.ask(updateWorkflow())).toMatchObject({ stage: 'completed' });
  });

  test('none is offered while one is pending, or twice', () => {
    const shard = new ShardUnderTest();
    shard.start();
    update(shard);
    expect(shard.effects.filter(({ kind }) => kind === 'speculativeOffered')).toEqual([]);
    const idle = idleWorkflow();
    update(idle);
    update(idle, 'u2');
    expect(idle.effects.filter(({ kind }) => kind === 'speculativeOffered')).toHaveLength(1);
    expect(poll(idle).updates.map(({ updateId }) => updateId)).toEqual(['u1', 'u2']);
  });

  test('nobody polls: in time it is a normal task, and waits as long as it takes', () => {
    const shard = idleWorkflow();
    update(shard);
    const { key: run, scheduledEventId, scheduledTimeMs } = offered(shard);
    const end = { kind: 'endSpeculative', key: run, scheduledEventId, because: 'scheduleToStart', jitter: 0 } as const;
    const before = shard.history();
    shard.expectDone({ ...end, sinceMs: scheduledTimeMs - 1 });
    expect(shard.history(), 'of another one').toEqual(before);
    shard.expectDone({ ...end, sinceMs: scheduledTimeMs });
    expect(shard.history().slice(before.length)).toEqual(['workflowTaskScheduled', 'workflowTaskTimedOut', 'workflowTaskScheduled']);
    expect(shard.pollWorkflowTask().updates).toHaveLength(1);
  });

  test('its worker says nothing: all of it is written, and the update goes with the next attempt', () => {
    const shard = idleWorkflow();
    update(shard);
    const { key: run, scheduledEventId, startedTimeMs } = poll(shard);
    const before = shard.history().length;
    shard.expectDone({ kind: 'endSpeculative', key: run, scheduledEventId, sinceMs: startedTimeMs, because: 'startToClose', jitter: 0 });
    expect(shard.history().slice(before)).toEqual(['workflowTaskScheduled', 'workflowTaskStarted', 'workflowTaskTimedOut']);
    expect(shard.pollWorkflowTask()).toMatchObject({ attempt: 2, updates: [{ updateId: 'u1' }] });
  });

  test('a poll whose answer was lost gets it again, with its updates', () => {
    const shard = idleWorkflow();
    update(shard);
    const first = poll(shard, 'same');
    expect(poll(shard, 'same')).toEqual(first);
  });

  test('on a sticky queue that nobody polls another worker has it, with the whole history', () => {
    const shard = new ShardUnderTest();
    shard.start();
    const sticky = { taskQueue: { name: 'sticky', kind: 2, normalName: 'queue' }, scheduleToStartTimeoutMs: 3000 };
    shard.complete(shard.pollWorkflowTask(), [], { sticky });
    update(shard);
    expect(offered(shard)).toMatchObject({ taskQueue: { name: 'sticky' }, expiryTimeMs: shard.nowMs + 3000 });
    const before = shard.history();
    const task = poll(shard, 'poll', { name: 'queue', kind: 1, normalName: '' });
    expect(task).toMatchObject({ historyFirstEventId: 1, historyLastEventId: before.length });
    answer(shard, task, [rejection()]);
    expect(shard.history()).toEqual(before);
  });

  test('events that went out with it make it real, unless its worker forgets them again', () => {
    for (const discardsSpeculativeEvents of [false, true]) {
      const shard = new ShardUnderTest();
      shard.start();
      shard.complete(shard.pollWorkflowTask(), [scheduleActivity()]);
      const before = shard.history();
      update(shard);
      answer(shard, poll(shard), [rejection()], { discardsSpeculativeEvents });
      expect(shard.history().slice(before.length)).toEqual(discardsSpeculativeEvents ? [] : scheduled);
    }
  });

  test('a timer that turns out to be irrelevant does not make it real', () => {
    const shard = new ShardUnderTest();
    shard.start();
    shard.complete(shard.pollWorkflowTask(), [scheduleActivity({ heartbeatTimeoutMs: 2000, startToCloseTimeoutMs: 60_000 })]);
    const activity = shard.pollActivityTask();
    shard.advance(1500);
    shard.ask({ kind: 'recordActivityHeartbeat', activity: activityRef(activity), details: undefined, identity: 'worker' });
    update(shard);
    const written = shard.history();
    // The heartbeat has moved the deadline: this timer is armed again, and nothing else comes of it.
    shard.advance(500);
    shard.fireDueTimers();
    expect(shard.history()).toEqual(written);
    expect(poll(shard).updates).toHaveLength(1);
  });
});

describe('what becomes of an update', () => {
  test('accepted now, completed later: each caller hears what he waited for', () => {
    const shard = idleWorkflow();
    const first = update(shard, 'u1', { waitStage: 'accepted' });
    const second = update(shard, 'u1');
    answer(shard, poll(shard), [acceptance()]);
    expect([answerTo(shard, first), answerTo(shard, second)].map(stage)).toEqual(['accepted', undefined]);
    expect(shard.ask({ kind: 'pollUpdate', key, updateId: 'u1', waitStage: 'none' })).toMatchObject({ stage: 'accepted' });
    shard.signal();
    answer(shard, shard.pollWorkflowTask(), [response()]);
    expect(stage(answerTo(shard, second))).toBe('completed');
    const completed = shard.events().find(({ type }) => type === 'workflowExecutionUpdateCompleted');
    expect(shard.ask(updateWorkflow())).toMatchObject({ stage: 'completed', completedEventId: completed?.eventId });
  });

  test('a worker that says nothing of it has refused it', () => {
    const shard = idleWorkflow();
    const ask = update(shard);
    const before = shard.history();
    answer(shard, poll(shard), []);
    const reply = answerTo(shard, ask);
    expect(reply?.kind === 'updateStage' && textOf(reply.outcome)).toContain('UnprocessedUpdate');
    expect(shard.history()).toEqual(before);
  });

  test('while a worker asks for more time it keeps it', () => {
    const shard = idleWorkflow();
    const ask = update(shard);
    const { workflowTask } = shard.complete(poll(shard), [], { forceCreateNewWorkflowTask: true, returnNewWorkflowTask: true });
    expect(workflowTask?.updates).toEqual([]);
    expect(answerTo(shard, ask)).toBeUndefined();
    if (workflowTask === undefined) throw new Error('no task');
    answer(shard, workflowTask, [acceptance(), response()]);
    expect(stage(answerTo(shard, ask))).toBe('completed');
  });

  test('one that comes while a task is with a worker goes with the answer to that, or is offered', () => {
    for (const returnNewWorkflowTask of [true, false]) {
      const shard = new ShardUnderTest();
      shard.start();
      const task = shard.pollWorkflowTask();
      const ask = update(shard);
      const { workflowTask } = shard.complete(task, [], { returnNewWorkflowTask });
      const next = workflowTask ?? poll(shard);
      expect(next.updates).toHaveLength(1);
      answer(shard, next, [acceptance(), response()]);
      expect(stage(answerTo(shard, ask))).toBe('completed');
    }
  });

  test('a worker that fails: the next attempt has it', () => {
    const shard = idleWorkflow();
    update(shard);
    const { key: run, scheduledEventId, startedEventId, startedTimeMs, attempt } = poll(shard);
    const task = { key: run, scheduledEventId, startedEventId, startedTimeMs, attempt };
    shard.expectDone({ kind: 'failWorkflowTask', task, cause: 1, failure: undefined, identity: 'w', binaryChecksum: '', jitter: 0 });
    expect(shard.pollWorkflowTask().updates).toHaveLength(1);
  });

  test('a completion that the server refuses fails what came with it, and keeps what waits', () => {
    const shard = idleWorkflow();
    const sent = update(shard);
    const task = poll(shard);
    const waiting = update(shard, 'u2');
    const rejected = shard.completeBadly(task, [startTimer('', 1)], { messages: [] });
    expect(rejected.message).toContain('BadStartTimerAttributes');
    expect(answerTo(shard, sent)).toMatchObject({ kind: 'rejected', rejection: { reason: 'workflow-not-ready' } });
    expect(answerTo(shard, waiting)).toBeUndefined();
    expect(shard.pollWorkflowTask().updates.map(({ updateId }) => updateId)).toEqual(['u2']);
  });

  test('one of a later attempt does so too, though its task is left to time out', () => {
    const shard = idleWorkflow();
    update(shard);
    shard.completeBadly(poll(shard), [startTimer('', 1)], { messages: [] });
    const sent = update(shard);
    const task = shard.pollWorkflowTask();
    expect(task).toMatchObject({ attempt: 2, updates: [{ updateId: 'u1' }] });
    const before = shard.history();
    shard.completeBadly(task, [startTimer('', 1)], { messages: [] });
    expect(answerTo(shard, sent)).toMatchObject({ kind: 'rejected', rejection: { reason: 'workflow-not-ready' } });
    expect(shard.history()).toEqual(before);
  });

  test('the run closes: not accepted is reported, accepted has failed, completed stays', () => {
    const shard = idleWorkflow();
    update(shard, 'done');
    update(shard, 'accepted');
    answer(shard, poll(shard), [acceptance('done'), response('done'), acceptance('accepted')]);
    const accepted = update(shard, 'accepted');
    const admitted = update(shard, 'admitted');
    shard.expectDone(terminateWorkflow());
    expect(answerTo(shard, admitted)).toMatchObject({ rejection: { message: 'workflow update was aborted by closing workflow' } });
    const failed = answerTo(shard, accepted);
    expect(failed?.kind === 'updateStage' && textOf(failed.outcome)).toContain('AcceptedUpdateCompletedWorkflow');
    expect(shard.ask(updateWorkflow('done'))).toMatchObject({ stage: 'completed', outcome: undefined });
    const again = shard.ask(updateWorkflow('accepted'));
    expect(again?.kind === 'updateStage' && textOf(again.outcome)).toContain('AcceptedUpdateCompletedWorkflow');
    expect(shard.expectRejected(updateWorkflow('admitted')).reason).toBe('workflow-closed');
  });

  test('a termination before a worker has the task: it is described until then, and leaves no trace', () => {
    const shard = idleWorkflow();
    const sent = update(shard);
    expect(shard.describe().pendingWorkflowTask).toMatchObject({ started: false, attempt: 1 });
    const written = shard.history().length;
    shard.expectDone(terminateWorkflow());
    expect(shard.history().slice(written)).toEqual(['workflowExecutionTerminated']);
    expect(answerTo(shard, sent)).toMatchObject({ rejection: { message: 'workflow update was aborted by closing workflow' } });
    const { scheduledEventId, stamp, taskQueue } = offered(shard);
    const poll = { kind: 'startWorkflowTask', key, scheduledEventId, stamp, pollRequestId: 'poll', identity: 'worker', taskQueue } as const;
    expect(shard.expectRejected(poll).reason).toBe('task-not-found');
  });

  test('the run continues as new: whoever is not accepted asks again', () => {
    const shard = idleWorkflow();
    update(shard);
    const task = poll(shard);
    const late = update(shard, 'late');
    shard.complete(task, [...placed([acceptance()]), continueAsNew()], { messages: [acceptance()] });
    expect(answerTo(shard, late)).toMatchObject({ rejection: { reason: 'busy-workflow' } });
    expect(shard.ask({ kind: 'pollUpdate', key, updateId: 'late', waitStage: 'none' })).toMatchObject({
      rejection: { reason: 'update-not-found' },
    });
    update(shard, 'late');
    expect(shard.pollWorkflowTask().updates.map(({ updateId }) => updateId)).toEqual(['late']);
  });

  test('a close in the task that accepts it: whoever waited for that is told that it has failed', () => {
    const shard = idleWorkflow();
    const ask = update(shard, 'u1', { waitStage: 'accepted' });
    const messages = [acceptance()];
    shard.complete(poll(shard), [...placed(messages), completeWorkflow()], { messages });
    const told = answerTo(shard, ask);
    expect(told).toMatchObject({ stage: 'completed' });
    expect(told?.kind === 'updateStage' && textOf(told.outcome)).toContain('AcceptedUpdateCompletedWorkflow');
  });

  test('a close in the task that completes it', () => {
    const shard = idleWorkflow();
    const ask = update(shard);
    const messages = [acceptance(), response()];
    shard.complete(poll(shard), [...placed(messages), completeWorkflow()], { messages });
    expect(stage(answerTo(shard, ask))).toBe('completed');
    expect(shard.history().slice(-3)).toEqual([
      'workflowExecutionUpdateAccepted',
      'workflowExecutionUpdateCompleted',
      'workflowExecutionCompleted',
    ]);
  });

  test('its callers give up: it stays, and whoever asks again waits for the same', () => {
    const shard = idleWorkflow();
    shard.cancel(update(shard));
    const task = poll(shard);
    expect(task.updates).toHaveLength(1);
    const ask = update(shard);
    answer(shard, task, [acceptance(), response()]);
    expect(stage(answerTo(shard, ask))).toBe('completed');
  });
});

function acceptedWith(change: Partial<Extract<UpdateMessage['body'], { kind: 'acceptance' }>>): UpdateMessage {
  const accepted = acceptance();
  return accepted.body.kind === 'acceptance' ? { ...accepted, body: { ...accepted.body, ...change } } : accepted;
}

function respondedAs(metaUpdateId: string | undefined): UpdateMessage {
  const responded = response();
  return responded.body.kind === 'response' ? { ...responded, body: { ...responded.body, metaUpdateId } } : responded;
}

describe('messages that make no sense fail the task and change nothing', () => {
  const refusals: readonly (readonly [string, readonly UpdateMessage[], string])[] = [
    ['of an unknown update', [acceptance('unknown')], "update unknown wasn't found on the server"],
    ['a response before the acceptance', [response()], 'received *update.Response message while in state Sent'],
    [
      'twice accepted',
      [acceptance(), { ...acceptance(), id: 'again' }],
      'received *update.Acceptance message while in state ProvisionallyAccepted',
    ],
    [
      'twice completed',
      [acceptance(), response(), { ...response(), id: 'again' }],
      'received *update.Response message while in state ProvisionallyCompleted',
    ],
    ['without an id', [acceptance('')], "update  wasn't found on the server"],
    [
      'accepted without a place',
      [acceptedWith({ requestSequencingEventId: 0, requestMessageId: '' })],
      'invalid *update.Acceptance: accepted_request_sequencing_event_id is not set',
    ],
    [
      'accepted without the message that is accepted',
      [acceptedWith({ requestMessageId: '' })],
      'invalid *update.Acceptance: accepted_request_message_id is not set',
    ],
    ['completed by nobody', [acceptance(), respondedAs(undefined)], 'invalid *update.Response: meta is not set'],
    ['completed without an id', [acceptance(), respondedAs('')], 'invalid *update.Response: meta.update_id is not set'],
    ['completed as another one', [acceptance(), respondedAs('u2')], 'invalid *update.Response: meta.update_id != u1'],
    [
      'accepted, then refused',
      [acceptance(), { ...rejection(), id: 'no' }],
      'received *update.Rejection message while in state ProvisionallyAccepted',
    ],
  ];
  test.each(refusals)('%s', (_name, messages, message) => {
    const shard = idleWorkflow();
    const before = shard.history();
    const ask = update(shard);
    const rejected = shard.completeBadly(poll(shard), placed(messages.filter(({ body }) => body.kind !== 'rejection')), { messages });
    expect(rejected).toMatchObject({ reason: 'bad-command', message: expect.stringContaining(message) });
    expect(rejected.message).toContain('BadUpdateWorkflowExecutionMessage: ');
    expect(shard.history().slice(before.length)).toEqual(['workflowTaskScheduled', 'workflowTaskStarted', 'workflowTaskFailed']);
    expect(answerTo(shard, ask)?.kind).toBe('rejected');
  });

  test('a command that names no message, or one that is not there', () => {
    for (const [id, text] of [
      ['', 'MessageId is not set'],
      ['none', 'absent message ID'],
    ] as const) {
      const shard = idleWorkflow();
      update(shard);
      expect(shard.completeBadly(poll(shard), [protocolMessage(id)], { messages: [] }).message).toContain(text);
    }
  });
});

/** A worker has the first task of a start in its delay, made for update u1, when a query comes that cannot wait for the delay to end. */
function queriedInDelay(): { readonly shard: ShardUnderTest; readonly task: StartedWorkflowTask; readonly asked: number } {
  const shard = new ShardUnderTest();
  shard.ask(shard.startCommand({ start: { startDelayMs: 60_000 } }));
  update(shard);
  const task = poll(shard);
  const query = { kind: 'queryWorkflow', key, queryId: 'q', query: bytes('query'), rejectCondition: 0 } as const;
  expect(shard.ask({ ...query, deadlineMs: shard.nowMs + 10_000, remainingMs: 10_000 })).toBeUndefined();
  return { shard, task, asked: shard.lastAskId };
}

describe('a speculative task that goes with its run, or is dropped as the first', () => {
  test('by a limit that the offer of its task comes with: nothing of the task is left', () => {
    const shard = new ShardUnderTest({ historyEventsMax: 3 });
    shard.start();
    const task = shard.pollWorkflowTask();
    update(shard);
    answer(shard, task, []);
    expect(shard.describe().pendingWorkflowTask).toBeUndefined();
    expect(shard.describe().status).toBe(status.terminated);
  });

  test('a query that its first task was dropped with hears that there is none', () => {
    const { shard, task, asked } = queriedInDelay();
    answer(shard, task, [rejection()]);
    expect(answerTo(shard, asked)).toMatchObject({ rejection: { reason: 'workflow-not-ready' } });
  });

  test('a query goes with the task that its worker gets for the next update', () => {
    const { shard, task, asked } = queriedInDelay();
    update(shard, 'u2');
    const { workflowTask } = answer(shard, task, [rejection()], { returnNewWorkflowTask: true });
    expect(workflowTask?.queries.size).toBe(1);
    expect(answerTo(shard, asked)).toBeUndefined();
  });
});

test('a worker that refuses 150,000 updates that nobody asked for holds up nobody', () => {
  const shard = idleWorkflow();
  shard.signal();
  const task = shard.pollWorkflowTask();
  // Where each looks through all others, this does not end within the time of a test.
  answer(
    shard,
    task,
    Array.from({ length: 150_000 }, (_, n) => rejection(`u${n}`, true)),
  );
  expect(shard.history().at(-1)).toBe('workflowTaskCompleted');
});

describe('after a takeover, which forgets what is not accepted', () => {
  test('a worker that still knows it accepts it, with the request that it kept', () => {
    const shard = idleWorkflow();
    shard.signal();
    const task = shard.pollWorkflowTask();
    const message: UpdateMessage = { ...acceptance(), body: { ...acceptance().body, request: bytes('kept') } as UpdateMessage['body'] };
    answer(shard, task, [message, response()]);
    expect(shard.ask(updateWorkflow())).toMatchObject({ stage: 'completed' });
  });

  test('a refusal of one that was forgotten is no error if it says what was asked', () => {
    const shard = idleWorkflow();
    shard.signal();
    answer(shard, shard.pollWorkflowTask(), [rejection('u1', true)]);
    expect(shard.expectRejected({ kind: 'pollUpdate', key, updateId: 'u1', waitStage: 'none' }).reason).toBe('update-not-found');
  });

  test.each([true, false])('a refusal without an id refuses nothing, and fails no task; in history: %s', (isInHistory) => {
    const shard = idleWorkflow();
    if (isInHistory) shard.signal();
    update(shard);
    answer(shard, isInHistory ? shard.pollWorkflowTask() : poll(shard), [rejection('', true)]);
    expect(shard.history()).not.toContain('workflowTaskFailed');
    expect(shard.expectRejected({ kind: 'pollUpdate', key, updateId: 'u1', waitStage: 'none' }).reason).toBe('update-not-found');
  });
});

describe('limits', () => {
  test('in flight, of one run', () => {
    const shard = idleWorkflow();
    for (let n = 0; n < 10; n++) update(shard, `u${n}`);
    expect(shard.expectRejected(updateWorkflow('u10'))).toEqual({
      reason: 'too-many-updates',
      message: 'limit on number of concurrent in-flight updates has been reached (10)',
    });
    // Who asks again is not one more.
    update(shard, 'u3');
    answer(shard, poll(shard), [rejection('u0')]);
    expect(shard.ask(updateWorkflow('u10'))).toBeUndefined();
  });

  test('in bytes, and of a namespace', () => {
    const ofRun = idleWorkflow({ updateBytesInFlightMax: 3000 });
    update(ofRun);
    update(ofRun, 'u2');
    expect(ofRun.expectRejected(updateWorkflow('u3')).message).toContain('size of in-flight updates');
    const ofNamespace = idleWorkflow({ updateBytesPerNamespaceMax: 3000 });
    const other = { ...key, workflowId: 'other' };
    ofNamespace.start({ key: other });
    update(ofNamespace);
    update(ofNamespace, 'u1', { key: other });
    expect(ofNamespace.expectRejected(updateWorkflow('u2')).reason).toBe('too-many-updates');
    ofNamespace.expectDone(terminateWorkflow({ key: other }));
    expect(ofNamespace.ask(updateWorkflow('u2'))).toBeUndefined();
  });

  test('all its life long, with advice to continue as new before', () => {
    const shard = idleWorkflow({ updatesPerRunMax: 2, updatesSuggestRatio: 0.5 });
    update(shard);
    const { resetHistoryEventId } = answer(shard, poll(shard), [acceptance(), response()]);
    expect(resetHistoryEventId).toBe(0);
    update(shard, 'u2');
    answer(shard, poll(shard), [acceptance('u2'), response('u2')]);
    expect(shard.events().findLast(({ type }) => type === 'workflowTaskStarted')?.attributes).toMatchObject({
      suggestContinueAsNewReasons: [3],
    });
    expect(shard.expectRejected(updateWorkflow('u3')).message).toContain('has been reached (2)');
    expect(shard.ask(updateWorkflow('u2'))).toMatchObject({ stage: 'completed' });
  });

  test('what one task takes along', () => {
    const shard = idleWorkflow({ updateBytesPerTaskMax: 2 * 1100 });
    for (let n = 0; n < 3; n++) update(shard, `u${n}`);
    const task = poll(shard);
    expect(task.updates.map(({ updateId }) => updateId)).toEqual(['u0', 'u1']);
    const { workflowTask } = answer(shard, task, [rejection('u0'), rejection('u1')], { returnNewWorkflowTask: true });
    expect(workflowTask?.updates.map(({ updateId }) => updateId)).toEqual(['u2']);
  });

  test('a workflow whose tasks fail takes none', () => {
    const shard = new ShardUnderTest();
    shard.start();
    for (let n = 0; n < 2; n++) failTask(shard);
    expect(shard.expectRejected(updateWorkflow()).reason).toBe('workflow-not-ready');
  });

  test('asked again while its tasks fail, one that no worker has accepted is refused too; it goes with the next task all the same', () => {
    const shard = new ShardUnderTest();
    const start = shard.startCommand({ policies: { reusePolicy: 1, conflictPolicy: 1 } });
    const withStart = { kind: 'startAndUpdate', key, start, update: updateWorkflow().update } as const;
    expect(shard.ask(withStart)).toBeUndefined();
    const first = shard.lastAskId;
    for (let n = 0; n < 2; n++) failTask(shard);
    for (const again of [updateWorkflow(), withStart]) expect(shard.expectRejected(again).reason).toBe('workflow-not-ready');
    expect(answerTo(shard, first)).toBeUndefined();
    answer(shard, shard.pollWorkflowTask(), [acceptance(), response()]);
    expect(stage(answerTo(shard, first))).toBe('completed');
  });

  test('one that was accepted before is answered with its state, also while its tasks fail', () => {
    const shard = idleWorkflow();
    update(shard);
    answer(shard, poll(shard), [acceptance()]);
    shard.signal();
    for (let n = 0; n < 2; n++) failTask(shard);
    expect(stage(shard.ask(updateWorkflow('u1', { waitStage: 'accepted' })))).toBe('accepted');
  });

  test('one that waits in a paused workflow is refused as a new one is', () => {
    const shard = idleWorkflow();
    update(shard);
    shard.expectDone({ kind: 'pauseWorkflow', key, identity: 'operator', reason: 'why', requestId: 'one' });
    for (const id of ['u1', 'u2']) expect(shard.expectRejected(updateWorkflow(id)).message).toContain('Workflow is paused');
  });
});

function failTask(shard: ShardUnderTest): void {
  const { key: run, scheduledEventId, startedEventId, startedTimeMs, attempt } = shard.pollWorkflowTask();
  const task = { key: run, scheduledEventId, startedEventId, startedTimeMs, attempt };
  shard.expectDone({ kind: 'failWorkflowTask', task, cause: 1, failure: undefined, identity: 'w', binaryChecksum: '', jitter: 0 });
}

describe('with a start', () => {
  const startAndUpdate = (shard: ShardUnderTest, conflictPolicy: 1 | 2 | 3 = 1, updateId = 'u1') => {
    const start = shard.startCommand({ policies: { reusePolicy: 1, conflictPolicy } });
    return { kind: 'startAndUpdate', key, start, update: updateWorkflow(updateId).update } as const;
  };

  test('a new run, whose first task brings the update', () => {
    const shard = new ShardUnderTest();
    expect(shard.ask(startAndUpdate(shard))).toBeUndefined();
    const ask = shard.lastAskId;
    const task = shard.pollWorkflowTask();
    expect(task.updates).toHaveLength(1);
    answer(shard, task, [acceptance(), response()]);
    expect(answerTo(shard, ask)).toMatchObject({ stage: 'completed', started: { kind: 'started', started: true, runId: task.key.runId } });
  });

  test('the open run, if the policy or the update says so; the policy is asked only for an update that is new', () => {
    const shard = idleWorkflow();
    expect(shard.ask(startAndUpdate(shard))).toMatchObject({ kind: 'startRefused', rejection: { reason: 'already-started' } });
    expect(shard.ask(startAndUpdate(shard, 2))).toBeUndefined();
    expect(shard.ask(startAndUpdate(shard, 1))).toBeUndefined();
    const asks = [shard.lastAskId - 1, shard.lastAskId];
    answer(shard, poll(shard), [acceptance(), response()]);
    for (const ask of asks) expect(answerTo(shard, ask)).toMatchObject({ stage: 'completed', started: { started: false } });
    shard.expectDone(terminateWorkflow());
    expect(shard.ask(startAndUpdate(shard))).toMatchObject({ stage: 'completed', started: { started: false } });
  });

  test('the start is asked again, and its run has gone on: the open one has the update, if the policy says so', () => {
    const shard = new ShardUnderTest();
    shard.start({ requestId: 'r' });
    shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
    const again = (conflictPolicy: 1 | 2) => {
      const asked = startAndUpdate(shard, conflictPolicy);
      return shard.ask({ ...asked, start: { ...asked.start, requestId: 'r' } });
    };
    expect(again(1)).toMatchObject({ rejection: { reason: 'workflow-closed' } });
    expect(again(2)).toBeUndefined();
    const ask = shard.lastAskId;
    const task = poll(shard);
    answer(shard, task, [acceptance(), response()]);
    expect(answerTo(shard, ask)).toMatchObject({ stage: 'completed', runId: task.key.runId, started: { started: false } });
  });

  test('asked again once its update is over and its run has gone on: it hears of that end, and the open run of no update', () => {
    const shard = new ShardUnderTest();
    const asked = startAndUpdate(shard, 2);
    expect(shard.ask(asked)).toBeUndefined();
    const { runId } = shard.describe().key;
    answer(shard, shard.pollWorkflowTask(), [acceptance(), response()]);
    shard.signal();
    shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
    expect(shard.describe().key.runId).not.toBe(runId);
    expect(shard.ask(asked)).toMatchObject({ stage: 'completed', runId });
    expect(shard.effects.some(({ kind }) => kind === 'speculativeOffered')).toBe(false);
  });

  test('its run closes before a worker accepts it: whose run that was is reported as well', () => {
    const shard = new ShardUnderTest();
    const aborted = { reason: 'workflow-closed', message: 'workflow update was aborted by closing workflow' };
    shard.ask(startAndUpdate(shard));
    shard.ask(startAndUpdate(shard, 2, 'u2'));
    const asks = [shard.lastAskId - 1, shard.lastAskId];
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    expect(answerTo(shard, asks[0]!)).toEqual({ kind: 'updateRefused', rejection: aborted, begun: true });
    expect(answerTo(shard, asks[1]!)).toEqual({ kind: 'updateRefused', rejection: aborted, begun: false });
    // The same asked again begins another run.
    expect(shard.ask(startAndUpdate(shard, 2, 'u2'))).toBeUndefined();
    expect(shard.pollWorkflowTask().updates).toMatchObject([{ updateId: 'u2' }]);
  });

  test('a start that joined the run that closes begins another one when it asks again; a start alone is answered as before', () => {
    const shard = idleWorkflow();
    const joining = startAndUpdate(shard, 2, 'u2');
    const onConflict = { attachRequestId: true, attachCallbacks: false, attachLinks: false, links: [] };
    const again = { ...joining, start: { ...joining.start, onConflict, newRunId: shard.newRunId() } };
    const { runId } = shard.describe().key;
    expect(shard.ask(again)).toBeUndefined();
    shard.complete(poll(shard), [completeWorkflow()]);
    expect(shard.ask(again.start)).toMatchObject({ kind: 'started', runId, started: false });
    expect(shard.ask(again)).toBeUndefined();
    const askId = shard.lastAskId;
    const task = shard.pollWorkflowTask();
    expect(task).toMatchObject({ key: { runId: again.start.newRunId }, updates: [{ updateId: 'u2' }] });
    answer(shard, task, [acceptance('u2'), response('u2')]);
    expect(answerTo(shard, askId)).toMatchObject({ stage: 'completed', started: { started: true } });
  });

  test('an id that a closed run has accepted, and not completed, is free', () => {
    const shard = new ShardUnderTest();
    shard.ask(startAndUpdate(shard));
    answer(shard, shard.pollWorkflowTask(), [acceptance()]);
    shard.expectDone(terminateWorkflow());
    expect(shard.ask(startAndUpdate(shard))).toBeUndefined();
    expect(shard.runIds()).toHaveLength(2);
  });

  test('an update that is refused starts nothing', () => {
    const shard = new ShardUnderTest({ updateBytesPerNamespaceMax: 10 });
    expect(shard.expectRejected(startAndUpdate(shard)).reason).toBe('too-many-updates');
    expect(shard.expectRejected({ kind: 'describeWorkflow', key }).reason).toBe('workflow-not-found');
  });
});
