/** Commands of a workflow, as a worker sends them, as plain values. Of kinds that are not built (Nexus) the edge refuses the request. */
import type { OpaqueFailure } from './failure.ts';
import type { RetryPolicy, TaskQueue, WorkflowExecution } from '../generated/public-api.ts';

/** `attributes` undefined = the worker sent none: fails with that command's BAD_… cause. */
type CommandOf<Type extends string, Attributes> = {
  readonly type: Type;
  readonly attributes: Attributes | undefined;
  /** `temporal.sdk.v1.UserMetadata` */
  readonly userMetadata: Uint8Array | undefined;
  /** `temporal.sdk.v1.EventGroupMarker` */
  readonly eventGroupMarkers?: readonly Uint8Array[];
};

export type ActivityTimeouts = {
  readonly scheduleToCloseTimeoutMs: number;
  readonly scheduleToStartTimeoutMs: number;
  readonly startToCloseTimeoutMs: number;
  readonly heartbeatTimeoutMs: number;
};

/** What a command says of the run that it begins. */
type NextRun = {
  readonly workflowType: string;
  readonly taskQueue: TaskQueue | undefined;
  readonly input: Uint8Array | undefined;
  readonly header: Uint8Array | undefined;
  readonly memo: Uint8Array | undefined;
  readonly searchAttributes: Uint8Array | undefined;
  readonly runTimeoutMs: number;
  readonly taskTimeoutMs: number;
  readonly retryPolicy: RetryPolicy | undefined;
  readonly cronSchedule: string;
  readonly inheritBuildId: boolean;
};

/** What a command says to another workflow. */
type External = { readonly namespace: string; readonly namespaceId: string; readonly control: string; readonly childWorkflowOnly: boolean };

export type WorkflowCommand =
  | CommandOf<
      'scheduleActivityTask',
      ActivityTimeouts & {
        readonly activityId: string;
        readonly activityType: string;
        readonly taskQueue: TaskQueue | undefined;
        readonly header: Uint8Array | undefined;
        readonly input: Uint8Array | undefined;
        readonly retryPolicy: RetryPolicy | undefined;
        readonly requestEagerExecution: boolean;
        readonly useWorkflowBuildId: boolean;
        readonly priority: Uint8Array | undefined;
      }
    >
  | CommandOf<'requestCancelActivityTask', { readonly scheduledEventId: number }>
  | CommandOf<'startTimer', { readonly timerId: string; readonly startToFireTimeoutMs: number }>
  | CommandOf<'cancelTimer', { readonly timerId: string }>
  | CommandOf<
      'recordMarker',
      {
        readonly markerName: string;
        /** Encoded map entries are kept: the whole attributes message as it came, for the event. */
        readonly details: ReadonlyMap<string, Uint8Array>;
        readonly header: Uint8Array | undefined;
        readonly failure: Uint8Array | undefined;
      }
    >
  /** Places a message (`UpdateMessage`) among the commands. */
  | CommandOf<'protocolMessage', { readonly messageId: string }>
  | CommandOf<'completeWorkflowExecution', { readonly result: Uint8Array | undefined }>
  | CommandOf<'failWorkflowExecution', { readonly failure: OpaqueFailure | undefined }>
  | CommandOf<'cancelWorkflowExecution', { readonly details: Uint8Array | undefined }>
  | CommandOf<
      'continueAsNewWorkflowExecution',
      NextRun & {
        readonly backoffStartIntervalMs: number;
        readonly initiator: number;
        readonly failure: Uint8Array | undefined;
        readonly lastCompletionResult: Uint8Array | undefined;
      }
    >
  | CommandOf<
      'startChildWorkflowExecution',
      NextRun & {
        readonly namespace: string;
        /** Resolved by the edge; '' = the parent's own. */
        readonly namespaceId: string;
        readonly workflowId: string;
        readonly executionTimeoutMs: number;
        readonly parentClosePolicy: number;
        readonly workflowIdReusePolicy: number;
        readonly control: string;
        readonly priority: Uint8Array | undefined;
      }
    >
  | CommandOf<
      'requestCancelExternalWorkflowExecution',
      External & { readonly workflowId: string; readonly runId: string; readonly reason: string }
    >
  | CommandOf<
      'signalExternalWorkflowExecution',
      External & {
        readonly execution: WorkflowExecution | undefined;
        readonly signalName: string;
        readonly input: Uint8Array | undefined;
        readonly header: Uint8Array | undefined;
      }
    >
  | CommandOf<'upsertWorkflowSearchAttributes', { readonly searchAttributes: Uint8Array | undefined }>
  | CommandOf<'modifyWorkflowProperties', { readonly upsertedMemo: Uint8Array | undefined }>;
