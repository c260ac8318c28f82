/** Schedules at the edge, in front of a shard: what is taken, what is shown of it, and what is refused without a trace. */
import { status as codes } from '@grpc/grpc-js';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { HistoryRequest } from '../../src/history/commands/history-commands.ts';
import type { CreateSchedule } from '../../src/history/commands/schedule-commands.ts';
import { decodeSchedule, encodeSchedule } from '../../src/wire/generated/lean/schedule.ts';
import { ownLimits } from '../../src/wire/wire-limits.ts';
import { encodeMessage, messageType } from '../fuzz/descriptors.ts';
import { RedrivenShard } from '../history/redrive/redriven-shard.ts';
import { ShardUnderTest } from '../history/shard-under-test.ts';
import { firstDetail } from './details.ts';
import { type Bench, openBench } from './frontend-bench.ts';

type Plain = Readonly<Record<string, unknown>>;

let bench: Bench;
let shard: ShardUnderTest;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.close());
beforeEach(() => {
  shard = new ShardUnderTest();
  bench.stub.historyCommands.length = 0;
  bench.stub.answers.history = (command) => shard.ask(command as HistoryRequest & { kind: 'describeSchedule' }) ?? 'never';
});

const wire = 'temporal.api.workflowservice.v1.';

async function call(method: string, fields: Plain): Promise<Plain> {
  const request = encodeMessage(messageType(`${wire}${method}Request`), { namespace: 'default', scheduleId: 'nightly', ...fields });
  const type = messageType(`${wire}${method}Response`);
  return type.toObject(type.decode(await bench.client.call(method, request)), { longs: Number, enums: String, bytes: Array }) as Plain;
}

async function refusal(method: string, fields: Plain) {
  const request = encodeMessage(messageType(`${wire}${method}Request`), { namespace: 'default', scheduleId: 'nightly', ...fields });
  return bench.client.refusal(method, request);
}

const workflow = { workflowId: 'report', workflowType: { name: 'Report' }, taskQueue: { name: 'queue' } };
const spec = { interval: [{ interval: { seconds: 3_600 } }] };
const schedule = { spec, action: { startWorkflow: workflow } };

function create(change: Plain = {}, more: Plain = {}): Promise<Plain> {
  return call('CreateSchedule', { requestId: 'create', schedule: { ...schedule, ...change }, ...more });
}

function token(value: number): readonly number[] {
  return [0, 0, 0, 0, 0, 0, 0, value];
}

