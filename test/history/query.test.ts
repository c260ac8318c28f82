import { describe, expect, test } from 'vitest';
import type { QueryWorkflow } from '../../src/history/commands/history-commands.ts';
import type { DirectQuery, QueryDispatchOutcome, QueryResult } from '../../src/history/commands/query-commands.ts';
import type { HistoryEffect } from '../../src/history/run/effects.ts';
import type { HistoryLimits } from '../../src/history/run/history-limits.ts';
import type { HistoryReply } from '../../src/history/run/history-replies.ts';
import { bytes, completeWorkflow, key, refOf, ShardUnderTest, startTimer, terminateWorkflow, updateWorkflow } from './shard-under-test.ts';

const sticky = { taskQueue: { name: 'sticky', kind: 2, normalName: 'queue' }, scheduleToStartTimeoutMs: 5000 };

/** Answers the ask id under which the query waits. */
function ask(
  shard: ShardUnderTest,
  change: Partial<QueryWorkflow> = {},
): { readonly askId: number; readonly reply: HistoryReply | undefined } {
  const reply = shard.request({
    kind: 'queryWorkflow',
    key,
    queryId: 'q1',
    query: bytes('query'),
    rejectCondition: 1,
    deadlineMs: shard.nowMs + 10_000,
    ...change,
  });
  return { askId: shard.lastAskId, reply };
}

function answered(answer: Uint8Array, queryId = 'q1'): ReadonlyMap<string, QueryResult> {
  return new Map([[queryId, { answered: true, answer, errorMessage: '', failure: undefined }]]);
}

/** Between two workflow tasks, known to a sticky worker. */
function idle(limits: Partial<HistoryLimits> = {}): ShardUnderTest {
  const shard = new ShardUnderTest(limits);
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('t1', 60_000)], { sticky });
  return shard;
}

function closed(): ShardUnderTest {
  const shard = idle();
  shard.signal();
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  return shard;
}

describe('direct', () => {
  test('with no task pending it goes to the sticky worker', () => {
    const shard = idle();
    const { askId, reply } = ask(shard);
    expect(reply).toBeUndefined();
    expect(shard.effects).toEqual([
      {
        kind: 'directQuery',
        askId,
        queryId: 'q1',
        key: shard.describe().key,
        workflowType: 'Type',
        taskQueue: { name: 'sticky', kind: 2, normalName: 'queue' },
        normalTaskQueue: { name: 'queue', kind: 1, normalName: '' },
        scheduleToStartTimeoutMs: 5000,
        query: bytes('query'),
        deadlineMs: shard.nowMs + 10_000,
        previousStartedEventId: 3,
        lastEventId: 5,
      },
    ]);
    expect(shard.records, 'no trace').toHaveLength(3);
  });

  test('a closed workflow is asked on the normal queue', () => {
    const shard = closed();
    ask(shard);
    expect(shard.effects).toMatchObject([{ kind: 'directQuery', taskQueue: { name: 'queue', kind: 1 }, scheduleToStartTimeoutMs: 0 }]);
  });
});

