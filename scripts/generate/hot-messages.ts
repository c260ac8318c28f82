/**
 * The hot messages: those messages of the public API that our own codecs read and write. Everything else about them (names, types,
 * oneofs) comes from the public API's descriptors; this list is all that we decide.
 *
 *   module of src/wire/generated/lean  ->  package  ->  message: the field numbers that somebody has decided about
 *
 * A field whose type is no hot message stands as that message's encoded bytes, and passes through untouched. So with a field that
 * the public API gains there is something to decide: read it, refuse it, or pass it on. That is why the numbers stand here: when the
 * two differ, nothing is generated and the difference is said. Readers skip what is not listed, as every reader of protobuf does.
 */
import type { CoreEnums } from './emit-core-enums.ts';

/** `leftOut`: of messages that are written and never read, so nothing is lost. */
export type FieldNumbers = string | { readonly written: string; readonly leftOut: string };

export type LeanModules = {
  readonly [module: string]: { readonly [packageName: string]: { readonly [message: string]: FieldNumbers } };
};

export const leanModules: LeanModules = {
  activity_options: {
    'temporal.api.activity.v1': {
      ActivityOptions: { written: '1-7', leftOut: '8' },
    },
  },
  callback: {
    'temporal.api.common.v1': {
      Callback: { written: '2 100', leftOut: '3' },
      'Callback.Nexus': '1-2',
    },
    'temporal.api.workflow.v1': {
      CallbackInfo: '1-9',
      'CallbackInfo.Trigger': { written: '1', leftOut: '2' },
      'CallbackInfo.WorkflowClosed': '',
    },
  },
  command: {
    'temporal.api.command.v1': {
      ScheduleActivityTaskCommandAttributes: '1-2 4-14',
      RequestCancelActivityTaskCommandAttributes: '1',
      StartTimerCommandAttributes: '1-2',
      CompleteWorkflowExecutionCommandAttributes: '1',
      FailWorkflowExecutionCommandAttributes: '1',
      CancelTimerCommandAttributes: '1',
      CancelWorkflowExecutionCommandAttributes: '1',
      RequestCancelExternalWorkflowExecutionCommandAttributes: '1-6',
      SignalExternalWorkflowExecutionCommandAttributes: '1-7',
      UpsertWorkflowSearchAttributesCommandAttributes: '1',
      ModifyWorkflowPropertiesCommandAttributes: '1',
      RecordMarkerCommandAttributes: '1-4',
      ContinueAsNewWorkflowExecutionCommandAttributes: '1-16',
      StartChildWorkflowExecutionCommandAttributes: '1-19',
      ProtocolMessageCommandAttributes: '1',
      Command: '1-15 17-19 301-302',
    },
  },
  common: {
    'temporal.api.common.v1': {
      WorkflowExecution: '1-2',
      WorkflowType: '1',
      ActivityType: '1',
      RetryPolicy: '1-5',
      Payloads: '1',
      Payload: '1-3',
      Memo: '1',
      Header: '1',
      SearchAttributes: '1',
      Priority: '1-3',
      DataBlob: '1-2',
    },
    'temporal.api.taskqueue.v1': {
      TaskQueue: '1-3',
    },
  },
  error_details: {
    'temporal.api.errordetails.v1': {
      NotFoundFailure: '1-2',
      WorkflowExecutionAlreadyStartedFailure: '1-3',
      NamespaceNotActiveFailure: '1-3',
      NamespaceUnavailableFailure: '1',
      NamespaceInvalidStateFailure: '1-3',
      NamespaceNotFoundFailure: '1',
      NamespaceAlreadyExistsFailure: '',
      ClientVersionNotSupportedFailure: '1-3',
      ServerVersionNotSupportedFailure: '1-2',
      CancellationAlreadyRequestedFailure: '',
      QueryFailedFailure: '1',
      PermissionDeniedFailure: '1',
      ResourceExhaustedFailure: '1-2',
      SystemWorkflowFailure: '1-2',
      WorkflowNotReadyFailure: '',
      NewerBuildExistsFailure: '1',
      MultiOperationExecutionFailure: '1',
      'MultiOperationExecutionFailure.OperationStatus': '1-3',
      ActivityExecutionAlreadyStartedFailure: '1-2',
      NexusOperationExecutionAlreadyStartedFailure: '1-2',
      WorkflowTaskCompletionBufferLostFailure: '',
    },
    'google.rpc': {
      Status: '1-3',
    },
    'google.protobuf': {
      Any: '1-2',
    },
  },
  failure: {
    'temporal.api.failure.v1': {
      Failure: '1-14 20',
      ApplicationFailureInfo: '1-5',
      TimeoutFailureInfo: '1-2',
      CanceledFailureInfo: '1-2',
      TerminatedFailureInfo: '1',
      ServerFailureInfo: '1',
      ResetWorkflowFailureInfo: '1',
      MultiOperationExecutionAborted: '',
    },
  },
  health: {
    'grpc.health.v1': {
      HealthCheckRequest: '1',
      HealthCheckResponse: '1',
    },
  },
  history: {
    'temporal.api.history.v1': {
      HistoryEvent: '1-65 300-304',
      History: '1',
      WorkflowExecutionStartedEventAttributes: '1-35 37-41 43',
      WorkflowExecutionCompletedEventAttributes: '1-3',
      WorkflowExecutionFailedEventAttributes: '1-4',
      WorkflowExecutionTimedOutEventAttributes: '1-2',
      WorkflowExecutionContinuedAsNewEventAttributes: '1-16',
      WorkflowTaskScheduledEventAttributes: '1-3',
      WorkflowTaskStartedEventAttributes: '1-9',
      WorkflowTaskCompletedEventAttributes: '1-11 13',
      WorkflowTaskTimedOutEventAttributes: '1-3',
      WorkflowTaskFailedEventAttributes: '1-10',
      ActivityTaskScheduledEventAttributes: '1-2 4-14',
      ActivityTaskStartedEventAttributes: '1-7',
      ActivityTaskCompletedEventAttributes: '1-5',
      ActivityTaskFailedEventAttributes: '1-6',
      ActivityTaskTimedOutEventAttributes: '1-4',
      ActivityTaskCancelRequestedEventAttributes: '1-2',
      ActivityTaskCanceledEventAttributes: '1-6',
      TimerStartedEventAttributes: '1-3',
      TimerFiredEventAttributes: '1-2',
      TimerCanceledEventAttributes: '1-4',
      WorkflowExecutionCancelRequestedEventAttributes: '1-4',
      WorkflowExecutionCanceledEventAttributes: '1-2',
      MarkerRecordedEventAttributes: '1-5',
      WorkflowExecutionSignaledEventAttributes: '1-7',
      WorkflowExecutionTerminatedEventAttributes: '1-3',
      RequestCancelExternalWorkflowExecutionInitiatedEventAttributes: '1-7',
      RequestCancelExternalWorkflowExecutionFailedEventAttributes: '1-7',
      ExternalWorkflowExecutionCancelRequestedEventAttributes: '1-4',
      SignalExternalWorkflowExecutionInitiatedEventAttributes: '1-9',
      SignalExternalWorkflowExecutionFailedEventAttributes: '1-7',
      ExternalWorkflowExecutionSignaledEventAttributes: '1-5',
      UpsertWorkflowSearchAttributesEventAttributes: '1-2',
      WorkflowPropertiesModifiedEventAttributes: '1-2',
      StartChildWorkflowExecutionInitiatedEventAttributes: '1-21 23-24',
      StartChildWorkflowExecutionFailedEventAttributes: '1-8',
      ChildWorkflowExecutionStartedEventAttributes: '1-6',
      ChildWorkflowExecutionCompletedEventAttributes: '1-7',
      ChildWorkflowExecutionFailedEventAttributes: '1-8',
      ChildWorkflowExecutionCanceledEventAttributes: '1-7',
      ChildWorkflowExecutionTimedOutEventAttributes: '1-7',
      ChildWorkflowExecutionTerminatedEventAttributes: '1-6',
      WorkflowExecutionOptionsUpdatedEventAttributes: '1-9',
    },
  },
  link: {
    'temporal.api.common.v1': {
      Link: { written: '1', leftOut: '2-5' },
      'Link.WorkflowEvent': '1-3 100-101',
      'Link.WorkflowEvent.EventReference': '1-2',
      'Link.WorkflowEvent.RequestIdReference': '1-2',
    },
  },
  namespace_service: {
    'temporal.api.workflowservice.v1': {
      GetSystemInfoRequest: '',
      GetSystemInfoResponse: '1-2',
      'GetSystemInfoResponse.Capabilities': '1-13',
      GetClusterInfoRequest: '',
      GetClusterInfoResponse: '1-10',
      DescribeNamespaceRequest: '1-3',
      DescribeNamespaceResponse: '1-8',
      ListNamespacesRequest: '1-3',
      ListNamespacesResponse: '1-2',
      RegisterNamespaceRequest: '1-13',
      RegisterNamespaceResponse: '',
      UpdateNamespaceRequest: '1-7',
      UpdateNamespaceResponse: '1-5',
      DeprecateNamespaceRequest: '1-2',
      DeprecateNamespaceResponse: '',
    },
    'temporal.api.namespace.v1': {
      NamespaceInfo: '1-8 100',
      'NamespaceInfo.Capabilities': '1-17',
      'NamespaceInfo.Limits': '1-3',
      NamespaceConfig: '1-7',
      UpdateNamespaceInfo: '1-4',
      NamespaceFilter: '1',
    },
    'temporal.api.replication.v1': {
      NamespaceReplicationConfig: '1-3',
      ClusterReplicationConfig: '1',
    },
  },
  operator_service: {
    'temporal.api.operatorservice.v1': {
      AddSearchAttributesRequest: '1-2',
      AddSearchAttributesResponse: '',
      RemoveSearchAttributesRequest: '1-2',
      RemoveSearchAttributesResponse: '',
      ListSearchAttributesRequest: '1',
      ListSearchAttributesResponse: '1-3',
      DeleteNamespaceRequest: '1-3',
      DeleteNamespaceResponse: '1',
    },
  },
  taskqueue: {
    'temporal.api.taskqueue.v1': {
      StickyExecutionAttributes: '1-2',
      TaskQueueMetadata: '1',
      TaskQueueStatus: '1-5',
      TaskIdBlock: '1-2',
      TaskQueueStats: '1-5',
      PollerInfo: '1-5',
      PollerScalingDecision: '1',
    },
    'temporal.api.query.v1': {
      WorkflowQuery: '1-3',
      WorkflowQueryResult: '1-4',
      QueryRejected: '1',
    },
    'google.protobuf': {
      DoubleValue: '1',
    },
  },
  visibility_service: {
    'temporal.api.workflowservice.v1': {
      ListWorkflowExecutionsRequest: '1-4',
      ListWorkflowExecutionsResponse: '1-2',
      ScanWorkflowExecutionsRequest: '1-4',
      ScanWorkflowExecutionsResponse: '1-2',
      ListOpenWorkflowExecutionsRequest: '1-6',
      ListOpenWorkflowExecutionsResponse: '1-2',
      ListClosedWorkflowExecutionsRequest: '1-7',
      ListClosedWorkflowExecutionsResponse: '1-2',
      ListArchivedWorkflowExecutionsRequest: '1-4',
      ListArchivedWorkflowExecutionsResponse: '1-2',
      CountWorkflowExecutionsRequest: '1-2',
      CountWorkflowExecutionsResponse: '1-2',
      'CountWorkflowExecutionsResponse.AggregationGroup': '1-2',
      GetSearchAttributesRequest: '',
      GetSearchAttributesResponse: '1',
    },
    'temporal.api.filter.v1': {
      StartTimeFilter: '1-2',
      WorkflowExecutionFilter: '1-2',
      WorkflowTypeFilter: '1',
      StatusFilter: '1',
    },
  },
  workflow: {
    'temporal.api.workflow.v1': {
      WorkflowExecutionInfo: '1-26',
      WorkflowExecutionExtendedInfo: '1-9',
      WorkflowExecutionConfig: '1-5',
      PendingActivityInfo: '1-25',
      PendingChildExecutionInfo: '1-5',
      PendingWorkflowTaskInfo: '1-5',
      OnConflictOptions: '1-3',
      RequestIdInfo: '1-3',
    },
  },
  workflow_service: {
    'temporal.api.workflowservice.v1': {
      StartWorkflowExecutionRequest: '1-29',
      StartWorkflowExecutionResponse: '1-6',
      SignalWithStartWorkflowExecutionRequest: '1-20 22-27',
      SignalWithStartWorkflowExecutionResponse: '1-4',
      SignalWorkflowExecutionRequest: '1-8 10',
      SignalWorkflowExecutionResponse: '1',
      RequestCancelWorkflowExecutionRequest: '1-7',
      RequestCancelWorkflowExecutionResponse: '',
      TerminateWorkflowExecutionRequest: '1-7',
      TerminateWorkflowExecutionResponse: '',
      DeleteWorkflowExecutionRequest: '1-2',
      DeleteWorkflowExecutionResponse: '',
      PollWorkflowTaskQueueRequest: '1-6 8-10',
      PollWorkflowTaskQueueResponse: '1-19',
      RespondWorkflowTaskCompletedRequest: '1-22',
      'RespondWorkflowTaskCompletedRequest.Capabilities': '1',
      RespondWorkflowTaskCompletedResponse: '1-3',
      RespondWorkflowTaskFailedRequest: '1-11',
      RespondWorkflowTaskFailedResponse: '',
      PollActivityTaskQueueRequest: '1-6 8-10',
      PollActivityTaskQueueResponse: '1-22',
      RespondActivityTaskCompletedRequest: '1-8',
      RespondActivityTaskCompletedResponse: '',
      RespondActivityTaskFailedRequest: '1-9',
      RespondActivityTaskFailedResponse: '1',
      RespondActivityTaskCanceledRequest: '1-8',
      RespondActivityTaskCanceledResponse: '',
      RespondActivityTaskCompletedByIdRequest: '1-7',
      RespondActivityTaskCompletedByIdResponse: '',
      RespondActivityTaskFailedByIdRequest: '1-8',
      RespondActivityTaskFailedByIdResponse: '1',
      RespondActivityTaskCanceledByIdRequest: '1-8',
      RespondActivityTaskCanceledByIdResponse: '',
      RecordActivityTaskHeartbeatRequest: '1-5',
      RecordActivityTaskHeartbeatResponse: '1-3',
      RecordActivityTaskHeartbeatByIdRequest: '1-7',
      RecordActivityTaskHeartbeatByIdResponse: '1-3',
      QueryWorkflowRequest: '1-4',
      QueryWorkflowResponse: '1-3',
      RespondQueryTaskCompletedRequest: '1-4 6-9',
      RespondQueryTaskCompletedResponse: '',
      GetWorkflowExecutionHistoryRequest: '1-7',
      GetWorkflowExecutionHistoryResponse: '1-4',
      GetWorkflowExecutionHistoryReverseRequest: '1-4',
      GetWorkflowExecutionHistoryReverseResponse: '1 3',
      DescribeWorkflowExecutionRequest: '1-2',
      DescribeWorkflowExecutionResponse: '1-8',
      ResetStickyTaskQueueRequest: '1-2',
      ResetStickyTaskQueueResponse: '',
      ShutdownWorkerRequest: '1-8',
      ShutdownWorkerResponse: '',
      DescribeTaskQueueRequest: '1-11',
      DescribeTaskQueueResponse: '1-8',
    },
  },
};

