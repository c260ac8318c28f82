import * as enums from '../../wire/generated/lean/enums.ts';
import { durationMsMax } from '../../kernel/duration.ts';
import { invalidArgument } from '../errors/status-error.ts';

/**
 * Every number of every request that is built, and its bound. A test walks the messages: a number without a row fails it, and so does a
 * row whose answer is another one.
 *
 * What holds for all of a kind, and is therefore said once, is decided where numbers are read (`src/wire/reader.ts`):
 *
 *   duration   over 100 years          counts as 100 years, as in Temporal; so does what it is multiplied to
 *              signs of its parts      differ: INVALID_ARGUMENT `<field>: duration has seconds and nanos with different signs`
 *   int64      outside ±2^53           INVALID_ARGUMENT `<field> is outside ±2^53`
 *   list, map  elements                10,000; commands 51,200: RESOURCE_EXHAUSTED `grpc: received message larger than max (…)`
 *   messages   nested                  80 levels: INVALID_ARGUMENT; 50,000 in all, in a completion 512,000: RESOURCE_EXHAUSTED
 *
 * What nobody here looks at (payloads, headers, links, the inside of failures) stays bytes, with whatever numbers it holds.
 */
export type Bound = {
  /**
   * Who refuses: the edge with INVALID_ARGUMENT and just this text, or, in other words, with a text that holds this one; the core, which
   * fails the workflow task with a text that holds this one; nobody, because no value does harm.
   */
  readonly by: 'edge' | 'edge, in other words' | 'core' | 'nobody';
  /** Durations in milliseconds. Undefined = accepted. */
  readonly problem: (value: number) => string | undefined;
  readonly note?: string;
};

export const finishEventOutside = 'Workflow task finish ID must be > 1 && <= workflow last event ID.';

const startDelay = notNegative('edge', 'An invalid WorkflowStartDelaySeconds is set on request. cause: negative duration');
const executionTimeout = notNegative('edge', 'An invalid WorkflowExecutionTimeoutSeconds is set on request. cause: negative duration');
const runTimeout = notNegative('edge', 'An invalid WorkflowRunTimeoutSeconds is set on request. cause: negative duration');
const taskTimeout = notNegative('edge', 'An invalid WorkflowTaskTimeoutSeconds is set on request. cause: negative duration');
const queueType = known(enums.TaskQueueType, 'TaskQueueType');
const conflictPolicy = known(enums.WorkflowIdConflictPolicy, 'WorkflowIdConflictPolicy');
const overlapPolicy = known(enums.ScheduleOverlapPolicy, 'ScheduleOverlapPolicy');
const resetTypes = new Set<number>(Object.values(enums.ResetType));
const commandTypes = new Set<number>(Object.values(enums.CommandType).filter((type) => type !== enums.CommandType.UNSPECIFIED));
const executionStatuses = new Set<number>(Object.values(enums.WorkflowExecutionStatus));
const retention = unless('edge', (value) => value >= 60 * 60 * 1000, 'A valid retention period is not set on request.');
const pageSize = anything('0 or less: the default; too large: the largest');

