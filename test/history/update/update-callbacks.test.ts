/** Completion callbacks of updates: when they are attached, when it is their turn, and what is to be told. */
import { describe, expect, test } from 'vitest';
import { callbackState } from '../../../src/history/generated/enums.ts';
import type { HistoryReply } from '../../../src/history/run/history-replies.ts';
import type { UpdateMessage } from '../../../src/history/commands/update-commands.ts';
import { encodeCallback } from '../../../src/wire/generated/lean/callback.ts';
import { RedrivenShard } from '../redrive/redriven-shard.ts';
import {
  attachingUpdate,
  bytes,
  completeWorkflow,
  continueAsNew,
  deleteWorkflow,
  key,
  protocolMessage,
  terminateWorkflow,
  updateRequest,
  updateWorkflow,
} from '../shard-under-test.ts';

const hour = 3_600_000;
const callback = encodeCallback({ nexus: { url: 'http://example.com/', header: new Map() }, links: [bytes('link')] });
const { standby, scheduled, succeeded, backingOff, failed } = callbackState;

class UpdatedShard extends RedrivenShard {
  constructor() {
    super();
    this.start();
    this.complete(this.pollWorkflowTask());
  }

  update(updateId = 'u1', requestId = 'r1', callbacks: readonly Uint8Array[] = [callback]): HistoryReply | undefined {
    return this.ask({ ...updateWorkflow(), update: attachingUpdate(updateId, requestId, callbacks) });
  }

  /** A task that takes the updates along. */
  task() {
    this.signal({ requestId: '' });
    return this.pollWorkflowTask();
  }

  answer(
    task: ReturnType<UpdatedShard['task']>,
    messages: readonly UpdateMessage[],
    commands: readonly ReturnType<typeof completeWorkflow>[] = [],
  ) {
    const placed = messages.filter(({ body }) => body.kind !== 'rejection').map(({ id }) => protocolMessage(id));
    this.complete(task, [...placed, ...commands], { messages });
  }

  states(runId = ''): readonly (readonly [string, number])[] {
    const reply = this.ask({ kind: 'describeWorkflow', key: { ...key, runId } });
    if (reply?.kind !== 'description') throw new Error('it is gone');
    return reply.callbacks.map(({ updateId, state }) => [updateId, state]);
  }

  /** What is to be delivered with the next task; told so, or that it failed. */
  deliver(outcome: 'delivered' | 'failed' = 'delivered') {
    const { taskId } = this.pendingTask('invokeCallback');
    this.ask({ kind: 'runCallback', taskId, tries: { attempt: 1, failures: 0 } });
    const effect = this.effects.findLast(({ kind }) => kind === 'deliverCallback');
    if (effect?.kind !== 'deliverCallback') throw new Error('nothing is to be delivered');
    const told = outcome === 'delivered' ? ({ kind: 'delivered' } as const) : ({ kind: 'failed', message: 'down', pauseMs: hour } as const);
    this.ask({ kind: 'callbackAnswered', taskId, outcome: told });
    return effect;
  }

  get due(): number {
    return this.pendingTasks().filter((kind) => kind === 'invokeCallback').length;
  }
}

const acceptance = (updateId = 'u1', request?: Uint8Array): UpdateMessage => ({
  id: `${updateId}/accepted`,
  updateId,
  body: { kind: 'acceptance', requestMessageId: `${updateId}/request`, requestSequencingEventId: 7, request },
});
const response = (updateId = 'u1'): UpdateMessage => ({
  id: `${updateId}/completed`,
  updateId,
  body: { kind: 'response', metaUpdateId: updateId, identity: 'worker', outcome: bytes(`outcome of ${updateId}`) },
});
const rejection = (failure = bytes('no'), updateId = 'u1'): UpdateMessage => ({
  id: `${updateId}/rejected`,
  updateId,
  body: { kind: 'rejection', hasRequest: true, failure },
});