/**
 * Hot, and yet bytes wherever they stand in another message: payloads and what carries them are passed on as they came. Their forms are
 * for the few places that look inside, or that write one (attribute types, merging a memo, failures that the server makes itself).
 */
export const passedOn: readonly string[] = [
  'temporal.api.activity.v1.ActivityOptions',
  'temporal.api.common.v1.Callback',
  'temporal.api.common.v1.DataBlob',
  'temporal.api.common.v1.Header',
  'temporal.api.common.v1.Link',
  'temporal.api.common.v1.Memo',
  'temporal.api.common.v1.Payload',
  'temporal.api.common.v1.Payloads',
  'temporal.api.common.v1.Priority',
  'temporal.api.common.v1.SearchAttributes',
  'temporal.api.failure.v1.Failure',
  'temporal.api.history.v1.HistoryEvent',
  'temporal.api.workflow.v1.CallbackInfo',
];

/** Enumerations that decisions know, by the core's names for them (src/history/generated/enums.ts). */
export const coreEnums: CoreEnums = {
  status: ['WorkflowExecutionStatus'],
  timeoutType: ['TimeoutType'],
  retryState: ['RetryState'],
  idReusePolicy: ['WorkflowIdReusePolicy'],
  idConflictPolicy: ['WorkflowIdConflictPolicy'],
  callbackState: ['CallbackState'],
  parentClosePolicy: ['ParentClosePolicy'],
  queryRejectCondition: ['QueryRejectCondition'],
  taskQueueKind: ['TaskQueueKind'],
  continueAsNewInitiator: ['ContinueAsNewInitiator'],
  suggestContinueAsNewReason: ['SuggestContinueAsNewReason'],
  startChildFailedCause: ['StartChildWorkflowExecutionFailedCause'],
  externalFailedCause: ['CancelExternalWorkflowExecutionFailedCause', 'SignalExternalWorkflowExecutionFailedCause'],
  workflowTaskFailedCause: ['WorkflowTaskFailedCause'],
};