export const bounds = {
  'StartWorkflowExecutionRequest.workflow_execution_timeout': executionTimeout,
  'StartWorkflowExecutionRequest.workflow_run_timeout': runTimeout,
  'StartWorkflowExecutionRequest.workflow_task_timeout': taskTimeout,
  'StartWorkflowExecutionRequest.workflow_start_delay': startDelay,
  'StartWorkflowExecutionRequest.workflow_id_reuse_policy': known(enums.WorkflowIdReusePolicy, 'WorkflowIdReusePolicy'),
  'StartWorkflowExecutionRequest.workflow_id_conflict_policy': conflictPolicy,
  'SignalWithStartWorkflowExecutionRequest.workflow_execution_timeout': executionTimeout,
  'SignalWithStartWorkflowExecutionRequest.workflow_run_timeout': runTimeout,
  'SignalWithStartWorkflowExecutionRequest.workflow_task_timeout': taskTimeout,
  'SignalWithStartWorkflowExecutionRequest.workflow_start_delay': startDelay,
  'SignalWithStartWorkflowExecutionRequest.workflow_id_reuse_policy': known(enums.WorkflowIdReusePolicy, 'WorkflowIdReusePolicy'),
  'SignalWithStartWorkflowExecutionRequest.workflow_id_conflict_policy': {
    by: 'edge',
    problem: (value) =>
      value === enums.WorkflowIdConflictPolicy.FAIL
        ? 'Invalid WorkflowIDConflictPolicy: WORKFLOW_ID_CONFLICT_POLICY_FAIL is not supported for this operation.'
        : conflictPolicy.problem(value),
  },
  'Message.event_id': anything('the order of messages is that of the commands that place them'),
  'Message.command_index': anything('the order of messages is that of the commands that place them'),
  // Inside the body of a message, which is an Any.
  'Acceptance.accepted_request_sequencing_event_id': {
    ...unless('core', (value) => value !== 0, 'accepted_request_sequencing_event_id is not set'),
    note: 'recorded as it came',
  },
  'Rejection.rejected_request_sequencing_event_id': anything('nobody looks at it'),
  'WaitPolicy.lifecycle_stage': known(enums.UpdateWorkflowExecutionLifecycleStage, 'UpdateWorkflowExecutionLifecycleStage'),
  'StartBatchOperationRequest.max_operations_per_second': anything("0 or less, NaN, or more than the server's: the server's"),
  'Execution.type': {
    by: 'edge, in other words',
    problem: (value) => (value === enums.ExecutionType.WORKFLOW ? undefined : `has type ${executionTypeName(value)}`),
    note: 'the text names which one it is, and the operation',
  },
  'BatchOperationReset.reset_type': {
    by: 'edge',
    problem: (value) => {
      if (value === enums.ResetType.UNSPECIFIED) return 'unknown batch reset type Unspecified';
      return resetTypes.has(value) ? undefined : `unknown batch reset type ${value}`;
    },
  },
  'BatchOperationReset.reset_reapply_type': known(enums.ResetReapplyType, 'ResetReapplyType'),
  'ResetOptions.workflow_task_id': anything('a workflow that has no workflow task that ends there: its operation fails'),
  'ResetOptions.reset_reapply_type': known(enums.ResetReapplyType, 'ResetReapplyType'),
  'ResetOptions.reset_reapply_exclude_types': known(enums.ResetReapplyExcludeType, 'ResetReapplyExcludeType'),
  'BatchOperationUnpauseActivities.jitter': notNegative('edge', 'invalid Jitter: negative duration'),
  'BatchOperationResetActivities.jitter': notNegative('edge', 'invalid Jitter: negative duration'),
  'ListBatchOperationsRequest.page_size': pageSize,
  'ListClustersRequest.page_size': anything('there is one cluster'),
  'SchedulePolicies.overlap_policy': overlapPolicy,
  'SchedulePolicies.catchup_window': anything('less than 10 s: 10 s; not there: a year'),
  'ScheduleState.remaining_actions': notNegative('edge', 'RemainingActions cannot be negative.'),
  'TriggerImmediatelyRequest.overlap_policy': overlapPolicy,
  'TriggerImmediatelyRequest.scheduled_time': calendarDate('TriggerImmediatelyRequest.scheduled_time'),
  'BackfillRequest.overlap_policy': overlapPolicy,
  'BackfillRequest.start_time': calendarDate('BackfillRequest.start_time'),
  'BackfillRequest.end_time': calendarDate('BackfillRequest.end_time'),
  'ListScheduleMatchingTimesRequest.start_time': calendarDate('ListScheduleMatchingTimesRequest.start_time'),
  'ListScheduleMatchingTimesRequest.end_time': calendarDate('ListScheduleMatchingTimesRequest.end_time'),
  'ListSchedulesRequest.maximum_page_size': pageSize,
  // The spec of a schedule is judged as a whole (src/schedules/spec).
  'Range.start': rangeOf('Start is not in range [0-59]', (value) => value >= 0 && value <= 59),
  'Range.end': rangeOf('End is before Start or not in range [0-59]', (value) => value >= 0 && value <= 59),
  'Range.step': rangeOf('has invalid Step', (value) => value >= 0),
  'IntervalSpec.interval': unless('edge, in other words', (value) => value >= 1_000, 'interval is too small'),
  'IntervalSpec.phase': {
    by: 'edge, in other words',
    problem: (value) => {
      if (value < 0) return 'phase is negative';
      return value >= durationMsMax ? 'phase cannot be greater than Interval' : undefined;
    },
    note: 'it must be less than its interval',
  },
  'ScheduleSpec.start_time': anything('nothing is due after the year 2100'),
  'ScheduleSpec.end_time': anything('nothing is due before 1970'),
  'ScheduleSpec.jitter': anything('0 or less: none; it never reaches the next time'),
  'NewWorkflowExecutionInfo.workflow_execution_timeout': executionTimeout,
  'NewWorkflowExecutionInfo.workflow_run_timeout': runTimeout,
  'NewWorkflowExecutionInfo.workflow_task_timeout': taskTimeout,
  'NewWorkflowExecutionInfo.workflow_id_reuse_policy': within('edge', 1, 'Scheduled workflow must not contain WorkflowIDReusePolicy'),
  'TaskQueue.kind': known(enums.TaskQueueKind, 'task queue kind'),

  // Of activities, and of workflows that commands ask for; a start is refused by the edge, with the same texts. With one attempt nothing else of it
  // matters.
  'RetryPolicy.initial_interval': notNegative('core', 'invalid InitialInterval set on retry policy: negative duration'),
  'RetryPolicy.backoff_coefficient': {
    by: 'core',
    problem: (value) => (value >= 1 || value === 0 ? undefined : 'BackoffCoefficient cannot be less than 1 on retry policy.'),
    note: '0: the default; infinite: the maximum interval from the second retry on',
  },
  'RetryPolicy.maximum_interval': notNegative('core', 'invalid MaximumInterval set on retry policy: negative duration'),
  'RetryPolicy.maximum_attempts': notNegative('core', 'MaximumAttempts cannot be negative on retry policy.'),

  'Command.command_type': {
    by: 'edge',
    problem: (value) => (commandTypes.has(value) ? undefined : `unknown command type: ${value === 0 ? 'Unspecified' : value}`),
    note: 'those that are not built: UNIMPLEMENTED',
  },
  'ScheduleActivityTaskCommandAttributes.schedule_to_close_timeout': notNegative(
    'core',
    'invalid ScheduleToCloseTimeout: negative duration',
  ),
  'ScheduleActivityTaskCommandAttributes.schedule_to_start_timeout': notNegative(
    'core',
    'invalid ScheduleToStartTimeout: negative duration',
  ),
  'ScheduleActivityTaskCommandAttributes.start_to_close_timeout': notNegative('core', 'invalid StartToCloseTimeout: negative duration'),
  'ScheduleActivityTaskCommandAttributes.heartbeat_timeout': notNegative('core', 'invalid HeartbeatTimeout: negative duration'),
  'StartTimerCommandAttributes.start_to_fire_timeout': notNegative(
    'core',
    'An invalid StartToFireTimeout is set on StartTimerCommand: negative duration',
  ),
  'RequestCancelActivityTaskCommandAttributes.scheduled_event_id': {
    by: 'core',
    problem: (value) =>
      value > 0
        ? 'invalid history builder state for action: add-activitytask-cancel-requested-event'
        : 'ScheduledEventId is not set on RequestCancelActivityTaskCommand.',
    note: 'names an activity or is refused',
  },
  'ContinueAsNewWorkflowExecutionCommandAttributes.workflow_run_timeout': notNegative('core', 'Invalid WorkflowRunTimeout on'),
  'ContinueAsNewWorkflowExecutionCommandAttributes.workflow_task_timeout': notNegative('core', 'Invalid WorkflowTaskTimeout on'),
  'ContinueAsNewWorkflowExecutionCommandAttributes.backoff_start_interval': notNegative('core', 'Invalid BackoffStartInterval on'),
  'ContinueAsNewWorkflowExecutionCommandAttributes.initiator': within('core', 3, 'Invalid Initiator on'),
  'ContinueAsNewWorkflowExecutionCommandAttributes.initial_versioning_behavior': anything('worker versioning is not built'),
  'StartChildWorkflowExecutionCommandAttributes.workflow_execution_timeout': notNegative('core', 'Invalid WorkflowExecutionTimeout on'),
  'StartChildWorkflowExecutionCommandAttributes.workflow_run_timeout': notNegative('core', 'Invalid WorkflowRunTimeout on'),
  'StartChildWorkflowExecutionCommandAttributes.workflow_task_timeout': notNegative('core', 'Invalid WorkflowTaskTimeout on'),
  'StartChildWorkflowExecutionCommandAttributes.parent_close_policy': within('core', 3, 'Invalid ParentClosePolicy on'),
  'StartChildWorkflowExecutionCommandAttributes.workflow_id_reuse_policy': within('core', 4, 'Invalid WorkflowIdReusePolicy on'),

  // What operators make of an activity. Its retry policy and priority are bounded as a worker's are.
  'ActivityOptions.schedule_to_close_timeout': notNegative('edge', 'invalid ScheduleToCloseTimeout: negative duration'),
  'ActivityOptions.schedule_to_start_timeout': notNegative('edge', 'invalid ScheduleToStartTimeout: negative duration'),
  'ActivityOptions.start_to_close_timeout': notNegative('edge', 'invalid StartToCloseTimeout: negative duration'),
  'ActivityOptions.heartbeat_timeout': notNegative('edge', 'invalid HeartbeatTimeout: negative duration'),
  'ActivityOptions.start_delay': anything('no activity of a workflow has one: a mask that names it is refused'),
  'UnpauseActivityRequest.jitter': notNegative('edge', 'invalid Jitter: negative duration'),
  'ResetWorkflowExecutionRequest.workflow_task_finish_event_id': {
    by: 'edge',
    problem: (value) => (value > 1 ? undefined : finishEventOutside),
    note: 'one that the history does not have, or that ends no workflow task, is refused',
  },
  'ResetWorkflowExecutionRequest.reset_reapply_type': known(enums.ResetReapplyType, 'ResetReapplyType'),
  'ResetWorkflowExecutionRequest.reset_reapply_exclude_types': known(enums.ResetReapplyExcludeType, 'ResetReapplyExcludeType'),
  'ResetActivityRequest.jitter': notNegative('edge', 'invalid Jitter: negative duration'),
  'UnpauseActivityExecutionRequest.jitter': notNegative('edge', 'invalid Jitter: negative duration'),
  'ResetActivityExecutionRequest.jitter': notNegative('edge', 'invalid Jitter: negative duration'),

  'StickyExecutionAttributes.schedule_to_start_timeout': anything('0 or less: the default of the core, which also has a largest'),
  'WorkflowQueryResult.result_type': anything('all but ANSWERED count as FAILED'),
  'RespondWorkflowTaskCompletedRequest.versioning_behavior': unless(
    'edge',
    (value) => value === 0,
    'versioning behavior cannot be specified without deployment options being set with versioned mode',
  ),
  'RespondWorkflowTaskCompletedRequest.page_number': anything('all but 0: UNIMPLEMENTED'),
  'RespondWorkflowTaskFailedRequest.cause': anything('recorded as it came: newer workers know newer causes'),
  'RespondQueryTaskCompletedRequest.completed_type': unless(
    'edge',
    (value) => value === enums.QueryResultType.ANSWERED || value === enums.QueryResultType.FAILED,
    (value) => `unknown query completed type ${value}`,
  ),
  'RespondQueryTaskCompletedRequest.cause': anything('not recorded'),

  // Wraps PollActivityTaskQueueRequest.task_queue_metadata.max_tasks_per_second.
  'DoubleValue.value': {
    by: 'edge',
    problem: (value) => (value >= 0 ? undefined : `max_tasks_per_second must be a number of at least 0, got ${value}`),
    note: '0: no task leaves the queue; over 100,000, which is what a queue without a limit shows: 100,000',
  },
  'DescribeTaskQueueRequest.task_queue_type': known(enums.TaskQueueType, 'TaskQueueType'),
  'DescribeTaskQueueRequest.api_mode': anything(`all but ${enums.DescribeTaskQueueMode.ENHANCED}: the plain form, as in Temporal`),
  'DescribeTaskQueueRequest.task_queue_types': known(enums.TaskQueueType, 'TaskQueueType'),
  'UpdateTaskQueueConfigRequest.task_queue_type': {
    by: 'edge',
    problem: (value) => (value === enums.TaskQueueType.UNSPECIFIED ? 'Task queue type is not set.' : queueType.problem(value)),
  },
  'RateLimit.requests_per_second': {
    by: 'edge, in other words',
    problem: (value) => (value >= 0 ? undefined : 'must be non-negative.'),
    note: 'the text names the update as well; 0: no task leaves the queue, or none of any fairness key; over 100,000: 100,000',
  },
  'UpdateTaskQueueConfigRequest.set_fairness_weight_overrides': {
    by: 'edge, in other words',
    problem: (value) => (value > 0 ? undefined : 'must be greater than zero'),
    note: 'the text names the key as well; counts as 0.001 to 1,000',
  },
  'ShutdownWorkerRequest.task_queue_types': anything('unknown ones name no queue'),
  'ListWorkersRequest.page_size': anything('0 or less: as many as fit into an answer; too large: 1,000'),
  'WorkerHeartbeat.status': anything('unknown ones are listed by their number'),
  'WorkerHeartbeat.start_time': anything('as the worker says'),
  'WorkerHeartbeat.heartbeat_time': anything('as the worker says'),
  'WorkerHeartbeat.elapsed_since_last_heartbeat': anything('nobody counts with it'),
  'WorkerHeartbeat.total_sticky_cache_hit': anything('nobody counts with it'),
  'WorkerHeartbeat.total_sticky_cache_miss': anything('nobody counts with it'),
  'WorkerHeartbeat.current_sticky_cache_size': anything('nobody counts with it'),
  'WorkerHostInfo.current_host_cpu_usage': anything('nobody counts with it'),
  'WorkerHostInfo.current_host_mem_usage': anything('nobody counts with it'),
  'QueryWorkflowRequest.query_reject_condition': known(enums.QueryRejectCondition, 'QueryRejectCondition'),
  'GetWorkflowExecutionHistoryRequest.maximum_page_size': pageSize,
  'GetWorkflowExecutionHistoryRequest.history_event_filter_type': known(enums.HistoryEventFilterType, 'HistoryEventFilterType'),
  'GetWorkflowExecutionHistoryReverseRequest.maximum_page_size': pageSize,

  'ListWorkflowExecutionsRequest.page_size': pageSize,
  'ScanWorkflowExecutionsRequest.page_size': pageSize,
  'ListOpenWorkflowExecutionsRequest.maximum_page_size': pageSize,
  'ListClosedWorkflowExecutionsRequest.maximum_page_size': pageSize,
  'ListArchivedWorkflowExecutionsRequest.page_size': {
    by: 'edge',
    problem: (value) => (value > 10_000 ? 'PageSize is larger than allowed 10000.' : 'Cluster is not configured for visibility archival.'),
  },
  'StartTimeFilter.earliest_time': calendarDate('StartTimeFilter.earliest_time'),
  'StartTimeFilter.latest_time': calendarDate('StartTimeFilter.latest_time'),
  'StatusFilter.status': {
    by: 'edge',
    problem: (value) => {
      if (value === enums.WorkflowExecutionStatus.UNSPECIFIED || value === enums.WorkflowExecutionStatus.RUNNING)
        return 'StatusFilter must be specified and must be not Running.';
      return executionStatuses.has(value) ? undefined : `invalid query: invalid expression: invalid ExecutionStatus value '${value}'`;
    },
  },

  'ListNamespacesRequest.page_size': pageSize,
  'RegisterNamespaceRequest.workflow_execution_retention_period': retention,
  'RegisterNamespaceRequest.history_archival_state': known(enums.ArchivalState, 'ArchivalState'),
  'RegisterNamespaceRequest.visibility_archival_state': known(enums.ArchivalState, 'ArchivalState'),
  'UpdateNamespaceInfo.state': {
    ...within('edge', enums.NamespaceState.DELETED, 'Invalid namespace state update.'),
    note: '0: stays as it is',
  },
  'NamespaceConfig.workflow_execution_retention_ttl': retention,
  'NamespaceConfig.history_archival_state': known(enums.ArchivalState, 'ArchivalState'),
  'NamespaceConfig.visibility_archival_state': known(enums.ArchivalState, 'ArchivalState'),
  'NamespaceReplicationConfig.state': known(enums.ReplicationState, 'ReplicationState'),
  'DeleteNamespaceRequest.namespace_delete_delay': anything("0 or less: the server's; more than 100 years: 100 years"),
  'AddSearchAttributesRequest.search_attributes': unless(
    'edge',
    (value) => value >= enums.IndexedValueType.TEXT && value <= enums.IndexedValueType.KEYWORD_LIST,
    (value) => `Unknown search attribute type: ${value}.`,
  ),

  // Out of bytes that are otherwise passed on as they came.
  'ApplicationFailureInfo.next_retry_delay': anything('0 or less: the delay of the retry policy'),
  'ApplicationFailureInfo.category': anything('passed on'),
  'TimeoutFailureInfo.timeout_type': anything('unknown ones match no retry policy'),
  'Priority.priority_key': notNegative('edge', "priority key can't be negative"),
  'Priority.fairness_weight': {
    by: 'edge',
    problem: (value) => (value >= 0 ? undefined : 'must be greater than zero'),
    note: 'passed on; counts as 0.001 to 1,000',
  },
} as const satisfies Readonly<Record<string, Bound>>;

