/**
 * A schedule: what somebody asked for, and how far that has come. Plain values; times and durations are integer milliseconds.
 *
 *     spec ── a time is due ─▶ buffered ── overlap policy ─▶ starting ── the workflow has begun ─▶ running ── it has closed ─▶ …
 *     trigger, backfill ─────────▲              └─ skipped        └─ it could not: the next one's turn
 *
 * Whatever happens to a schedule is one pure step from a progress to the next (step.ts, changes.ts), which says what is to be done now.
 */

import type { SearchSteps } from './spec/search-steps.ts';

/** `temporal.api.enums.v1.ScheduleOverlapPolicy` */
export const overlapPolicy = {
  unspecified: 0,
  skip: 1,
  bufferOne: 2,
  bufferAll: 3,
  cancelOther: 4,
  terminateOther: 5,
  allowAll: 6,
} as const;

export type SchedulePolicies = {
  /** Never unspecified. */
  readonly overlapPolicy: number;
  /** A time that is due longer than this is missed. */
  readonly catchupWindowMs: number;
  readonly pauseOnFailure: boolean;
};

/**
 * Of the spec: the first time that is due after `afterMs`; undefined: there is none. `nextMs` is the nominal time with its jitter. What the
 * search takes is taken from `turn`, which also hears that it was given up: whoever makes many ends when that is spent.
 */
export type NextTime = (afterMs: number, turn: SearchSteps) => ScheduledTime | undefined;
export type ScheduledTime = { readonly nominalMs: number; readonly nextMs: number };

/** What is needed of the definition to go on. */
export type SchedulePlan = { readonly policies: SchedulePolicies; readonly nextTime: NextTime };

/** A time that is due, and has not been decided on. */
export type BufferedStart = {
  readonly nominalTimeMs: number;
  readonly actualTimeMs: number;
  /** Unspecified: that of the schedule, whatever that is when its turn comes. */
  readonly overlapPolicy: number;
  /** A trigger or a backfill: it counts neither as one of limited actions nor as missed, and goes on while the schedule is paused. */
  readonly manual: boolean;
};

/** An action whose workflow is being started: whether it has begun is not known yet. */
export type StartingAction = Omit<BufferedStart, 'overlapPolicy'> & {
  /** Counts from 1 within the schedule. */
  readonly startId: number;
  /** The next ones wait for its end. */
  readonly tracked: boolean;
  /** The start is a dead letter, or was: nobody tells whether it was purged. The action is kept so that the letter, merged, can do its work. */
  readonly left: boolean;
};

/** A workflow for whose end the next ones wait. `runId`: of the first run of its chain. */
export type RunningWorkflow = { readonly startId: number; readonly workflowId: string; readonly runId: string };

export type RecentAction = RunningWorkflow & {
  readonly scheduleTimeMs: number;
  readonly actualTimeMs: number;
  /** `temporal.api.enums.v1.WorkflowExecutionStatus`, as far as the schedule has heard. */
  readonly status: number;
};

/** What is left of it. Both ends belong to it. */
export type Backfill = { readonly fromMs: number; readonly toMs: number; readonly overlapPolicy: number };

export type ScheduleProgress = {
  readonly createTimeMs: number;
  /** 0 = never updated. */
  readonly updateTimeMs: number;
  /** Grows with every change of what a client sees as the schedule. */
  readonly conflictToken: number;
  readonly paused: boolean;
  readonly notes: string;
  readonly limitedActions: boolean;
  readonly remainingActions: number;
  /** The last time of the spec that has been looked at; the end of a pause, where there was none to come. */
  readonly processedToMs: number;
  readonly lastStartId: number;
  readonly actionCount: number;
  readonly missedCatchupWindow: number;
  readonly overlapSkipped: number;
  readonly bufferDropped: number;
  /** Starts that wait, in the order in which they were due. */
  readonly buffered: readonly BufferedStart[];
  readonly backfills: readonly Backfill[];
  readonly starting: readonly StartingAction[];
  readonly running: readonly RunningWorkflow[];
  /** When the schedule last asked, or was told, whether the one that runs does, or has ended. */
  readonly runningSeenMs: number;
  /** The last of them, oldest first. */
  readonly recentActions: readonly RecentAction[];
  /** Request ids of the last changes, oldest first: who asks again has been heard. */
  readonly requestIds: readonly string[];
};

/** What a client says of the state of a new schedule, or of one that it updates. */
export type ScheduleStateFields = Pick<ScheduleProgress, 'paused' | 'notes' | 'limitedActions' | 'remainingActions'>;

export function newProgress(state: ScheduleStateFields, nowMs: number): ScheduleProgress {
  return {
    createTimeMs: nowMs,
    updateTimeMs: 0,
    conflictToken: 1,
    ...state,
    processedToMs: nowMs,
    ...{ lastStartId: 0, actionCount: 0, missedCatchupWindow: 0, overlapSkipped: 0, bufferDropped: 0 },
    ...{ buffered: [], backfills: [], starting: [], running: [], runningSeenMs: 0, recentActions: [], requestIds: [] },
  };
}

/** Numbers of Temporal, but for those that bound a turn. */
export const scheduleLimits = {
  /** Starts that wait for their turn. With so many, times of the spec and of backfills are taken later; a trigger is dropped. */
  bufferedMax: 1_000,
  backfillsMax: 1_000,
  recentActionsMax: 10,
  futureActionsMax: 10,
  listedActionsMax: 5,
  requestIdsMax: 20,
  /** UTF-16 units. */
  notesCharsMax: 1_000,
  /** Times that are looked at in one step; the rest follows at once. */
  timesPerStepMax: 1_000,
  backfillsPerStepMax: 10,
  /** Between steps of a backfill that waits for nothing. */
  backfillPauseMs: 1_000,
  /** Starts that are under way: more wait for the answers to these. */
  startingMax: 1_000,
  /** Starts that have become dead letters, the newest: what is merged of older ones does nothing. */
  leftMax: 100,
  /** Others wait for a workflow of which nothing was heard so long: the news of its end may be a dead letter, or lost with one. */
  lookAfterMs: 600_000,
  /** The news of an end say more than a look, and may be on their way: one that was seen to have ended is looked at again after that. */
  newsAfterMs: 60_000,
  /** A schedule whose next time is not found is looked at again after that: another release of the server, or of its time zones, may find it. */
  searchAgainMs: 24 * 3_600_000,
  /** A schedule that has nothing left to do is kept so long. */
  idleRetentionMs: 7 * 24 * 3_600_000,
} as const;

/** One that is neither paused nor out of actions acts by its spec. */
export function actsBySpec({ paused, limitedActions, remainingActions }: ScheduleStateFields): boolean {
  return !paused && (!limitedActions || remainingActions > 0);
}
