/** Updates behind the event of a reset: a worker gets them once more, in the run that goes on. As measured on Temporal's server (1.31). */
import { describe, expect, test } from 'vitest';
import type { HistoryReply, StartedWorkflowTask } from '../../../src/history/run/history-replies.ts';
import type { UpdateMessage } from '../../../src/history/commands/update-commands.ts';
import {
  bytes,
  completeWorkflow,
  continueAsNew,
  key,
  protocolMessage,
  ShardUnderTest,
  updateRequest,
  updateWorkflow,
} from '../shard-under-test.ts';

/** The task that ends with event 4 is what every reset here goes back to. */
const firstTask = 4;

function started(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask());
  return shard;
}

const acceptance = (updateId = 'u1'): UpdateMessage => ({
  id: `${updateId}/accepted`,
  updateId,
  body: { kind: 'acceptance', requestMessageId: `${updateId}/request`, requestSequencingEventId: 7, request: updateRequest(updateId) },
});
const response = (updateId = 'u1'): UpdateMessage => ({
  id: `${updateId}/completed`,
  updateId,
  body: { kind: 'response', metaUpdateId: updateId, identity: 'worker', outcome: bytes(`outcome of ${updateId}`) },
});
const rejection = (updateId = 'u1'): UpdateMessage => ({
  id: `${updateId}/rejected`,
  updateId,
  body: { kind: 'rejection', hasRequest: true, failure: bytes('no') },
});

/** As an SDK does it: what changes the workflow is placed among the commands. */
function answer(shard: ShardUnderTest, task: StartedWorkflowTask, messages: readonly UpdateMessage[], change = {}): void {
  const placed = messages.filter(({ body }) => body.kind !== 'rejection').map(({ id }) => protocolMessage(id));
  shard.complete(task, placed, { messages, ...change });
}

/** In a task that comes with a signal. */
function accept(shard: ShardUnderTest, ...messages: readonly UpdateMessage[]): void {
  shard.signal({ requestId: '' });
  answer(shard, shard.pollWorkflowTask(), messages);
}

function update(shard: ShardUnderTest, updateId = 'u1', runId = ''): HistoryReply | undefined {
  const attributes = { updateId, request: updateRequest(updateId), waitStage: 'completed' } as const;
  return shard.ask({ ...updateWorkflow(), key: { ...key, runId }, update: attributes });
}

/** Waits: answers the id of its ask. */
function poll(shard: ShardUnderTest, updateId = 'u1'): number {
  expect(shard.ask({ kind: 'pollUpdate', key, updateId, waitStage: 'completed' })).toBeUndefined();
  return shard.lastAskId;
}

function answerTo(shard: ShardUnderTest, askId: number): HistoryReply | undefined {
  const effect = shard.effects.find((each) => each.kind === 'reply' && each.askId === askId);
  return effect?.kind === 'reply' ? effect.reply : undefined;
}

const outcomeOf = (reply: HistoryReply | undefined) =>
  reply?.kind === 'updateStage' ? [reply.stage, new TextDecoder().decode(reply.outcome)] : reply;
const admitted = (shard: ShardUnderTest) => shard.history().filter((type) => type === 'workflowExecutionUpdateAdmitted');

