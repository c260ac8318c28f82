/** A reset of a long history: the run that goes on gets its events in parts, and nobody finds it before the last command. */
import { describe, expect, test } from 'vitest';
import type { RunKey } from '../../src/kernel/run-key.ts';
import type { DecidedRequest } from '../../src/history/commands/history-commands.ts';
import { defaultHistoryLimits } from '../../src/history/run/history-limits.ts';
import { isTimer } from '../../src/history/run/tasks.ts';
import { stateCodec } from '../../src/codec/state-codec.ts';
import { Checkpoints, installed } from './checkpointed-shard.ts';
import {
  completeWorkflow,
  deleteWorkflow,
  key,
  partsOf,
  scheduleActivity,
  ShardUnderTest,
  signalAttributes,
  startChild,
  startTimer,
  terminateWorkflow,
  updateRequest,
} from './shard-under-test.ts';

const patienceMs = defaultHistoryLimits.resetPreparationMsMax;
const busy = {
  kind: 'rejected',
  rejection: { reason: 'busy-workflow', message: 'the run that was prepared for this reset was dropped: reset again' },
};

/** With a timer, an activity and a child under way, two workflow tasks, and something to apply again. */
function workflow(shard = new ShardUnderTest()): ShardUnderTest {
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('t', 3_600_000), scheduleActivity(), startChild()]);
  shard.signal({ signalName: 'one', requestId: 'signal-1' });
  shard.complete(shard.pollWorkflowTask());
  shard.signal({ signalName: 'two', requestId: 'signal-2' });
  return shard;
}

/** The end of the second workflow task. */
const finishEventId = 11;

function preparedKey(newRunId: string): RunKey {
  return { ...key, runId: newRunId };
}

/** Nothing of it stays: as if it had never begun, but for the number of its one task. */
function expectGone(shard: ShardUnderTest, newRunId: string): void {
  expect([...shard.core.shard.runs.keys()]).not.toContain(newRunId);
  expect(shard.core.canonicalState()).not.toContain(newRunId);
}

describe('a run that was prepared in parts', () => {
  test('is in the end what a reset in one record makes', () => {
    const [inParts, atOnce] = [workflow(), workflow()];
    const command = inParts.prepareReset(finishEventId);
    expect(inParts.ask(command)).toEqual({ kind: 'workflowReset', runId: command.newRunId });
    expect(atOnce.reset(finishEventId)).toBe(command.newRunId);
    expect(inParts.events(command.newRunId)).toEqual(atOnce.events(command.newRunId));
    expect(inParts.describe()).toEqual(atOnce.describe());
    expect(inParts.pendingTasks()).toEqual(atOnce.pendingTasks());
    expect(inParts.core.shard.timers.size).toBe(atOnce.core.shard.timers.size);
    // It can be worked on, and its retention is that of any other.
    inParts.complete(inParts.pollWorkflowTask(), [completeWorkflow()]);
    expect(inParts.history().at(-1)).toBe('workflowExecutionCompleted');
  });

  test('is one record for each part, and one more that ends the run before', () => {
    const shard = workflow();
    const before = shard.records.length;
    shard.ask(shard.prepareReset(finishEventId, {}, 3));
    const made = shard.records.slice(before);
    expect(made.map(({ type }) => type)).toEqual([
      'ResetPrepared',
      'ResetPrepared',
      'ResetPrepared',
      'ResetPrepared',
      'WorkflowExecutionTerminated',
    ]);
    expect(made.map(({ runs }) => runs.length)).toEqual([1, 1, 1, 1, 2]);
  });

  test('goes on from a run that is closed, and from one that another is the newest of', () => {
    const shard = workflow();
    shard.expectDone(terminateWorkflow());
    const base = shard.describe().key.runId;
    shard.start();
    const newer = shard.describe().key.runId;
    const command = shard.prepareReset(finishEventId, { key: preparedKey(base) });
    expect(shard.describe().key.runId).toBe(newer);
    shard.ask(command);
    expect(shard.describe().key.runId).toBe(command.newRunId);
    expect(shard.describe(preparedKey(newer)).status).toBe(5);
  });
});

