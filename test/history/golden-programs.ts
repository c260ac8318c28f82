/** Programs that write every kind of record: what the golden journals hold (golden.test.ts). */
import { historyWire } from '../../src/codec/history-wire.ts';
import type { RequestCancelWorkflow } from '../../src/history/commands/history-commands.ts';
import type { WorkflowCommand } from '../../src/history/commands/workflow-commands.ts';
import type { StartedWorkflowTask } from '../../src/history/run/history-replies.ts';
import {
  activityRef,
  bytes,
  cancelActivity,
  cancelTimer,
  completeWorkflow,
  continueAsNew,
  deleteWorkflow,
  fields,
  key,
  namespaceId,
  refOf,
  scheduleActivity,
  ShardUnderTest,
  startChild,
  startTimer,
  terminateWorkflow,
} from './shard-under-test.ts';

const sticky = { taskQueue: { name: 'sticky', kind: 2, normalName: 'queue' }, scheduleToStartTimeoutMs: 5000 };

/** A retry, a cron schedule, and what a run of either leaves open. */
export function chains(): ShardUnderTest {
  const shard = new ShardUnderTest();
  const retryPolicy = {
    initialIntervalMs: 1_500,
    backoffCoefficient: 2.5,
    maximumIntervalMs: 60_000,
    maximumAttempts: 2,
    nonRetryableErrorTypes: ['Final', 'TemporalTimeout:StartToClose'],
  };
  shard.start({
    start: { retryPolicy, cronSchedule: 'CRON_TZ=Europe/London 30 9 * * MON-FRI', runTimeoutMs: 20_000, memo: fields({ note: '1' }) },
  });
  const facts = { kind: 'application', type: 'Passing', nonRetryable: false, nextRetryDelayMs: 0, message: 'no' } as const;
  const failure = {
    facts,
    bytes: historyWire.encodeFailure({ message: 'no', cause: undefined, info: { kind: 'server', nonRetryable: false } }),
  };
  const fail = { type: 'failWorkflowExecution', userMetadata: undefined, attributes: { failure } } as const;
  for (const command of [completeWorkflow(), fail, fail]) {
    shard.fireNextTimer();
    shard.complete(shard.pollWorkflowTask(), [command]);
  }
  shard.start({ key: { namespaceId, workflowId: 'other', runId: '' }, start: { retryPolicy, runTimeoutMs: 20_000 } });
  shard.advance(20_000);
  shard.fireDueTimers();
  return shard;
}

/** Tasks of a workflow with a priority, and of an activity that sets a part of its own. */
export function priorities(): ShardUnderTest {
  const shard = new ShardUnderTest();
  const encoded = historyWire.encodePriority.bind(historyWire);
  shard.start({ start: { priority: encoded({ priorityKey: 4, fairnessKey: 'tenant', fairnessWeight: 0.5 }) } });
  const own = encoded({ priorityKey: 2, fairnessKey: '', fairnessWeight: 0 });
  shard.complete(shard.pollWorkflowTask(), [scheduleActivity({ priority: own })]);
  return shard;
}

/** Every fact and every task at least once. */
export function everything(): ShardUnderTest {
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
  shard.expectDone(terminateWorkflow({ key: { namespaceId, workflowId: 'child', runId: '' }, details: bytes('d'), identity: 'c' }));
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

/** A worker takes the workflow task of that workflow. */
function poll(shard: ShardUnderTest, workflowId = key.workflowId): StartedWorkflowTask {
  const task = [...shard.core.shard.transfers.values()].find((of) => of.kind === 'workflowTask' && of.key.workflowId === workflowId);
  if (task?.kind !== 'workflowTask') throw new Error(`no workflow task of ${workflowId}`);
  const { scheduledEventId, stamp, taskQueue } = task;
  const pollRequestId = shard.newRequestId();
  const reply = shard.ask({ kind: 'startWorkflowTask', key: task.key, scheduledEventId, stamp, pollRequestId, identity: 'w', taskQueue });
  if (reply?.kind !== 'workflowTask') throw new Error('not started');
  return reply;
}

/** A run that is put aside, and taken back when it closes. */
export function asideAndBack(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [startTimer('t1', 1000)]);
  const { taskId } = shard.nextTimer() ?? { taskId: 0 };
  shard.expectDone({ kind: 'putAside', key: shard.describe().key, failedCommand: 'fireTimer', taskId, reason: 'RangeError: planted' });
  shard.signal();
  shard.expectDone(terminateWorkflow({ identity: 'c' }));
  return shard;
}

