/** What operators ask of the activities of a workflow. Asked once more with the same `requestId`, unless it is '', nothing happens. */
import type { ActivityOptionField } from '../../kernel/activity-option-fields.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { RetryPolicy } from '../generated/public-api.ts';

/** At most one is set: the activity of that id, all of that type, or, with neither, all that are pending. */
export type ActivityTarget = { readonly activityId: string | undefined; readonly activityType: string | undefined };

/** Reply: Done, also when the same request has paused it; rejected: failed-precondition when another has. */
export type PauseActivity = {
  readonly kind: 'pauseActivity';
  readonly key: RunKey;
  readonly target: ActivityTarget;
  readonly identity: string;
  readonly reason: string;
  readonly requestId: string;
};

/** Reply: Done, also for those that are not paused. */
export type UnpauseActivity = {
  readonly kind: 'unpauseActivity';
  readonly key: RunKey;
  readonly target: ActivityTarget;
  readonly resetAttempts: boolean;
  readonly resetHeartbeat: boolean;
  /** The next attempt starts within this. */
  readonly jitterMs: number;
  /** Uniform in [0, 1). */
  readonly jitter: number;
  readonly requestId: string;
};

/** Reply: Done. */
export type ResetActivity = {
  readonly kind: 'resetActivity';
  readonly key: RunKey;
  readonly target: ActivityTarget;
  readonly resetHeartbeat: boolean;
  readonly keepPaused: boolean;
  readonly restoreOriginalOptions: boolean;
  readonly jitterMs: number;
  readonly jitter: number;
  readonly requestId: string;
};

/** Reply: ActivityOptionsUpdated; rejected: invalid-argument. `change` undefined: the options of the Scheduled event again. */
export type UpdateActivityOptions = {
  readonly kind: 'updateActivityOptions';
  readonly key: RunKey;
  readonly target: ActivityTarget;
  readonly change: ActivityOptionsChange | undefined;
  readonly requestId: string;
};

/** Only what `fields` names counts. */
export type ActivityOptionsChange = {
  readonly fields: readonly ActivityOptionField[];
  readonly taskQueue: string;
  readonly scheduleToCloseTimeoutMs: number;
  readonly scheduleToStartTimeoutMs: number;
  readonly startToCloseTimeoutMs: number;
  readonly heartbeatTimeoutMs: number;
  readonly retryPolicy: RetryPolicy | undefined;
  readonly priority: Uint8Array | undefined;
};

export type ActivityOperationRequest = PauseActivity | UnpauseActivity | ResetActivity | UpdateActivityOptions;
