/** What docs/differences.md explains of operations on activities, of resets, schedules, batch jobs, namespaces and task queues. */
import type { Known } from './known-differences.ts';

const longIdentities = 'Identities; reasons and ids';
const mistake = 'A schedule that could never act';

const askedAgain = 'Pause, unpause, reset and new options of an activity or a workflow, asked once more';

const ofOptions: readonly Known[] = [
  {
    row: askedAgain,
    what: /^(P|Unp)auseWorkflowExecution$/,
    ours: /^OK /,
    theirs: /^FAILED_PRECONDITION workflow is (already|not) paused/,
    before: /"(P|Unp)auseWorkflowExecution"/,
    ends: true,
  },
  {
    row: askedAgain,
    path: /status$|pauseInfo|TemporalPauseInfo$|history\.events$/,
    before: /"PauseWorkflowExecution".*"UnpauseWorkflowExecution".*"PauseWorkflowExecution"/s,
    ends: true,
  },
  {
    row: 'UpdateWorkflowExecutionOptions with the mask `priority`',
    path: /workflowExecutionInfo\.priority$/,
    ours: /^undefined$/,
    before: /"workflowExecutionOptions":\{\}/,
    ends: true,
  },
  {
    row: 'PauseWorkflowExecution of a workflow that has no workflow task yet',
    what: /^PauseWorkflowExecution$/,
    ours: /^OK /,
    theirs: /^INTERNAL something went wrong/,
    ends: true,
  },
];

const ofActivities: readonly Known[] = [
  {
    row: askedAgain,
    path: /pendingActivities\[\d\]\.(state|paused|pauseInfo)|TemporalPauseInfo$/,
    before: /"PauseActivity".*"UnpauseActivity".*"PauseActivity"/s,
    ends: true,
  },
  {
    row: 'An attempt that fails while its activity is paused, where no other can follow',
    path: /history\.events$|pendingActivities/,
    ours: /ACTIVITY_TASK_FAILED|^undefined$/,
    before: /"PauseActivity"/,
    ends: true,
  },
  {
    row: 'New options of an activity that waits for its next attempt',
    path: /pendingActivities\[\d\]\.currentRetryInterval(\.\w+)?$/,
    before: /"UpdateActivityOptions"|"updateActivityOptionsOperation"/,
    ends: true,
  },
  {
    row: 'Retry interval of an activity, and the end of its last attempt',
    path: /pendingActivities\[\d\]\.currentRetryInterval$/,
    theirs: /^\d{13}$/,
    ends: false,
  },
  {
    row: 'Retry interval of an activity, and the end of its last attempt',
    path: /pendingActivities\[\d\]\.lastAttemptCompleteTime$/,
    theirs: /^undefined$/,
    ends: false,
  },
  {
    row: '`restore_original` of UpdateActivityOptions',
    what: /^UpdateActivityOptions$/,
    path: /taskQueue\.kind$/,
    theirs: /^undefined$/,
    request: /"restoreOriginal":true/,
    ends: false,
  },
  {
    row: 'ResetActivity that restores the original options',
    path: /priority$/,
    ours: /^undefined$/,
    before: /restoreOriginalOptions/,
    ends: false,
  },
  {
    row: longIdentities,
    what: /Activity/,
    ours: /^INVALID_ARGUMENT ActivityType length exceeds limit/,
    theirs: /Can't find pending activity/,
    ends: true,
  },
  {
    row: 'A request with two mistakes',
    what: /^(UpdateActivityOptions|(Pause|Unpause|Reset)Activity)$/,
    ours: /^INVALID_ARGUMENT /,
    theirs: /^NOT_FOUND Can't find pending activity/,
    ends: true,
  },
  {
    row: '`activity_options.retry_policy` in a description',
    path: /retryPolicy\.nonRetryableErrorTypes$/,
    theirs: /^undefined$/,
    ends: false,
  },
  {
    row: 'Activity calls by id without a workflow id',
    what: /ById$/,
    ours: /^INVALID_ARGUMENT WorkflowId is not set on request/,
    theirs: /activity not found/,
    ends: true,
  },
  {
    row: 'An activity that is unpaused, or has new options',
    path: /pendingActivities\[\d\]\.lastFailure$/,
    theirs: /^undefined$/,
    before: /UnpauseActivity|UpdateActivityOptions|"unpauseActivitiesOperation"|"updateActivityOptionsOperation"/,
    ends: false,
  },
  {
    row: 'New timeouts of an activity that waits for a worker',
    what: /^pollActivity$/,
    path: /Timeout\.seconds$/,
    before: /"UpdateActivityOptions"|"updateActivityOptionsOperation"/,
    ends: false,
  },
  {
    row: '`TemporalPauseInfo` once a paused activity has ended',
    what: /^DescribeWorkflowExecution$|^final describe$/,
    path: /TemporalPauseInfo$/,
    ours: /^undefined$/,
    before: /"PauseActivity"/,
    ends: false,
  },
];