describe('what is shown of a schedule', () => {
  test('that a start of it has become a dead letter, and that its shard cannot go on with it', async () => {
    const redriven = (shard = new RedrivenShard());
    await create({}, { memo: { fields: { own: { data: Buffer.from('1') } } } });
    redriven.fireNextTimer();
    const { taskId: startTaskId, key } = redriven.pendingTask('startAction');
    redriven.madeLetter(startTaskId);
    const { taskId } = redriven.nextTimer()!;
    redriven.expectDone({ kind: 'putAside', key, failedCommand: 'fireTimer', taskId, reason: 'planted' });
    const { memo } = (await call('DescribeSchedule', {})) as { memo: { fields: Record<string, { data: number[] }> } };
    const told = Object.fromEntries(Object.entries(memo.fields).map(([name, { data }]) => [name, Buffer.from(data).toString()]));
    expect(told).toEqual({
      own: '1',
      PerdureLeftStarts: expect.stringMatching(/dead letters of the queue transfer \(2023-11-14T23:00:00Z\): merged/),
      PerdureQuarantined: expect.stringMatching(/fireTimer cannot be decided \(planted\).*an update or a patch has them tried again/),
    });
  });

  test('its spec in the form that all forms have, its policies with their defaults, and when it acts next', async () => {
    expect(await create({ spec: { cronString: ['0 12 * * MON-FRI'], timezoneName: 'Europe/London' } })).toEqual({
      conflictToken: token(1),
    });
    const described = await call('DescribeSchedule', {});
    expect(described).toMatchObject({
      schedule: {
        spec: {
          structuredCalendar: [
            {
              hour: [{ start: 12, end: 12, step: 1 }],
              dayOfWeek: [{ start: 1, end: 5, step: 1 }],
              month: [{ start: 1, end: 12, step: 1 }],
            },
          ],
          timezoneName: 'Europe/London',
        },
        action: { startWorkflow: { workflowId: 'report', taskQueue: { name: 'queue', kind: 'TASK_QUEUE_KIND_NORMAL' } } },
        policies: { overlapPolicy: 'SCHEDULE_OVERLAP_POLICY_SKIP', catchupWindow: { seconds: 365 * 86_400 } },
      },
      conflictToken: token(1),
    });
    expect(described).not.toHaveProperty('memo');
    expect(described).not.toHaveProperty('searchAttributes');
    const { futureActionTimes } = described['info'] as { readonly futureActionTimes: readonly { readonly seconds: number }[] };
    expect(futureActionTimes).toHaveLength(10);
    for (const { seconds } of futureActionTimes) expect(new Date(seconds * 1_000).toISOString()).toMatch(/T12:00:00.000Z$/);
  });

  test('what its client has set on it, and not what the server keeps there', async () => {
    const payload = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('"x"') };
    await create({}, { memo: { fields: { a: payload } }, searchAttributes: { indexedFields: { CustomKeyword: payload } } });
    const { memo, searchAttributes } = await call('DescribeSchedule', {});
    expect(Object.keys((memo as { fields: object }).fields)).toEqual(['a']);
    expect(Object.keys((searchAttributes as { indexedFields: object }).indexedFields)).toEqual(['CustomKeyword']);
  });

  test('the types of the search attributes that its workflows get: whoever set them may not have known', async () => {
    const payload = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from('"x"') };
    await create({ action: { startWorkflow: { ...workflow, searchAttributes: { indexedFields: { CustomKeyword: payload } } } } });
    expect(await call('DescribeSchedule', {})).toMatchObject({
      schedule: {
        action: {
          startWorkflow: { searchAttributes: { indexedFields: { CustomKeyword: { metadata: { type: [...Buffer.from('Keyword')] } } } } },
        },
      },
    });
  });

  test.each([{}, { seconds: 0 }, { seconds: -10 }, { nanos: -1 }])(
    'a catch-up window of nothing, %j, is one that is not set: a year',
    async (catchupWindow) => {
      await create({ policies: { catchupWindow } });
      expect(await call('DescribeSchedule', {})).toMatchObject({ schedule: { policies: { catchupWindow: { seconds: 365 * 86_400 } } } });
      await call('UpdateSchedule', { schedule: { ...schedule, policies: { catchupWindow } } });
      expect(await call('DescribeSchedule', {})).toMatchObject({ schedule: { policies: { catchupWindow: { seconds: 365 * 86_400 } } } });
    },
  );

  test('a schedule without anything to do is there for a week after its pause', async () => {
    await create({ spec: {}, state: { paused: true } });
    for (let days = 0; days < 8; days++) shard.advance(86_400_000);
    await call('PatchSchedule', { patch: { unpause: 'go on' } });
    shard.fireDueTimers();
    expect(await call('DescribeSchedule', {})).toMatchObject({ schedule: { state: { notes: 'go on' } } });
    shard.advance(8 * 86_400_000);
    shard.fireDueTimers();
    expect(await refusal('DescribeSchedule', {})).toMatchObject({ code: codes.NOT_FOUND });
  });

  test('of one that has been paused for long, the times that are to come', async () => {
    await create({ spec, state: { paused: true } });
    const { futureActionTimes } = (await call('DescribeSchedule', {}))['info'] as { futureActionTimes: { seconds: number }[] };
    // The shard lives in 2023, the edge now.
    expect(futureActionTimes[0]!.seconds).toBeGreaterThan(Date.now() / 1_000 - 1);
  });

  test('times that match, behind the first up to the last', async () => {
    await create();
    const startTime = { seconds: 1_700_002_800 };
    const endTime = { seconds: 1_700_006_400 };
    expect(await call('ListScheduleMatchingTimes', { startTime, endTime })).toEqual({ startTime: [endTime] });
    expect(await call('ListScheduleMatchingTimes', { startTime: endTime, endTime: startTime })).toEqual({});
  });
});

