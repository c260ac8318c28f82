/** Schedules as an execution of a shard: what they start, what they hear of it, and what stays of them. */
import { describe, expect, test } from 'vitest';
import type { ScheduleDescription } from '../../src/history/commands/schedule-commands.ts';
import { overlapPolicy, scheduleLimits } from '../../src/schedules/schedule.ts';
import { HistoryCore } from '../../src/history/history-core.ts';
import { historyCodec } from '../../src/codec/history-codec.ts';
import { recordSchema } from '../../src/codec/record-schema.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { decodeFields } from '../../src/wire/fields.ts';
import { decodePayload } from '../../src/wire/generated/lean/common.ts';
import { listInfoOf } from '../../src/grpc/workflow-service/schedule-fields.ts';
import { active, aScheduleKey, createSchedule, patchSchedule, updateSchedule } from './schedule-commands.ts';
import { aJobKey, startBatch } from './batch-commands.ts';
import {
  bytes,
  completeWorkflow,
  continueAsNew,
  deleteWorkflow,
  failWorkflow,
  fields,
  namespaceId,
  ShardUnderTest,
  signalAttributes,
  startChild,
  terminateWorkflow,
  updateWorkflow,
} from './shard-under-test.ts';

const minuteMs = 60_000;
/** The first whole minute after the clock of the tests begins. */
const firstMs = 1_700_000_040_000;
const firstId = 'report-2023-11-14T22:14:00Z';
const secondId = 'report-2023-11-14T22:15:00Z';

function scheduled(change: Parameters<typeof createSchedule>[0] = {}): ShardUnderTest {
  const shard = new ShardUnderTest();
  expect(shard.ask(createSchedule(change))).toEqual({
    kind: 'scheduleChanged',
    conflictToken: change.patch === undefined ? 1 : expect.any(Number),
  });
  return shard;
}

function described(shard: ShardUnderTest): ScheduleDescription {
  const reply = shard.ask({ kind: 'describeSchedule', key: aScheduleKey });
  if (reply?.kind !== 'scheduleDescription') throw new Error(`no schedule: ${JSON.stringify(reply)}`);
  return reply;
}

function act(shard: ShardUnderTest): void {
  shard.fireNextTimer();
  shard.pumpOutbox();
}

function openWorkflow(workflowId: string) {
  return { namespaceId, workflowId, runId: '' };
}

/** The workflow's first task ends it. */
function complete(shard: ShardUnderTest, commands = [completeWorkflow()]): void {
  shard.complete(shard.pollWorkflowTask(), commands);
  shard.pumpOutbox();
}

function text(attributes: Uint8Array | undefined, name: string): string {
  const payload = attributes === undefined ? undefined : decodeFields(attributes).get(name);
  return payload === undefined ? 'none' : new TextDecoder().decode(decodePayload(payload).data);
}

