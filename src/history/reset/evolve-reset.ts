/** What a reset does to the run that goes on, beside its events. */
import { dropTold } from '../callback/update-callbacks.ts';
import { runExpiration } from '../execution/evolve-execution.ts';
import type { Fact } from '../record.ts';
import type { Run } from '../state.ts';

type RunReset = Extract<Fact, { readonly kind: 'runReset' }>;

/** What clocks measure begins now, but for timers: those are in its history. */
export function beginAgain(run: Run, { requestId, bases }: RunReset, nowMs: number): void {
  const { start } = run;
  const executionExpirationMs = start.executionTimeoutMs === 0 ? 0 : nowMs + start.executionTimeoutMs;
  run.reset = { requestId, timeMs: nowMs, originalStartTimeMs: start.startTimeMs, bases };
  run.start = {
    ...start,
    startTimeMs: nowMs,
    executionTimeMs: nowMs,
    executionExpirationMs,
    runExpirationMs: runExpiration(nowMs, start.runTimeoutMs, executionExpirationMs),
  };
  dropTold(run);
  for (const activity of [...run.activities.values()]) {
    run.activities.set(activity.scheduledEventId, { ...activity, firstScheduledTimeMs: nowMs, scheduledTimeMs: nowMs });
  }
}