function accepted(): UpdatedShard {
  const shard = new UpdatedShard();
  shard.update();
  shard.answer(shard.task(), [acceptance()]);
  return shard;
}

const closedFirst = expect.stringContaining('AcceptedUpdateCompletedWorkflow');
const failureIn = ({ update }: ReturnType<UpdatedShard['deliver']>): string => new TextDecoder().decode(update?.failed?.failure);

describe('callbacks that come with an update', () => {
  test('wait from its acceptance on, and tell the event with which it is completed', () => {
    const shard = new UpdatedShard();
    shard.update();
    expect(shard.states()).toEqual([]);
    shard.answer(shard.task(), [acceptance()]);
    expect(shard.lastEvent('workflowExecutionUpdateAccepted').links).toEqual([bytes('link')]);
    expect(shard.states()).toEqual([['u1', standby]]);
    expect(shard.due).toBe(0);
    shard.answer(shard.task(), [response()]);
    expect(shard.states()).toEqual([['u1', scheduled]]);
    const { closeEventId, update, attachedBy } = shard.deliver();
    expect(closeEventId).toBe(shard.lastEvent('workflowExecutionUpdateCompleted').eventId);
    expect([update, attachedBy]).toEqual([{ attachedWith: 41, failed: undefined }, 'r1']);
    expect(shard.states()).toEqual([['u1', succeeded]]);
  });

  test('are called at once where it is accepted and completed in one task, and after a takeover', () => {
    const shard = new UpdatedShard();
    shard.update();
    shard.answer(shard.task(), [acceptance(), response()]);
    shard.takeOver();
    expect(shard.states()).toEqual([['u1', scheduled]]);
    expect(shard.deliver().update?.failed).toBeUndefined();
  });

  test('keep no open workflow from going on, and a closed one for as long as they are tried', () => {
    const shard = accepted();
    shard.answer(shard.task(), [response()]);
    shard.deliver('failed');
    expect(shard.states()).toEqual([['u1', backingOff]]);
    shard.ask(terminateWorkflow());
    expect(shard.states()).toEqual([['u1', backingOff]]);
    shard.advance(200 * hour);
    shard.fireDueTimers();
    expect(shard.states()).toEqual([['u1', scheduled]]);
    shard.deliver();
    shard.fireDueTimers();
    expect(() => shard.states()).toThrow('gone');
  });

  test('are dead letters when they fail for good, also of an open workflow, and are merged', () => {
    const shard = accepted();
    shard.answer(shard.task(), [response()]);
    const task = shard.madeLetter(shard.pendingTask('invokeCallback').taskId);
    expect(shard.states()).toEqual([['u1', failed]]);
    shard.execute(task);
    expect(shard.states()).toEqual([['u1', scheduled]]);
    shard.deliver();
    expect(shard.states()).toEqual([['u1', succeeded]]);
    expect(shard.outcomes()).toMatchObject([{ kind: 'applied' }]);
    shard.answer(shard.task(), [], [completeWorkflow()]);
  });

  test('are dead letters also when the timer of their next attempt has failed for good, and are merged', () => {
    const shard = accepted();
    shard.answer(shard.task(), [response()]);
    shard.deliver('failed');
    const task = shard.madeLetter(shard.nextTimer()?.taskId ?? 0);
    expect(shard.states()).toEqual([['u1', failed]]);
    shard.execute(task);
    shard.advance(hour);
    shard.fireDueTimers();
    shard.deliver();
    expect(shard.states()).toEqual([['u1', succeeded]]);
    expect(shard.outcomes()).toMatchObject([{ kind: 'applied' }]);
  });

  test('of one that is refused leave no trace, and none is attached again when it is asked for once more', () => {
    const shard = new UpdatedShard();
    shard.update();
    shard.answer(shard.task(), [rejection()]);
    expect(shard.states()).toEqual([]);
    expect(shard.due).toBe(0);
    shard.update();
    shard.answer(shard.task(), [acceptance()]);
    expect(shard.states()).toEqual([['u1', standby]]);
  });

  test('that only the worker knows of are not attached, until they are brought again', () => {
    const shard = new UpdatedShard();
    const { request } = attachingUpdate('u1', 'r1');
    shard.answer(shard.task(), [acceptance('u1', request)]);
    expect(shard.states()).toEqual([]);
    shard.update();
    expect(shard.states()).toEqual([['u1', standby]]);
  });
});

