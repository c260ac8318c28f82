import type { RunKey } from '../../kernel/run-key.ts';
import type { ScheduleProgress } from '../../schedules/schedule.ts';

/** A run that has no workflow, and whose one event is its start. */
export type Schedule = {
  readonly archetype: 'schedule';
  /** temporal.api.schedule.v1.Schedule, without its state. */
  readonly definition: Uint8Array;
  readonly progress: ScheduleProgress;
  /** What its workflows have come to: the result of the last that completed (Payloads), and the Failure of the last if that failed. */
  readonly lastCompletionResult: Uint8Array | undefined;
  readonly continuedFailure: Uint8Array | undefined;
  /** When its next step is due, or its end; undefined: never, as it is. */
  readonly wakeTimeMs: number | undefined;
  /** The timer for that; 0 = there was none yet. */
  readonly wakeTaskId: number;
  /** The timer after which somebody looks whether starts that became letters still are; 0 = there was none yet. */
  readonly letterCheckTaskId: number;
};

/** A workflow that a schedule has started knows for whose sake. */
export type ScheduledBy = { readonly schedule: RunKey; readonly startId: number };