/** A workflow task that fails five times is reported, with another cause when it times out, until it completes. */
export function problems(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.start();
  for (let attempt = 1; attempt <= 5; attempt++) {
    const task = refOf(shard.pollWorkflowTask());
    shard.expectDone({ kind: 'failWorkflowTask', task, cause: 24, failure: undefined, identity: 'w', binaryChecksum: '', jitter: 0 });
  }
  shard.pollWorkflowTask();
  shard.advance(60_000);
  shard.fireDueTimers();
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
  return shard;
}

/**
 * Deleted are: an open run with a child and a parent, and one that had closed before its parent heard of it; a parent, before it knew that it
 * had a child.
 */
export function deletions(): ShardUnderTest {
  const shard = new ShardUnderTest();
  const other = { namespaceId, workflowId: 'other', runId: '' };
  shard.start();
  shard.complete(poll(shard), [startChild({ parentClosePolicy: 1 }), startTimer('t1', 1000)]);
  shard.pumpOutbox();
  shard.complete(poll(shard, 'child'), [completeWorkflow()]);
  shard.expectDone(deleteWorkflow({ namespaceId, workflowId: 'child', runId: '' }));
  shard.pumpOutbox();
  shard.complete(poll(shard), [startChild({ workflowId: 'second', parentClosePolicy: 3 })]);
  shard.pumpOutbox();
  shard.complete(poll(shard, 'second'), [startChild({ workflowId: 'grandchild', parentClosePolicy: 1 })]);
  shard.pumpOutbox();
  shard.expectDone(deleteWorkflow({ namespaceId, workflowId: 'second', runId: '' }));
  shard.start({ key: other });
  shard.complete(poll(shard, 'other'), [startChild({ workflowId: 'third' }), startChild({ workflowId: 'fourth', parentClosePolicy: 2 })]);
  for (const task of [...shard.core.shard.transfers.values()]) if (task.kind === 'startChild') shard.carryInVain(task);
  shard.expectDone(deleteWorkflow(other));
  shard.expectDone(deleteWorkflow());
  shard.pumpOutbox();
  return shard;
}

/** The events that the other programs do not write: what fails, times out, is cancelled, or comes back from children and strangers. */
export function everyOtherEvent(): ShardUnderTest {
  const shard = new ShardUnderTest({ retentionMsDefault: 1_000_000 });
  shard.start({ start: { memo: fields({ kept: '1', dropped: '2' }), searchAttributes: fields({ CustomKeywordField: '"old"' }) } });
  attachToRunning(shard);
  endThreeActivities(shard);
  endFiveChildren(shard);
  reachNobody(shard);
  shard.complete(poll(shard), [
    { type: 'modifyWorkflowProperties', userMetadata: undefined, attributes: { upsertedMemo: fields({ dropped: 'null', added: '3' }) } },
    { type: 'upsertWorkflowSearchAttributes', userMetadata: undefined, attributes: { searchAttributes: fields({ CustomIntField: '7' }) } },
    startTimer('on-time', 1000),
  ]);
  shard.advance(1000);
  shard.fireDueTimers();
  poll(shard);
  shard.advance(10_000);
  shard.fireDueTimers();
  shard.expectDone(requestCancel(shard, key.workflowId));
  shard.complete(poll(shard), [cancelled]);
  return shard;
}

function attachToRunning(shard: ShardUnderTest): void {
  const reply = shard.ask(
    shard.startCommand({
      policies: { reusePolicy: 1, conflictPolicy: 2 },
      onConflict: { attachRequestId: true, attachCallbacks: false, attachLinks: true, links: [bytes('link')] },
    }),
  );
  if (reply?.kind !== 'started' || reply.started) throw new Error('the run was not found');
}