describe('callbacks of who asks again', () => {
  test('are attached by an event, once for a request id', () => {
    const shard = accepted();
    for (const requestId of ['r1', 'r2', 'r2']) shard.update('u1', requestId);
    expect(shard.history().filter((type) => type === 'workflowExecutionOptionsUpdated')).toHaveLength(1);
    const { attributes, workerMayIgnore } = shard.lastEvent('workflowExecutionOptionsUpdated');
    expect(workerMayIgnore).toBe(true);
    expect(attributes).toMatchObject({ attachedRequestId: '', attachedCompletionCallbacks: [], identity: '' });
    expect(attributes.workflowUpdateOptions).toEqual([
      { updateId: 'u1', attachedRequestId: 'r2', attachedCompletionCallbacks: [callback] },
    ]);
    expect(shard.describe().requestIds.get('r2')).toMatchObject({ eventType: 55 });
    expect(shard.pendingTasks()).not.toContain('workflowTask');
    shard.answer(shard.task(), [response()]);
    expect([shard.deliver(), shard.deliver()].map(({ attachedBy, update }) => [attachedBy, update?.attachedWith])).toEqual([
      ['r1', 41],
      ['r2', 55],
    ]);
  });

  test.each(['before a worker has it', 'while a worker has it'])('%s wait for its acceptance', (when) => {
    const shard = new UpdatedShard();
    shard.update();
    const late = when === 'while a worker has it' ? shard.task() : undefined;
    shard.update('u1', 'r2');
    shard.update('u1', 'r2');
    shard.answer(late ?? shard.task(), [acceptance(), response()]);
    expect(shard.history().slice(-4)).toEqual([
      'workflowTaskCompleted',
      'workflowExecutionUpdateAccepted',
      'workflowExecutionOptionsUpdated',
      'workflowExecutionUpdateCompleted',
    ]);
    expect(shard.states()).toEqual([
      ['u1', scheduled],
      ['u1', scheduled],
    ]);
  });

  test('are on their way, and stay so, when their event gets its place behind the end of the update', () => {
    const shard = accepted();
    const task = shard.task();
    shard.update('u1', 'r2');
    shard.answer(task, [response()]);
    expect(shard.history().slice(-3, -1)).toEqual(['workflowExecutionUpdateCompleted', 'workflowExecutionOptionsUpdated']);
    expect(shard.states()).toEqual([
      ['u1', scheduled],
      ['u1', scheduled],
    ]);
    expect(shard.due).toBe(2);
  });

  test('are not attached to one that is over: the answer is its outcome', () => {
    const shard = accepted();
    shard.answer(shard.task(), [response()]);
    expect(shard.update('u1', 'r2')).toMatchObject({ stage: 'completed' });
    expect(shard.states()).toEqual([['u1', scheduled]]);
  });
});

describe('the end of the workflow ends the update', () => {
  test('with the failure that callers get', () => {
    const shard = accepted();
    shard.answer(shard.task(), [], [completeWorkflow()]);
    expect(shard.states()).toEqual([['u1', scheduled]]);
    const told = shard.deliver();
    expect(failureIn(told)).toEqual(closedFirst);
    expect(told.update?.failed?.timeMs).toBe(shard.describe().closeTimeMs);
  });

  test('also where another run goes on, which has none of them', () => {
    const shard = accepted();
    const { runId } = shard.describe().key;
    shard.answer(shard.task(), [], [continueAsNew()]);
    expect(shard.describe().key.runId).not.toBe(runId);
    expect(shard.states()).toEqual([]);
    expect(shard.states(runId)).toEqual([['u1', scheduled]]);
    expect(failureIn(shard.deliver())).toEqual(closedFirst);
  });

  test('and nothing is left of it when it is deleted', () => {
    const shard = accepted();
    shard.expectDone(deleteWorkflow());
    const { taskId } = shard.pendingTask('invokeCallback');
    shard.ask({ kind: 'runCallback', taskId, tries: { attempt: 1, failures: 0 } });
    expect(shard.due).toBe(0);
  });
});