describe('an action', () => {
  test('starts its workflow at its time, under its id, with what List looks for', () => {
    const shard = scheduled({
      defined: { workflow: { input: bytes('input'), searchAttributes: fields({ CustomKeywordField: '"red"' }) } },
    });
    act(shard);
    expect(shard.nowMs).toBe(firstMs);
    const run = shard.describe(openWorkflow(firstId));
    expect(run).toMatchObject({ workflowType: 'Report', status: 1, taskQueue: { name: 'queue' } });
    const started = shard.events(run.key.runId)[0];
    expect(started?.attributes).toMatchObject({ input: bytes('input'), identity: 'temporal-scheduler-ns-nightly' });
    expect(text(run.searchAttributes, 'TemporalScheduledStartTime')).toBe('"2023-11-14T22:14:00Z"');
    expect(text(run.searchAttributes, 'TemporalScheduledById')).toBe('"nightly"');
    expect(text(run.searchAttributes, 'CustomKeywordField')).toBe('"red"');
    expect(described(shard).progress).toMatchObject({
      actionCount: 1,
      running: [{ workflowId: firstId, runId: run.key.runId }],
      recentActions: [{ workflowId: firstId, scheduleTimeMs: firstMs, status: 1 }],
    });
  });

  test('whose answer is lost starts one workflow', () => {
    const shard = scheduled();
    shard.fireNextTimer();
    const [task] = shard.transfers().filter(({ kind }) => kind === 'startAction');
    shard.carryInVain(task!);
    shard.pumpOutbox();
    expect(shard.runIds()).toHaveLength(2);
    expect(described(shard).progress).toMatchObject({ actionCount: 1, starting: [] });
  });

  test('whose workflow id is taken is given up, and the next one has its turn', () => {
    const shard = scheduled();
    shard.start({ key: openWorkflow(firstId), requestId: 'somebody else' });
    act(shard);
    expect(described(shard).progress).toMatchObject({ actionCount: 0, starting: [], running: [] });
    act(shard);
    expect(shard.describe(openWorkflow(secondId)).status).toBe(1);
  });

  test('is told the result of the one before', () => {
    const shard = scheduled();
    act(shard);
    complete(shard, [completeWorkflow(bytes('a result'))]);
    expect(described(shard).progress.recentActions).toMatchObject([{ status: 2 }]);
    act(shard);
    const [next] = shard.events(shard.describe(openWorkflow(secondId)).key.runId);
    expect(next?.attributes).toMatchObject({ lastCompletionResult: bytes('a result'), continuedFailure: undefined });
  });

  test('whose workflow has closed is kept as long as the namespace says', () => {
    const retentionMs = 26 * 3_600_000;
    const shard = scheduled({ retentionMs, state: { ...active, limitedActions: true, remainingActions: 1 } });
    act(shard);
    complete(shard);
    shard.advance(retentionMs - 1);
    shard.fireDueTimers();
    expect(shard.describe(openWorkflow(firstId)).status).toBe(2);
    shard.advance(1);
    shard.fireDueTimers();
    expect(shard.expectRejected({ kind: 'describeWorkflow', key: openWorkflow(firstId) }).reason).toBe('workflow-not-found');
  });

  test('is told the failure of the one before, and the result before that', () => {
    const shard = scheduled();
    act(shard);
    complete(shard, [completeWorkflow(bytes('a result'))]);
    act(shard);
    complete(shard, [failWorkflow()]);
    act(shard);
    const [next] = shard.events(shard.describe(openWorkflow('report-2023-11-14T22:16:00Z')).key.runId);
    expect(next?.attributes).toMatchObject({ lastCompletionResult: bytes('a result'), continuedFailure: expect.any(Uint8Array) });
  });

  test('under its plain workflow id, where the schedule keeps that', () => {
    const shard = scheduled({ defined: { policies: { keepOriginalWorkflowId: true } } });
    act(shard);
    expect(shard.describe(openWorkflow('report')).status).toBe(1);
    complete(shard);
    act(shard);
    expect(shard.describe(openWorkflow('report')).status).toBe(1);
    expect(described(shard).progress).toMatchObject({ actionCount: 2, running: [{ startId: 2 }] });
  });
});

test('a server that was away for long makes up for it in steps, one after the other', () => {
  const shard = scheduled({ defined: { intervalMs: 1_000 } });
  shard.advance(3_500_000);
  shard.fireDueTimers();
  shard.pumpOutbox();
  const { processedToMs, overlapSkipped } = described(shard).progress;
  expect(processedToMs).toBe(shard.nowMs);
  expect(overlapSkipped).toBe(3_499);
  expect(shard.nextTimer()?.fireTimeMs).toBe(shard.nowMs + 1_000);
});

test('each answer to one of a thousand starts under way is a record of its own size, whatever the others are', () => {
  const shard = scheduled({ defined: { intervalMs: 1_000, policies: { overlapPolicy: overlapPolicy.allowAll } } });
  shard.advance(1_000_000);
  shard.fireDueTimers();
  const before = described(shard).progress;
  expect(before.starting).toHaveLength(1_000);
  const starts = shard.transfers().filter(({ kind }) => kind === 'startAction');
  for (const start of [starts[500]!, starts[0]!, starts[999]!]) {
    shard.carry(start);
    const told = shard.records.findLast(({ finishedTaskIds }) => finishedTaskIds.includes(start.taskId))!;
    expect(historyCodec.encode(told).value.length).toBeLessThan(2_000);
  }
  const { starting } = described(shard).progress;
  expect(starting).toEqual(before.starting.filter((_, at) => at !== 500 && at !== 0 && at !== 999));
  const read = new HistoryCore({ wire: historyWire });
  for (const record of shard.records) read.evolve(historyCodec.decode(historyCodec.encode(record).value, recordSchema));
  expect(read.canonicalState()).toBe(shard.core.canonicalState());
});