const ofResets: readonly Known[] = [
  {
    row: 'Close policy of a child that a run has from before its reset',
    path: /history\.events$/,
    ours: /_EXECUTION_(CANCEL_REQUESTED|TERMINATED)"/,
    before: /startChildWorkflowExecutionCommandAttributes.*"ResetWorkflowExecution"/s,
    ends: true,
  },
  {
    row: 'Reset to an event after which no workflow task had begun',
    what: /^ResetWorkflowExecution$/,
    ours: /^INVALID_ARGUMENT Can only reset workflow to event ID in range/,
    theirs: /^INVALID_ARGUMENT StateRebuilder unable to/,
    ends: true,
  },
  {
    row: 'Reset to an event after which a later attempt',
    what: /^ResetWorkflowExecution$/,
    ours: /^OK /,
    theirs: /^INVALID_ARGUMENT StateRebuilder unable to Rebuild .* must be at the boundary/,
    ends: true,
  },
];

const ofSchedules: readonly Known[] = [
  {
    row: 'An interval of a schedule of more than 10,000 years',
    what: /^(Create|Update)Schedule$/,
    ours: /^OK /,
    theirs: /exceeds \+10000 years/,
    ends: true,
  },
  {
    row: 'A schedule that is not there',
    what: /Schedule/,
    ours: /^NOT_FOUND schedule not found/,
    theirs: /^NOT_FOUND workflow not found for ID: temporal-sys-scheduler/,
    ends: false,
  },
  {
    row: 'Without a schedule id',
    ours: /^INVALID_ARGUMENT (ScheduleId|WorkflowId|Execution) is not set on request/,
    theirs: /WorkflowId not set/,
    ends: false,
  },
  {
    row: mistake,
    what: /^(Create|Update)Schedule$/,
    ours: /^INVALID_ARGUMENT (Only StartWorkflow action is supported|WorkflowId is not set)/,
    theirs: /^OK /,
    ends: true,
  },
  { row: 'UpdateSchedule with a conflict token', what: /^UpdateSchedule$/, ours: /^FAILED_PRECONDITION/, theirs: /^OK /, ends: true },
  {
    row: 'A backfill without its times',
    what: /^PatchSchedule$/,
    ours: /^INVALID_ARGUMENT/,
    theirs: /^OK /,
    request: /backfill/,
    ends: true,
  },
  { row: 'Notes of a schedule', path: /schedule\.state\.notes$/, before: /"notes":"x{1001}/, ends: false },
  {
    row: 'A backfill of more than ten times',
    what: /^DescribeSchedule$/,
    path: /info\.(overlapSkipped|bufferDropped|actionCount|bufferSize|recentActions)$/,
    before: /"backfillRequest"/,
    ends: true,
  },
  {
    row: '`keep_original_workflow_id` of a schedule',
    path: /workflowId$/,
    ours: /^"N-w3"$/,
    before: /"keepOriginalWorkflowId":true/,
    ends: true,
  },
];

const ofBatches: readonly Known[] = [
  {
    row: 'StartBatchOperation with a query that names an unknown search attribute',
    what: /^StartBatchOperation$/,
    ours: /^INVALID_ARGUMENT invalid visibility query/,
    theirs: /^(OK |ALREADY_EXISTS )/,
    ends: true,
  },
  {
    row: 'A batch job as a workflow',
    what: /^StartBatchOperation$/,
    path: /^details\[0\]\.startRequestId$/,
    ours: /^undefined$/,
    ends: false,
  },
  {
    row: 'A batch job that resets to the first or last workflow task',
    what: /^DescribeBatchOperation$/,
    path: /OperationCount$/,
    before: /resetOperation/,
    ends: true,
  },
  {
    row: 'DeleteWorkflowExecution',
    what: /^DescribeWorkflowExecution$/,
    ours: /^NOT_FOUND/,
    theirs: /^OK .*STATUS_TERMINATED/,
    before: /deletionOperation/,
    ends: true,
  },
  {
    row: 'The details that a batch job terminates',
    path: /TerminatedEventAttributes\.(details|identity)$/,
    before: /terminationOperation/,
    ends: false,
  },
  {
    row: 'Who requests a cancellation',
    path: /CancelRequestedEventAttributes(\.identity)?$/,
    theirs: /@/,
    before: /cancellationOperation/,
    ends: false,
  },
  {
    row: 'The position in a syntax error',
    ours: /syntax error at position/,
    theirs: /syntax error at position/,
    request: /ünï|"visibilityQuery":"[^"]* "/,
    ends: true,
  },
  {
    row: longIdentities,
    what: /Schedule/,
    ours: /^INVALID_ARGUMENT WorkflowId exceeds maximum allowed length/,
    theirs: /^NOT_FOUND workflow not found for ID: temporal-sys-scheduler/,
    ends: true,
  },
  { row: longIdentities, what: /BatchOperation$/, ours: /^INVALID_ARGUMENT (Reason|JobId) length exceeds limit/, ends: true },
];