describe('what became of a direct query', () => {
  /** The effects of that outcome. */
  function outcome(
    shard: ShardUnderTest,
    outcome: QueryDispatchOutcome,
    query = dispatched(shard),
    remainingMs = 10_000,
  ): readonly HistoryEffect[] {
    shard.effects.length = 0;
    expect(shard.ask({ kind: 'finishQueryDispatch', query, outcome, remainingMs })).toBeUndefined();
    return [...shard.effects];
  }

  function dispatched(shard: ShardUnderTest): DirectQuery {
    const query = shard.effects.find((effect) => effect.kind === 'directQuery');
    if (query === undefined) throw new Error('no query was dispatched');
    return query;
  }

  /** On the normal queue. */
  function retried(shard: ShardUnderTest): DirectQuery {
    outcome(shard, { kind: 'noPoller' });
    return dispatched(shard);
  }

  const refusal = (reason: string, message: string) => ({ kind: 'rejected', rejection: { reason, message } });
  const late = refusal('query-timed-out', 'context deadline exceeded');

  test('an answer goes to whoever asked, without a record and without a proof of reads', () => {
    const shard = idle();
    const { askId } = ask(shard);
    const result = { answered: true, answer: bytes('answer'), errorMessage: '', failure: undefined };
    const command = {
      kind: 'finishQueryDispatch',
      query: dispatched(shard),
      outcome: { kind: 'answered', result },
      remainingMs: 1,
    } as const;
    expect(shard.decide(command)).toMatchObject({ kind: 'wait', barrier: false });
    expect(outcome(shard, command.outcome, command.query)).toEqual([
      { kind: 'reply', askId, reply: { kind: 'queryAnswered', answer: bytes('answer') } },
    ]);
    expect(shard.records, 'no trace').toHaveLength(3);
  });

  test.each(['noPoller', 'expired'] as const)('%s on the sticky queue: stickiness ends, and any worker may answer', (kind) => {
    const shard = idle();
    const { askId } = ask(shard);
    const query = dispatched(shard);
    expect(outcome(shard, { kind })).toEqual([{ ...query, askId, taskQueue: query.normalTaskQueue, scheduleToStartTimeoutMs: 0 }]);
    expect(shard.records.at(-1)?.type).toBe('StickyCleared');
    shard.signal();
    expect(shard.pendingTask('workflowTask')).toMatchObject({ taskQueue: { name: 'queue' } });
  });

  test('another worker took the workflow over meanwhile: it keeps its stickiness', () => {
    const shard = idle();
    ask(shard);
    const query = dispatched(shard);
    shard.signal();
    const taskQueue = { ...sticky.taskQueue, name: 'sticky of another' };
    shard.complete(shard.pollWorkflowTask(), [], { sticky: { ...sticky, taskQueue } });
    expect(outcome(shard, { kind: 'noPoller' }, query)).toMatchObject([{ kind: 'directQuery', taskQueue: { name: 'queue' } }]);
    shard.signal();
    expect(shard.pendingTask('workflowTask')).toMatchObject({ taskQueue: { name: 'sticky of another' } });
  });

  test('the workflow closed meanwhile: any worker may answer, and nothing is written', () => {
    const shard = idle();
    ask(shard);
    const query = dispatched(shard);
    shard.signal();
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    const { length } = shard.records;
    expect(outcome(shard, { kind: 'noPoller' }, query)).toMatchObject([{ kind: 'directQuery', taskQueue: { name: 'queue' } }]);
    expect(shard.records).toHaveLength(length);
  });

  test('too late for another try', () => {
    const shard = idle();
    const { askId } = ask(shard);
    expect(outcome(shard, { kind: 'expired' }, dispatched(shard), 0)).toEqual([{ kind: 'reply', askId, reply: late }]);
  });

  test('on the normal queue there is no other to try', () => {
    const shard = idle();
    const { askId } = ask(shard);
    const query = retried(shard);
    const nobody = refusal('failed-precondition', 'no poller seen for task queue recently, worker may be down');
    expect(outcome(shard, { kind: 'noPoller' }, query)).toEqual([{ kind: 'reply', askId, reply: nobody }]);
    expect(outcome(shard, { kind: 'expired' }, query)).toEqual([{ kind: 'reply', askId, reply: late }]);
    expect(outcome(shard, { kind: 'queueFull', message: 'full' }, query)).toEqual([
      { kind: 'reply', askId, reply: refusal('busy-workflow', 'full') },
    ]);
  });
});

