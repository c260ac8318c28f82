/**
 * Journals outlive versions: what schema 1 wrote must be read for ever, and mean the same. The golden file holds the records of a
 * program that uses every fact and every task. None is ever regenerated: a new form gets files of its own.
 */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { canonicalText } from '../../src/history/canonical.ts';
import { HistoryCore } from '../../src/history/history-core.ts';
import type { Fact } from '../../src/history/record.ts';
import { recordSchema } from '../../src/history/record.ts';
import type { Task } from '../../src/history/tasks.ts';
import { historyCodec } from '../../src/topics/codec/history-codec.ts';
import { historyWire } from '../../src/topics/codec/history-wire.ts';
import {
  activityRef,
  bytes,
  cancelTimer,
  completeWorkflow,
  continueAsNew,
  key,
  namespaceId,
  refOf,
  scheduleActivity,
  ShardUnderTest,
  startChild,
  startTimer,
} from './shard-under-test.ts';

/** Facts that came later stand in files of their own: what was written once stays as it is. */
const earlier = ['golden/history-journal-v1', 'golden/history-journal-v1-put-aside'] as const;
/**
 * Today's form: tasks leave out what the event in the same record says, a buffered event that is flushed in the same record stands there
 * once, and starts of children carry the close policy.
 */
const newest = ['golden/history-journal-v1-lean', 'golden/history-journal-v1-lean-put-aside'] as const;
const journals = [...earlier, ...newest] as const;

const sticky = { taskQueue: { name: 'sticky', kind: 2, normalName: 'queue' }, scheduleToStartTimeoutMs: 5000 };

/** What the golden file was written with: every fact and every task at least once. */
function everything(): ShardUnderTest {
  const shard = new ShardUnderTest({ retentionMsDefault: 1_000_000 });
  shard.start({ key: { namespaceId, workflowId: 'other', runId: '' } });
  // Two failed attempts, a timer that fires too early to be cancelled in time, a sticky task that moves.
  shard.start({
    start: { executionTimeoutMs: 900_000, runTimeoutMs: 800_000, userMetadata: bytes('summary'), links: [bytes('link')], memo: bytes('') },
  });
  const fail = (): void => {
    const task = poll(shard);
    shard.expectDone({
      kind: 'failWorkflowTask',
      task: refOf(task),
      cause: 14,
      failure: { facts: { kind: 'server', type: '', nonRetryable: false, nextRetryDelayMs: 0, message: '' }, bytes: bytes('f') },
      identity: 'w',
      binaryChecksum: 'sum',
      jitter: 0.5,
    });
  };
  fail();
  fail();
  shard.complete(
    poll(shard),
    [
      startTimer('t1', 1000),
      scheduleActivity({ heartbeatTimeoutMs: 3000 }),
      startChild({ parentClosePolicy: 3 }),
      {
        type: 'signalExternalWorkflowExecution',
        userMetadata: bytes('m'),
        attributes: {
          namespace: '',
          namespaceId: '',
          execution: { workflowId: 'other', runId: '' },
          signalName: 's',
          input: bytes('i'),
          control: 'c',
          childWorkflowOnly: false,
          header: undefined,
        },
      },
      {
        type: 'requestCancelExternalWorkflowExecution',
        userMetadata: undefined,
        attributes: {
          namespace: '',
          namespaceId: '',
          workflowId: 'other',
          runId: '',
          control: '',
          childWorkflowOnly: false,
          reason: 'why',
        },
      },
      {
        type: 'recordMarker',
        userMetadata: undefined,
        attributes: { markerName: 'm', details: new Map([['k', bytes('v')]]), header: bytes('h'), failure: undefined },
      },
    ],
    { sticky, sdkMetadata: bytes('sdk') },
  );
  const withdrawn = shard.pollActivityTask('lost');
  shard.expectDone({
    kind: 'withdrawActivityStart',
    key: withdrawn.key,
    scheduledEventId: withdrawn.scheduledEventId,
    pollRequestId: 'lost',
  });
  const activity = shard.pollActivityTask();
  shard.ask({ kind: 'recordActivityHeartbeat', activity: activityRef(activity), details: bytes('beat'), identity: 'w' });
  shard.expectDone({
    kind: 'failActivityTask',
    activity: activityRef(activity),
    failure: { facts: { kind: 'application', type: 'T', nonRetryable: false, nextRetryDelayMs: 500, message: '' }, bytes: bytes('failed') },
    lastHeartbeatDetails: undefined,
    identity: 'w',
  });
  shard.pumpOutbox();
  shard.expectDone({ kind: 'resetStickyTaskQueue', key });
  const task = poll(shard);
  shard.advance(1000);
  shard.fireDueTimers();
  shard.signal();
  shard.complete(task, [cancelTimer('t1')], { sticky });
  const busy = poll(shard);
  const inline = shard.complete(busy, [], { forceCreateNewWorkflowTask: true, returnNewWorkflowTask: true, sticky }).workflowTask;
  if (inline === undefined) throw new Error('no inline task');
  shard.complete(inline, []);
  shard.completeActivity(shard.pollActivityTask());
  shard.advance(2000);
  shard.complete(poll(shard), [continueAsNew({ backoffStartIntervalMs: 3000 })]);
  shard.pumpOutbox();
  shard.expectDone({
    kind: 'terminateWorkflow',
    key: { namespaceId, workflowId: 'child', runId: '' },
    firstExecutionRunId: '',
    reason: 'enough',
    details: bytes('d'),
    identity: 'c',
    links: [],
    childOf: undefined,
  });
  shard.pumpOutbox();
  shard.advance(3000);
  shard.fireDueTimers();
  shard.complete(poll(shard), [completeWorkflow()]);
  shard.start({ key: { namespaceId, workflowId: 'short', runId: '' }, start: { executionTimeoutMs: 10 } });
  shard.advance(2_000_000);
  shard.fireDueTimers();
  shard.advance(2_000_000);
  shard.fireDueTimers();
  return shard;
}