/** One fails for good, one times out, one is cancelled. */
function endThreeActivities(shard: ShardUnderTest): void {
  const once = { initialIntervalMs: 1000, backoffCoefficient: 2, maximumIntervalMs: 0, maximumAttempts: 1, nonRetryableErrorTypes: [] };
  const ids = ['fails', 'times-out', 'is-cancelled'];
  shard.complete(
    poll(shard),
    ids.map((activityId) => scheduleActivity({ activityId, retryPolicy: once })),
  );
  const tasks = new Map(ids.map(() => shard.pollActivityTask()).map((task) => [task.activityId, activityRef(task)]));
  const [failing, , cancelling] = ids.map((id) => tasks.get(id));
  if (failing === undefined || cancelling === undefined) throw new Error('an activity was not polled');
  shard.expectDone({
    kind: 'failActivityTask',
    activity: failing,
    failure: { facts: { kind: 'application', type: 'T', nonRetryable: true, nextRetryDelayMs: 0, message: 'm' }, bytes: bytes('failed') },
    lastHeartbeatDetails: bytes('beat'),
    identity: 'w',
  });
  shard.complete(poll(shard), [cancelActivity(cancelling.scheduledEventId)]);
  shard.expectDone({ kind: 'cancelActivityTask', activity: cancelling, details: bytes('details'), identity: 'w' });
  shard.advance(10_000);
  shard.fireDueTimers();
}

function endFiveChildren(shard: ShardUnderTest): void {
  const ids = ['completes', 'fails', 'is-cancelled', 'times-out', 'is-terminated'];
  shard.complete(
    poll(shard),
    ids.map((workflowId) => startChild({ workflowId, runTimeoutMs: workflowId === 'times-out' ? 5_000 : 0, parentClosePolicy: 2 })),
  );
  shard.pumpOutbox();
  shard.complete(poll(shard, 'completes'), [completeWorkflow()]);
  shard.complete(poll(shard, 'fails'), [
    {
      type: 'failWorkflowExecution',
      userMetadata: undefined,
      attributes: {
        failure: { facts: { kind: 'application', type: 'T', nonRetryable: false, nextRetryDelayMs: 0, message: 'm' }, bytes: bytes('f') },
      },
    },
  ]);
  shard.expectDone(requestCancel(shard, 'is-cancelled'));
  shard.complete(poll(shard, 'is-cancelled'), [cancelled]);
  shard.expectDone(terminateWorkflow({ key: { namespaceId, workflowId: 'is-terminated', runId: '' }, details: bytes('d'), identity: 'c' }));
  shard.advance(5_000);
  shard.fireDueTimers();
  shard.pumpOutbox();
}

/** A child whose id is taken, a signal and a cancellation for workflows that nobody knows. */
function reachNobody(shard: ShardUnderTest): void {
  shard.start({ key: { namespaceId, workflowId: 'taken', runId: '' } });
  const nowhere = { namespace: '', namespaceId: '', control: '', childWorkflowOnly: false };
  shard.complete(poll(shard), [
    startChild({ workflowId: 'taken' }),
    {
      type: 'signalExternalWorkflowExecution',
      userMetadata: undefined,
      attributes: {
        ...nowhere,
        execution: { workflowId: 'nobody', runId: '' },
        signalName: 's',
        input: bytes('i'),
        header: undefined,
      },
    },
    {
      type: 'requestCancelExternalWorkflowExecution',
      userMetadata: undefined,
      attributes: { ...nowhere, workflowId: 'nobody', runId: '', reason: 'why' },
    },
  ]);
  shard.pumpOutbox();
}

const cancelled: WorkflowCommand = { type: 'cancelWorkflowExecution', userMetadata: undefined, attributes: { details: bytes('details') } };

function requestCancel(shard: ShardUnderTest, workflowId: string): RequestCancelWorkflow {
  return {
    kind: 'requestCancelWorkflow',
    key: { namespaceId, workflowId, runId: '' },
    firstExecutionRunId: '',
    cause: 'cause',
    identity: 'c',
    requestId: shard.newRequestId(),
    links: [],
    external: undefined,
    childOf: undefined,
  };
}
