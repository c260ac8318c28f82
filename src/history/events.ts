/**
 * The events of a workflow's history, as the core makes and reads them. Attributes have the very shape of the wire's lean messages
 * (camelCase, milliseconds, opaque parts as bytes), so that the edge encodes them without a copy; the core itself knows no codec.
 *
 *   { type: 'activityTaskScheduled', eventId: 5, …, attributes: { activityId: 'a', … } }
 *
 * `type` chooses the shape of `attributes`. Update, Nexus, pause and reset events join here when they are built.
 */
import type { RetryPolicy, TaskQueue, WorkflowExecution } from './commands.ts';

export type EventKind = keyof AttributesOf;

export type EventOf<Kind extends EventKind> = {
  readonly type: Kind;
  /** 0 while the event is buffered. */
  readonly eventId: number;
  readonly eventTimeMs: number;
  /** Failover version; 0 as for every namespace of one cluster. */
  readonly version: number;
  readonly taskId: number;
  readonly workerMayIgnore: boolean;
  readonly userMetadata: Uint8Array | undefined;
  readonly links: readonly Uint8Array[];
  readonly eventGroupMarkers: readonly Uint8Array[];
  readonly attributes: AttributesOf[Kind];
};

export type HistoryEvent = { [Kind in EventKind]: EventOf<Kind> }[EventKind];

/** An event with the bytes that journal, cache and poll answers share. */
export type RecordedEvent = { readonly event: HistoryEvent; readonly bytes: Uint8Array };

type WorkflowType = { readonly name: string };
type ActivityType = { readonly name: string };

export type AttributesOf = {
  readonly workflowExecutionStarted: WorkflowExecutionStartedAttributes;
  readonly workflowExecutionCompleted: WorkflowExecutionCompletedAttributes;
  readonly workflowExecutionFailed: WorkflowExecutionFailedAttributes;
  readonly workflowExecutionTimedOut: WorkflowExecutionTimedOutAttributes;
  readonly workflowTaskScheduled: WorkflowTaskScheduledAttributes;
  readonly workflowTaskStarted: WorkflowTaskStartedAttributes;
  readonly workflowTaskCompleted: WorkflowTaskCompletedAttributes;
  readonly workflowTaskTimedOut: WorkflowTaskTimedOutAttributes;
  readonly workflowTaskFailed: WorkflowTaskFailedAttributes;
  readonly activityTaskScheduled: ActivityTaskScheduledAttributes;
  readonly activityTaskStarted: ActivityTaskStartedAttributes;
  readonly activityTaskCompleted: ActivityTaskCompletedAttributes;
  readonly activityTaskFailed: ActivityTaskFailedAttributes;
  readonly activityTaskTimedOut: ActivityTaskTimedOutAttributes;
  readonly activityTaskCancelRequested: ActivityTaskCancelRequestedAttributes;
  readonly activityTaskCanceled: ActivityTaskCanceledAttributes;
  readonly timerStarted: TimerStartedAttributes;
  readonly timerFired: TimerFiredAttributes;
  readonly timerCanceled: TimerCanceledAttributes;
  readonly workflowExecutionCancelRequested: WorkflowExecutionCancelRequestedAttributes;
  readonly workflowExecutionCanceled: WorkflowExecutionCanceledAttributes;
  readonly requestCancelExternalWorkflowExecutionInitiated: RequestCancelExternalWorkflowExecutionInitiatedAttributes;
  readonly requestCancelExternalWorkflowExecutionFailed: RequestCancelExternalWorkflowExecutionFailedAttributes;
  readonly externalWorkflowExecutionCancelRequested: ExternalWorkflowExecutionCancelRequestedAttributes;
  readonly markerRecorded: MarkerRecordedAttributes;
  readonly workflowExecutionSignaled: WorkflowExecutionSignaledAttributes;
  readonly workflowExecutionTerminated: WorkflowExecutionTerminatedAttributes;
  readonly workflowExecutionContinuedAsNew: WorkflowExecutionContinuedAsNewAttributes;
  readonly startChildWorkflowExecutionInitiated: StartChildWorkflowExecutionInitiatedAttributes;
  readonly startChildWorkflowExecutionFailed: StartChildWorkflowExecutionFailedAttributes;
  readonly childWorkflowExecutionStarted: ChildWorkflowExecutionStartedAttributes;
  readonly childWorkflowExecutionCompleted: ChildWorkflowExecutionCompletedAttributes;
  readonly childWorkflowExecutionFailed: ChildWorkflowExecutionFailedAttributes;
  readonly childWorkflowExecutionCanceled: ChildWorkflowExecutionCanceledAttributes;
  readonly childWorkflowExecutionTimedOut: ChildWorkflowExecutionTimedOutAttributes;
  readonly childWorkflowExecutionTerminated: ChildWorkflowExecutionTerminatedAttributes;
  readonly signalExternalWorkflowExecutionInitiated: SignalExternalWorkflowExecutionInitiatedAttributes;
  readonly signalExternalWorkflowExecutionFailed: SignalExternalWorkflowExecutionFailedAttributes;
  readonly externalWorkflowExecutionSignaled: ExternalWorkflowExecutionSignaledAttributes;
  readonly upsertWorkflowSearchAttributes: UpsertWorkflowSearchAttributesAttributes;
  readonly workflowPropertiesModified: WorkflowPropertiesModifiedAttributes;
  readonly workflowExecutionOptionsUpdated: WorkflowExecutionOptionsUpdatedAttributes;
};