/** Durations and points in time of which none is not the same as nothing; all others are 0 when they are not there. */
export const timesWithPresence: readonly string[] = [
  'temporal.api.filter.v1.StartTimeFilter.earliest_time',
  'temporal.api.filter.v1.StartTimeFilter.latest_time',
  'temporal.api.failure.v1.ApplicationFailureInfo.next_retry_delay',
  'temporal.api.namespace.v1.NamespaceConfig.workflow_execution_retention_ttl',
  'temporal.api.workflowservice.v1.PollActivityTaskQueueResponse.heartbeat_timeout',
  'temporal.api.workflowservice.v1.PollActivityTaskQueueResponse.schedule_to_close_timeout',
  'temporal.api.workflowservice.v1.PollActivityTaskQueueResponse.start_to_close_timeout',
];

/**
 * What the edge checks before it passes it on, by the name that errors give it. Kinds with several messages need one shape for all of
 * them; the generator refuses them otherwise.
 */
export const opaqueKinds: { readonly [kind: string]: readonly string[] } = {
  payloads: ['temporal.api.common.v1.Payloads'],
  fields: ['temporal.api.common.v1.Memo', 'temporal.api.common.v1.Header', 'temporal.api.common.v1.SearchAttributes'],
  userMetadata: ['temporal.api.sdk.v1.UserMetadata'],
  priority: ['temporal.api.common.v1.Priority'],
  meteringMetadata: ['temporal.api.common.v1.MeteringMetadata'],
  sdkMetadata: ['temporal.api.sdk.v1.WorkflowTaskCompletedMetadata'],
  workerVersionStamp: ['temporal.api.common.v1.WorkerVersionStamp'],
  workerVersionCapabilities: ['temporal.api.common.v1.WorkerVersionCapabilities'],
  deploymentOptions: ['temporal.api.deployment.v1.WorkerDeploymentOptions'],
  link: ['temporal.api.common.v1.Link'],
  callback: ['temporal.api.common.v1.Callback'],
  eventGroupMarker: ['temporal.api.sdk.v1.EventGroupMarker'],
  failure: ['temporal.api.failure.v1.Failure'],
};
