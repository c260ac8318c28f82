/** What a worker's commands are checked for: the cause that history shows and the text that the worker gets. */
import { describe, expect, test } from 'vitest';
import type { WorkflowCommand } from '../../src/history/commands/workflow-commands.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { decodeFailure } from '../../src/wire/generated/lean/failure.ts';
import {
  bytes,
  cancelActivity,
  cancelTimer,
  completeWorkflow,
  continueAsNew,
  fields,
  refOf,
  scheduleActivity,
  ShardUnderTest,
  startChild,
  startTimer,
} from './shard-under-test.ts';

const tooLong = 'x'.repeat(1001);
const tooLarge = new Uint8Array(2 * 1024 * 1024 + 1);

function without(type: WorkflowCommand['type']): WorkflowCommand {
  return { type, attributes: undefined, userMetadata: undefined };
}

function marker(markerName: string, details = new Map<string, Uint8Array>()): WorkflowCommand {
  return { type: 'recordMarker', userMetadata: undefined, attributes: { markerName, details, header: undefined, failure: undefined } };
}

function signal(change: { workflowId?: string; runId?: string; signalName?: string; input?: Uint8Array }): WorkflowCommand {
  const { workflowId = 'other', runId = '', signalName = 's', input } = change;
  const execution = { workflowId, runId };
  const attributes = {
    namespace: '',
    namespaceId: '',
    execution,
    signalName,
    input,
    control: '',
    childWorkflowOnly: false,
    header: undefined,
  };
  return { type: 'signalExternalWorkflowExecution', userMetadata: undefined, attributes };
}

function cancel(workflowId: string, runId = ''): WorkflowCommand {
  const attributes = { namespace: '', namespaceId: '', workflowId, runId, control: '', childWorkflowOnly: false, reason: '' };
  return { type: 'requestCancelExternalWorkflowExecution', userMetadata: undefined, attributes };
}

function upsert(searchAttributes: Uint8Array | undefined): WorkflowCommand {
  return { type: 'upsertWorkflowSearchAttributes', userMetadata: undefined, attributes: { searchAttributes } };
}

function modify(upsertedMemo: Uint8Array | undefined): WorkflowCommand {
  return { type: 'modifyWorkflowProperties', userMetadata: undefined, attributes: { upsertedMemo } };
}

const retryPolicy = { initialIntervalMs: 0, backoffCoefficient: 0, maximumIntervalMs: 0, maximumAttempts: 0, nonRetryableErrorTypes: [] };
const bothTimers = [startTimer('t1'), startTimer('t1')];
const bothActivities = [scheduleActivity(), scheduleActivity()];

type Row = readonly [cause: number, text: string, ...commands: WorkflowCommand[]];

