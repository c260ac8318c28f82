/** What operators ask of a workflow and its activities. Asked once more with the same `requestId`, unless it is '', nothing happens. */
import type { ActivityTimeouts } from './workflow-commands.ts';
import type { ActivityOptionField } from '../../kernel/activity-option-fields.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { RetryPolicy } from '../generated/public-api.ts';
import type { PriorityPath } from './priority.ts';

/** At most one is set: the activity of that id, all of that type, or, with neither, all that are pending. */
export type ActivityTarget = { readonly activityId: string | undefined; readonly activityType: string | undefined };

type OnActivities = { readonly key: RunKey; readonly target: ActivityTarget; readonly requestId: string };

export type AskedByOperator = { readonly identity: string; readonly reason: string; readonly requestId: string };

/** Reply: Done, also when the same request has paused it; rejected: failed-precondition when another has. */
export type PauseActivity = OnActivities & AskedByOperator & { readonly kind: 'pauseActivity' };

type Reschedules = OnActivities & {
  readonly resetHeartbeat: boolean;
  /** The next attempt starts within this. */
  readonly jitterMs: number;
  /** Uniform in [0, 1). */
  readonly jitter: number;
};

/** Reply: Done, also for those that are not paused. */
export type UnpauseActivity = Reschedules & { readonly kind: 'unpauseActivity'; readonly resetAttempts: boolean };

export type ResetActivity = Reschedules & {
  readonly kind: 'resetActivity';
  readonly keepPaused: boolean;
  readonly restoreOriginalOptions: boolean;
};

/** Reply: ActivityOptionsUpdated; rejected: invalid-argument. `change` undefined: the options of the Scheduled event again. */
export type UpdateActivityOptions = OnActivities & {
  readonly kind: 'updateActivityOptions';
  readonly change: ActivityOptionsChange | undefined;
};

/** Options of which only those that `fields` names count. */
export type ActivityOptionsChange = ActivityTimeouts & {
  readonly fields: readonly ActivityOptionField[];
  readonly taskQueue: string;
  readonly retryPolicy: RetryPolicy | undefined;
  readonly priority: Uint8Array | undefined;
};

export type ActivityOperationRequest = PauseActivity | UnpauseActivity | ResetActivity | UpdateActivityOptions;

/** `key`: its run id '' = the current run. */
type PauseRequest = AskedByOperator & { readonly key: RunKey };

/** Reply: Done, also when the same request has paused it; rejected: failed-precondition when another has. */
export type PauseWorkflow = { readonly kind: 'pauseWorkflow' } & PauseRequest;

/** Reply: Done; rejected: failed-precondition when it is not paused. */
export type UnpauseWorkflow = { readonly kind: 'unpauseWorkflow' } & PauseRequest;

/** A priority of which only what `fields` names counts. */
export type PriorityChange = { readonly fields: readonly PriorityPath[]; readonly priority: Uint8Array | undefined };

/** Reply: WorkflowOptionsUpdated, also when nothing changes. `runId` '' = the current run. */
export type UpdateWorkflowOptions = PriorityChange & {
  readonly kind: 'updateWorkflowOptions';
  readonly key: RunKey;
  readonly identity: string;
};

/** Another run goes on from an event of this one. Asked again with the same request id: the run that the first request made. */
export type ResetWorkflow = {
  readonly kind: 'resetWorkflow';
  /** The base run, with its run id. */
  readonly key: RunKey;
  readonly newRunId: string;
  readonly requestId: string;
  readonly reason: string;
  /** The new run was prepared: it has its events already. What refuses the reset drops it. */
  readonly isPrepared: boolean;
  /** Encoded, from the first event on: what the new run begins with. None of one that was prepared. */
  readonly keptEvents: readonly Uint8Array[];
  /** Encoded, in order: what came behind them, in this run and in those that continue it, and is to be applied again. */
  readonly laterEvents: readonly Uint8Array[];
  /** Where the reading of these ended. */
  readonly readTo: { readonly runId: string; readonly lastEventId: number };
  readonly reappliesSignals: boolean;
  /** Changes of the priority of the run that goes on, in order, behind all that is applied again. */
  readonly priorityChanges: readonly PriorityChange[];
  /** How long the run that goes on is kept once it is closed, as its namespace says now; absent: as long as the base run. */
  readonly retentionMs?: number | undefined;
};

/**
 * The next of the kept events, for the run that is to go on: the first of them begin its preparation. Reply: WorkflowReset, of that run, or of the
 * one that an earlier request with this id has made; rejected: workflow-not-found, no-room, busy-workflow where the preparation was dropped. A part
 * that comes once more changes nothing.
 */
export type PrepareReset = {
  readonly kind: 'prepareReset';
  readonly key: RunKey;
  readonly newRunId: string;
  readonly requestId: string;
  readonly firstEventId: number;
  readonly events: readonly Uint8Array[];
};

/** Nobody will finish the preparation of this run. Of any other run it changes nothing. */
export type DropReset = { readonly kind: 'dropReset'; readonly key: RunKey };