describe('a change', () => {
  test('that was made for what somebody else has changed meanwhile is refused', async () => {
    await create();
    await call('UpdateSchedule', { schedule, conflictToken: token(1) });
    for (const conflictToken of [token(1), token(0), [255, 255, 255, 255, 255, 255, 255, 255]]) {
      const error = await refusal('UpdateSchedule', { schedule, conflictToken });
      expect(error).toMatchObject({ code: codes.FAILED_PRECONDITION, details: 'mismatched conflict token' });
    }
    await call('UpdateSchedule', { schedule: { ...schedule, state: { paused: true, notes: 'why' } } });
    expect(await call('DescribeSchedule', {})).toMatchObject({ schedule: { state: { paused: true, notes: 'why' } } });
  });

  test('that is asked again is made once', async () => {
    await create();
    const trigger = { requestId: 'trigger', patch: { triggerImmediately: { overlapPolicy: 6 } } };
    await call('PatchSchedule', trigger);
    await call('PatchSchedule', trigger);
    shard.pumpOutbox();
    expect(await call('DescribeSchedule', {})).toMatchObject({ info: { actionCount: 1 } });
  });

  test('of notes: they are cut to their limit', async () => {
    await create();
    await call('PatchSchedule', { patch: { pause: `${'x'.repeat(999)}\u{1F600}` } });
    const { schedule: shown } = await call('DescribeSchedule', {});
    expect((shown as { state: { notes: string } }).state.notes).toBe(`${'x'.repeat(999)}\uFFFD`);
  });
});

describe('refused without a trace', () => {
  const long = 'x'.repeat(1_001);
  const calendars = { hour: [{ start: 9 }] };
  const noBackoff = { startWorkflow: { ...workflow, retryPolicy: { backoffCoefficient: 0.5 } } };

  test.each<[string, Plain, Plain]>([
    ['ScheduleId is not set on request.', {}, { scheduleId: '' }],
    ['RequestId is not set on request.', {}, { requestId: '' }],
    ['RequestId length exceeds limit.', {}, { requestId: long }],
    ['Identity length exceeds limit.', {}, { identity: long }],
    ['WorkflowId exceeds maximum allowed length (1003/1000)', {}, { scheduleId: 'x'.repeat(980) }],
    [
      'WorkflowId exceeds maximum allowed length (1001/1000)',
      { action: { startWorkflow: { ...workflow, workflowId: 'x'.repeat(980) } } },
      {},
    ],
    ['Only StartWorkflow action is supported for schedules', { action: {} }, {}],
    ['Scheduled workflow must not contain CronSchedule', { action: { startWorkflow: { ...workflow, cronSchedule: '* * * * *' } } }, {}],
    ['BackoffCoefficient cannot be less than 1 on retry policy.', { action: noBackoff }, {}],
    ['WorkflowId is not set on request.', { action: { startWorkflow: { ...workflow, workflowId: '' } } }, {}],
    ['unknown ScheduleOverlapPolicy 77', { policies: { overlapPolicy: 77 } }, {}],
    ['RemainingActions cannot be negative.', { state: { remainingActions: -1 } }, {}],
    ['Invalid schedule spec: interval is too small', { spec: { interval: [{}] } }, {}],
    ['Invalid schedule spec: unknown time zone Mars/Phobos', { spec: { ...spec, timezoneName: 'Mars/Phobos' } }, {}],
    [
      'Invalid schedule spec: invalid calendar spec: Hour Start is not in range [0-23]',
      { spec: { structuredCalendar: [{ hour: [{ start: 30 }] }] } },
      {},
    ],
    ['unknown ScheduleOverlapPolicy 55', {}, { initialPatch: { triggerImmediately: { overlapPolicy: 55 } } }],
    [
      'BackfillRequest needs a start and an end time.',
      { spec: { structuredCalendar: [calendars] } },
      { initialPatch: { backfillRequest: [{ startTime: { seconds: 1 } }] } },
    ],
  ])('%s', async (text, change, more) => {
    const error = await refusal('CreateSchedule', { requestId: 'create', schedule: { ...schedule, ...change }, ...more });
    expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, text]);
    expect(bench.stub.historyCommands).toEqual([]);
  });

  test('a second one with the same id', async () => {
    await create();
    await create();
    const error = await refusal('CreateSchedule', { requestId: 'another', schedule });
    expect(error).toMatchObject({ code: codes.ALREADY_EXISTS, details: 'schedule "nightly" is already registered' });
    expect(firstDetail(error)).toMatchObject({ type: 'WorkflowExecutionAlreadyStartedFailure', fields: {} });
    expect(JSON.stringify(firstDetail(error)), 'a schedule is no run').not.toMatch(/runId|startRequestId/i);
  });

  test.each(['DescribeSchedule', 'UpdateSchedule', 'PatchSchedule', 'DeleteSchedule', 'ListScheduleMatchingTimes'])(
    '%s of one that is not there, or is deleted',
    async (method) => {
      const fields = { schedule, patch: { pause: 'p' }, startTime: { seconds: 1 }, endTime: { seconds: 2 } };
      const named = Object.entries(fields).filter(([name]) => name in messageType(`${wire}${method}Request`).fields);
      await create();
      await call('DeleteSchedule', {});
      const error = await refusal(method, Object.fromEntries(named));
      expect(error).toMatchObject({ code: codes.NOT_FOUND, details: 'schedule not found' });
      expect(firstDetail(error).type).toBe('NotFoundFailure');
    },
  );

  test.each<[string, string, Plain]>([
    ['UpdateSchedule', 'malformed conflict token', { schedule, conflictToken: [1] }],
    ['UpdateSchedule', 'Only StartWorkflow action is supported for schedules', {}],
    ['PatchSchedule', 'Patch is not set on request.', {}],
    ['ListScheduleMatchingTimes', 'missing or invalid query', { startTime: { seconds: 1 } }],
  ])('%s: %s', async (method, text, fields) => {
    await create();
    const error = await refusal(method, fields);
    expect([error.code, error.details]).toEqual([codes.INVALID_ARGUMENT, text]);
    expect(await call('DescribeSchedule', {})).toMatchObject({ conflictToken: token(1) });
  });

  test('without its times a search fails as a query does', async () => {
    await create();
    const failure = { message: 'missing or invalid query', source: 'GoSDK' };
    expect(firstDetail(await refusal('ListScheduleMatchingTimes', {}))).toEqual({ type: 'QueryFailedFailure', fields: { failure } });
  });
});