describe('a bad command fails the task', () => {
  const table: readonly Row[] = [
    [
      2,
      'BadScheduleActivityAttributes: ScheduleActivityTaskCommandAttributes is not set on ScheduleActivityTaskCommand.',
      without('scheduleActivityTask'),
    ],
    [2, 'BadScheduleActivityAttributes: activityId is not set', scheduleActivity({ activityId: '' })],
    [2, 'BadScheduleActivityAttributes: activityType is not set', scheduleActivity({ activityType: '' })],
    [
      2,
      'BadScheduleActivityAttributes: activityId exceeds length limit. Length=1001 Limit=1000',
      scheduleActivity({ activityId: tooLong }),
    ],
    [
      2,
      'BadScheduleActivityAttributes: a valid StartToCloseTimeout or ScheduleToCloseTimeout must be set on the activity. ActivityId=',
      scheduleActivity({ startToCloseTimeoutMs: 0 }),
    ],
    [2, 'BadScheduleActivityAttributes: invalid HeartbeatTimeout: negative duration', scheduleActivity({ heartbeatTimeoutMs: -1 })],
    [2, 'BadScheduleActivityAttributes: taskQueue is not set', scheduleActivity({ taskQueue: undefined })],
    [2, 'BadScheduleActivityAttributes: missing task queue name', scheduleActivity({ taskQueue: { name: '', kind: 1, normalName: '' } })],
    [
      2,
      'BadScheduleActivityAttributes: invalid InitialInterval set on retry policy: negative duration',
      scheduleActivity({ retryPolicy: { ...retryPolicy, initialIntervalMs: -1 } }),
    ],
    [
      2,
      'BadScheduleActivityAttributes: BackoffCoefficient cannot be less than 1',
      scheduleActivity({ retryPolicy: { ...retryPolicy, backoffCoefficient: 0.5 } }),
    ],
    [
      2,
      'BadScheduleActivityAttributes: MaximumInterval cannot be less',
      scheduleActivity({ retryPolicy: { ...retryPolicy, maximumIntervalMs: 10 } }),
    ],
    [
      22,
      'ScheduleActivityDuplicateId: invalid history builder state for action: add-activitytask-scheduled-event, ActivityID: a1',
      ...bothActivities,
    ],
    [3, 'BadRequestCancelActivityAttributes: RequestCancelActivityTaskCommandAttributes is not set', without('requestCancelActivityTask')],
    [3, 'BadRequestCancelActivityAttributes: ScheduledEventId is not set on RequestCancelActivityTaskCommand.', cancelActivity(0)],
    [
      3,
      'BadRequestCancelActivityAttributes: invalid history builder state for action: add-activitytask-cancel-requested-event, ScheduledEventID: 77',
      cancelActivity(77),
    ],
    [4, 'BadStartTimerAttributes: StartTimerCommandAttributes is not set on StartTimerCommand.', without('startTimer')],
    [4, 'BadStartTimerAttributes: TimerId is not set on StartTimerCommand.', startTimer('')],
    [
      4,
      `BadStartTimerAttributes: TimerId on StartTimerCommand exceeds length limit. TimerId=${tooLong} Length=1001 Limit=1000`,
      startTimer(tooLong),
    ],
    [4, 'BadStartTimerAttributes: An invalid StartToFireTimeout is set on StartTimerCommand', startTimer('t', -1)],
    [12, 'StartTimerDuplicateId: ', ...bothTimers],
    [5, 'BadCancelTimerAttributes: TimerId is not set on CancelTimerCommand.', cancelTimer('')],
    [5, 'BadCancelTimerAttributes: ', cancelTimer('unknown')],
    [6, 'BadRecordMarkerAttributes: MarkerName is not set on RecordMarkerCommand.', marker('')],
    [7, 'BadCompleteWorkflowExecutionAttributes: ', without('completeWorkflowExecution')],
    [8, 'BadFailWorkflowExecutionAttributes: FailWorkflowExecutionCommandAttributes', without('failWorkflowExecution')],
    [
      8,
      'BadFailWorkflowExecutionAttributes: Failure is not set on FailWorkflowExecutionCommand.',
      { type: 'failWorkflowExecution', userMetadata: undefined, attributes: { failure: undefined } },
    ],
    [9, 'BadCancelWorkflowExecutionAttributes: ', without('cancelWorkflowExecution')],
    [11, 'BadContinueAsNewAttributes: ', without('continueAsNewWorkflowExecution')],
    [
      11,
      'BadContinueAsNewAttributes: WorkflowType on ContinueAsNewWorkflowExecutionCommand exceeds length limit',
      continueAsNew({ workflowType: tooLong }),
    ],
    [11, 'BadContinueAsNewAttributes: Invalid WorkflowRunTimeout', continueAsNew({ runTimeoutMs: -1 })],
    [23, 'BadSearchAttributes: invalid SearchAttributes', continueAsNew({ searchAttributes: fields({ Nope: '1' }) })],
    [
      23,
      'BadSearchAttributes: invalid SearchAttributes on StartChildWorkflowCommand: Namespace ns has no mapping defined for search attribute Nope',
      startChild({ searchAttributes: fields({ Nope: '1' }) }),
    ],
    [16, 'BadStartChildExecutionAttributes: Required field WorkflowId is not set', startChild({ workflowId: '' })],
    [16, 'BadStartChildExecutionAttributes: Required field WorkflowType is not set', startChild({ workflowType: '' })],
    [16, 'BadStartChildExecutionAttributes: Invalid WorkflowTaskTimeout', startChild({ taskTimeoutMs: -1 })],
    [10, 'BadRequestCancelExternalWorkflowExecutionAttributes: WorkflowId is not set', cancel('')],
    [10, 'BadRequestCancelExternalWorkflowExecutionAttributes: Invalid RunId set', cancel('other', 'no uuid')],
    [10, 'BadRequestCancelExternalWorkflowExecutionAttributes: Start and RequestCancel for child workflow', startChild(), cancel('child')],
    [15, 'BadSignalWorkflowExecutionAttributes: WorkflowId is not set', signal({ workflowId: '' })],
    [15, 'BadSignalWorkflowExecutionAttributes: SignalName is not set', signal({ signalName: '' })],
    [15, 'BadSignalWorkflowExecutionAttributes: Invalid RunId set', signal({ runId: 'no uuid' })],
    [23, 'BadSearchAttributes: SearchAttributes is not set on UpsertWorkflowSearchAttributesCommand.', upsert(undefined)],
    [23, 'BadSearchAttributes: IndexedFields is not set on UpsertWorkflowSearchAttributesCommand.', upsert(fields({}))],
    [23, 'BadSearchAttributes: Namespace ns has no mapping defined for search attribute Nope', upsert(fields({ Nope: '1' }))],
    [23, "BadSearchAttributes: WorkflowId attribute can't be set in SearchAttributes", upsert(fields({ WorkflowId: '"w"' }))],
    [
      23,
      'BadSearchAttributes: invalid value for search attribute CustomIntField of type Int: text',
      upsert(fields({ CustomIntField: '"text"' })),
    ],
    [25, 'BadModifyWorkflowPropertiesAttributes: UpsertedMemo is not set on ModifyWorkflowPropertiesCommand.', modify(undefined)],
    [25, 'BadModifyWorkflowPropertiesAttributes: UpsertedMemo.Fields is not set on ModifyWorkflowPropertiesCommand.', modify(fields({}))],
  ];
  const cases = table.map(([cause, text, ...commands]) => ({ cause, text, commands }));
  test.each(cases)('cause $cause: $text', ({ cause, text, commands }) => {
    const shard = new ShardUnderTest();
    shard.start();
    const rejection = shard.completeBadly(shard.pollWorkflowTask(), commands);
    expect(rejection.reason).toBe('bad-command');
    expect(rejection.message.startsWith(text), rejection.message).toBe(true);
    expect(shard.history().slice(2), 'nothing of the completion stays').toEqual(['workflowTaskStarted', 'workflowTaskFailed']);
    const { attributes } = shard.lastEvent('workflowTaskFailed');
    expect(attributes).toMatchObject({ cause, identity: 'worker' });
    expect(decodeFailure(attributes.failure ?? bytes(''))).toMatchObject({
      message: rejection.message,
      serverFailureInfo: { nonRetryable: false },
    });
    expect(shard.describe()).toMatchObject({ status: 1, pendingWorkflowTask: { attempt: 2, started: false } });
    expect(shard.pendingTasks(), 'nothing is started, nothing armed').toEqual(['workflowTask']);
    expect(shard.nextTimer()).toBeUndefined();
  });

  test('of a repeated attempt writes nothing: the task times out', () => {
    const shard = new ShardUnderTest();
    shard.start();
    shard.completeBadly(shard.pollWorkflowTask(), [startTimer('')]);
    const second = shard.pollWorkflowTask();
    expect(shard.expectRejected(shard.completion(second, [startTimer('')]))).toEqual({
      reason: 'bad-command',
      message: 'BadStartTimerAttributes: TimerId is not set on StartTimerCommand.',
    });
    expect(shard.describe().pendingWorkflowTask).toMatchObject({ attempt: 2, started: true });
    shard.fireNextTimer();
    expect(shard.describe().pendingWorkflowTask).toMatchObject({ attempt: 3, started: false });
  });
});