function poll(shard: ShardUnderTest) {
  const task = [...shard.core.pendingTransferTasks()].find(({ kind, key: of }) => kind === 'workflowTask' && of.workflowId === 'wf');
  if (task?.kind !== 'workflowTask') throw new Error('no workflow task');
  const { scheduledEventId, stamp, taskQueue } = task;
  const pollRequestId = shard.newRequestId();
  const reply = shard.ask({ kind: 'startWorkflowTask', key: task.key, scheduledEventId, stamp, pollRequestId, identity: 'w', taskQueue });
  if (reply?.kind !== 'workflowTask') throw new Error('not started');
  return reply;
}

/** What the second file was written with. */
function asideAndBack(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('t1', 1000)]);
  const { taskId } = shard.core.nextTimer() ?? { taskId: 0 };
  shard.expectDone({ kind: 'putAside', key: shard.describe().key, failedCommand: 'fireTimer', taskId, reason: 'RangeError: planted' });
  shard.signal();
  shard.expectDone({
    kind: 'terminateWorkflow',
    key,
    firstExecutionRunId: '',
    reason: 'enough',
    details: undefined,
    identity: 'c',
    links: [],
    childOf: undefined,
  });
  return shard;
}

function goldenRecords(): readonly Uint8Array[] {
  return journals.flatMap(recordsOf);
}

function recordsOf(journal: string): readonly Uint8Array[] {
  return readFileSync(new URL(`${journal}.hex`, import.meta.url), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Uint8Array.from(Buffer.from(line, 'hex')));
}

test.each(journals)('schema 1 is still read, and means what it meant: %s', async (journal) => {
  const records = recordsOf(journal).map((value) => historyCodec.decode(value, 1));
  expect(records.length).toBeGreaterThan(4);
  await expect(records.map((record) => `${canonicalText(record)}\n`).join('\n')).toMatchFileSnapshot(`${journal}.txt`);
  const core = new HistoryCore({ wire: historyWire });
  for (const record of records) core.evolve(record);
  expect(core.has({ namespaceId, workflowId: 'short', runId: '' }), 'all of it was forgotten in the end').toBe(false);
  expect([...core.pendingTransferTasks()].filter(({ kind }) => kind !== 'workflowTask')).toEqual([]);
});

test.each(newest)('what is read of the newest form is written again byte for byte: %s', (journal) => {
  expect(recordSchema).toBe(1);
  for (const value of recordsOf(journal)) expect(historyCodec.encode(historyCodec.decode(value, 1)).value).toEqual(value);
});

test.each(earlier)('written again in the newest form, it still means the same: %s', (journal) => {
  for (const value of recordsOf(journal)) {
    const record = historyCodec.decode(value, 1);
    expect(historyCodec.decode(historyCodec.encode(record).value, 1)).toEqual(record);
  }
});

test('neither the golden file nor its program leaves anything out', () => {
  const facts: { readonly [Kind in Fact['kind']]: true } = {
    startRequest: true,
    workflowTaskScheduled: true,
    workflowTaskHeartbeat: true,
    workflowTaskStarted: true,
    workflowTaskFailed: true,
    workflowTaskRequeued: true,
    stickySet: true,
    stickyCleared: true,
    eventBuffered: true,
    bufferFlushed: true,
    timerFiredUnbuffered: true,
    activityStarted: true,
    activityStartWithdrawn: true,
    activityHeartbeat: true,
    activityRetried: true,
    activityBackoffEnded: true,
    runPutAside: true,
    runTakenBack: true,
    runForgotten: true,
  };
  const tasks: { readonly [Kind in Task['kind']]: true } = {
    workflowTask: true,
    activityTask: true,
    startChild: true,
    scheduleChildFirstTask: true,
    signalExternal: true,
    cancelExternal: true,
    notifyParent: true,
    closeChild: true,
    userTimer: true,
    activityTimeout: true,
    activityRetry: true,
    workflowTaskTimeout: true,
    firstWorkflowTask: true,
    runTimeout: true,
    executionTimeout: true,
    retention: true,
  };
  for (const records of [
    goldenRecords().map((value) => historyCodec.decode(value, 1)),
    [...everything().records, ...asideAndBack().records],
  ]) {
    const seenFacts = new Set(records.flatMap(({ runs }) => runs.flatMap((change) => change.facts.map(({ fact }) => fact.kind))));
    const seenTasks = new Set(records.flatMap((record) => record.tasks.map(({ kind }) => kind)));
    expect([...seenFacts].toSorted()).toEqual(Object.keys(facts).toSorted());
    expect([...seenTasks].toSorted()).toEqual(Object.keys(tasks).toSorted());
  }
});

test('a record of another schema, or one that makes no sense, is refused', () => {
  const [first] = goldenRecords();
  if (first === undefined) throw new Error('the golden file is empty');
  expect(() => historyCodec.decode(first, 2)).toThrow('history records have schema 1, found 2');
  expect(() => historyCodec.decode(first.subarray(0, first.length - 3), 1)).toThrow();
});