/** `temporal.api.enums.v1.EventType` */
export const eventTypeNumber: { readonly [Kind in EventKind]: number } = {
  workflowExecutionStarted: 1,
  workflowExecutionCompleted: 2,
  workflowExecutionFailed: 3,
  workflowExecutionTimedOut: 4,
  workflowTaskScheduled: 5,
  workflowTaskStarted: 6,
  workflowTaskCompleted: 7,
  workflowTaskTimedOut: 8,
  workflowTaskFailed: 9,
  activityTaskScheduled: 10,
  activityTaskStarted: 11,
  activityTaskCompleted: 12,
  activityTaskFailed: 13,
  activityTaskTimedOut: 14,
  activityTaskCancelRequested: 15,
  activityTaskCanceled: 16,
  timerStarted: 17,
  timerFired: 18,
  timerCanceled: 19,
  workflowExecutionCancelRequested: 20,
  workflowExecutionCanceled: 21,
  requestCancelExternalWorkflowExecutionInitiated: 22,
  requestCancelExternalWorkflowExecutionFailed: 23,
  externalWorkflowExecutionCancelRequested: 24,
  markerRecorded: 25,
  workflowExecutionSignaled: 26,
  workflowExecutionTerminated: 27,
  workflowExecutionContinuedAsNew: 28,
  startChildWorkflowExecutionInitiated: 29,
  startChildWorkflowExecutionFailed: 30,
  childWorkflowExecutionStarted: 31,
  childWorkflowExecutionCompleted: 32,
  childWorkflowExecutionFailed: 33,
  childWorkflowExecutionCanceled: 34,
  childWorkflowExecutionTimedOut: 35,
  childWorkflowExecutionTerminated: 36,
  signalExternalWorkflowExecutionInitiated: 37,
  signalExternalWorkflowExecutionFailed: 38,
  externalWorkflowExecutionSignaled: 39,
  upsertWorkflowSearchAttributes: 40,
  workflowPropertiesModified: 46,
  workflowExecutionOptionsUpdated: 55,
};

