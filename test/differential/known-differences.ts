/**
 * Differences that docs/differences.md explains: they are not reported again. Each rule names its row there, and the call and the field
 * that the row is about.
 */
import { type Difference, OUTCOME } from './compare.ts';
import { knownOperations } from './known-operations.ts';
import type { Fields, Step } from './program.ts';

export type Known = {
  /** How its row begins. */
  readonly row: string;
  /** The call, or the kind of step; `final history` and `final describe` of what is left in the end. */
  readonly what?: RegExp;
  /** The field that differs; absent: the outcome of the call (compare.ts). */
  readonly path?: RegExp;
  /** Of an outcome as it is written, of a field as JSON. */
  readonly ours?: RegExp;
  readonly theirs?: RegExp;
  /** Of the request that was sent. */
  readonly request?: RegExp;
  /** Of any step up to this one. */
  readonly before?: RegExp;
  /** What follows in such a program follows from it. */
  readonly ends: boolean;
};

const update = /^(UpdateWorkflowExecution|PollWorkflowExecutionUpdate)$/;
const multiOperation = /^ExecuteMultiOperation$/;
const twoMistakes = 'A request with two mistakes';
const longIdentities = 'Identities; reasons and ids';

const ofDurations: readonly Known[] = [
  { row: 'Duration with nanos of a second', request: /"nanos":1500000000/, ends: true },
  {
    row: 'Duration with nanos of a second',
    path: /\.(seconds|nanos)$/,
    before: /"nanos":1500000000/,
    ours: /^(2|500000000)$/,
    theirs: /^(1|1500000000)$/,
    ends: false,
  },
  { row: 'Duration of mixed signs', request: /"seconds":1,"nanos":-5/, ours: /seconds and nanos with different signs/, ends: true },
  { row: 'Durations under a millisecond', path: /\.nanos$/, before: /\{"nanos":1\}/, ours: /^1000000$/, theirs: /^1$/, ends: false },
  { row: 'Sticky timeouts, retry delays', path: /catchupWindow\.seconds$/, theirs: /^315576000001$/, ends: false },
];

const ofUpdates: readonly Known[] = [
  {
    // Each gives up, or hears of it, a little earlier or later than the other.
    row: 'An update, or a poll for one, that does not come as far',
    what: update,
    path: /^response\.(stage|link)$/,
    ours: /STAGE_ADMITTED|^undefined$/,
    theirs: /STAGE_ACCEPTED|UPDATE_ACCEPTED/,
    ends: false,
  },
  {
    row: 'An update, or a poll for one, that does not come as far',
    what: update,
    ours: /^OK .*LIFECYCLE_STAGE_(ADMITTED|ACCEPTED)/,
    theirs: /^DEADLINE_EXCEEDED/,
    ends: false,
  },
  {
    // Its answer names the run.
    row: 'An update, or a poll for one, that does not come as far',
    what: multiOperation,
    ours: /^OK .*LIFECYCLE_STAGE_(ADMITTED|ACCEPTED)/,
    theirs: /^DEADLINE_EXCEEDED/,
    ends: true,
  },
  {
    row: 'A poll for an update without an id',
    what: /^PollWorkflowExecutionUpdate$/,
    ours: /^INVALID_ARGUMENT UpdateId is not set/,
    theirs: /^NOT_FOUND/,
    ends: false,
  },
  { row: 'The name of an update above 1,000 bytes', what: update, ours: /^INVALID_ARGUMENT UpdateName length exceeds limit/, ends: true },
  {
    row: 'Update-with-start that repeats the request id',
    what: multiOperation,
    theirs: /^(UNAVAILABLE .*Workflow was not started: StartDeduped|ALREADY_EXISTS .*is already running)/,
    ends: true,
  },
  {
    row: 'A poll for an update that its closing workflow has aborted',
    what: /^PollWorkflowExecutionUpdate$/,
    ours: /^NOT_FOUND update "u\d" not found/,
    theirs: /^NOT_FOUND workflow update was aborted by closing workflow/,
    ends: false,
  },
  {
    row: 'A poll for an update that its closing workflow has aborted',
    what: update,
    ours: /^NOT_FOUND workflow execution already completed/,
    theirs: /^NOT_FOUND workflow update was aborted by closing workflow/,
    ends: false,
  },
  {
    row: 'A poll for an update that its closing workflow has aborted',
    what: update,
    ours: /^NOT_FOUND (workflow execution already completed|update "u\d" not found)/,
    theirs: /^RESOURCE_EXHAUSTED workflow operation can not be applied because workflow is closing/,
    before: /"UpdateWorkflowExecution".*continueAsNewWorkflowExecution/s,
    ends: false,
  },
  {
    row: 'An update that a worker accepts after the command that continues',
    what: update,
    ours: /^RESOURCE_EXHAUSTED workflow operation can not be applied because workflow is closing/,
    theirs: /^NOT_FOUND workflow update was aborted by closing workflow/,
    before: /continueAsNewWorkflowExecution/,
    ends: true,
  },
  {
    row: 'An update that no worker has when the server fails a workflow task',
    what: /^(RespondWorkflowTaskCompleted|PollWorkflowExecutionUpdate)$/,
    ours: /while in state Admitted|STAGE_ADMITTED/,
    theirs: /wasn't found on the server|^NOT_FOUND update/,
    ends: true,
  },
  {
    row: 'A message of a worker without a body',
    what: /^(poll|UpdateWorkflowExecution|PollWorkflowExecutionUpdate|RespondWorkflowTaskCompleted|DescribeWorkflowExecution|final \w+)$/,
    path: /./,
    before: /"protocolInstanceId":"[^"]*"\}|"body":\{"@type":""|"body":\{\}/,
    ends: true,
  },
  {
    row: 'Operations of update-with-start that name no namespace',
    what: multiOperation,
    theirs: /^NOT_FOUND .*Namespace  is not found/,
    ends: true,
  },
  {
    row: 'An invalid completion callback of an update that a worker has accepted',
    what: /^UpdateWorkflowExecution$/,
    ours: /^INVALID_ARGUMENT invalid url/,
    theirs: /^OK /,
    ends: true,
  },
  {
    row: 'Signals and updates while a workflow tries to close',
    what: /^(UpdateWorkflowExecution|ExecuteMultiOperation|Signal\w+)$/,
    ours: /^RESOURCE_EXHAUSTED workflow operation can not be applied because workflow is closing/,
    theirs: /^OK /,
    before: /(complete|fail|cancel|continueAsNew)\w*WorkflowExecutionCommandAttributes.*recordMarker/,
    ends: true,
  },
];

