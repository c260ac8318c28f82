import { ScheduleOverlapPolicy } from '@temporalio/client';
import type { ScheduleSpec } from '@temporalio/client';
import { expect } from 'vitest';
import { valueOf, valuesOf } from '../fields.ts';
import type { Scenario } from '../harness.ts';
import { create, hour, hourly, running, runsOf, trigger, until, withSchedule } from '../schedule-bench.ts';
import { failUntil, finish, sleepFor, waitForFinish } from '../workflows.ts';

const { ALLOW_ALL, BUFFER_ONE, TERMINATE_OTHER } = ScheduleOverlapPolicy;
const minute = 60_000;
const day = 24 * hour;

/** What a schedule does when it may do several things, and what its spec comes to. */
export const schedulePolicyScenarios: readonly Scenario[] = [
  {
    name: 'a schedule terminates the workflow that is in the way',
    run: (stage) =>
      withSchedule(stage, { workflow: waitForFinish, ...hourly }, async (schedule) => {
        await trigger(schedule);
        const [first] = await runsOf(stage, (await until(schedule, running(1))).info);
        await schedule.trigger(TERMINATE_OTHER);
        await expect(first!.handle.result()).rejects.toMatchObject({ cause: { name: 'TerminatedFailure' } });
        expect((await first!.history()).only('workflowExecutionTerminatedEventAttributes')).toMatchObject({
          reason: 'terminated by schedule overlap policy',
        });
        const { info } = await until(schedule, ({ info: { recentActions } }) => recentActions.length === 2);
        const second = (await runsOf(stage, info))[1]!;
        await second.handle.signal(finish);
        await second.handle.result();
      }),
  },
  {
    name: 'a schedule that allows all runs its workflows at the same time, one for each time of a backfill',
    run: (stage) =>
      withSchedule(stage, { workflow: waitForFinish, ...hourly }, async (schedule) => {
        await schedule.backfill({ start: new Date(hour), end: new Date(3 * hour), overlap: ALLOW_ALL });
        const { info } = await until(schedule, ({ info: { numActionsTaken } }) => numActionsTaken === 3);
        const runs = await runsOf(stage, info);
        expect(runs.map(({ workflowId }) => workflowId.slice(-20)).toSorted()).toEqual([
          '1970-01-01T01:00:00Z',
          '1970-01-01T02:00:00Z',
          '1970-01-01T03:00:00Z',
        ]);
        for (const run of runs) await run.handle.signal(finish);
        for (const run of runs) await run.handle.result();
      }),
  },
  {
    name: 'a schedule that buffers one keeps one start, and skips the others',
    run: (stage) =>
      withSchedule(stage, { workflow: waitForFinish, ...hourly, policies: { overlap: BUFFER_ONE } }, async (schedule) => {
        await schedule.backfill({ start: new Date(hour), end: new Date(4 * hour), overlap: BUFFER_ONE });
        const { info } = await until(schedule, running(1));
        const [first] = await runsOf(stage, info);
        await first!.handle.signal(finish);
        const later = await until(schedule, ({ info: { recentActions } }) => recentActions.length === 2);
        expect(later.info.numActionsSkippedOverlap).toBe(2);
        const second = (await runsOf(stage, later.info))[1]!;
        await second.handle.signal(finish);
        await second.handle.result();
        await until(schedule, running(0));
      }),
  },
  {
    name: 'the workflow of a schedule gets the failure of the one before',
    run: (stage) =>
      withSchedule(stage, { workflow: failUntil, args: [9, true], ...hourly }, async (schedule) => {
        for (const taken of [1, 2]) {
          await trigger(schedule);
          await until(
            schedule,
            ({ info: { numActionsTaken, runningActions } }) => numActionsTaken === taken && runningActions.length === 0,
          );
        }
        const [, second] = await runsOf(stage, (await schedule.describe()).info);
        const started = (await second!.history()).only('workflowExecutionStartedEventAttributes');
        expect(started.continuedFailure).toMatchObject({ message: 'attempt 1 failed' });
      }),
  },
  {
    name: 'a schedule starts its workflows as its action says',
    run: (stage) =>
      withSchedule(
        stage,
        {
          workflow: sleepFor,
          args: [1],
          ...hourly,
          action: {
            memo: { note: 'from the schedule' },
            searchAttributes: { SdkInt: [8] },
            workflowRunTimeout: '1m',
            workflowTaskTimeout: '7s',
            retry: { maximumAttempts: 2 },
          },
        },
        async (schedule) => {
          await trigger(schedule);
          const { info, action } = await until(schedule, ({ info: { numActionsTaken } }) => numActionsTaken === 1);
          expect(action).toMatchObject({
            workflowType: 'sleepFor',
            args: [1],
            workflowRunTimeout: minute,
            memo: { note: 'from the schedule' },
          });
          const [run] = await runsOf(stage, info);
          await run!.handle.result();
          const started = (await run!.history()).only('workflowExecutionStartedEventAttributes');
          expect(valueOf(started.memo?.fields?.['note'])).toBe('from the schedule');
          expect(valuesOf(started.input)).toEqual([1]);
          expect(started.retryPolicy).toMatchObject({ maximumAttempts: 2 });
          expect([Number(started.workflowRunTimeout?.seconds), Number(started.workflowTaskTimeout?.seconds)]).toEqual([60, 7]);
          expect((await run!.handle.describe()).searchAttributes).toMatchObject({
            SdkInt: [8],
            TemporalScheduledById: [stage.id],
          });
        },
      ),
  },
  {
    name: 'a paused schedule does nothing by itself, but obeys triggers and backfills',
    run(stage) {
      const eachSecond = { workflow: sleepFor, args: [1], spec: { intervals: [{ every: '1s' }] } };
      return withSchedule(stage, { ...eachSecond, state: { paused: true } }, async (schedule) => {
        await trigger(schedule);
        const { info, state } = await until(schedule, ({ info: { numActionsTaken } }) => numActionsTaken === 1);
        const [run] = await runsOf(stage, info);
        await run!.handle.result();
        expect(state.paused).toBe(true);
        const other = `${stage.id}-other`;
        // Made later, of the same times: when it has acted twice, the first one had two times as well.
        await withSchedule(stage, { ...eachSecond, scheduleId: other, action: { workflowId: other } }, async (acting) => {
          await until(acting, ({ info: { numActionsTaken } }) => numActionsTaken >= 2);
          expect((await schedule.describe()).info.numActionsTaken).toBe(1);
        });
      });
    },
  },
  {
    name: 'a trigger does not use up the remaining actions',
    run: (stage) =>
      withSchedule(stage, { workflow: sleepFor, args: [1], ...hourly, state: { remainingActions: 3 } }, async (schedule) => {
        await trigger(schedule);
        const { info, state } = await until(schedule, ({ info: { numActionsTaken } }) => numActionsTaken === 1);
        const [run] = await runsOf(stage, info);
        await run!.handle.result();
        expect(state.remainingActions).toBe(3);
      }),
  },
  {
    name: 'a schedule acts as soon as it is created, if requested',
    run: (stage) =>
      withSchedule(stage, { workflow: sleepFor, args: [1], ...hourly, state: { triggerImmediately: true } }, async (schedule) => {
        const { info } = await until(schedule, ({ info: { numActionsTaken } }) => numActionsTaken === 1);
        const [run] = await runsOf(stage, info);
        await run!.handle.result();
      }),
  },
  {
    name: 'next times: an interval with its offset, within a start and an end, without what is skipped',
    async run(stage) {
      const start = Math.ceil(Date.now() / day) * day + day;
      const spec: ScheduleSpec = {
        intervals: [{ every: '6h', offset: '30m' }],
        startAt: new Date(start),
        endAt: new Date(start + day),
        skip: [{ hour: 12, minute: 30 }],
      };
      expect(await nextTimes(stage, spec)).toEqual([0.5, 6.5, 18.5].map((hours) => start + hours * hour));
    },
  },
  {
    name: 'next times: a calendar goes by the clocks of its time zone, summer and winter',
    async run(stage) {
      const spec: ScheduleSpec = { calendars: [{ hour: 9, dayOfMonth: 1, month: ['JANUARY', 'JULY'] }], timezone: 'America/New_York' };
      const times = await nextTimes(stage, spec);
      expect(times).toHaveLength(10);
      for (const time of times.map((each) => new Date(each))) {
        expect([time.getUTCDate(), time.getUTCHours()]).toEqual([1, time.getUTCMonth() === 0 ? 14 : 13]);
      }
    },
  },
  {
    name: 'next times: cron strings with their own time zone, and shorthands such as @daily',
    async run(stage) {
      const spec: ScheduleSpec = { cronExpressions: ['CRON_TZ=Asia/Tokyo 0 9 * * MON-FRI', '@monthly'], timezone: 'UTC' };
      await expect(create(stage, { workflow: sleepFor, spec })).rejects.toThrow('conflicting timezone');
      const weekdays = await nextTimes(stage, { cronExpressions: ['CRON_TZ=Asia/Tokyo 0 9 * * MON-FRI # mornings'] });
      expect(weekdays).toHaveLength(10);
      expect(weekdays.every((time) => new Date(time).getUTCHours() === 0 && ![0, 6].includes(new Date(time).getUTCDay()))).toBe(true);
    },
  },
  {
    name: 'next times: jitter moves each time within its bounds, always to the same time',
    async run(stage) {
      const spec: ScheduleSpec = { intervals: [{ every: '1h' }], jitter: '10m' };
      await withSchedule(stage, { workflow: sleepFor, spec, state: { paused: true } }, async (schedule) => {
        const first = (await schedule.describe()).info.nextActionTimes.map((time) => time.getTime() % hour);
        expect(Math.max(...first)).toBeLessThan(10 * minute);
        expect(new Set(first).size).toBeGreaterThan(5);
        const again = (await schedule.describe()).info.nextActionTimes.map((time) => time.getTime() % hour);
        expect(again).toEqual(first);
      });
    },
  },
];

async function nextTimes(stage: Parameters<Scenario['run']>[0], spec: ScheduleSpec): Promise<readonly number[]> {
  let times: readonly number[] = [];
  await withSchedule(stage, { workflow: sleepFor, spec, state: { paused: true } }, async (schedule) => {
    times = (await schedule.describe()).info.nextActionTimes.map((time) => time.getTime());
  });
  return times;
}