export type WorkflowExecutionStartedAttributes = {
  readonly workflowType: WorkflowType | undefined;
  readonly parentWorkflowNamespace: string;
  readonly parentWorkflowExecution: WorkflowExecution | undefined;
  readonly parentInitiatedEventId: number;
  readonly taskQueue: TaskQueue | undefined;
  readonly input: Uint8Array | undefined;
  readonly workflowExecutionTimeoutMs: number;
  readonly workflowRunTimeoutMs: number;
  readonly workflowTaskTimeoutMs: number;
  readonly continuedExecutionRunId: string;
  readonly initiator: number;
  readonly continuedFailure: Uint8Array | undefined;
  readonly lastCompletionResult: Uint8Array | undefined;
  readonly originalExecutionRunId: string;
  readonly identity: string;
  readonly firstExecutionRunId: string;
  readonly retryPolicy: RetryPolicy | undefined;
  readonly attempt: number;
  readonly workflowExecutionExpirationTimeMs: number;
  readonly cronSchedule: string;
  readonly firstWorkflowTaskBackoffMs: number;
  readonly memo: Uint8Array | undefined;
  readonly searchAttributes: Uint8Array | undefined;
  readonly prevAutoResetPoints: Uint8Array | undefined;
  readonly header: Uint8Array | undefined;
  readonly parentInitiatedEventVersion: number;
  readonly parentWorkflowNamespaceId: string;
  readonly workflowId: string;
  readonly sourceVersionStamp: Uint8Array | undefined;
  readonly completionCallbacks: readonly Uint8Array[];
  readonly rootWorkflowExecution: WorkflowExecution | undefined;
  readonly inheritedBuildId: string;
  readonly versioningOverride: Uint8Array | undefined;
  readonly parentPinnedWorkerDeploymentVersion: string;
  readonly priority: Uint8Array | undefined;
  readonly inheritedPinnedVersion: Uint8Array | undefined;
  readonly eagerExecutionAccepted: boolean;
  readonly inheritedAutoUpgradeInfo: Uint8Array | undefined;
  readonly declinedTargetVersionUpgrade: Uint8Array | undefined;
  readonly timeSkippingConfig: Uint8Array | undefined;
  readonly timeSkippingStatePropagation: Uint8Array | undefined;
};

export type WorkflowExecutionCompletedAttributes = {
  readonly result: Uint8Array | undefined;
  readonly workflowTaskCompletedEventId: number;
  readonly newExecutionRunId: string;
};

export type WorkflowExecutionFailedAttributes = {
  readonly failure: Uint8Array | undefined;
  readonly retryState: number;
  readonly workflowTaskCompletedEventId: number;
  readonly newExecutionRunId: string;
};

export type WorkflowExecutionTimedOutAttributes = {
  readonly retryState: number;
  readonly newExecutionRunId: string;
};

export type WorkflowExecutionContinuedAsNewAttributes = {
  readonly newExecutionRunId: string;
  readonly workflowType: WorkflowType | undefined;
  readonly taskQueue: TaskQueue | undefined;
  readonly input: Uint8Array | undefined;
  readonly workflowRunTimeoutMs: number;
  readonly workflowTaskTimeoutMs: number;
  readonly workflowTaskCompletedEventId: number;
  readonly backoffStartIntervalMs: number;
  readonly initiator: number;
  readonly failure: Uint8Array | undefined;
  readonly lastCompletionResult: Uint8Array | undefined;
  readonly header: Uint8Array | undefined;
  readonly memo: Uint8Array | undefined;
  readonly searchAttributes: Uint8Array | undefined;
  readonly inheritBuildId: boolean;
  readonly initialVersioningBehavior: number;
};

export type WorkflowTaskScheduledAttributes = {
  readonly taskQueue: TaskQueue | undefined;
  readonly startToCloseTimeoutMs: number;
  readonly attempt: number;
};

export type WorkflowTaskStartedAttributes = {
  readonly scheduledEventId: number;
  readonly identity: string;
  readonly requestId: string;
  readonly suggestContinueAsNew: boolean;
  readonly historySizeBytes: number;
  readonly workerVersion: Uint8Array | undefined;
  readonly buildIdRedirectCounter: number;
  readonly suggestContinueAsNewReasons: readonly number[];
  readonly targetWorkerDeploymentVersionChanged: boolean;
};