describe('its end', () => {
  test('is that of the chain: a workflow that continues as new is waited for', () => {
    const shard = scheduled();
    act(shard);
    complete(shard, [continueAsNew()]);
    while (shard.nowMs < firstMs + minuteMs) act(shard);
    expect(described(shard).progress).toMatchObject({ overlapSkipped: 1, running: [{ workflowId: firstId }] });
    complete(shard);
    expect(described(shard).progress.running).toEqual([]);
  });

  test('is heard when the workflow is deleted', () => {
    const shard = scheduled();
    act(shard);
    shard.expectDone(deleteWorkflow(openWorkflow(firstId)));
    shard.pumpOutbox();
    expect(described(shard).progress).toMatchObject({ running: [], recentActions: [{ status: 5 }] });
  });

  test('tells also of a start whose answer was lost: it is not asked for again when its workflow is forgotten', () => {
    const shard = scheduled({
      defined: { policies: { overlapPolicy: overlapPolicy.allowAll, keepOriginalWorkflowId: true } },
      state: { ...active, paused: true },
    });
    shard.ask(patchSchedule({ trigger: { timeMs: 0, overlapPolicy: 0 } }));
    const [start] = shard.transfers();
    shard.carryInVain(start!);
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    shard.carry(shard.transfers().find(({ kind }) => kind === 'notifySchedule')!);
    shard.ask({ kind: 'flushFinishedTasks' });
    shard.advance(3_600_000);
    shard.fireDueTimers();
    shard.pumpOutbox();
    expect(shard.expectRejected({ kind: 'describeWorkflow', key: openWorkflow('report') })).toMatchObject({ reason: 'workflow-not-found' });
    expect(described(shard).progress).toMatchObject({ actionCount: 1, starting: [] });
  });

  test('lets the one that waits begin', () => {
    const shard = scheduled({ defined: { policies: { overlapPolicy: overlapPolicy.bufferOne } } });
    act(shard);
    act(shard);
    expect(described(shard).progress.buffered).toHaveLength(1);
    complete(shard);
    expect(shard.describe(openWorkflow(secondId)).status).toBe(1);
  });

  test.each([
    [overlapPolicy.terminateOther, 5],
    [overlapPolicy.cancelOther, 1],
  ])('is asked for where the next one does not wait: policy %i', (policy, status) => {
    const shard = scheduled({ defined: { policies: { overlapPolicy: policy } } });
    act(shard);
    act(shard);
    const before = shard.describe(openWorkflow(firstId));
    expect(before).toMatchObject({ status, cancelRequested: policy === overlapPolicy.cancelOther });
    if (status === 1) complete(shard, [{ type: 'cancelWorkflowExecution', attributes: { details: undefined }, userMetadata: undefined }]);
    expect(shard.describe(openWorkflow(secondId)).status).toBe(1);
  });

  test('pauses a schedule that is to be paused on failure, and says why', () => {
    const shard = scheduled({ defined: { policies: { pauseOnFailure: true }, workflow: { workflowRunTimeoutMs: 1_000 } } });
    act(shard);
    shard.fireNextTimer();
    shard.pumpOutbox();
    expect(described(shard).progress).toMatchObject({
      paused: true,
      notes: `paused due to workflow timeout: ${firstId}`,
      conflictToken: 2,
    });
    expect(text(described(shard).searchAttributes, 'TemporalSchedulePaused')).toBe('true');
  });

  test('of a workflow that is reset is that of the run that goes on', () => {
    const shard = scheduled();
    act(shard);
    shard.complete(shard.pollWorkflowTask());
    const { key } = shard.describe(openWorkflow(firstId));
    shard.reset(4, { key });
    shard.pumpOutbox();
    expect(described(shard).progress.running).toMatchObject([{ workflowId: firstId, runId: key.runId }]);
    complete(shard);
    expect(described(shard).progress.running).toEqual([]);
  });
});