describe('buffered', () => {
  test('rides on the next task, which has seen all that was acknowledged before', () => {
    const shard = idle();
    shard.signal();
    const { askId, reply } = ask(shard);
    expect(reply).toBeUndefined();
    expect(shard.effects).toEqual([]);
    const task = shard.pollWorkflowTask();
    expect([...task.queries]).toEqual([['q1', bytes('query')]]);
    shard.complete(task, [], { queryResults: answered(bytes('answer')) });
    expect(shard.effects).toEqual([{ kind: 'reply', askId, reply: { kind: 'queryAnswered', answer: bytes('answer') } }]);
  });

  test('one that comes while a task is started waits for the next', () => {
    const shard = idle();
    shard.signal();
    const task = shard.pollWorkflowTask();
    ask(shard);
    const reply = shard.complete(task, [], { forceCreateNewWorkflowTask: true, returnNewWorkflowTask: true });
    expect(shard.effects).toEqual([]);
    expect([...(reply.workflowTask?.queries ?? [])]).toEqual([['q1', bytes('query')]]);
  });

  test('what was answered does not ride again', () => {
    const shard = idle();
    shard.signal();
    ask(shard);
    const change = { forceCreateNewWorkflowTask: true, returnNewWorkflowTask: true, queryResults: answered(bytes('answer')) };
    const reply = shard.complete(shard.pollWorkflowTask(), [], change);
    expect(reply.workflowTask?.queries.size).toBe(0);
    expect(shard.effects).toHaveLength(1);
  });

  test('with no next task it goes out on its own', () => {
    const shard = idle();
    shard.signal();
    const task = shard.pollWorkflowTask();
    const { askId } = ask(shard);
    shard.complete(task, []);
    expect(shard.effects).toMatchObject([{ kind: 'directQuery', askId }]);
  });

  test('a workflow that closes with the task answers it all the same', () => {
    const shard = idle();
    shard.signal();
    const task = shard.pollWorkflowTask();
    const { askId } = ask(shard);
    shard.complete(task, [completeWorkflow()]);
    expect(shard.effects).toMatchObject([{ kind: 'directQuery', askId, taskQueue: { name: 'queue' } }]);
  });

  test('the buffer is small', () => {
    const shard = idle();
    shard.signal();
    ask(shard);
    expect(ask(shard, { queryId: 'q2' }).reply).toEqual({
      kind: 'rejected',
      rejection: {
        reason: 'busy-workflow',
        message:
          'consistent query buffer is full, this may be caused by too many queries and workflow not able to process query fast enough',
      },
    });
  });

  describe('the buffer is as large as it was made', () => {
    const refused = { kind: 'rejected', rejection: { reason: 'busy-workflow' } };
    const mib = 1024 * 1024;
    function signaled(limits: Partial<HistoryLimits>): ShardUnderTest {
      const shard = idle(limits);
      shard.signal();
      return shard;
    }

    test('one task takes all along, and its answers go to those who asked; a started task holds their places', () => {
      const shard = signaled({ bufferedQueriesMax: 2 });
      const first = ask(shard);
      const second = ask(shard, { queryId: 'q2' });
      expect(ask(shard, { queryId: 'q3' }).reply).toMatchObject(refused);
      const task = shard.pollWorkflowTask();
      expect([...task.queries.keys()]).toEqual(['q1', 'q2']);
      expect(ask(shard, { queryId: 'q3' }).reply).toMatchObject(refused);
      shard.complete(task, [], { queryResults: new Map([...answered(bytes('one')), ...answered(bytes('two'), 'q2')]) });
      expect(shard.effects).toEqual([
        { kind: 'reply', askId: first.askId, reply: { kind: 'queryAnswered', answer: bytes('one') } },
        { kind: 'reply', askId: second.askId, reply: { kind: 'queryAnswered', answer: bytes('two') } },
      ]);
    });

    test('no more bytes of several than a task has room for', () => {
      const shard = signaled({ bufferedQueriesMax: 9 });
      ask(shard, { query: new Uint8Array(1.5 * mib) });
      expect(ask(shard, { queryId: 'q2', query: new Uint8Array(mib) }).reply).toMatchObject(refused);
      expect(ask(shard, { queryId: 'q3', query: new Uint8Array(mib / 2) }).reply).toBeUndefined();
      expect(ask(signaled({}), { query: new Uint8Array(3 * mib) }).reply, 'one by itself').toBeUndefined();
    });
  });

  test('whoever gives up makes room', () => {
    const shard = idle();
    shard.signal();
    const { askId } = ask(shard);
    shard.cancel(askId);
    expect(ask(shard, { queryId: 'q2' }).reply).toBeUndefined();
    expect([...shard.pollWorkflowTask().queries.keys()]).toEqual(['q2']);
  });

  test('a failed task keeps it for the next attempt', () => {
    const shard = idle();
    shard.signal();
    ask(shard);
    const task = shard.pollWorkflowTask();
    shard.expectDone({
      kind: 'failWorkflowTask',
      task: refOf(task),
      cause: 14,
      failure: undefined,
      identity: 'w',
      binaryChecksum: '',
      jitter: 0,
    });
    expect([...shard.pollWorkflowTask().queries.keys()]).toEqual(['q1']);
  });
});