const ofHistories: readonly Known[] = [
  { row: 'Timeouts of 0 in events', path: /EventAttributes\.\w+Timeout$/, ours: /^undefined$/, theirs: /^\{\}$/, ends: false },
  {
    row: 'A memo or search attributes without fields',
    path: /(ContinuedAsNew|ChildWorkflowExecutionInitiated)EventAttributes\.(memo|searchAttributes)$/,
    ours: /^\{\}$/,
    theirs: /^undefined$/,
    ends: false,
  },
  {
    row: 'Started event of a transient task',
    what: /[Hh]istory/,
    path: /TaskStartedEventAttributes\.identity$/,
    theirs: /^undefined$/,
    ends: false,
  },
  {
    row: '`request_id` of events: signals',
    path: /SignaledEventAttributes\.requestId$|link.*requestIdRef\.requestId$/i,
    ours: /^"<(uuid|run \d\.\d)>(:\d+:\d+)?"$/,
    theirs: /^(undefined|"<uuid>")$/,
    ends: false,
  },
  {
    row: 'A command to another workflow that names no namespace',
    path: /ExternalWorkflowExecutionInitiatedEventAttributes\.namespace$/,
    ours: /^"default"$/,
    theirs: /^undefined$/,
    ends: false,
  },
  {
    row: 'Page token used for another workflow',
    what: /^GetWorkflowExecutionHistory(Reverse)?$/,
    ours: /^INVALID_ARGUMENT Invalid NextPageToken/,
    request: /\$PAGE/,
    ends: true,
  },
  {
    row: 'Page token of a call that waited for new events',
    what: /^GetWorkflowExecutionHistory$/,
    path: /^response(\.history)?$/,
    ours: /^undefined$/,
    theirs: /"events"/,
    request: /\$PAGE/,
    before: /"waitNewEvent":true/,
    ends: true,
  },
  {
    row: 'Page size of a history',
    what: /^GetWorkflowExecutionHistory(Reverse)?$/,
    path: /history\.events$|nextPageToken$/,
    request: /"maximumPageSize":1\b/,
    ends: true,
  },
];