describe('a schedule whose times cannot be found stays, and says why', () => {
  async function weeksLater(): Promise<Plain> {
    for (let weeks = 0; weeks < 3; weeks++) {
      shard.advance(7 * 24 * 3_600_000);
      shard.fireDueTimers();
    }
    return (await call('DescribeSchedule', {}))['info'] as Plain;
  }

  test('its exclusions are too many', async () => {
    const days = { dayOfMonth: [{ start: 1, end: 31 }], month: [{ start: 1, end: 12 }], dayOfWeek: [{ end: 6 }] };
    const everySecond = { second: [{ end: 59 }], minute: [{ end: 59 }], hour: [{ end: 23 }], ...days };
    const halves = [0, 1].map((start) => ({ ...everySecond, second: [{ start, end: 59, step: 2 }] }));
    await create({ spec: { structuredCalendar: [everySecond], excludeStructuredCalendar: halves } });
    expect(await weeksLater()).toMatchObject({
      invalidScheduleError: 'the schedule calendar specification has too many exclusions. Please modify the specification.',
    });
  });

  test('its time zone is not known any more', async () => {
    await create({ spec: { ...spec, timezoneName: 'Europe/London' } });
    const created = bench.stub.historyCommands.find(({ kind }) => kind === 'createSchedule') as CreateSchedule;
    const definition = decodeSchedule(created.definition, ownLimits);
    const gone = encodeSchedule({ ...definition, spec: { ...definition.spec!, timezoneName: 'Europe/Gone' } });
    shard = new ShardUnderTest();
    shard.ask({ ...created, definition: gone });
    expect(await weeksLater()).toMatchObject({ invalidScheduleError: 'unknown time zone Europe/Gone' });
  });

  test('one that is well says nothing', async () => {
    await create();
    expect((await call('DescribeSchedule', {}))['info']).not.toHaveProperty('invalidScheduleError');
  });
});

test('a spec that is too large for a list is left out of it, and not written with each action', async () => {
  const calendar = { hour: [{ start: 9 }], minute: Array.from({ length: 1_000 }, (_, i) => ({ start: i % 60, end: 59, step: 7 })) };
  const calendars = Array.from({ length: 10 }, () => calendar);
  await create({ spec: { ...spec, structuredCalendar: calendars } });
  shard.fireNextTimer();
  shard.pumpOutbox();
  const { length } = JSON.stringify(shard.records.at(-1), (_, value: unknown) =>
    value instanceof Uint8Array ? 'x'.repeat(value.length) : value,
  );
  expect(length).toBeLessThan(20_000);
  expect(await call('DescribeSchedule', {})).toMatchObject({
    schedule: { spec: { structuredCalendar: [{}, {}, {}, {}, {}, {}, {}, {}, {}, {}] } },
  });
});