describe('a reset', () => {
  test('takes the update along with all of them, and tells its end once', () => {
    const shard = accepted();
    shard.update('u1', 'r2');
    const base = shard.describe().key.runId;
    shard.reset(4);
    expect(shard.states(base)).toEqual([
      ['u1', standby],
      ['u1', standby],
    ]);
    expect(shard.due).toBe(0);
    expect(shard.states()).toEqual([
      ['u1', standby],
      ['u1', standby],
    ]);
    shard.answer(shard.pollWorkflowTask(), [acceptance(), response()]);
    expect(shard.due).toBe(2);
    expect([shard.deliver(), shard.deliver()].map(({ attachedBy, update }) => [attachedBy, update?.attachedWith])).toEqual([
      ['r1', 47],
      ['r2', 55],
    ]);
  });

  test('does not tell again what was told before its event', () => {
    const shard = accepted();
    shard.answer(shard.task(), [response()]);
    shard.deliver();
    const task = shard.task();
    shard.complete(task);
    shard.reset(task.startedEventId + 1);
    expect(shard.states()).toEqual([]);
    shard.ask(terminateWorkflow());
    expect(shard.due).toBe(0);
  });

  test('that leaves the update out ends it', () => {
    const shard = accepted();
    const { key: baseKey } = shard.describe();
    const { laterEvents, ...command } = shard.resetCommand(4);
    expect(laterEvents.length).toBeGreaterThan(0);
    shard.ask({ ...command, laterEvents: [] });
    expect(shard.states(baseKey.runId)).toEqual([['u1', scheduled]]);
    expect(shard.states()).toEqual([]);
    expect(failureIn(shard.deliver())).toEqual(closedFirst);
  });

  test('of the same run once more ends the run between, and tells who has asked there of it', () => {
    const shard = accepted();
    const base = shard.describe().key;
    shard.reset(4);
    shard.answer(shard.pollWorkflowTask(), [acceptance()]);
    shard.update('u1', 'r2');
    const between = shard.describe().key.runId;
    shard.reset(4, { key: base });
    // r1 came with the update, which goes on; nobody has told the run that goes on of r2.
    expect([shard.states(between), shard.states()]).toEqual([
      [
        ['u1', standby],
        ['u1', scheduled],
      ],
      [['u1', standby]],
    ]);
    const told = shard.deliver();
    expect([told.attachedBy, failureIn(told)]).toEqual(['r2', closedFirst]);
  });

  test('brings it to a worker that refuses it: that failure is reported, and forgotten once it is delivered', () => {
    const shard = accepted();
    shard.reset(4);
    shard.answer(shard.pollWorkflowTask(), [rejection(bytes('not today'))]);
    expect(shard.states()).toEqual([['u1', scheduled]]);
    shard.deliver('failed');
    shard.takeOver();
    shard.advance(2 * hour);
    shard.fireDueTimers();
    const told = shard.deliver();
    expect(failureIn(told)).toBe('not today');
    expect(told.update?.attachedWith).toBe(47);
    expect(shard.core.canonicalState()).not.toContain(Buffer.from('not today').toString('hex'));
    // The same id and request once more are another update.
    shard.update();
    shard.answer(shard.task(), [acceptance()]);
    expect(shard.states()).toEqual([
      ['u1', succeeded],
      ['u1', standby],
    ]);
  });

  test('brings it to a worker that refuses it and closes the workflow: callers and callbacks hear of the refusal', () => {
    const shard = accepted();
    shard.reset(4);
    shard.ask({ kind: 'pollUpdate', key, updateId: 'u1', waitStage: 'completed' });
    const askId = shard.lastAskId;
    shard.answer(shard.pollWorkflowTask(), [rejection(bytes('not today'))], [completeWorkflow()]);
    expect(shard.effects).toContainEqual(
      expect.objectContaining({ kind: 'reply', askId, reply: expect.objectContaining({ stage: 'completed' }) }),
    );
    shard.takeOver();
    expect(shard.due).toBe(1);
    expect(failureIn(shard.deliver())).toBe('not today');
  });

  test('brings it to a worker whose refusal is large: callbacks are told that it was', () => {
    const shard = accepted();
    shard.reset(4);
    shard.answer(shard.pollWorkflowTask(), [rejection(new Uint8Array(5_000))]);
    expect(failureIn(shard.deliver())).toContain('with a failure of 5000 bytes');
  });
});

