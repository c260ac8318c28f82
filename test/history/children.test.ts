/** Several workflows of one shard; between shards the outbox carries the very same commands. */
import { describe, expect, test } from 'vitest';
import type { RunKey } from '../../src/kernel/run-key.ts';
import type { WorkflowCommand } from '../../src/history/commands/workflow-commands.ts';
import { defaultHistoryLimits } from '../../src/history/run/history-limits.ts';
import { outboxOutcome } from '../../src/history/tasks/outbox.ts';
import type { StartedWorkflowTask } from '../../src/history/run/history-replies.ts';
import { decodeFailure, emptyFailure, encodeFailure } from '../../src/wire/generated/lean/failure.ts';
import {
  bytes,
  completeWorkflow,
  continueAsNew,
  key,
  namespaceId,
  ShardUnderTest,
  signalAttributes,
  startChild,
  startTimer,
  terminateWorkflow,
} from './shard-under-test.ts';

const childKey: RunKey = { namespaceId, workflowId: 'child', runId: '' };

type Change = Parameters<typeof startChild>[0];

function parentWithChild(change: Change = {}): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startChild(change)]);
  return shard;
}

function poll(shard: ShardUnderTest, workflowId: string): StartedWorkflowTask {
  const task = [...shard.core.shard.transfers.values()].find(
    ({ kind, key: of }) => kind === 'workflowTask' && of.workflowId === workflowId,
  );
  if (task?.kind !== 'workflowTask') throw new Error(`no workflow task for ${workflowId}`);
  const { scheduledEventId, stamp, taskQueue } = task;
  const reply = shard.ask({
    kind: 'startWorkflowTask',
    key: task.key,
    scheduledEventId,
    stamp,
    pollRequestId: shard.newRequestId(),
    identity: 'w',
    taskQueue,
  });
  if (reply?.kind !== 'workflowTask') throw new Error('not started');
  return reply;
}

function levelsOf(failure: Uint8Array | undefined): number {
  return failure === undefined ? 0 : 1 + levelsOf(decodeFailure(failure).cause);
}

function wakeChild(shard: ShardUnderTest): void {
  shard.ask({ kind: 'signalWorkflow', key: childKey, signal: signalAttributes({ requestId: shard.newRequestId() }), childOf: undefined });
}

function childHistory(shard: ShardUnderTest): readonly string[] {
  return shard.history(shard.describe(childKey).key.runId);
}

function terminate(shard: ShardUnderTest, target: RunKey): void {
  shard.expectDone(terminateWorkflow({ key: target }));
}

const failWith: WorkflowCommand = {
  type: 'failWorkflowExecution',
  userMetadata: undefined,
  attributes: {
    failure: { facts: { kind: 'application', type: '', nonRetryable: false, nextRetryDelayMs: 0, message: '' }, bytes: bytes('failure') },
  },
};
const cancelled: WorkflowCommand = { type: 'cancelWorkflowExecution', userMetadata: undefined, attributes: { details: bytes('details') } };