export type WorkflowTaskCompletedAttributes = {
  readonly scheduledEventId: number;
  readonly startedEventId: number;
  readonly identity: string;
  readonly binaryChecksum: string;
  readonly workerVersion: Uint8Array | undefined;
  readonly sdkMetadata: Uint8Array | undefined;
  readonly deployment: Uint8Array | undefined;
  readonly versioningBehavior: number;
  readonly workerDeploymentVersion: string;
  readonly workerDeploymentName: string;
  readonly deploymentVersion: Uint8Array | undefined;
  readonly meteringMetadata: Uint8Array | undefined;
};

export type WorkflowTaskTimedOutAttributes = {
  readonly scheduledEventId: number;
  readonly startedEventId: number;
  readonly timeoutType: number;
};

export type WorkflowTaskFailedAttributes = {
  readonly scheduledEventId: number;
  readonly startedEventId: number;
  readonly cause: number;
  readonly failure: Uint8Array | undefined;
  readonly identity: string;
  readonly baseRunId: string;
  readonly newRunId: string;
  readonly forkEventVersion: number;
  readonly binaryChecksum: string;
  readonly workerVersion: Uint8Array | undefined;
};

export type ActivityTaskScheduledAttributes = {
  readonly activityId: string;
  readonly activityType: ActivityType | undefined;
  readonly taskQueue: TaskQueue | undefined;
  readonly header: Uint8Array | undefined;
  readonly input: Uint8Array | undefined;
  readonly scheduleToCloseTimeoutMs: number;
  readonly scheduleToStartTimeoutMs: number;
  readonly startToCloseTimeoutMs: number;
  readonly heartbeatTimeoutMs: number;
  readonly workflowTaskCompletedEventId: number;
  readonly retryPolicy: RetryPolicy | undefined;
  readonly useWorkflowBuildId: boolean;
  readonly priority: Uint8Array | undefined;
};

export type ActivityTaskStartedAttributes = {
  readonly scheduledEventId: number;
  readonly identity: string;
  readonly requestId: string;
  readonly attempt: number;
  readonly lastFailure: Uint8Array | undefined;
  readonly workerVersion: Uint8Array | undefined;
  readonly buildIdRedirectCounter: number;
};

export type ActivityTaskCompletedAttributes = {
  readonly result: Uint8Array | undefined;
  readonly scheduledEventId: number;
  readonly startedEventId: number;
  readonly identity: string;
  readonly workerVersion: Uint8Array | undefined;
};

export type ActivityTaskFailedAttributes = {
  readonly failure: Uint8Array | undefined;
  readonly scheduledEventId: number;
  readonly startedEventId: number;
  readonly identity: string;
  readonly retryState: number;
  readonly workerVersion: Uint8Array | undefined;
};

export type ActivityTaskTimedOutAttributes = {
  readonly failure: Uint8Array | undefined;
  readonly scheduledEventId: number;
  readonly startedEventId: number;
  readonly retryState: number;
};

export type ActivityTaskCancelRequestedAttributes = {
  readonly scheduledEventId: number;
  readonly workflowTaskCompletedEventId: number;
};

export type ActivityTaskCanceledAttributes = {
  readonly details: Uint8Array | undefined;
  readonly latestCancelRequestedEventId: number;
  readonly scheduledEventId: number;
  readonly startedEventId: number;
  readonly identity: string;
  readonly workerVersion: Uint8Array | undefined;
};

export type TimerStartedAttributes = {
  readonly timerId: string;
  readonly startToFireTimeoutMs: number;
  readonly workflowTaskCompletedEventId: number;
};

export type TimerFiredAttributes = {
  readonly timerId: string;
  readonly startedEventId: number;
};