const ofStarts: readonly Known[] = [
  {
    row: 'A refusal whose text ends in a blank',
    ours: /^INVALID_ARGUMENT .* $/,
    theirs: /^INVALID_ARGUMENT $/,
    ends: true,
  },
  {
    row: '`requestIdInfos` of a request that attached callbacks',
    path: /requestIdInfos\.[^.]+\.(eventId|buffered)$/,
    theirs: /^(undefined|true)$/,
    before: /"UpdateWorkflowExecution".*"completionCallbacks"/s,
    ends: false,
  },
  {
    row: '`on_conflict_options` that attach nothing',
    path: /historyLength$|history\.events$/,
    before: /"attachRequestId":false,"attachCompletionCallbacks":false,"attachLinks":false/,
    ends: true,
  },
  {
    row: 'A start that repeats a request id which was attached to a run',
    what: /^StartWorkflowExecution$/,
    path: /link\.workflowEvent\.(eventRef|requestIdRef)$/,
    before: /"attachRequestId":true.*"StartWorkflowExecution"/s,
    ends: false,
  },
  {
    row: 'Order of the callbacks of a run that continues another',
    path: /(completionCallbacks|callbacks)\[\d\]\./,
    before: /"completionCallbacks".*continueAsNewWorkflowExecution/s,
    ends: false,
  },
  {
    row: 'Request id of a run that continues another',
    path: /requestIdInfos\.<(run \d\.\d|uuid)>$/,
    before: /continueAsNewWorkflowExecution/,
    ends: false,
  },
  {
    row: 'Timeout of a workflow task that fails for the third time',
    path: /workflowTaskScheduledEventAttributes\.startToCloseTimeout\.(seconds|nanos)$/,
    before: /"RespondWorkflowTaskFailed".*"RespondWorkflowTaskFailed"/s,
    ends: false,
  },
  {
    row: 'Very short timers and timeouts',
    what: /^(TerminateWorkflowExecution|final history)$/,
    path: /outcome|history\.events$/,
    before: /"(startToFireTimeout|workflowRunTimeout)":\{"nanos":1\}/,
    ends: true,
  },
  {
    row: 'Very short timers and timeouts',
    what: /^poll$/,
    theirs: /^no workflow task$/,
    before: /"startToFireTimeout":\{"nanos":1\}/,
    ends: true,
  },
  {
    row: 'History size that a worker is told with an eager start',
    path: /history\.events\[2\]\.workflowTaskStartedEventAttributes\.historySizeBytes$/,
    theirs: /^undefined$/,
    before: /"requestEagerExecution":true/,
    ends: false,
  },
  {
    row: '`requestIdInfos` after SignalWithStart',
    path: /requestIdInfos\..*\.eventId$/,
    ours: /^1$/,
    before: /"SignalWithStartWorkflowExecution"/,
    ends: false,
  },
  {
    row: 'DescribeNamespace with an id that is no UUID',
    what: /^(DescribeNamespace|RespondWorkflowTaskCompleted)$/,
    theirs: /^INTERNAL something went wrong, please retry/,
    ends: true,
  },
  {
    row: 'Unstarted child whose id belongs to another',
    what: /^poll$/,
    theirs: /^no workflow task$/,
    before: /startChildWorkflowExecutionCommandAttributes.*startChildWorkflowExecutionCommandAttributes.*completeWorkflow/s,
    ends: true,
  },
  {
    row: 'Unstarted child whose id belongs to another',
    what: /^final history$/,
    path: /history\.events$/,
    theirs: /_EXECUTION_(CANCEL_REQUESTED|TERMINATED)"/,
    before: /startChildWorkflowExecutionCommandAttributes.*startChildWorkflowExecutionCommandAttributes/s,
    ends: true,
  },
  {
    row: 'Order of the results of two external calls',
    path: /history\.events\[\d+\]\.(eventType|\w*(External|Child)WorkflowExecution\w*Attributes(\.\w+)*)$/,
    before: /CommandAttributes.*(External|startChild)\w*CommandAttributes/s,
    ends: true,
  },
  {
    row: 'SignalWithStart repeated after its run has closed',
    what: /^SignalWithStartWorkflowExecution$/,
    path: /^response\.(runId|started)$/,
    before: /"SignalWithStartWorkflowExecution".*"SignalWithStartWorkflowExecution"/s,
    ours: /run 0\.\d|undefined/,
    theirs: /run 0\.\d|true/,
    ends: true,
  },
  { row: longIdentities, ours: /^INVALID_ARGUMENT .*Identity length exceeds limit/, request: /"identity":"x{1001}"/, ends: true },
  {
    row: longIdentities,
    what: /^RequestCancelWorkflowExecution$/,
    ours: /^INVALID_ARGUMENT RequestId length exceeds limit/,
    theirs: /^OK /,
    ends: true,
  },
  { row: 'Names of task queues that begin with', ours: /cannot start with reserved prefix/, request: /\/_sys\//, ends: true },
  { row: 'Token of another kind', what: /^(Respond|Record)/, ours: /^INVALID_ARGUMENT Error deserializing task token/, ends: true },
  {
    row: 'A poll of a sticky queue',
    what: /^poll$/,
    path: /^(response|outcome)$/,
    ours: /^(undefined|no workflow task)/,
    before: /"sticky":true/,
    ends: true,
  },
  {
    row: 'ResetStickyTaskQueue, and then a workflow task that fails',
    what: /^poll$/,
    path: /\.attempt$/,
    ours: /^2$/,
    theirs: /^1$/,
    before: /"ResetStickyTaskQueue"/,
    ends: true,
  },
  {
    row: 'Query answer of an unknown type',
    what: /^RespondQueryTaskCompleted$/,
    ours: /^INVALID_ARGUMENT unknown query completed type/,
    ends: true,
  },
  {
    row: 'Namespace name over 1000 bytes in a command',
    what: /^RespondWorkflowTaskCompleted$/,
    ours: /Namespace length exceeds limit/,
    request: /"namespace":"x{1001}"/,
    ends: true,
  },
  {
    row: twoMistakes,
    what: update,
    ours: /^UNIMPLEMENTED unknown callback variant/,
    theirs: /request_id is required when completion_callbacks are set/,
    ends: true,
  },
  {
    row: twoMistakes,
    what: update,
    ours: /^INVALID_ARGUMENT invalid \*update\.Request/,
    theirs: /^NOT_FOUND workflow execution not found/,
    ends: true,
  },
  {
    row: twoMistakes,
    what: /^ResetWorkflowExecution$/,
    ours: /^INVALID_ARGUMENT .*(finish ID must be|Invalid RunId|(WorkflowId|Execution) is not set)/,
    theirs: /not found|RequestId is not set/,
    ends: true,
  },
  {
    row: twoMistakes,
    what: /^(Signal\w+|Start\w+)$/,
    ours: /^INVALID_ARGUMENT (priority|fairness) /,
    theirs: /^INVALID_ARGUMENT Invalid WorkflowIDReusePolicy/,
    ends: true,
  },
  {
    row: twoMistakes,
    what: /^(UpdateWorkflowExecution|ResetWorkflowExecution)$/,
    ours: /^INVALID_ARGUMENT \w+ length exceeds limit/,
    theirs: /^(NOT_FOUND workflow execution not found|INVALID_ARGUMENT StateRebuilder unable to)/,
    ends: true,
  },
  {
    row: twoMistakes,
    what: /^RespondWorkflowTaskCompleted$/,
    ours: /^INVALID_ARGUMENT BadScheduleActivityAttributes: activityId is not set/,
    theirs: /^INVALID_ARGUMENT BadScheduleActivityAttributes: missing task queue name/,
    ends: true,
  },
  {
    row: longIdentities,
    what: /^PollWorkflowExecutionUpdate$/,
    ours: /^INVALID_ARGUMENT UpdateId length exceeds limit/,
    theirs: /^NOT_FOUND /,
    ends: true,
  },
  {
    row: twoMistakes,
    what: /^RespondWorkflowTaskCompleted$/,
    ours: /^INVALID_ARGUMENT nil message body/,
    theirs: /^NOT_FOUND Workflow task not found/,
    ends: true,
  },
];

const KNOWN: readonly Known[] = [...ofDurations, ...ofUpdates, ...ofHistories, ...ofStarts, ...knownOperations];

export const explainedRows: readonly string[] = [...new Set(KNOWN.map(({ row }) => row))];

export type Judged = { readonly reported: readonly Difference[]; readonly ends: boolean };

/** Of all that differs in one answer. */
export class Judge {
  readonly #hidden = new Map<Known, number>();

  judged(asked: Asked, found: readonly Difference[]): Judged {
    const rules = found.map((difference) => KNOWN.find((known) => matches(known, asked, difference)));
    for (const rule of rules) if (rule !== undefined) this.#hidden.set(rule, (this.#hidden.get(rule) ?? 0) + 1);
    if (rules.some((rule) => rule?.ends)) return { reported: [], ends: true };
    return { reported: found.filter((_, index) => rules[index] === undefined), ends: false };
  }

  /** What each rule has hidden, how often. */
  get hidden(): readonly string[] {
    return KNOWN.map((known) => `${this.#hidden.get(known) ?? 0} × ${known.row}: ${[known.what, known.path, known.ours].join(' ')}`);
  }
}

export type Asked = { readonly what: string; readonly request: Fields; readonly before: readonly Step[] };

function matches(known: Known, { what, request, before }: Asked, { path, ours, theirs }: Difference): boolean {
  const isSo = (pattern: RegExp | undefined, text: () => string): boolean => pattern === undefined || pattern.test(text());
  const text = (value: unknown): string => (path === OUTCOME ? String(value) : (JSON.stringify(value) ?? 'undefined'));
  return (
    (known.path === undefined ? path === OUTCOME : known.path.test(path)) &&
    isSo(known.what, () => what) &&
    isSo(known.ours, () => text(ours)) &&
    isSo(known.theirs, () => text(theirs)) &&
    isSo(known.request, () => JSON.stringify(request)) &&
    isSo(known.before, () => JSON.stringify(before))
  );
}