describe('start', () => {
  test('the child waits for its first task until its parent has recorded its start', () => {
    const shard = parentWithChild({ input: bytes('child input') });
    expect(shard.lastEvent('startChildWorkflowExecutionInitiated').attributes).toMatchObject({
      namespace: 'ns',
      namespaceId,
      workflowId: 'child',
      taskQueue: { name: 'queue' },
      parentClosePolicy: 1,
      workflowIdReusePolicy: 1,
      workflowTaskTimeoutMs: 10_000,
    });
    shard.carry(shard.pendingTask('startChild'));
    expect(childHistory(shard)).toEqual(['workflowExecutionStarted']);
    expect(shard.history().slice(-2)).toEqual(['childWorkflowExecutionStarted', 'workflowTaskScheduled']);
    shard.pumpOutbox();
    expect(childHistory(shard)).toEqual(['workflowExecutionStarted', 'workflowTaskScheduled']);
    const parentRun = shard.describe().key.runId;
    const childRun = shard.describe(childKey).key.runId;
    expect(shard.lastEvent('workflowExecutionStarted', childRun).attributes).toMatchObject({
      parentWorkflowNamespaceId: namespaceId,
      parentWorkflowExecution: { workflowId: 'wf', runId: parentRun },
      parentInitiatedEventId: 5,
      rootWorkflowExecution: { workflowId: 'wf', runId: parentRun },
      input: bytes('child input'),
    });
    expect(shard.lastEvent('childWorkflowExecutionStarted').attributes).toMatchObject({
      initiatedEventId: 5,
      workflowExecution: { workflowId: 'child', runId: childRun },
      workflowType: { name: 'ChildType' },
    });
    expect(shard.describe().pendingChildren).toMatchObject([
      { workflowId: 'child', runId: childRun, initiatedEventId: 5, parentClosePolicy: 1 },
    ]);
    expect(shard.describe(childKey)).toMatchObject({
      parent: { execution: { workflowId: 'wf' } },
      root: { workflowId: 'wf', runId: parentRun },
    });
  });

  test('asked for twice, it starts once', () => {
    const shard = parentWithChild();
    const { taskId } = shard.pendingTask('startChild');
    const first = shard.outboxMessage(taskId);
    const again = shard.outboxMessage(taskId);
    if (first === undefined || again === undefined) throw new Error('nothing to ask');
    const reply = shard.ask(first.command);
    const repeated = shard.ask(again.command);
    expect(repeated).toEqual(reply);
    if (reply === undefined) throw new Error('no reply');
    const outcome = outboxOutcome('startChild', reply);
    if (outcome === undefined) throw new Error('not settled');
    shard.expectDone({ kind: 'finishOutboxTask', taskId, outcome });
    shard.expectDone({ kind: 'finishOutboxTask', taskId, outcome });
    expect(shard.history().filter((type) => type === 'childWorkflowExecutionStarted')).toHaveLength(1);
  });

  test('a taken id is reported', () => {
    const shard = new ShardUnderTest();
    shard.start({ key: childKey });
    shard.start();
    shard.complete(poll(shard, 'wf'), [startChild()]);
    shard.pumpOutbox();
    expect(shard.history().slice(-2)).toEqual(['startChildWorkflowExecutionFailed', 'workflowTaskScheduled']);
    expect(shard.lastEvent('startChildWorkflowExecutionFailed').attributes).toMatchObject({
      initiatedEventId: 5,
      workflowId: 'child',
      cause: 1,
    });
    expect(shard.describe().pendingChildren).toEqual([]);
  });

  test('a child whose parent closed first never starts', () => {
    const shard = parentWithChild();
    terminate(shard, key);
    shard.pumpOutbox();
    expect(shard.ask({ kind: 'describeWorkflow', key: childKey })).toMatchObject({ rejection: { reason: 'workflow-not-found' } });
    expect(shard.pendingTasks()).toEqual([]);
  });

  describe('it started, and the parent closed before it knew', () => {
    /** The parent asks for its child; what the child's shard answers does not arrive. */
    function loseAnswer(shard: ShardUnderTest): { readonly taskId: number; readonly runId: string } {
      const { taskId } = shard.pendingTask('startChild');
      const outbox = shard.outboxMessage(taskId);
      const reply = outbox === undefined ? undefined : shard.ask(outbox.command);
      if (reply?.kind !== 'started') throw new Error('not started');
      return { taskId, runId: reply.runId };
    }

    const policies = [
      ['terminated', 1, 5, 'workflowExecutionTerminated'],
      ['let go on', 2, 1, 'workflowTaskScheduled'],
      ['asked to cancel', 3, 1, 'workflowTaskScheduled'],
    ] as const;

    test.each(policies)('the answer was lost: the child is %s', (_, parentClosePolicy, status, lastEvent) => {
      const shard = parentWithChild({ parentClosePolicy });
      const { runId } = loseAnswer(shard);
      terminate(shard, key);
      shard.pumpOutbox();
      expect(shard.describe({ ...childKey, runId }).status).toBe(status);
      expect(shard.history(runId).at(-1)).toBe(lastEvent);
      expect(shard.history(runId).includes('workflowExecutionCancelRequested')).toBe(parentClosePolicy === 3);
      expect(shard.pendingTasks().filter((kind) => kind !== 'workflowTask')).toEqual([]);
    });

    test.each(policies)('the answer comes late: the child is %s', (_, parentClosePolicy, status, lastEvent) => {
      const shard = parentWithChild({ parentClosePolicy });
      const { taskId, runId } = loseAnswer(shard);
      terminate(shard, key);
      shard.expectDone({ kind: 'finishOutboxTask', taskId, outcome: { kind: 'childStarted', runId } });
      shard.pumpOutbox();
      expect(shard.describe(childKey).status).toBe(status);
      expect(shard.history(runId).at(-1)).toBe(lastEvent);
    });

    test('the child continued as new meanwhile: its present run is ended', () => {
      const shard = parentWithChild();
      loseAnswer(shard);
      wakeChild(shard);
      shard.complete(poll(shard, 'child'), [continueAsNew()]);
      terminate(shard, key);
      shard.pumpOutbox();
      expect(shard.describe(childKey).status).toBe(5);
    });

    test('a workflow that has taken over the id is left alone', () => {
      const shard = parentWithChild();
      loseAnswer(shard);
      terminate(shard, key);
      // Gone with its own parent's knowledge of it, not through that parent.
      terminate(shard, childKey);
      shard.start({ key: childKey });
      shard.pumpOutbox();
      expect(shard.describe(childKey).status).toBe(1);
    });
  });

  describe('the answer was lost, and the parent asks again', () => {
    const meanwhile: readonly (readonly [string, (shard: ShardUnderTest) => void])[] = [
      ['nothing happened to the child', () => {}],
      [
        'others woke the child, and it continued as new',
        (shard) => {
          wakeChild(shard);
          shard.complete(poll(shard, 'child'), [continueAsNew()]);
        },
      ],
      [
        'the child closed, and a stranger has taken over the id',
        (shard) => {
          terminate(shard, childKey);
          shard.start({ key: childKey });
        },
      ],
      [
        'the child closed, and so has the stranger that took over the id',
        (shard) => {
          terminate(shard, childKey);
          shard.start({ key: childKey });
          terminate(shard, childKey);
        },
      ],
    ];
    test.each(meanwhile)('%s: it is told of the child that it started', (_, happens) => {
      const shard = parentWithChild();
      const task = shard.pendingTask('startChild');
      const outbox = shard.outboxMessage(task.taskId);
      const reply = outbox === undefined ? undefined : shard.ask(outbox.command);
      if (reply?.kind !== 'started') throw new Error('not started');
      happens(shard);
      const runs = shard.runIds().length;
      shard.carry(task);
      expect(shard.runIds(), 'nothing is started a second time').toHaveLength(runs);
      expect(shard.history()).not.toContain('startChildWorkflowExecutionFailed');
      const { workflowExecution } = shard.lastEvent('childWorkflowExecutionStarted').attributes;
      expect(workflowExecution).toEqual({ workflowId: 'child', runId: reply.runId });
      shard.pumpOutbox();
    });
  });
});