describe('in preparation it is there for nobody', () => {
  const update = { updateId: 'u', request: updateRequest('u'), waitStage: 'accepted' } as const;
  const asked = (run: RunKey): readonly DecidedRequest[] => [
    { kind: 'describeWorkflow', key: run },
    { kind: 'describeMutableState', key: run },
    { kind: 'getHistoryPosition', key: run, waitBeyondEventId: -1, waitForClose: false },
    { kind: 'signalWorkflow', key: run, signal: signalAttributes({}), childOf: undefined },
    { kind: 'updateWorkflow', key: run, firstExecutionRunId: '', update },
    { kind: 'pollUpdate', key: run, updateId: 'u', waitStage: 'accepted' },
    terminateWorkflow({ key: run }),
    deleteWorkflow(run),
    { kind: 'pauseWorkflow', key: run, identity: '', reason: '', requestId: 'p' },
  ];

  test.each(asked(key).map(({ kind }, nth) => [kind, nth] as const))('%s', (_, nth) => {
    const shard = workflow();
    const { newRunId } = shard.prepareReset(finishEventId);
    const request = asked(preparedKey(newRunId))[nth]!;
    const before = shard.core.canonicalState();
    const reply = shard.request(request);
    expect(reply).toMatchObject({ kind: 'rejected', rejection: { reason: expect.stringMatching(/not-found/) } });
    expect(shard.core.canonicalState()).toBe(before);
  });

  test('it is no row of List, the newest run of nothing, and has no task but the end of its time', () => {
    const shard = workflow();
    const before = shard.pendingTasks();
    const timers = shard.core.shard.timers.size;
    const { newRunId } = shard.prepareReset(finishEventId);
    expect(shard.core.summaryOf(newRunId)).toBeUndefined();
    expect(shard.describe().key.runId).not.toBe(newRunId);
    const own = shard.records.flatMap(({ tasks }) => tasks).filter((task) => task.key.runId === newRunId);
    expect(own.map(({ kind }) => kind)).toEqual(['retention']);
    expect(own.every(isTimer)).toBe(true);
    expect(shard.pendingTasks()).toEqual(before);
    expect(shard.core.shard.timers.size).toBe(timers + 1);
  });

  test('a history that is too long for a run ends nothing meanwhile', () => {
    const shard = workflow();
    const small = new ShardUnderTest({ historyEventsMax: 4 });
    for (const record of shard.records) small.core.evolve(record);
    for (const part of partsOf(shard.resetCommand(finishEventId), 2)) {
      const handled = small.core.handle(part, shard.nowMs, 1);
      small.core.accept(handled);
      expect(handled.kind === 'commit' && handled.record.runs[0]?.events).toHaveLength(part.events.length);
    }
  });
});

describe('what nobody goes on with', () => {
  test('is dropped when its time is over, with all of it', () => {
    const shard = workflow();
    const { newRunId } = shard.prepareReset(finishEventId);
    shard.advance(patienceMs - 1);
    shard.fireDueTimers();
    expect([...shard.core.shard.runs.keys()]).toContain(newRunId);
    shard.advance(1);
    shard.fireDueTimers();
    expectGone(shard, newRunId);
    expect(shard.describe().status).toBe(1);
  });

  test('is dropped at once on request, and later parts for it are refused', () => {
    const shard = workflow();
    const command = shard.prepareReset(finishEventId);
    const late = partsOf(shard.resetCommand(finishEventId, { newRunId: command.newRunId }), 2).at(-1)!;
    shard.expectDone({ kind: 'dropReset', key: preparedKey(command.newRunId) });
    expectGone(shard, command.newRunId);
    expect(shard.ask(late)).toEqual(busy);
    expect(shard.ask(command)).toEqual(busy);
  });

  test('but no other run is: not the current one, and not one that has come of it', () => {
    const shard = workflow();
    shard.expectDone({ kind: 'dropReset', key: preparedKey(shard.describe().key.runId) });
    const command = shard.prepareReset(finishEventId);
    shard.ask(command);
    shard.expectDone({ kind: 'dropReset', key: preparedKey(command.newRunId) });
    expect(shard.describe().key.runId).toBe(command.newRunId);
    shard.advance(patienceMs);
    shard.fireDueTimers();
    expect(shard.describe()).toMatchObject({ key: { runId: command.newRunId }, status: 1 });
  });

  test('goes with the last command that is refused: an event that cannot be gone on from', () => {
    const shard = workflow();
    const command = shard.prepareReset(5);
    expect(shard.ask(command)).toMatchObject({
      rejection: { message: 'Can only reset workflow to event ID in range [WorkflowTaskScheduled +1, WorkflowTaskStarted + 1]: 5' },
    });
    expectGone(shard, command.newRunId);
    expect(shard.describe().status).toBe(1);
  });

  test('goes when its base run is deleted: with the next part, and with the last command', () => {
    const [one, other] = [workflow(), workflow()];
    const command = one.prepareReset(finishEventId);
    other.prepareReset(finishEventId, { newRunId: command.newRunId });
    const [part] = partsOf(one.resetCommand(finishEventId, { newRunId: command.newRunId }), 20);
    for (const shard of [one, other]) shard.expectDone(deleteWorkflow());
    expect(one.ask(command)).toMatchObject({ rejection: { reason: 'workflow-not-found' } });
    expect(other.ask(part!)).toMatchObject({ rejection: { reason: 'workflow-not-found' } });
    for (const shard of [one, other]) expectGone(shard, command.newRunId);
  });

  test('goes with its namespace', () => {
    const shard = workflow();
    const { newRunId } = shard.prepareReset(finishEventId);
    expect([...shard.core.shard.runs.keys()]).toContain(newRunId);
    shard.expectDone({ ...deleteWorkflow(preparedKey(newRunId)), isPurge: true });
    expectGone(shard, newRunId);
    expect(shard.describe().status).toBe(1);
  });
});