describe('there is a limit', () => {
  const many = (count: number): readonly Uint8Array[] => Array.from({ length: count }, () => callback);
  const message = (reply: HistoryReply | undefined): unknown => reply?.kind === 'rejected' && reply.rejection;

  test('for an update, whether it is accepted or not, and nothing has happened', () => {
    const shard = new UpdatedShard();
    shard.update('u1', 'r1', many(20));
    const refused = {
      reason: 'failed-precondition',
      message: 'cannot attach more than 32 callbacks to update "u1" (20 callbacks already attached)',
    };
    expect(message(shard.update('u1', 'r2', many(13)))).toEqual(refused);
    shard.answer(shard.task(), [acceptance()]);
    const records = shard.records.length;
    expect(message(shard.update('u1', 'r2', many(13)))).toEqual(refused);
    expect(shard.records).toHaveLength(records);
    expect(message(shard.update('u2', 'r2', many(33)))).toMatchObject({ message: expect.stringContaining('update "u2" (0 callbacks') });
    expect(shard.ask({ kind: 'pollUpdate', key, updateId: 'u2', waitStage: 'none' })).toMatchObject({
      rejection: { reason: 'update-not-found' },
    });
  });

  test('for a workflow, in number and in bytes', () => {
    const shard = new UpdatedShard();
    shard.update('u1', 'r1', many(20));
    const { attachment, ...update } = attachingUpdate('u2', 'r2', many(2));
    if (attachment === undefined) throw new Error('it brings callbacks');
    const fewer = { ...update, attachment: { ...attachment, callbacksMax: 21 } };
    expect(message(shard.ask({ ...updateWorkflow(), update: fewer }))).toMatchObject({
      message: 'cannot attach more than 21 callbacks to a workflow (20 callbacks already attached)',
    });
    expect(message(shard.update('u2', 'r2', [new Uint8Array(2 ** 20)]))).toMatchObject({
      message: 'cannot attach more than 1048576 bytes of callbacks to a workflow (20 callbacks already attached)',
    });
  });
});

test('a start and an update of the run that it finds: its callbacks are attached too', () => {
  const shard = accepted();
  const start = shard.startCommand();
  shard.ask({ kind: 'startAndUpdate', key, start, update: attachingUpdate('u1', 'r2') });
  expect(shard.states()).toEqual([
    ['u1', standby],
    ['u1', standby],
  ]);
});

test('a request id without callbacks is one of the run, and leaves that of the start alone', () => {
  const shard = new UpdatedShard();
  const [startedBy = ''] = [...shard.describe().requestIds.keys()];
  for (const requestId of ['r1', startedBy]) {
    const updateId = `by ${requestId}`;
    shard.ask({ ...updateWorkflow(), update: { updateId, request: updateRequest(updateId, { requestId }), waitStage: 'completed' } });
    shard.answer(shard.task(), [acceptance(updateId)]);
  }
  expect([...shard.describe().requestIds].map(([id, { eventType }]) => [id, eventType])).toEqual([
    [startedBy, 1],
    ['r1', 41],
  ]);
});