describe('close of a child', () => {
  const table: readonly (readonly [string, (shard: ShardUnderTest) => void, string, object])[] = [
    [
      'completed',
      (shard) => shard.complete(poll(shard, 'child'), [completeWorkflow(bytes('result'))]),
      'childWorkflowExecutionCompleted',
      { result: bytes('result') },
    ],
    [
      'failed',
      (shard) => shard.complete(poll(shard, 'child'), [failWith]),
      'childWorkflowExecutionFailed',
      { failure: bytes('failure'), retryState: 5 },
    ],
    [
      'canceled',
      (shard) => shard.complete(poll(shard, 'child'), [cancelled]),
      'childWorkflowExecutionCanceled',
      { details: bytes('details') },
    ],
    ['terminated', (shard) => terminate(shard, childKey), 'childWorkflowExecutionTerminated', {}],
    [
      'timed out',
      (shard) => {
        shard.advance(60_000);
        shard.fireDueTimers();
      },
      'childWorkflowExecutionTimedOut',
      { retryState: 5 },
    ],
  ];
  test.each(table)('%s: its parent is notified', (_, close, kind, attributes) => {
    const shard = parentWithChild({ runTimeoutMs: 60_000 });
    shard.pumpOutbox();
    shard.complete(poll(shard, 'wf'), []);
    const { eventId } = shard.lastEvent('childWorkflowExecutionStarted');
    close(shard);
    shard.pumpOutbox();
    expect(shard.history().slice(-2)).toEqual([kind, 'workflowTaskScheduled']);
    const event = shard.events().at(-2);
    expect(event?.attributes).toMatchObject({
      ...attributes,
      initiatedEventId: 5,
      startedEventId: eventId,
      workflowType: { name: 'ChildType' },
    });
    expect(shard.pendingTasks()).toEqual(['workflowTask']);
  });

  test('a failure that has come through many generations is cut to what its parent can pass on', () => {
    let failure: Uint8Array | undefined;
    const generations = [];
    for (let generation = 1; generation <= 100; generation++) {
      // As an SDK does it: what the child failed with is the cause of what its parent fails with.
      failure = encodeFailure({ ...emptyFailure(), message: `generation ${generation}`, cause: failure });
      const shard = parentWithChild();
      shard.pumpOutbox();
      const facts = { kind: 'application', type: '', nonRetryable: false, nextRetryDelayMs: 0, message: '' } as const;
      const attributes = { failure: { facts, bytes: failure } };
      shard.complete(poll(shard, 'child'), [{ type: 'failWorkflowExecution', userMetadata: undefined, attributes }]);
      shard.pumpOutbox();
      failure = shard.lastEvent('childWorkflowExecutionFailed').attributes.failure;
      generations.push(levelsOf(failure));
    }
    expect(generations.slice(0, 3)).toEqual([1, 2, 3]);
    expect(Math.max(...generations)).toBe(defaultHistoryLimits.failureCausesMax + 1);
  });

  test('before its start is known there: a start is made up', () => {
    const shard = parentWithChild();
    const { taskId } = shard.pendingTask('startChild');
    const outbox = shard.outboxMessage(taskId);
    if (outbox !== undefined) shard.ask(outbox.command);
    terminate(shard, childKey);
    shard.carry(shard.pendingTask('notifyParent'));
    expect(shard.history().slice(4)).toEqual([
      'startChildWorkflowExecutionInitiated',
      'childWorkflowExecutionStarted',
      'childWorkflowExecutionTerminated',
      'workflowTaskScheduled',
    ]);
    expect(shard.pendingTasks(), 'no need to start it any more').not.toContain('startChild');
  });

  test('while the parent has a task: start and close are buffered in order', () => {
    const shard = parentWithChild();
    shard.signal();
    const task = poll(shard, 'wf');
    shard.pumpOutbox();
    shard.complete(poll(shard, 'child'), [completeWorkflow()]);
    shard.pumpOutbox();
    const written = shard.history().length;
    shard.complete(task, []);
    expect(shard.history().slice(written)).toEqual([
      'workflowTaskCompleted',
      'childWorkflowExecutionStarted',
      'childWorkflowExecutionCompleted',
      'workflowTaskScheduled',
    ]);
    const { eventId } = shard.lastEvent('childWorkflowExecutionStarted');
    expect(shard.lastEvent('childWorkflowExecutionCompleted').attributes.startedEventId).toBe(eventId);
  });

  test('news of another workflow under the same id is not for this parent', () => {
    const shard = parentWithChild();
    shard.pumpOutbox();
    const { parent } = shard.describe(childKey);
    if (parent === undefined) throw new Error('a child has a parent');
    const { length } = shard.history();
    shard.expectDone({
      kind: 'recordChildClosed',
      parent: {
        namespaceId,
        namespace: 'ns',
        workflowId: 'wf',
        runId: parent.execution.runId,
        initiatedEventId: 5,
        rootWorkflowId: 'wf',
        rootRunId: parent.execution.runId,
      },
      child: { workflowId: 'child', runId: 'another run' },
      childFirstRunId: 'another run',
      childNamespace: 'ns',
      childWorkflowType: 'ChildType',
      close: { kind: 'terminated' },
    });
    expect(shard.history()).toHaveLength(length);
  });

  test('the end of the news is journaled with the next record, and what was told is dropped', () => {
    const shard = parentWithChild();
    shard.pumpOutbox();
    shard.complete(poll(shard, 'child'), [completeWorkflow(new Uint8Array(1000))]);
    const task = shard.pendingTask('notifyParent');
    const { length } = shard.records;
    shard.carry(task);
    expect(shard.records, 'the parent has written it; the end of the task waits').toHaveLength(length + 1);
    expect(shard.core.hasFinishedTasks).toBe(true);
    const before = shard.describe(childKey);
    shard.signal();
    expect(shard.describe(childKey), 'a record of the parent changes nothing in the child').toEqual(before);
    expect(shard.records.at(-1)?.finishedTaskIds).toContain(task.taskId);
    expect(shard.core.hasFinishedTasks).toBe(false);
    expect(shard.pendingTasks()).not.toContain('notifyParent');
  });

  test('with nothing else to write, a record of its own', () => {
    const shard = parentWithChild();
    shard.pumpOutbox();
    terminate(shard, childKey);
    shard.carry(shard.pendingTask('notifyParent'));
    shard.expectDone({ kind: 'flushFinishedTasks' });
    expect(shard.records.at(-1)).toMatchObject({ type: 'TasksFinished', runs: [], tasks: [] });
    expect(shard.pendingTasks()).toEqual(['workflowTask']);
  });

  test('of very many that ended meanwhile, each record carries as many as it should', () => {
    const shard = new ShardUnderTest({ finishedTasksPerRecordMax: 2 });
    shard.start();
    shard.complete(
      shard.pollWorkflowTask(),
      [1, 2, 3, 4, 5].map((index) => startChild({ workflowId: `child-${index}`, parentClosePolicy: 1 })),
    );
    terminate(shard, key);
    // None of them started: nothing is written but that these five tasks are over.
    for (const task of [...shard.core.shard.transfers.values()]) shard.carry(task);
    const { length } = shard.records;
    for (let flushed = 0; shard.core.hasFinishedTasks && flushed < 10; flushed++) shard.expectDone({ kind: 'flushFinishedTasks' });
    expect(shard.records.slice(length).map(({ finishedTaskIds }) => finishedTaskIds.length)).toEqual([2, 2, 1]);
    expect(shard.pendingTasks()).toEqual([]);
  });

  test('continued as new it goes on: only its last run counts', () => {
    const shard = parentWithChild();
    shard.pumpOutbox();
    shard.complete(poll(shard, 'wf'), []);
    shard.complete(poll(shard, 'child'), [continueAsNew()]);
    expect(shard.pendingTasks(), 'nobody is told').not.toContain('notifyParent');
    shard.advance(2000);
    shard.fireDueTimers();
    const runId = shard.describe(childKey).key.runId;
    shard.complete(poll(shard, 'child'), [completeWorkflow()]);
    shard.pumpOutbox();
    expect(shard.lastEvent('childWorkflowExecutionCompleted').attributes.workflowExecution).toEqual({ workflowId: 'child', runId });
  });
});