describe('what clients change', () => {
  test('a schedule is there once: by another request it is registered already', () => {
    const shard = scheduled();
    expect(shard.expectRejected(createSchedule({ requestId: 'another' }))).toMatchObject({
      reason: 'already-started',
      message: 'schedule "nightly" is already registered',
    });
  });

  test('an update holds from then on, and only on what its token names', () => {
    const shard = scheduled();
    expect(shard.expectRejected(updateSchedule({ conflictToken: 2 }))).toMatchObject({
      reason: 'failed-precondition',
      message: 'mismatched conflict token',
    });
    shard.ask(updateSchedule({ conflictToken: 1, defined: { intervalMs: 3_600_000, workflow: { workflowId: 'hourly' } } }));
    act(shard);
    expect(shard.describe(openWorkflow('hourly-2023-11-14T23:00:00Z')).status).toBe(1);
    expect(described(shard).progress).toMatchObject({ conflictToken: 2, updateTimeMs: 1_700_000_000_000 });
  });

  test('its search attributes are those that an update names, and the server’s own', () => {
    const shard = scheduled({ searchAttributes: fields({ A: '"1"', B: '"2"' }), memo: fields({ note: '"x"' }) });
    shard.ask(updateSchedule({ searchAttributes: fields({ B: '"3"' }) }));
    const { searchAttributes, memo } = described(shard);
    expect([...decodeFields(searchAttributes!).keys()].toSorted()).toEqual(['B', 'TemporalNamespaceDivision', 'TemporalSchedulePaused']);
    expect([...decodeFields(memo!).keys()].toSorted()).toEqual(['ScheduleInfo', 'note']);
  });

  test('a trigger that is asked for twice starts one workflow', () => {
    const shard = scheduled({ state: { ...active, paused: true } });
    for (let times = 0; times < 2; times++) shard.ask(patchSchedule({ trigger: { timeMs: 0, overlapPolicy: 0 } }, 'once'));
    shard.pumpOutbox();
    expect(described(shard).progress.actionCount).toBe(1);
  });

  test('two triggers in one second start two workflows, whatever else begins in it', () => {
    const shard = scheduled();
    act(shard);
    for (const requestId of ['one', 'another']) {
      shard.ask(patchSchedule({ trigger: { timeMs: 0, overlapPolicy: overlapPolicy.allowAll } }, requestId));
      shard.pumpOutbox();
    }
    const { actionCount, recentActions } = described(shard).progress;
    expect(actionCount).toBe(3);
    expect(recentActions.map(({ workflowId }) => workflowId)).toEqual([
      firstId,
      'report-2023-11-14T22:14:01Z',
      'report-2023-11-14T22:14:02Z',
    ]);
  });

  test('a backfill begins at once what was due, also before the schedule was there', () => {
    const backfill = { fromMs: firstMs - 3 * minuteMs, toMs: firstMs - minuteMs, overlapPolicy: overlapPolicy.allowAll };
    const shard = scheduled({ patch: { trigger: undefined, backfills: [backfill], pause: '', unpause: '' } });
    shard.pumpOutbox();
    expect(described(shard).progress).toMatchObject({ actionCount: 3, running: [] });
    expect(shard.describe(openWorkflow('report-2023-11-14T22:11:00Z')).status).toBe(1);
  });

  test('a pause stops it, and List says so', () => {
    const shard = scheduled();
    shard.ask(patchSchedule({ pause: 'for the night' }));
    expect(shard.nextTimer()).toBeUndefined();
    expect(listInfoOf(described(shard).memo)).toMatchObject({ paused: true, notes: 'for the night', workflowType: { name: 'Report' } });
    shard.ask(patchSchedule({ unpause: 'good morning' }, 'another'));
    act(shard);
    expect(described(shard).progress.actionCount).toBe(1);
  });
});