export type TimerCanceledAttributes = {
  readonly timerId: string;
  readonly startedEventId: number;
  readonly workflowTaskCompletedEventId: number;
  readonly identity: string;
};

export type WorkflowExecutionCancelRequestedAttributes = {
  readonly cause: string;
  readonly externalInitiatedEventId: number;
  readonly externalWorkflowExecution: WorkflowExecution | undefined;
  readonly identity: string;
};

export type WorkflowExecutionCanceledAttributes = {
  readonly workflowTaskCompletedEventId: number;
  readonly details: Uint8Array | undefined;
};

export type MarkerRecordedAttributes = {
  readonly markerName: string;
  readonly details: ReadonlyMap<string, Uint8Array>;
  readonly workflowTaskCompletedEventId: number;
  readonly header: Uint8Array | undefined;
  readonly failure: Uint8Array | undefined;
};

export type WorkflowExecutionSignaledAttributes = {
  readonly signalName: string;
  readonly input: Uint8Array | undefined;
  readonly identity: string;
  readonly header: Uint8Array | undefined;
  readonly skipGenerateWorkflowTask: boolean;
  readonly externalWorkflowExecution: WorkflowExecution | undefined;
  readonly requestId: string;
};

export type WorkflowExecutionTerminatedAttributes = {
  readonly reason: string;
  readonly details: Uint8Array | undefined;
  readonly identity: string;
};

export type RequestCancelExternalWorkflowExecutionInitiatedAttributes = {
  readonly workflowTaskCompletedEventId: number;
  readonly namespace: string;
  readonly workflowExecution: WorkflowExecution | undefined;
  readonly control: string;
  readonly childWorkflowOnly: boolean;
  readonly reason: string;
  readonly namespaceId: string;
};

export type RequestCancelExternalWorkflowExecutionFailedAttributes = {
  readonly cause: number;
  readonly workflowTaskCompletedEventId: number;
  readonly namespace: string;
  readonly workflowExecution: WorkflowExecution | undefined;
  readonly initiatedEventId: number;
  readonly control: string;
  readonly namespaceId: string;
};

export type ExternalWorkflowExecutionCancelRequestedAttributes = {
  readonly initiatedEventId: number;
  readonly namespace: string;
  readonly workflowExecution: WorkflowExecution | undefined;
  readonly namespaceId: string;
};

export type SignalExternalWorkflowExecutionInitiatedAttributes = {
  readonly workflowTaskCompletedEventId: number;
  readonly namespace: string;
  readonly workflowExecution: WorkflowExecution | undefined;
  readonly signalName: string;
  readonly input: Uint8Array | undefined;
  readonly control: string;
  readonly childWorkflowOnly: boolean;
  readonly header: Uint8Array | undefined;
  readonly namespaceId: string;
};

export type SignalExternalWorkflowExecutionFailedAttributes = {
  readonly cause: number;
  readonly workflowTaskCompletedEventId: number;
  readonly namespace: string;
  readonly workflowExecution: WorkflowExecution | undefined;
  readonly initiatedEventId: number;
  readonly control: string;
  readonly namespaceId: string;
};

export type ExternalWorkflowExecutionSignaledAttributes = {
  readonly initiatedEventId: number;
  readonly namespace: string;
  readonly workflowExecution: WorkflowExecution | undefined;
  readonly control: string;
  readonly namespaceId: string;
};

export type UpsertWorkflowSearchAttributesAttributes = {
  readonly workflowTaskCompletedEventId: number;
  readonly searchAttributes: Uint8Array | undefined;
};

export type WorkflowPropertiesModifiedAttributes = {
  readonly workflowTaskCompletedEventId: number;
  readonly upsertedMemo: Uint8Array | undefined;
};