describe('parent close policy', () => {
  const ends: readonly (readonly [string, (shard: ShardUnderTest) => void])[] = [
    ['completes', (shard) => shard.complete(poll(shard, 'wf'), [completeWorkflow()])],
    ['is terminated', (shard) => terminate(shard, key)],
    ['continues as new', (shard) => shard.complete(poll(shard, 'wf'), [continueAsNew()])],
  ];
  describe.each(ends)('when the parent %s', (_, end) => {
    test.each([
      ['terminate', 1, 5, 'workflowExecutionTerminated'],
      ['abandon', 2, 1, 'workflowTaskScheduled'],
      ['request cancel', 3, 1, 'workflowExecutionCancelRequested'],
    ])('%s', (_name, parentClosePolicy, status, lastEvent) => {
      const shard = parentWithChild({ parentClosePolicy });
      shard.pumpOutbox();
      end(shard);
      shard.pumpOutbox();
      expect(shard.describe(childKey).status).toBe(status);
      expect(childHistory(shard).at(-1)).toBe(lastEvent);
      const childRun = shard.describe(childKey).key.runId;
      if (parentClosePolicy === 1) {
        expect(shard.lastEvent('workflowExecutionTerminated', childRun).attributes.reason).toBe('by parent close policy');
      }
      expect(shard.pendingTasks().filter((kind) => kind !== 'workflowTask')).toEqual([]);
    });
  });

  test('follows the child through its own runs', () => {
    const shard = parentWithChild();
    shard.pumpOutbox();
    shard.complete(poll(shard, 'child'), [continueAsNew()]);
    terminate(shard, key);
    shard.pumpOutbox();
    expect(shard.describe(childKey).status).toBe(5);
  });

  test('does not touch a workflow that only took over the id', () => {
    const shard = parentWithChild();
    shard.pumpOutbox();
    terminate(shard, childKey);
    shard.start({ key: childKey });
    terminate(shard, key);
    shard.pumpOutbox();
    expect(shard.describe(childKey).status).toBe(1);
  });
});