describe('an update that was accepted', () => {
  test('is admitted by an event that has its request, and answered as ever', () => {
    const shard = started();
    accept(shard, acceptance(), response());
    shard.reset(firstTask);
    const event = shard.lastEvent('workflowExecutionUpdateAdmitted');
    expect(event.attributes).toEqual({ request: updateRequest('u1'), origin: 1 });
    const waiting = poll(shard);
    const task = shard.pollWorkflowTask();
    // It comes with the history, and not once more as a message.
    expect(task).toMatchObject({ updates: [], historyFirstEventId: 1 });
    expect(task.startedEventId).toBeGreaterThan(event.eventId);
    answer(shard, task, [acceptance(), response()]);
    expect(shard.lastEvent('workflowExecutionUpdateAccepted').attributes).toMatchObject({
      protocolInstanceId: 'u1',
      acceptedRequest: undefined,
    });
    expect(outcomeOf(answerTo(shard, waiting))).toEqual(['completed', 'outcome of u1']);
    expect(update(shard)).toMatchObject({ stage: 'completed', completedEventId: shard.events().at(-1)?.eventId });
    expect(admitted(shard)).toHaveLength(1);
  });

  test('whoever waits in the run that ends is informed, and finds it under way when he asks again', () => {
    const shard = started();
    const base = shard.describe().key.runId;
    accept(shard, acceptance());
    const waiting = poll(shard);
    shard.reset(firstTask);
    expect(outcomeOf(answerTo(shard, waiting))).toEqual(['completed', expect.stringContaining('AcceptedUpdateCompletedWorkflow')]);
    expect(outcomeOf(update(shard, 'u1', base))).toEqual(['completed', expect.stringContaining('AcceptedUpdateCompletedWorkflow')]);
    const records = shard.records.length;
    expect(update(shard)).toBeUndefined();
    expect(shard.records).toHaveLength(records);
    const asked = shard.lastAskId;
    answer(shard, shard.pollWorkflowTask(), [acceptance(), response()]);
    expect(outcomeOf(answerTo(shard, asked))).toEqual(['completed', 'outcome of u1']);
  });

  test('before the event it stays what it is', () => {
    const shard = started();
    accept(shard, acceptance());
    shard.signal({ requestId: '' });
    const task = shard.pollWorkflowTask();
    shard.complete(task);
    shard.reset(task.startedEventId + 1);
    expect(admitted(shard)).toEqual([]);
    const waiting = poll(shard);
    answer(shard, shard.pollWorkflowTask(), [response()]);
    expect(outcomeOf(answerTo(shard, waiting))).toEqual(['completed', 'outcome of u1']);
  });

  test('in runs that continued the one that is reset, with one id: once', () => {
    const shard = started();
    accept(shard, acceptance(), response());
    const base = shard.describe().key.runId;
    shard.signal({ requestId: '' });
    shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
    shard.fireNextTimer();
    answer(shard, shard.pollWorkflowTask(), [acceptance(), acceptance('u2')]);
    const next = shard.describe().key.runId;
    const later = shard.resetCommand(shard.describe().historyLength, { key: { ...key, runId: next } });
    const first = shard.resetCommand(firstTask, { key: { ...key, runId: base } });
    const all = [...first.laterEvents, ...later.keptEvents, ...later.laterEvents];
    shard.reset(firstTask, { key: { ...key, runId: base }, laterEvents: all, readTo: later.readTo });
    expect(admitted(shard)).toHaveLength(2);
    answer(shard, shard.pollWorkflowTask(), [acceptance(), acceptance('u2'), response('u2')]);
    expect(shard.history().filter((type) => type === 'workflowExecutionUpdateAccepted')).toHaveLength(2);
  });

  test('is carried on by the next reset, whether it was accepted again or not', () => {
    const shard = started();
    accept(shard, acceptance(), acceptance('u2'));
    shard.reset(firstTask);
    shard.reset(firstTask);
    expect(admitted(shard)).toHaveLength(2);
    const task = shard.pollWorkflowTask();
    answer(shard, task, [acceptance(), response(), acceptance('u2')]);
    // Its request stands in an event that is kept.
    shard.reset(task.startedEventId + 1);
    expect(admitted(shard)).toHaveLength(2);
    const waiting = poll(shard);
    answer(shard, shard.pollWorkflowTask(), [acceptance(), response(), acceptance('u2')]);
    expect(outcomeOf(answerTo(shard, waiting))).toEqual(['completed', 'outcome of u1']);
  });
});

describe('one that was admitted again', () => {
  function readmitted(): ShardUnderTest {
    const shard = started();
    accept(shard, acceptance());
    shard.reset(firstTask);
    return shard;
  }

  test('can be refused: history goes on saying that it was admitted, and its id is free', () => {
    const shard = readmitted();
    const waiting = poll(shard);
    answer(shard, shard.pollWorkflowTask(), [rejection()]);
    expect(outcomeOf(answerTo(shard, waiting))).toEqual(['completed', expect.stringContaining('no')]);
    expect(admitted(shard)).toHaveLength(1);
    expect(shard.ask({ kind: 'pollUpdate', key, updateId: 'u1', waitStage: 'none' })).toMatchObject({ kind: 'rejected' });
    expect(update(shard)).toBeUndefined();
  });

  test('is refused for a worker that says nothing of it, but not for one that asks for more time', () => {
    const shard = readmitted();
    const waiting = poll(shard);
    const task = shard.pollWorkflowTask();
    answer(shard, task, [], { forceCreateNewWorkflowTask: true });
    expect(answerTo(shard, waiting)).toBeUndefined();
    answer(shard, shard.pollWorkflowTask(), []);
    expect(outcomeOf(answerTo(shard, waiting))).toEqual(['completed', expect.stringContaining('UnprocessedUpdate')]);
  });

  test('is with the next worker too, where a task fails', () => {
    const shard = readmitted();
    const waiting = poll(shard);
    const task = shard.pollWorkflowTask();
    // No update is completed before it is accepted.
    const bad = shard.ask(shard.completion(task, [protocolMessage('u1/completed')], { messages: [response()] }));
    expect(bad).toMatchObject({ kind: 'rejected', rejection: { reason: 'bad-command' } });
    expect(answerTo(shard, waiting)).toBeUndefined();
    answer(shard, shard.pollWorkflowTask(), [acceptance(), response()]);
    expect(outcomeOf(answerTo(shard, waiting))).toEqual(['completed', 'outcome of u1']);
  });

  test('is aborted by the end of its workflow', () => {
    const shard = readmitted();
    const waiting = poll(shard);
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    const aborted = { reason: 'workflow-closed', message: 'workflow update was aborted by closing workflow' };
    expect(answerTo(shard, waiting)).toEqual({ kind: 'rejected', rejection: aborted });
    expect(update(shard)).toEqual({ kind: 'rejected', rejection: aborted });
  });

  test('counts as in flight', () => {
    const shard = new ShardUnderTest({ updatesInFlightMax: 1 });
    shard.start();
    shard.complete(shard.pollWorkflowTask());
    accept(shard, acceptance());
    shard.reset(firstTask);
    expect(update(shard, 'u2')).toMatchObject({ rejection: { reason: 'too-many-updates' } });
    answer(shard, shard.pollWorkflowTask(), [rejection()]);
    expect(update(shard, 'u2')).toBeUndefined();
  });
});