describe('what stays', () => {
  test('a deleted schedule leaves its workflows, and nothing else', () => {
    const shard = scheduled();
    act(shard);
    shard.expectDone({ kind: 'deleteSchedule', key: aScheduleKey });
    expect(shard.expectRejected({ kind: 'describeSchedule', key: aScheduleKey })).toMatchObject({ reason: 'schedule-not-found' });
    expect(shard.nextTimer()).toBeUndefined();
    complete(shard);
    expect(shard.describe(openWorkflow(firstId)).status).toBe(2);
    expect(shard.ask(createSchedule({ requestId: 'anew', newRunId: shard.newRunId() }))).toMatchObject({ kind: 'scheduleChanged' });
  });

  test('one that is deleted before its action was delivered starts nothing', () => {
    const shard = scheduled();
    shard.fireNextTimer();
    shard.expectDone({ kind: 'deleteSchedule', key: aScheduleKey });
    shard.pumpOutbox();
    expect(shard.expectRejected({ kind: 'describeWorkflow', key: openWorkflow(firstId) })).toMatchObject({ reason: 'workflow-not-found' });
  });

  test('one that has nothing left to do goes a week later', () => {
    const shard = scheduled({ state: { ...active, limitedActions: true, remainingActions: 1 } });
    act(shard);
    complete(shard);
    const idleMs = shard.nowMs;
    const retires = shard.nextTimer();
    while (shard.nextTimer() !== undefined && shard.nowMs < idleMs + scheduleLimits.idleRetentionMs) shard.fireNextTimer();
    expect(retires).toBeDefined();
    expect(shard.nowMs).toBe(firstMs + scheduleLimits.idleRetentionMs);
    expect(shard.expectRejected({ kind: 'describeSchedule', key: aScheduleKey })).toMatchObject({ reason: 'schedule-not-found' });
  });
});

const anActivity = { key: aScheduleKey, scheduledEventId: 0, activityId: '5', attempt: 0 };

function batchJob(): ShardUnderTest {
  const shard = new ShardUnderTest();
  shard.expectDone(startBatch());
  return shard;
}

describe('it is no workflow', () => {
  test.each([
    terminateWorkflow({ key: aScheduleKey }),
    deleteWorkflow(aScheduleKey),
    { kind: 'describeWorkflow', key: aScheduleKey },
    { kind: 'getHistoryPosition', key: aScheduleKey, waitBeyondEventId: -1, waitForClose: false },
    { kind: 'signalWorkflow', key: aScheduleKey, signal: signalAttributes(), childOf: undefined },
    { kind: 'scheduleFirstWorkflowTask', key: aScheduleKey },
    { kind: 'completeActivityTask', activity: anActivity, result: undefined, identity: 'worker' },
  ] as const)('$kind finds none', (command) => {
    const shard = scheduled();
    expect(shard.expectRejected(command)).toMatchObject({ reason: 'workflow-not-found' });
  });

  test.each([
    ['a schedule', scheduled, aScheduleKey],
    ['a batch job', batchJob, aJobKey],
  ] as const)('an update with start finds none in %s, whatever is to become of one that is open', (what, begin, key) => {
    const shard = begin();
    for (const conflictPolicy of [1, 2, 3] as const) {
      const start = shard.startCommand({ key, policies: { reusePolicy: 1, conflictPolicy } });
      const { update } = updateWorkflow('u1');
      expect(shard.ask({ kind: 'startAndUpdate', key, start, update })).toMatchObject({
        kind: 'startRefused',
        rejection: { reason: 'already-started', message: `the workflow id ${key.workflowId} is ${what}'s` },
      });
    }
    expect(shard.ask({ ...updateWorkflow('u1'), key })).toMatchObject({ rejection: { reason: 'workflow-not-found' } });
    expect(shard.runIds()).toHaveLength(1);
  });

  test('a child cannot have its id', () => {
    const shard = new ShardUnderTest();
    shard.start();
    shard.complete(shard.pollWorkflowTask(), [startChild({ workflowId: aScheduleKey.workflowId })]);
    shard.pumpOutbox();
    expect(shard.history()).toContain('startChildWorkflowExecutionFailed');
    expect(shard.ask(createSchedule())).toMatchObject({ kind: 'scheduleChanged' });
  });

  test('its row of List is in the division of schedules, under the type that Temporal gives it', () => {
    const shard = scheduled();
    const { key, searchAttributes } = described(shard);
    expect(key.workflowId).toBe('temporal-sys-scheduler:nightly');
    expect(text(searchAttributes, 'TemporalNamespaceDivision')).toBe('"TemporalScheduler"');
    expect(shard.events(key.runId)[0]?.attributes).toMatchObject({ workflowType: { name: 'temporal-sys-scheduler-workflow' } });
  });
});