describe('other workflows', () => {
  function signalling(change: { workflowId?: string; runId?: string; childWorkflowOnly?: boolean } = {}): WorkflowCommand {
    const { workflowId = 'other', runId = '', childWorkflowOnly = false } = change;
    const execution = { workflowId, runId };
    return {
      type: 'signalExternalWorkflowExecution',
      userMetadata: undefined,
      attributes: {
        namespace: '',
        namespaceId: '',
        execution,
        signalName: 'hello',
        input: bytes('in'),
        control: 'c',
        childWorkflowOnly,
        header: bytes('h'),
      },
    };
  }

  function cancelling(workflowId = 'other', childWorkflowOnly = false): WorkflowCommand {
    return {
      type: 'requestCancelExternalWorkflowExecution',
      userMetadata: undefined,
      attributes: { namespace: '', namespaceId: '', workflowId, runId: '', control: '', childWorkflowOnly, reason: 'why' },
    };
  }

  const otherKey = { ...key, workflowId: 'other' };

  function withOther(command: WorkflowCommand): ShardUnderTest {
    const shard = new ShardUnderTest();
    shard.start({ key: otherKey });
    shard.start();
    shard.complete(poll(shard, 'wf'), [command]);
    shard.pumpOutbox();
    return shard;
  }

  test('a signal arrives, once, and is confirmed', () => {
    const shard = new ShardUnderTest();
    shard.start({ key: otherKey });
    shard.start();
    shard.complete(poll(shard, 'wf'), [signalling()]);
    const { taskId } = shard.pendingTask('signalExternal');
    const outbox = shard.outboxMessage(taskId, '');
    if (outbox === undefined) throw new Error('nothing to ask');
    const otherRun = shard.describe(otherKey).key.runId;
    expect(shard.ask(outbox.command)).toEqual({ kind: 'signaled', runId: otherRun });
    expect(shard.ask(outbox.command)).toEqual({ kind: 'signaled', runId: otherRun });
    shard.expectDone({ kind: 'finishOutboxTask', taskId, outcome: { kind: 'done' } });
    expect(shard.history(otherRun)).toEqual(['workflowExecutionStarted', 'workflowTaskScheduled', 'workflowExecutionSignaled']);
    const runId = shard.describe().key.runId;
    expect(shard.lastEvent('workflowExecutionSignaled', otherRun).attributes).toMatchObject({
      signalName: 'hello',
      input: bytes('in'),
      header: bytes('h'),
      externalWorkflowExecution: { workflowId: 'wf', runId },
      requestId: `${runId}:5:0`,
    });
    expect(shard.history().slice(-2)).toEqual(['externalWorkflowExecutionSignaled', 'workflowTaskScheduled']);
    expect(shard.lastEvent('externalWorkflowExecutionSignaled').attributes).toMatchObject({ initiatedEventId: 5, control: 'c' });
  });

  test.each([
    ['is missing', signalling({ workflowId: 'nobody' })],
    ['is the workflow itself', signalling({ workflowId: 'wf' })],
    ['is no child of it', signalling({ childWorkflowOnly: true })],
  ])('a signal whose target %s fails', (_, command) => {
    const shard = withOther(command);
    expect(shard.history().slice(-2)).toEqual(['signalExternalWorkflowExecutionFailed', 'workflowTaskScheduled']);
    expect(shard.lastEvent('signalExternalWorkflowExecutionFailed').attributes).toMatchObject({
      initiatedEventId: 5,
      cause: 1,
      control: 'c',
      workflowTaskCompletedEventId: 0,
    });
  });

  test('a signal to a closed workflow fails', () => {
    const shard = new ShardUnderTest();
    shard.start({ key: otherKey });
    terminate(shard, otherKey);
    shard.start();
    shard.complete(poll(shard, 'wf'), [signalling()]);
    shard.pumpOutbox();
    expect(shard.lastEvent('signalExternalWorkflowExecutionFailed').attributes.cause).toBe(1);
  });

  test('a cancel request arrives and is confirmed', () => {
    const shard = withOther(cancelling());
    const otherRun = shard.describe(otherKey).key.runId;
    expect(shard.lastEvent('workflowExecutionCancelRequested', otherRun).attributes).toMatchObject({
      cause: 'why',
      externalInitiatedEventId: 5,
      externalWorkflowExecution: { workflowId: 'wf' },
    });
    expect(shard.history().slice(-2)).toEqual(['externalWorkflowExecutionCancelRequested', 'workflowTaskScheduled']);
  });

  test('a cancel request to a closed workflow is confirmed as well', () => {
    const shard = new ShardUnderTest();
    shard.start({ key: otherKey });
    terminate(shard, otherKey);
    shard.start();
    shard.complete(poll(shard, 'wf'), [cancelling()]);
    shard.pumpOutbox();
    expect(shard.history()).toContain('externalWorkflowExecutionCancelRequested');
  });

  test.each([
    ['is missing', cancelling('nobody')],
    ['is the workflow itself', cancelling('wf')],
    ['is no child of it', cancelling('other', true)],
  ])('a cancel request whose target %s fails', (_, command) => {
    const shard = withOther(command);
    expect(shard.lastEvent('requestCancelExternalWorkflowExecutionFailed').attributes).toMatchObject({
      initiatedEventId: 5,
      cause: 1,
      control: '',
      workflowTaskCompletedEventId: 0,
    });
    expect(shard.history().at(-1)).toBe('workflowTaskScheduled');
  });

  test('a child of its own is reached', () => {
    const shard = parentWithChild();
    shard.pumpOutbox();
    shard.complete(poll(shard, 'wf'), [signalling({ workflowId: 'child', childWorkflowOnly: true })]);
    shard.pumpOutbox();
    expect(childHistory(shard).at(-1)).toBe('workflowExecutionSignaled');
  });
});

