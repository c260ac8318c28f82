/**
 * Differences that docs/differences.md explains: they are not reported again. `ends`: what follows in such a program follows from it.
 */
import type { Difference } from './compare.ts';

type Known = {
  /** Of the call, or of the kind of step. */
  readonly what?: RegExp;
  readonly path?: RegExp;
  readonly ours?: RegExp;
  readonly theirs?: RegExp;
  /** Of the request that was sent. */
  readonly request?: RegExp;
  readonly ends: boolean;
};

const KNOWN: readonly Known[] = [
  // Durations
  { request: /"nanos":1500000000|"seconds":1,"nanos":-5/, ends: true },
  { path: /currentRetryInterval/, ends: false },
  // Updates
  {
    theirs: /^4$|^undefined$/,
    ours: /^0$|LIFECYCLE_STAGE_ADMITTED|LIFECYCLE_STAGE_ACCEPTED|^\{\}$/,
    path: /^(code|response)$/,
    ends: false,
  },
  { what: /Poll.*Update/, ours: /UpdateId is not set|^3$/, ends: false },
  { ours: /UpdateName length exceeds limit/, ends: true },
  { theirs: /Workflow was not started: StartDeduped/, ends: true },
  // Histories
  { path: /TaskStartedEventAttributes\.identity$/, theirs: /^undefined$/, ends: false },
  { path: /historySizeBytes$/, theirs: /^undefined$/, ends: false },
  { ours: /(Execution|WorkflowId) is not set on request/, theirs: /WorkflowId not set/, ends: false },
  { ours: /taskQueue length exceeds limit/, ends: true },
  // A termination while an update waits for its first worker: the task that was made for it stands in history.
  { request: /UpdateWorkflowExecution.*TerminateWorkflowExecution/s, path: /historyLength|history\.events$/, ends: true },
  { path: /SignaledEventAttributes\.requestId$|link.*requestIdRef\.requestId$/i, ours: /<uuid>/, theirs: /^undefined$/, ends: false },
  { path: /pendingWorkflowTask$/, ours: /^undefined$/, request: /UpdateWorkflowExecution|ExecuteMultiOperation/, ends: false },
  { what: /Poll.*Update/, ours: /update \\"u\d\\" not found/, theirs: /aborted by closing workflow/, ends: false },
  { ours: /workflow execution already completed/, theirs: /aborted by closing workflow/, ends: false },
  // Whose runs are known by then differs.
  { request: /ExecuteMultiOperation/, path: /^code$/, theirs: /^4$/, ends: true },
  // Of two mistakes one is named.
  { what: /ResetWorkflowExecution/, ours: /finish ID must be|WorkflowId is not set/, theirs: /not found|RequestId is not set/, ends: true },
  { ours: /missing or invalid query/, theirs: /workflow not found/, ends: true },
  { what: /StartBatchOperation/, ours: /invalid visibility query/, theirs: /already finished/, ends: true },
  { ours: /Identity length exceeds limit/, ends: true },
  {
    ours: /workflow is closing|^8$|ResourceExhausted/,
    theirs: /aborted by closing workflow|^5$|NotFound/,
    request: /continueAsNew/,
    ends: true,
  },
  { what: /^poll$/, ours: /no workflow task/, request: /UpdateWorkflowExecution"|ExecuteMultiOperation/, ends: true },
  { what: /await/, ours: /workflow execution already completed/, theirs: /Operation was aborted/, ends: true },
  { ours: /Operation was aborted/, theirs: /already running/, ends: true },
  { path: /SignaledEventAttributes\.requestId$/, ours: /<run/, theirs: /<uuid>/, ends: false },
  { ours: /(RequestId|WorkerInstanceKey|WorkflowId|ScheduleId) (length exceeds limit|exceeds maximum)/, ends: true },
  { what: /Schedule/, ours: /schedule not found/, theirs: /exceeds limit/, ends: true },
  { ours: /unknown query completed type/, ends: true },
  { ours: /workflow is closing|^8$/, theirs: /^""$|^0$/, request: /completeWorkflowExecution.*recordMarker/, ends: true },
  { what: /History/, ours: /^undefined$/, theirs: /events/, request: /"waitNewEvent":true.*\$PAGE/, ends: true },
  {
    what: /StartWorkflowExecution/,
    ours: /runId|run 0\.1|^undefined$/,
    request: /SignalWithStartWorkflowExecution/,
    theirs: /run 0\.\d|true/,
    ends: true,
  },
  { ours: /no mapping defined for search attribute/, theirs: /is not found/, ends: true },
  { what: /UpdateActivityOptions/, ours: /negative duration/, theirs: /Can't find pending activity/, ends: true },
  { what: /UpdateNamespace/, ours: /Bad binary checksum/, ends: true },
  { ours: /has a body of the unknown type/, theirs: /no message name specified/, ends: true },
  // Where Temporal breaks
  { theirs: /something went wrong, please retry/, ends: true },
  { ours: /Invalid NextPageToken/, ends: true },
  { path: /indexedFields\.BinaryChecksums$/, ends: false },
  { what: /History/, path: /history\.events$/, request: /"maximumPageSize":(1|-1|9999)\b/, ends: true },
  { ours: /Error deserializing task token/, ends: true },
  { ours: /Namespace length exceeds limit/, ends: true },
  { ours: /cannot start with reserved prefix/, ends: true },
  { path: /ExternalWorkflowExecutionInitiatedEventAttributes\.namespace$/, theirs: /^undefined$/, ends: false },
  // Activities
  { path: /priority$/, ours: /^undefined$/, request: /restoreOriginalOptions/, ends: false },
  { ours: /ActivityType length exceeds limit/, theirs: /Can't find pending activity/, ends: true },
  { path: /imeout\.nanos$/, ours: /^1000000$/, theirs: /^1$/, ends: false },
  { what: /UpdateActivityOptions/, path: /taskQueue\.kind$/, request: /restoreOriginal/, ends: false },
  // How long it has waited by now.
  { path: /nextAttemptScheduleTime$/, ends: false },
  { path: /retryPolicy\.nonRetryableErrorTypes$/, theirs: /^undefined$/, ends: false },
  { what: /ById/, ours: /WorkflowId is not set on request/, theirs: /activity not found/, ends: true },
  { path: /pendingActivities\[\d\]\.lastFailure$/, theirs: /^undefined$/, ends: false },
  { what: /^pollActivity$/, path: /Timeout\.seconds$/, request: /UpdateActivityOptions/, ends: false },
  // Resets
  { theirs: /StateRebuilder unable to/, ends: true },
  // Schedules
  { ours: /schedule not found/, theirs: /workflow not found for ID: temporal-sys-scheduler/, ends: false },
  { ours: /ScheduleId is not set on request/, ends: false },
  {
    what: /CreateSchedule|UpdateSchedule|PatchSchedule/,
    path: /^(code|message|response)$/,
    ours: /^3$|^9$|^undefined$|[A-Z]/,
    theirs: /^0$|^""$|conflictToken|^\{\}$/,
    ends: true,
  },
  { request: /keepOriginalWorkflowId/, path: /workflowId$/, ours: /N-w3"$/, ends: true },
  { path: /catchupWindow\./, ends: false },
  { what: /CreateSchedule/, ours: /Only StartWorkflow action/, ends: true },
  // Batch jobs
  { what: /DescribeBatchOperation/, path: /OperationCount$/, request: /resetOperation/, ends: true },
  { request: /deletionOperation/, what: /DescribeWorkflowExecution/, ours: /^5$|not found|NotFound/, ends: true },
  { path: /TerminatedEventAttributes\.(details|identity)$/, request: /terminationOperation/, ends: false },
  { ours: /syntax error at position/, theirs: /syntax error at position/, request: /ünï/, ends: true },
  { what: /BatchOperation/, ours: /(Reason|Identity|JobId|UpdateId) length exceeds limit/, ends: true },
  { path: /CancelRequestedEventAttributes(\.identity)?$/, theirs: /@/, ends: false },
  { what: /ListScheduleMatchingTimes/, path: /details\[0\]\.failure/, ends: false },
  { what: /StartBatchOperation/, path: /details\[0\]\.startRequestId/, ends: false },
  { what: /activity|Describe|final/i, path: /TemporalPauseInfo$/, ends: false },
  // Namespaces
  { what: /DescribeNamespace/, path: /workflowExecutionRetentionTtl\.seconds$/, ours: /^259200$/, theirs: /^86400$/, ends: false },
  { what: /UpdateNamespace/, ours: /A valid retention period/, theirs: /Invalid namespace state update/, ends: true },
  { ours: /(bad_binaries|promote_namespace|delete_bad_binary) is not supported/, ends: true },
  { what: /UpdateNamespace/, ours: /Bad binary checksum/, theirs: /Invalid namespace state update/, ends: true },
  { ours: /Namespace is empty/, theirs: /Namespace not set on request/, ends: true },
  // Task queues
  { ours: /Task queue type is not set|is not supported by this server yet/, ends: true },
];

export type Judged = { readonly reported: readonly Difference[]; readonly ends: boolean };

/** Of all that differs in one answer. What belongs to one refusal (its code, text, details) is known as one. */
export function judged(what: string, request: string, found: readonly Difference[]): Judged {
  const known = found.flatMap((difference) => KNOWN.filter((one) => matches(one, what, request, difference)));
  if (known.some(({ ends }) => ends)) return { reported: [], ends: true };
  return { reported: found.filter((difference) => !KNOWN.some((one) => matches(one, what, request, difference))), ends: false };
}

function matches(known: Known, what: string, request: string, { path, ours, theirs }: Difference): boolean {
  const says = (pattern: RegExp | undefined, text: string): boolean => pattern === undefined || pattern.test(text);
  const text = (value: unknown): string => JSON.stringify(value) ?? 'undefined';
  return (
    says(known.what, what) &&
    says(known.path, path) &&
    says(known.request, request) &&
    says(known.ours, text(ours)) &&
    says(known.theirs, text(theirs))
  );
}
