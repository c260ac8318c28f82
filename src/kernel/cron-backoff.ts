/** What workflows ask of their cron schedules; the rules and texts are Temporal's. */
import { durationMsMax } from './duration.ts';
import { parseCron } from './cron/cron-schedule.ts';
import { nextTick } from './cron/next-tick.ts';

/** Undefined: a workflow can have it. '' is no schedule at all. */
export function cronProblem(spec: string, nowMs: number): string | undefined {
  if (spec === '') return undefined;
  const schedule = parseCron(spec);
  if (schedule === undefined) return 'invalid CronSchedule.';
  const never = 'invalid CronSchedule, no time can be found to satisfy the schedule';
  return nextTick(schedule, nowMs) === undefined ? never : undefined;
}

/** Whole seconds to the first time after `scheduledMs` that is not over; a run due later than now leaves its time to the next. Undefined: none. */
export function cronBackoffMs(spec: string, scheduledMs: number, nowMs: number): number | undefined {
  const schedule = spec === '' ? undefined : parseCron(spec);
  if (schedule === undefined) return undefined;
  const dueMs = nowMs < scheduledMs ? scheduledMs : nextFrom(schedule, scheduledMs, nowMs);
  return dueMs === undefined ? undefined : Math.min(Math.ceil((dueMs - nowMs) / 1000) * 1000, durationMsMax);
}

/** A server that was away for a year does not go through the minutes that it missed. */
function nextFrom(schedule: NonNullable<ReturnType<typeof parseCron>>, scheduledMs: number, nowMs: number): number | undefined {
  const next = nextTick(schedule, scheduledMs);
  if (next === undefined || next >= nowMs) return next;
  if (schedule.kind === 'fields') return nextTick(schedule, nowMs - 1);
  return next + Math.ceil((nowMs - next) / schedule.intervalMs) * schedule.intervalMs;
}