describe('too large a command ends the workflow', () => {
  const table: readonly (readonly [number, string, WorkflowCommand])[] = [
    [
      2,
      'BadScheduleActivityAttributes: ScheduleActivityTaskCommandAttributes.Input exceeds size limit.',
      scheduleActivity({ input: tooLarge }),
    ],
    [2, 'BadScheduleActivityAttributes: CompleteWorkflowExecutionCommandAttributes.Result exceeds size limit.', completeWorkflow(tooLarge)],
    [6, 'BadRecordMarkerAttributes: RecordMarkerCommandAttributes.Details exceeds size limit.', marker('m', new Map([['x', tooLarge]]))],
    [
      11,
      'BadContinueAsNewAttributes: ContinueAsNewWorkflowExecutionCommandAttributes. Input exceeds size limit.',
      continueAsNew({ input: tooLarge }),
    ],
    [
      16,
      'BadStartChildExecutionAttributes: StartChildWorkflowExecutionCommandAttributes. Input exceeds size limit.',
      startChild({ input: tooLarge }),
    ],
    [
      15,
      'BadSignalWorkflowExecutionAttributes: SignalExternalWorkflowExecutionCommandAttributes.Input exceeds size limit.',
      signal({ input: tooLarge }),
    ],
  ];
  test.each(table)('cause %d: %s', (cause, text, command) => {
    const shard = new ShardUnderTest();
    shard.start();
    const task = shard.pollWorkflowTask();
    shard.signal();
    let rejection = shard.completeBadly(task, [command]);
    // A close is checked only once the workflow has seen everything.
    if (rejection.reason === 'unhandled-command') rejection = shard.completeBadly(shard.pollWorkflowTask(), [command]);
    expect(rejection.message).toBe(text);
    expect(shard.history().at(-1)).toBe('workflowExecutionTerminated');
    expect(shard.history(), 'nothing that was buffered is lost').toContain('workflowExecutionSignaled');
    expect(shard.lastEvent('workflowTaskFailed').attributes.cause).toBe(cause);
    expect(shard.lastEvent('workflowExecutionTerminated').attributes).toMatchObject({ reason: text, identity: 'history-service' });
  });
});