test('a worker that cannot answer says why', () => {
  const shard = idle();
  shard.signal();
  const { askId } = ask(shard);
  const results = new Map([['q1', { answered: false, answer: undefined, errorMessage: 'unknown query', failure: bytes('failure') }]]);
  shard.complete(shard.pollWorkflowTask(), [], { queryResults: results });
  const rejection = { reason: 'query-failed', message: 'unknown query', failure: bytes('failure') };
  expect(shard.effects).toEqual([{ kind: 'reply', askId, reply: { kind: 'rejected', rejection } }]);
});

test('too large an answer is a failed query', () => {
  const shard = idle();
  shard.signal();
  ask(shard);
  shard.complete(shard.pollWorkflowTask(), [], { queryResults: answered(new Uint8Array(2 * 1024 * 1024 + 1)) });
  expect(shard.effects).toMatchObject([{ reply: { kind: 'rejected', rejection: { reason: 'query-failed' } } }]);
});

describe('refused', () => {
  const terminate = terminateWorkflow();

  test.each([
    ['open', idle, 2, undefined],
    ['open', idle, 3, undefined],
    ['completed', closed, 1, undefined],
    ['completed', closed, 2, 2],
    ['completed', closed, 3, undefined],
  ])('%s (reject condition %#)', (_, make, rejectCondition, status) => {
    const { reply } = ask(make(), { rejectCondition });
    expect(reply).toEqual(status === undefined ? undefined : { kind: 'queryRejected', status });
  });

  test('not completed cleanly', () => {
    const shard = idle();
    shard.expectDone(terminate);
    expect(ask(shard, { rejectCondition: 3 }).reply).toEqual({ kind: 'queryRejected', status: 5 });
  });

  test('closed before any worker had it', () => {
    const shard = new ShardUnderTest();
    shard.start();
    shard.expectDone(terminate);
    expect(ask(shard).reply).toMatchObject({
      rejection: { reason: 'workflow-not-ready', message: 'Workflow execution closed before WorkflowTaskStarted event' },
    });
  });

  test('in a start delay that outlasts the query', () => {
    const shard = new ShardUnderTest();
    shard.start({ start: { startDelayMs: 60_000 } });
    expect(ask(shard).reply).toMatchObject({ rejection: { message: 'Workflow task is not scheduled yet.' } });
    expect(ask(shard, { deadlineMs: shard.nowMs + 70_000 }).reply).toBeUndefined();
  });

  test('not in a start delay that an update cuts short: the query goes with its task', () => {
    const shard = new ShardUnderTest();
    shard.start({ start: { startDelayMs: 60_000 } });
    expect(shard.ask(updateWorkflow())).toBeUndefined();
    expect(ask(shard).reply).toBeUndefined();
    const offered = shard.effects.findLast(({ kind }) => kind === 'speculativeOffered');
    if (offered?.kind !== 'speculativeOffered') throw new Error('no task was offered');
    const { scheduledEventId, stamp, taskQueue } = offered;
    const task = shard.ask({ kind: 'startWorkflowTask', key, scheduledEventId, stamp, pollRequestId: 'p', identity: 'w', taskQueue });
    expect(task).toMatchObject({ kind: 'workflowTask', queries: new Map([['q1', expect.anything()]]) });
  });

  test('a workflow whose tasks keep failing', () => {
    const shard = new ShardUnderTest();
    shard.start();
    for (let failures = 0; failures < 2; failures++) {
      const task = refOf(shard.pollWorkflowTask());
      shard.expectDone({ kind: 'failWorkflowTask', task, cause: 14, failure: undefined, identity: 'w', binaryChecksum: '', jitter: 0 });
    }
    expect(ask(shard).reply).toMatchObject({ rejection: { message: 'Unable to query workflow due to Workflow Task in failed state.' } });
  });

  test('an unknown workflow', () => {
    expect(ask(new ShardUnderTest()).reply).toMatchObject({
      rejection: { reason: 'workflow-not-found', message: 'workflow not found for ID: wf' },
    });
  });
});
