import { ScheduleOverlapPolicy } from '@temporalio/client';
import type { ScheduleSpec } from '@temporalio/client';
import { expect, vi } from 'vitest';
import type { Scenario } from '../harness.ts';
import { create, hour, hourly, running, runsOf, trigger, until, withSchedule } from '../schedule-bench.ts';
import { countDown, failWith, finish, sleepFor, waitForCancel, waitForFinish } from '../workflows.ts';

export const scheduleScenarios: readonly Scenario[] = [
  {
    name: 'a schedule starts its workflow at each time, and each gets the result of the last',
    run: (stage) =>
      withSchedule(stage, { workflow: sleepFor, args: [1], spec: { intervals: [{ every: '1s' }] } }, async (schedule) => {
        const { info } = await until(schedule, ({ info: { recentActions } }) => recentActions.length >= 2);
        const runs = await runsOf(stage, info);
        for (const run of runs) await run.handle.result();
        const [first, second] = runs;
        const started = (await second!.history()).only('workflowExecutionStartedEventAttributes');
        const { workflowId } = first!;
        expect(workflowId).toMatch(new RegExp(`^${stage.id}-wf-\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$`));
        expect(started.lastCompletionResult?.payloads).toHaveLength(1);
        expect(started.identity).toBe(`temporal-scheduler-${stage.namespace}-${stage.id}`);
        expect(Object.keys(started.searchAttributes?.indexedFields ?? {}).toSorted()).toEqual([
          'TemporalScheduledById',
          'TemporalScheduledStartTime',
        ]);
      }),
  },
  {
    name: 'a triggered schedule starts a workflow at once, and skips what overlaps with it',
    run: (stage) =>
      withSchedule(stage, { workflow: waitForFinish, ...hourly }, async (schedule) => {
        await trigger(schedule);
        const { info } = await until(schedule, running(1));
        await trigger(schedule);
        const later = await until(schedule, ({ info: { numActionsSkippedOverlap } }) => numActionsSkippedOverlap === 1);
        expect(later.info).toMatchObject({ numActionsTaken: 1 });
        const [run] = await runsOf(stage, info);
        await run!.handle.signal(finish);
        await run!.handle.result();
        await until(schedule, running(0));
      }),
  },
  {
    name: 'a schedule that buffers starts the next workflow when the last one has ended',
    run: (stage) =>
      withSchedule(stage, { workflow: waitForFinish, ...hourly }, async (schedule) => {
        await schedule.trigger(ScheduleOverlapPolicy.BUFFER_ALL);
        const { info } = await until(schedule, running(1));
        await schedule.backfill({ start: new Date(hour), end: new Date(3 * hour), overlap: ScheduleOverlapPolicy.BUFFER_ALL });
        const [first] = await runsOf(stage, info);
        await first!.handle.signal(finish);
        for (let ended = 1; ended < 4; ended++) {
          const next = await until(schedule, ({ info: { recentActions } }) => recentActions.length > ended);
          const run = (await runsOf(stage, next.info))[ended]!;
          await run.handle.signal(finish);
          await run.handle.result();
        }
        const { info: end } = await until(schedule, running(0));
        expect(end.recentActions.map(({ scheduledAt }) => scheduledAt.getTime()).slice(1)).toEqual([hour, 2 * hour, 3 * hour]);
      }),
  },
  {
    name: 'a schedule cancels the workflow that is in the way',
    run: (stage) =>
      withSchedule(stage, { workflow: waitForCancel, ...hourly }, async (schedule) => {
        await trigger(schedule);
        const { info } = await until(schedule, running(1));
        await schedule.trigger(ScheduleOverlapPolicy.CANCEL_OTHER);
        const [first] = await runsOf(stage, info);
        await expect(first!.handle.result()).rejects.toMatchObject({ cause: { name: 'CancelledFailure' } });
        const { info: later } = await until(schedule, ({ info: { recentActions } }) => recentActions.length === 2);
        const second = (await runsOf(stage, later))[1]!;
        await second.handle.cancel();
        await expect(second.handle.result()).rejects.toThrow();
      }),
  },
  {
    name: 'a schedule waits for the last run of a workflow that continues as new',
    run: (stage) =>
      withSchedule(stage, { workflow: countDown, args: [2], ...hourly }, async (schedule) => {
        await trigger(schedule);
        const { info } = await until(schedule, ({ info: { numActionsTaken } }) => numActionsTaken === 1);
        const [run] = await runsOf(stage, info);
        await run!.handle.result();
        await until(schedule, running(0));
      }),
  },
  {
    name: 'a schedule is paused by a failure of its workflow, and says why',
    run: (stage) =>
      withSchedule(
        stage,
        { workflow: failWith, args: ['no luck', 'Luck'], ...hourly, policies: { pauseOnFailure: true } },
        async (schedule) => {
          await trigger(schedule);
          const { state, info } = await until(schedule, ({ state: { paused } }) => paused);
          const [run] = await runsOf(stage, info);
          expect(state.note).toBe(`paused due to workflow failure: ${run!.workflowId}: no luck`);
        },
      ),
  },
  {
    name: 'a schedule is updated, paused, unpaused and deleted',
    run: (stage) =>
      withSchedule(stage, { workflow: sleepFor, args: [1], ...hourly, memo: { note: 'kept' } }, async (schedule) => {
        await schedule.update((previous) => ({
          ...previous,
          spec: { calendars: [{ hour: 9, dayOfWeek: 'MONDAY' }], timezone: 'Europe/London' },
        }));
        const updated = await until(schedule, ({ spec: { calendars } }) => calendars?.length === 1);
        expect(updated.spec).toMatchObject({ timezone: 'Europe/London', intervals: [] });
        expect(updated.info.nextActionTimes.map((time) => time.getUTCDay())).toEqual(Array.from({ length: 10 }, () => 1));
        expect(updated.memo).toEqual({ note: 'kept' });
        await schedule.pause('for a while');
        expect((await until(schedule, ({ state: { paused } }) => paused)).state.note).toBe('for a while');
        await schedule.unpause('go on');
        expect((await until(schedule, ({ state: { paused } }) => !paused)).state.note).toBe('go on');
        await schedule.delete();
        await vi.waitFor(() => expect(schedule.describe()).rejects.toThrow('not found'), { timeout: 60_000 });
      }),
  },
  {
    name: 'a schedule that already exists is refused, and lists show it with its next times',
    run: (stage) =>
      withSchedule(stage, { workflow: sleepFor, args: [1], ...hourly, state: { paused: true, note: 'not yet' } }, async () => {
        await expect(create(stage, { workflow: sleepFor, ...hourly })).rejects.toMatchObject({ name: 'ScheduleAlreadyRunning' });
        await vi.waitFor(
          async () => {
            const listed = [];
            for await (const each of stage.client.schedule.list()) if (each.scheduleId === stage.id) listed.push(each);
            expect(listed).toMatchObject([{ action: { workflowType: 'sleepFor' }, state: { paused: true, note: 'not yet' } }]);
            expect(listed[0]?.info.nextActionTimes).toHaveLength(5);
          },
          { timeout: 60_000 },
        );
      }),
  },
  {
    name: 'a schedule takes no more actions than its limit',
    run: (stage) =>
      withSchedule(
        stage,
        { workflow: sleepFor, args: [1], spec: { intervals: [{ every: '1s' }] }, state: { remainingActions: 1 } },
        async (schedule) => {
          const { info, state } = await until(schedule, ({ info: { numActionsTaken } }) => numActionsTaken === 1);
          const [run] = await runsOf(stage, info);
          await run!.handle.result();
          expect(state.remainingActions ?? 0).toBe(0);
          expect(info.nextActionTimes).toEqual([]);
        },
      ),
  },
  {
    name: 'an invalid schedule is refused',
    async run(stage) {
      const specs: readonly (readonly [ScheduleSpec, string])[] = [
        [{ intervals: [{ every: 10 }] }, 'interval is too small'],
        [{ cronExpressions: ['61 * * * *'] }, 'Minute is not in range [0-59]'],
        [{ cronExpressions: ['0 9 * * 1'], timezone: 'Mars/Phobos' }, 'Mars'],
      ];
      for (const [spec, problem] of specs) await expect(create(stage, { workflow: sleepFor, spec })).rejects.toThrow(problem);
    },
  },
];