describe('a command over a limit of the workflow', () => {
  test.each([
    [
      27,
      { pendingActivitiesMax: 1 },
      [scheduleActivity(), scheduleActivity({ activityId: 'a2' })],
      'the number of pending activities, 1, has reached the per-workflow limit of 1',
    ],
    [
      26,
      { pendingChildrenMax: 1 },
      [startChild(), startChild({ workflowId: 'c2' })],
      'the number of pending child workflow executions, 1, has reached the per-workflow limit of 1',
    ],
    [
      28,
      { pendingExternalSignalsMax: 1 },
      [signal({}), signal({})],
      'the number of pending signals to external workflows, 1, has reached the per-workflow limit of 1',
    ],
    [
      29,
      { pendingExternalCancelsMax: 1 },
      [cancel('a'), cancel('b')],
      'the number of pending requests to cancel external workflows, 1, has reached the per-workflow limit of 1',
    ],
    [
      28,
      { pendingExternalSignalsMax: 1 },
      [signal({ workflowId: 'wf' }), signal({ workflowId: 'wf' })],
      'the number of pending signals to external workflows, 1, has reached the per-workflow limit of 1',
    ],
    [
      29,
      { pendingExternalCancelsMax: 1 },
      [cancel('wf'), cancel('wf')],
      'the number of pending requests to cancel external workflows, 1, has reached the per-workflow limit of 1',
    ],
    [
      25,
      { upsertedBytesPerTaskMax: 600 },
      [modify(fields({ a: 'x' })), modify(fields({ a: 'y' })), modify(fields({ a: 'z' }))],
      'Memo is changed too often in one workflow task: 600 bytes may be rewritten.',
    ],
    [
      23,
      { upsertedBytesPerTaskMax: 600 },
      ['x', 'y', 'z'].map((value) => upsert(fields({ CustomKeywordField: `"${value}"` }))),
      'UpsertWorkflowSearchAttributesCommandAttributes is changed too often in one workflow task: 600 bytes may be rewritten.',
    ],
  ] as const)('cause %d', (cause, limits, commands, text) => {
    const shard = new ShardUnderTest(limits);
    shard.start();
    expect(shard.completeBadly(shard.pollWorkflowTask(), commands).message).toContain(text);
    expect(shard.lastEvent('workflowTaskFailed').attributes.cause).toBe(cause);
  });
});

test('a close command must be the last: nothing changes, the task stays', () => {
  const shard = new ShardUnderTest();
  shard.start();
  const task = shard.pollWorkflowTask();
  expect(shard.expectRejected(shard.completion(task, [completeWorkflow(), startTimer()]))).toEqual({
    reason: 'invalid-argument',
    message:
      'invalid command sequence: [CompleteWorkflowExecution, StartTimer], command CompleteWorkflowExecution must be the last command.',
  });
  shard.complete(task, [completeWorkflow()]);
});

const continues = 'on ContinueAsNewWorkflowExecutionCommand';
const starts = 'on StartChildWorkflowExecutionCommand';
const tooFlat = { ...retryPolicy, backoffCoefficient: 0.5, maximumAttempts: 0 };
const flatText = 'BackoffCoefficient cannot be less than 1 on retry policy.';
const neverText = 'invalid CronSchedule, no time can be found to satisfy the schedule';
const continued = 'WorkflowType=Type TaskQueue=';
const child = 'WorkflowId=child WorkflowType=';

