/** What a shard is asked about schedules. `key`: of the run that carries the schedule; '' as its run id = the current one. */
import type { RunKey } from '../../kernel/run-key.ts';
import type { SchedulePatch } from '../../schedules/changes.ts';
import type { ScheduleProgress, ScheduleStateFields } from '../../schedules/schedule.ts';
import type { PutAsideDescription } from './put-aside-description.ts';

/** Reply: ScheduleChanged; rejected: already-started. Asked again with the same request id, the same. */
export type CreateSchedule = Omit<UpdateSchedule, 'kind' | 'conflictToken'> & {
  readonly kind: 'createSchedule';
  readonly namespace: string;
  readonly newRunId: string;
  readonly patch: SchedulePatch | undefined;
  readonly identity: string;
  /** How long the workflows that it starts are kept, where nobody knows what their namespace says then. */
  readonly retentionMs: number;
};

/** Reply: ScheduleChanged; rejected: schedule-not-found, failed-precondition. */
export type UpdateSchedule = {
  readonly kind: 'updateSchedule';
  readonly key: RunKey;
  readonly requestId: string;
  /** temporal.api.schedule.v1.Schedule in its canonical form, without its state. */
  readonly definition: Uint8Array;
  readonly state: ScheduleStateFields;
  /** 0 = whatever it is. */
  readonly conflictToken: number;
  /** Memo and search attributes that there are from now on; undefined in an update: they stay as they are. */
  readonly memo: Uint8Array | undefined;
  readonly searchAttributes: Uint8Array | undefined;
};

export type PatchSchedule = {
  readonly kind: 'patchSchedule';
  readonly key: RunKey;
  readonly requestId: string;
  readonly patch: SchedulePatch;
};

/** Nothing stays of it but the workflows that it has started. Reply: Done; rejected: schedule-not-found. */
export type DeleteSchedule = { readonly kind: 'deleteSchedule'; readonly key: RunKey };

export type DescribeSchedule = { readonly kind: 'describeSchedule'; readonly key: RunKey };

export type ScheduleRequest = CreateSchedule | UpdateSchedule | PatchSchedule | DeleteSchedule | DescribeSchedule;

/** The schedule that waits for the end of what is started, and what the workflows before it have come to. */
export type StartedBySchedule = {
  readonly schedule: RunKey;
  readonly startId: number;
  /** Payloads and Failure. */
  readonly lastCompletionResult: Uint8Array | undefined;
  readonly continuedFailure: Uint8Array | undefined;
};

export type ScheduleChanged = { readonly kind: 'scheduleChanged'; readonly conflictToken: number };

export type ScheduleDescription = {
  readonly kind: 'scheduleDescription';
  readonly key: RunKey;
  readonly definition: Uint8Array;
  readonly progress: ScheduleProgress;
  readonly memo: Uint8Array | undefined;
  readonly searchAttributes: Uint8Array | undefined;
  readonly aside: PutAsideDescription | undefined;
};
