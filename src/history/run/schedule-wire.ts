/** What the core has of a schedule's definition, which it keeps as the public API's message. */
import type { ListedProgress } from '../../schedules/listed-progress.ts';
import type { SchedulePolicies, ScheduleProgress } from '../../schedules/schedule.ts';
import type { CanonicalSpec } from '../../schedules/spec/schedule-spec.ts';
import type { StartAttributes } from '../commands/history-commands.ts';

/** What each action starts. The rest of a start (its time, its schedule) is the action's own. */
export type ScheduledWorkflow = Omit<StartAttributes, 'startDelayMs' | 'links' | 'cronSchedule' | 'identity'> & {
  readonly workflowId: string;
};

export type ScheduleDefinition = {
  readonly spec: CanonicalSpec;
  readonly policies: SchedulePolicies;
  readonly workflow: ScheduledWorkflow;
  /** The workflow id is not followed by the time. */
  readonly keepsWorkflowId: boolean;
  /** What List shows of it, whatever its progress: the beginning of a temporal.api.schedule.v1.ScheduleListInfo. */
  readonly listed: Uint8Array;
};

export interface ScheduleWire {
  /** Throws what no program has written. */
  readDefinition(definition: Uint8Array): ScheduleDefinition;
  /** Memo fields by which List knows it. */
  listedMemo(listed: Uint8Array, progress: ListedProgress): Uint8Array;
  /** Search attributes of the schedule itself. */
  ownAttributes(progress: ScheduleProgress): Uint8Array;
  /** The attributes of a workflow that the schedule starts. */
  workflowAttributes(attributes: Uint8Array | undefined, scheduleId: string, startTimeText: string): Uint8Array;
  /** temporal.api.failure.v1.Failure */
  failureMessage(failure: Uint8Array): string;
}