test.each([
  [11, `invalid WorkflowRetryPolicy ${continues}: ${flatText}. ${continued}`, continueAsNew({ retryPolicy: tooFlat })],
  [11, `invalid CronSchedule ${continues}: invalid CronSchedule.. ${continued}`, continueAsNew({ cronSchedule: '61 * * * *' })],
  [16, `invalid WorkflowRetryPolicy ${starts}: ${flatText}. ${child}`, startChild({ retryPolicy: tooFlat })],
  [16, `invalid CronSchedule ${starts}: invalid CronSchedule.. ${child}`, startChild({ cronSchedule: '* * *' })],
  [16, `invalid CronSchedule ${starts}: ${neverText}. ${child}`, startChild({ cronSchedule: '0 0 31 2 *' })],
])('cause %i: %s', (cause, text, command) => {
  const shard = new ShardUnderTest();
  shard.start();
  const rejection = shard.completeBadly(shard.pollWorkflowTask(), [command]);
  expect(rejection.message).toContain(text);
  expect(shard.lastEvent('workflowTaskFailed').attributes.cause).toBe(cause);
});

test('a command passes on its user metadata', () => {
  const shard = new ShardUnderTest();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), [{ ...startTimer(), userMetadata: bytes('summary') }]);
  expect(shard.lastEvent('timerStarted').userMetadata).toEqual(bytes('summary'));
});

test('an id that is too long is not written down whole', () => {
  const shard = new ShardUnderTest();
  shard.start();
  const rejection = shard.completeBadly(shard.pollWorkflowTask(), [startTimer('t'.repeat(3_000_000))]);
  expect(rejection.message).toMatch(/^BadStartTimerAttributes: TimerId on StartTimerCommand exceeds length limit\. TimerId=t+\.\.\.$/);
  expect(rejection.message.length).toBeLessThan(5_000);
  expect(shard.lastEvent('workflowTaskFailed').attributes.failure?.length).toBeLessThan(5_000);
});

test('memo and search attributes are merged by key; an empty value deletes its key', () => {
  const shard = new ShardUnderTest();
  shard.start({ start: { memo: fields({ a: '1', b: '2' }), searchAttributes: fields({ CustomKeywordField: '"old"' }) } });
  const commands = [modify(fields({ b: 'null', c: '3' })), upsert(fields({ CustomIntField: '7', CustomKeywordField: '[]' }))];
  shard.complete(shard.pollWorkflowTask(), commands);
  const { memo, searchAttributes } = shard.describe();
  expect([...historyWire.decodeFields(memo ?? bytes('')).keys()].toSorted()).toEqual(['a', 'c']);
  expect([...historyWire.decodeFields(searchAttributes ?? bytes('')).keys()]).toEqual(['CustomIntField']);
  expect(shard.history().slice(-2)).toEqual(['workflowPropertiesModified', 'upsertWorkflowSearchAttributes']);
});

test('a large memo may be changed some times in one task, a small one thousands of times', () => {
  const shard = new ShardUnderTest();
  shard.checks = false;
  const keys = Array.from({ length: 9_000 }, (_, at) => [`key ${at}`, '1']);
  shard.start({ start: { memo: fields(Object.fromEntries(keys)), searchAttributes: fields({ CustomIntField: '1' }) } });
  const change = modify(fields({ 'key 1': '2' }));
  const rejection = shard.completeBadly(shard.pollWorkflowTask(), Array(4_000).fill(change));
  expect(rejection.message).toBe(
    'BadModifyWorkflowPropertiesAttributes: ModifyWorkflowPropertiesCommandAttributes. Memo is changed too often in one workflow task: 33554432 bytes may be rewritten.',
  );
  shard.complete(shard.pollWorkflowTask(), Array(10).fill(change));
  expect(shard.history().filter((type) => type === 'workflowPropertiesModified')).toHaveLength(10);

  const small = new ShardUnderTest();
  small.checks = false;
  small.start({ start: { memo: fields(Object.fromEntries(keys.slice(0, 10))) } });
  const changes = [change, upsert(fields({ CustomIntField: '7' }))];
  small.complete(small.pollWorkflowTask(), Array(2_000).fill(changes).flat() as WorkflowCommand[]);
  expect(small.describe().status).toBe(1);
});

test('an answer under a token of an earlier attempt does not fail the present one', () => {
  const shard = new ShardUnderTest();
  shard.start();
  const first = shard.pollWorkflowTask();
  shard.completeBadly(first, [startTimer('')]);
  shard.pollWorkflowTask();
  const late = {
    kind: 'failWorkflowTask',
    task: refOf(first),
    cause: 14,
    failure: undefined,
    identity: 'w',
    binaryChecksum: '',
    jitter: 0,
  } as const;
  expect(shard.expectRejected(late)).toMatchObject({ reason: 'task-not-found' });
});