describe('continue as new', () => {
  test('closes one run and begins the next, in one record', () => {
    const shard = new ShardUnderTest();
    const first = shard.start({
      retentionMs: 9000,
      start: { executionTimeoutMs: 600_000, runTimeoutMs: 60_000, priority: Uint8Array.of(8, 2), links: [bytes('link')] },
    });
    shard.advance(5000);
    shard.complete(shard.pollWorkflowTask(), [
      continueAsNew({ memo: undefined, header: bytes('header'), lastCompletionResult: bytes('last') }),
    ]);
    const second = shard.describe().key.runId;
    expect(second).not.toBe(first);
    expect(shard.records.at(-1)?.runs.map(({ runId }) => runId)).toEqual([first, second]);
    expect(shard.history(second)).toEqual(['workflowExecutionStarted', 'workflowTaskScheduled']);
    expect(shard.lastEvent('workflowExecutionContinuedAsNew', first).attributes).toMatchObject({
      newExecutionRunId: second,
      workflowType: { name: 'Type' },
      taskQueue: { name: 'queue' },
      workflowRunTimeoutMs: 60_000,
      workflowTaskTimeoutMs: 10_000,
      initiator: 1,
      backoffStartIntervalMs: 0,
    });
    expect(shard.lastEvent('workflowExecutionStarted', second).links).toEqual([bytes('link')]);
    expect(shard.lastEvent('workflowExecutionStarted', second).attributes).toMatchObject({
      continuedExecutionRunId: first,
      firstExecutionRunId: first,
      originalExecutionRunId: second,
      attempt: 1,
      initiator: 1,
      input: bytes('next input'),
      header: bytes('header'),
      lastCompletionResult: bytes('last'),
      priority: Uint8Array.of(8, 2),
      workflowExecutionTimeoutMs: 600_000,
      // Of the whole chain: it does not start anew.
      workflowExecutionExpirationTimeMs: shard.nowMs - 5000 + 600_000,
    });
    expect(shard.describe({ ...key, runId: first }).status).toBe(6);
    expect(shard.describe()).toMatchObject({ status: 1, firstRunId: first });
  });

  test('takes the retention that its namespace has by then', () => {
    const shard = new ShardUnderTest();
    shard.start({ retentionMs: 9000 });
    shard.advance(2000);
    shard.complete(shard.pollWorkflowTask(), [continueAsNew()], { retentionMs: 4000 });
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    shard.advance(3999);
    shard.fireDueTimers();
    expect(shard.core.has(key)).toBe(true);
    shard.advance(1);
    shard.fireDueTimers();
    expect(shard.core.has(key), 'of the old run too nothing else is known under this id').toBe(false);
  });

  test.each([
    { livedMs: 0, wantedMs: 0, backoffMs: 1000 },
    { livedMs: 400, wantedMs: 0, backoffMs: 600 },
    { livedMs: 400, wantedMs: 300, backoffMs: 600 },
    { livedMs: 1000, wantedMs: 0, backoffMs: 0 },
    { livedMs: 400, wantedMs: 5000, backoffMs: 5000 },
  ])('after $livedMs ms, asking for $wantedMs: waits $backoffMs', ({ livedMs, wantedMs, backoffMs }) => {
    const shard = new ShardUnderTest();
    shard.start();
    shard.advance(livedMs);
    shard.complete(shard.pollWorkflowTask(), [continueAsNew({ backoffStartIntervalMs: wantedMs })]);
    expect(shard.lastEvent('workflowExecutionStarted').attributes.firstWorkflowTaskBackoffMs).toBe(backoffMs);
    expect(shard.history()).toHaveLength(backoffMs === 0 ? 2 : 1);
    shard.advance(backoffMs);
    shard.fireDueTimers();
    expect(shard.history()).toEqual(['workflowExecutionStarted', 'workflowTaskScheduled']);
  });

  test('leaves nothing of the old run behind but its history', () => {
    const shard = new ShardUnderTest();
    shard.start();
    shard.advance(2000);
    shard.complete(shard.pollWorkflowTask(), [startTimer(), continueAsNew()]);
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    shard.advance(1000);
    shard.fireDueTimers();
    expect(shard.describe().status).toBe(2);
    expect(shard.pendingTasks()).toEqual([]);
  });
});