describe('resets that meet', () => {
  test('of one request: the first that comes to its end is the reset, the other is dropped and answered with its run', () => {
    const shard = workflow();
    const one = shard.prepareReset(finishEventId, { requestId: 'asked twice' });
    const other = shard.prepareReset(finishEventId, { requestId: 'asked twice' });
    expect(shard.ask(other)).toEqual({ kind: 'workflowReset', runId: other.newRunId });
    const part = partsOf(shard.resetCommand(finishEventId, { key: preparedKey(one.key.runId), newRunId: one.newRunId }), 2).at(-1)!;
    expect(shard.ask({ ...part, requestId: 'asked twice' })).toEqual({ kind: 'workflowReset', runId: other.newRunId });
    expectGone(shard, one.newRunId);
    expect(shard.ask(one)).toEqual({ kind: 'workflowReset', runId: other.newRunId });
    // The last command asked once more: it has happened.
    expect(shard.ask(other)).toEqual({ kind: 'workflowReset', runId: other.newRunId });
  });

  test('of one request, the last command first', () => {
    const shard = workflow();
    const one = shard.prepareReset(finishEventId, { requestId: 'asked twice' });
    const other = shard.prepareReset(finishEventId, { requestId: 'asked twice' });
    shard.ask(other);
    expect(shard.ask(one)).toEqual({ kind: 'workflowReset', runId: other.newRunId });
    expectGone(shard, one.newRunId);
  });

  test('of two requests: the second reads what the first has added, and goes on with what it has prepared', () => {
    const shard = workflow();
    const one = shard.prepareReset(finishEventId);
    const other = shard.prepareReset(finishEventId);
    shard.ask(one);
    expect(shard.ask(other)).toEqual({ kind: 'workflowReset', runId: '' });
    const { laterEvents, readTo } = shard.resetCommand(finishEventId, { key: other.key });
    expect(shard.ask({ ...other, laterEvents, readTo })).toEqual({ kind: 'workflowReset', runId: other.newRunId });
    expect(shard.describe().key.runId).toBe(other.newRunId);
    expect(shard.describe(preparedKey(one.newRunId)).status).toBe(5);
  });

  test('a workflow that closes in between is read once more', () => {
    const shard = workflow();
    const command = shard.prepareReset(finishEventId);
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    expect(shard.ask(command)).toEqual({ kind: 'workflowReset', runId: '' });
    const { laterEvents, readTo } = shard.resetCommand(finishEventId, { key: command.key });
    expect(shard.ask({ ...command, laterEvents, readTo })).toEqual({ kind: 'workflowReset', runId: command.newRunId });
    expect(shard.describe()).toMatchObject({ key: { runId: command.newRunId }, status: 1 });
  });
});