export type StartChildWorkflowExecutionInitiatedAttributes = {
  readonly namespace: string;
  readonly workflowId: string;
  readonly workflowType: WorkflowType | undefined;
  readonly taskQueue: TaskQueue | undefined;
  readonly input: Uint8Array | undefined;
  readonly workflowExecutionTimeoutMs: number;
  readonly workflowRunTimeoutMs: number;
  readonly workflowTaskTimeoutMs: number;
  readonly parentClosePolicy: number;
  readonly control: string;
  readonly workflowTaskCompletedEventId: number;
  readonly workflowIdReusePolicy: number;
  readonly retryPolicy: RetryPolicy | undefined;
  readonly cronSchedule: string;
  readonly header: Uint8Array | undefined;
  readonly memo: Uint8Array | undefined;
  readonly searchAttributes: Uint8Array | undefined;
  readonly namespaceId: string;
  readonly inheritBuildId: boolean;
  readonly priority: Uint8Array | undefined;
  readonly timeSkippingConfig: Uint8Array | undefined;
  readonly timeSkippingStatePropagation: Uint8Array | undefined;
  readonly versioningOverride: Uint8Array | undefined;
};

export type StartChildWorkflowExecutionFailedAttributes = {
  readonly namespace: string;
  readonly workflowId: string;
  readonly workflowType: WorkflowType | undefined;
  readonly cause: number;
  readonly control: string;
  readonly initiatedEventId: number;
  readonly workflowTaskCompletedEventId: number;
  readonly namespaceId: string;
};

export type ChildWorkflowExecutionStartedAttributes = {
  readonly namespace: string;
  readonly initiatedEventId: number;
  readonly workflowExecution: WorkflowExecution | undefined;
  readonly workflowType: WorkflowType | undefined;
  readonly header: Uint8Array | undefined;
  readonly namespaceId: string;
};

export type ChildWorkflowExecutionCompletedAttributes = {
  readonly result: Uint8Array | undefined;
  readonly namespace: string;
  readonly workflowExecution: WorkflowExecution | undefined;
  readonly workflowType: WorkflowType | undefined;
  readonly initiatedEventId: number;
  readonly startedEventId: number;
  readonly namespaceId: string;
};

export type ChildWorkflowExecutionFailedAttributes = {
  readonly failure: Uint8Array | undefined;
  readonly namespace: string;
  readonly workflowExecution: WorkflowExecution | undefined;
  readonly workflowType: WorkflowType | undefined;
  readonly initiatedEventId: number;
  readonly startedEventId: number;
  readonly retryState: number;
  readonly namespaceId: string;
};

export type ChildWorkflowExecutionCanceledAttributes = {
  readonly details: Uint8Array | undefined;
  readonly namespace: string;
  readonly workflowExecution: WorkflowExecution | undefined;
  readonly workflowType: WorkflowType | undefined;
  readonly initiatedEventId: number;
  readonly startedEventId: number;
  readonly namespaceId: string;
};

export type ChildWorkflowExecutionTimedOutAttributes = {
  readonly namespace: string;
  readonly workflowExecution: WorkflowExecution | undefined;
  readonly workflowType: WorkflowType | undefined;
  readonly initiatedEventId: number;
  readonly startedEventId: number;
  readonly retryState: number;
  readonly namespaceId: string;
};

export type ChildWorkflowExecutionTerminatedAttributes = {
  readonly namespace: string;
  readonly workflowExecution: WorkflowExecution | undefined;
  readonly workflowType: WorkflowType | undefined;
  readonly initiatedEventId: number;
  readonly startedEventId: number;
  readonly namespaceId: string;
};

export type WorkflowExecutionOptionsUpdatedAttributes = {
  readonly versioningOverride: Uint8Array | undefined;
  readonly unsetVersioningOverride: boolean;
  readonly attachedRequestId: string;
  readonly attachedCompletionCallbacks: readonly Uint8Array[];
  readonly identity: string;
  readonly priority: Uint8Array | undefined;
  readonly timeSkippingConfig: Uint8Array | undefined;
  readonly workflowUpdateOptions: readonly Uint8Array[];
  readonly timeSkippingConfigUpdated: boolean;
};