describe('a shard out of reach for longer than the retention', () => {
  const retentionMs = 3_600_000;

  test('a parent hears of the end of its child all the same', () => {
    const shard = new ShardUnderTest();
    shard.start({ retentionMs });
    shard.complete(poll(shard, 'wf'), [startChild()]);
    shard.pumpOutbox();
    const childRun = shard.describe(childKey).key.runId;
    shard.complete(poll(shard, 'child'), [completeWorkflow()]);
    shard.advance(100 * retentionMs);
    shard.fireDueTimers();
    shard.pumpOutbox();
    expect(shard.history()).toContain('childWorkflowExecutionCompleted');
    expect(shard.describe().pendingChildren).toEqual([]);
    expect(shard.describe({ ...childKey, runId: childRun }).status, 'readable until then').toBe(2);
    shard.advance(retentionMs);
    shard.fireDueTimers();
    expect(shard.core.has({ ...childKey, runId: childRun }), 'forgotten once it was heard of').toBe(false);
  });

  test('a child follows the close policy of its parent all the same', () => {
    const shard = new ShardUnderTest();
    shard.start({ retentionMs });
    shard.complete(poll(shard, 'wf'), [startChild()]);
    shard.pumpOutbox();
    terminate(shard, key);
    shard.advance(2 * retentionMs);
    shard.fireDueTimers();
    shard.pumpOutbox();
    expect(shard.describe(childKey).status).toBe(5);
    shard.advance(retentionMs);
    shard.fireDueTimers();
    expect(shard.core.has(key), 'the parent is forgotten then').toBe(false);
  });

  /** The child started and continued as new, and its first run is forgotten; its parent knows nothing of all that. */
  function childWithoutFirstRun(): { readonly shard: ShardUnderTest; readonly firstRunId: string } {
    const shard = new ShardUnderTest();
    shard.start({ retentionMs });
    shard.complete(poll(shard, 'wf'), [startChild()]);
    shard.carryInVain(shard.pendingTask('startChild'));
    const firstRunId = shard.describe(childKey).key.runId;
    wakeChild(shard);
    shard.complete(poll(shard, 'child'), [continueAsNew()]);
    shard.advance(2 * retentionMs);
    shard.fireDueTimers();
    expect(shard.core.has({ ...childKey, runId: firstRunId })).toBe(false);
    return { shard, firstRunId };
  }

  test('a start that is delivered again finds the child that continued as new since', () => {
    const { shard, firstRunId } = childWithoutFirstRun();
    shard.pumpOutbox();
    expect(shard.lastEvent('childWorkflowExecutionStarted').attributes.workflowExecution?.runId).toBe(firstRunId);
    shard.complete(poll(shard, 'child'), [completeWorkflow()]);
    shard.pumpOutbox();
    expect(shard.history()).toContain('childWorkflowExecutionCompleted');
  });

  test('and so does a parent that closed before it knew', () => {
    const { shard } = childWithoutFirstRun();
    terminate(shard, key);
    shard.pumpOutbox();
    expect(shard.describe(childKey).status).toBe(5);
  });
});