const ofNamespaces: readonly Known[] = [
  {
    row: 'Aliases of custom search attributes',
    what: /^(Describe|Update)Namespace$/,
    path: /customSearchAttributeAliases$/,
    ours: /^undefined$/,
    ends: false,
  },
  {
    row: 'Replication state of `default`',
    what: /^DescribeNamespace$/,
    path: /replicationConfig\.state$/,
    theirs: /^undefined$/,
    request: /"namespace":"default"/,
    ends: false,
  },
  {
    row: 'Capabilities in GetSystemInfo',
    what: /Namespace$/,
    path: /limits\.workflowTaskCompletionSizeLimitError$/,
    ours: /^undefined$/,
    ends: false,
  },
  {
    row: 'Retention of `default`',
    what: /^DescribeNamespace$/,
    path: /workflowExecutionRetentionTtl\.seconds$/,
    ours: /^259200$/,
    theirs: /^86400$/,
    request: /"namespace":"default"/,
    ends: false,
  },
  {
    row: 'A request with two mistakes',
    what: /^(Update|Describe)Namespace$/,
    ours: /^INVALID_ARGUMENT (A valid retention period is not set|GetNamespace operation failed)/,
    theirs: /^INVALID_ARGUMENT (Invalid namespace state update|Namespace length exceeds limit)/,
    ends: true,
  },
  {
    row: '`bad_binaries`, `delete_bad_binary`',
    what: /^UpdateNamespace$/,
    ours: /^UNIMPLEMENTED (config\.bad_binaries|promote_namespace|delete_bad_binary)|Bad binary checksum/,
    ends: true,
  },
];

const ofTaskQueues: readonly Known[] = [
  {
    row: 'Pollers of a task queue that name no identity',
    what: /^DescribeTaskQueue$/,
    path: /pollers$/,
    theirs: /^undefined$/,
    ends: false,
  },
  {
    row: longIdentities,
    what: /^(RecordWorkerHeartbeat|ShutdownWorker)$/,
    ours: /^INVALID_ARGUMENT (WorkerInstanceKey|StickyTaskQueue|TaskQueue) length exceeds limit/,
    ends: true,
  },
  {
    row: 'Rate of a task queue without a limit',
    what: /^DescribeTaskQueue$/,
    path: /effectiveRateLimit\.requestsPerSecond$/,
    ours: /^\d{4,}$/,
    theirs: /^1000$/,
    ends: false,
  },
  {
    row: 'Rate of a task queue without a limit',
    what: /^DescribeTaskQueue$/,
    path: /effectiveRateLimit\.rateLimitSource$/,
    ours: /SOURCE_API/,
    theirs: /SOURCE_SYSTEM/,
    before: /"requestsPerSecond":\d{4}/,
    ends: false,
  },
  { row: longIdentities, what: /^UpdateTaskQueueConfig$/, ours: /^INVALID_ARGUMENT taskQueue length exceeds limit/, ends: true },
  {
    row: 'UpdateTaskQueueConfig without a task queue, or its type',
    what: /^UpdateTaskQueueConfig$/,
    ours: /^INVALID_ARGUMENT (Task queue type is not set|missing task queue name)/,
    theirs: /^OK /,
    ends: true,
  },
];

export const knownOperations: readonly Known[] = [
  ...ofOptions,
  ...ofActivities,
  ...ofResets,
  ...ofSchedules,
  ...ofBatches,
  ...ofNamespaces,
  ...ofTaskQueues,
];