export function checkBound(field: keyof typeof bounds, value: number): void {
  const problem = bounds[field].problem(value);
  if (problem !== undefined) throw invalidArgument(problem);
}

/** The name of a type as Go prints it. */
function executionTypeName(type: number): string {
  if (type === enums.ExecutionType.ACTIVITY) return 'Activity';
  return type === enums.ExecutionType.UNSPECIFIED ? 'Unspecified' : String(type);
}

function unless(by: Bound['by'], isFine: (value: number) => boolean, text: string | ((value: number) => string)): Bound {
  return { by, problem: (value) => (isFine(value) ? undefined : typeof text === 'string' ? text : text(value)) };
}

function notNegative(by: 'edge' | 'core', text: string): Bound {
  return unless(by, (value) => !(value < 0), text);
}

/** The range of a calendar's seconds stands for those of its other fields, which are bounded alike. */
function rangeOf(text: string, isInside: (value: number) => boolean): Bound {
  return unless('edge, in other words', isInside, `Second ${text}`);
}

/** A time is in the years 1 to 9999, as protobuf says of timestamps. */
function calendarDate(field: string): Bound {
  const [firstMs, lastMs] = [Date.parse('0001-01-01T00:00:00Z'), Date.parse('9999-12-31T23:59:59.999Z')];
  return {
    by: 'edge',
    problem: (value) => (value >= firstMs && value <= lastMs ? undefined : `${field} is no date of the years 1 to 9999`),
    note: 'the first moment of the year 1: as if it were not there',
  };
}

function within(by: 'edge' | 'core', last: number, text: string): Bound {
  return unless(by, (value) => !(value < 0 || value > last), text);
}

/** `0` stands for the default everywhere. */
function known(values: Readonly<Record<string, number>>, name: string): Bound {
  const numbers = new Set(Object.values(values));
  return { by: 'edge', problem: (value) => (numbers.has(value) ? undefined : `unknown ${name} ${value}`) };
}

function anything(note: string): Bound {
  return { by: 'nobody', problem: () => undefined, note };
}