describe('parts', () => {
  test('come once more, and change nothing', () => {
    const shard = workflow();
    const parts = partsOf(shard.resetCommand(finishEventId), 4);
    for (const part of parts) {
      const reply = shard.ask(part);
      const before = shard.records.length;
      expect(shard.ask(part)).toEqual(reply);
      expect(shard.records).toHaveLength(before);
    }
  });

  test('that do not follow each other, or are for another base run, are refused', () => {
    const shard = workflow();
    const [first, second, third] = partsOf(shard.resetCommand(finishEventId), 3);
    expect(shard.ask(second!)).toEqual(busy);
    shard.ask(first!);
    expect(shard.ask(third!)).toEqual(busy);
    shard.expectDone(terminateWorkflow());
    shard.start();
    expect(shard.ask({ ...second!, key: shard.describe().key })).toEqual(busy);
  });

  test('are refused while there is no room for new runs', () => {
    const shard = workflow();
    const [first, second] = partsOf(shard.resetCommand(finishEventId), 3);
    expect(shard.ask({ ...first!, noRoom: 'full' })).toMatchObject({ rejection: { reason: 'no-room' } });
    shard.ask(first!);
    expect(shard.ask({ ...second!, noRoom: 'full' })).toMatchObject({ rejection: { reason: 'no-room' } });
    expect(shard.ask(second!)).toMatchObject({ kind: 'workflowReset' });
  });
});

describe('in rows', () => {
  class Written extends ShardUnderTest {
    readonly checkpoints = new Checkpoints(this);

    constructor() {
      super({}, stateCodec);
    }

    write(): void {
      this.checkpoints.cut();
      while (!this.checkpoints.capture(3));
      this.checkpoints.write('written');
    }
  }

  test('it stands between any two parts, and its row tells when it is over', () => {
    const shard = new Written();
    workflow(shard);
    const command = shard.resetCommand(finishEventId);
    for (const part of partsOf(command, 2)) {
      shard.ask(part);
      shard.write();
      const row = [...shard.checkpoints.table.rows.runs].find(({ runId }) => runId === command.newRunId);
      expect(row?.forgetMs).toBe(shard.nowMs + patienceMs);
      expect([...shard.checkpoints.table.rows.currentRuns].map(({ runId }) => runId)).not.toContain(command.newRunId);
      expect(stateCodec.decodeShown(row!.state).preparation).toEqual({ baseRunId: command.key.runId });
    }
    shard.ask({ ...command, isPrepared: true, keptEvents: [] });
    shard.write();
    const row = [...shard.checkpoints.table.rows.runs].find(({ runId }) => runId === command.newRunId);
    expect(row?.forgetMs).toBeUndefined();
    expect([...shard.checkpoints.table.rows.currentRuns].map(({ runId }) => runId)).toContain(command.newRunId);
    expect(installed(shard.checkpoints.table, stateCodec).canonicalState()).toBe(shard.core.canonicalState());
  });

  test('it leaves memory, is loaded by the next part, and is retired unread when its time is over', () => {
    const shard = new Written();
    workflow(shard);
    const command = shard.resetCommand(finishEventId);
    const [first, ...rest] = partsOf(command, 4);
    shard.ask(first!);
    shard.write();
    expect(shard.core.evict(command.newRunId)).toBe(true);
    const lacks = shard.core.lacks(rest[0]!);
    expect(lacks).toEqual([{ kind: 'run', ...preparedKey(command.newRunId) }]);
    expect(shard.core.installLoaded(shard.checkpoints.table.load(lacks!), shard.core.beginLoad())).toBe(true);
    shard.ask(rest[0]!);
    shard.write();
    expect(shard.core.evict(command.newRunId)).toBe(true);
    shard.advance(patienceMs);
    const due = shard.checkpoints.table.dueRuns(shard.nowMs);
    expect(due.map(({ runId }) => runId)).toEqual([command.newRunId]);
    shard.expectDone({ kind: 'retireRuns', runs: due.map(({ runId }) => preparedKey(runId)) });
    shard.write();
    expect([...shard.checkpoints.table.rows.runs].map(({ runId }) => runId)).not.toContain(command.newRunId);
    expect(shard.describe().status).toBe(1);
  });
});
