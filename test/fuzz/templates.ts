/** Requests that are fine, for every method that is built: what the fuzzer begins with, so that it gets past the first checks. */
import type { Prng } from '../simulation/prng.ts';
import { encodeMessage, enumType, messageType } from './descriptors.ts';
import { doomedNamespace, type Plain } from './mutate.ts';
import { type Execution, fuzzedNamespace as namespace, otherFuzzedNamespace, stickyQueue, type World } from './world.ts';

const text = new TextEncoder();
const workflowType = { name: 'Fuzz' };

type Template = (prng: Prng, world: World) => Plain;

const duration = (ms: number): Plain => ({ seconds: Math.floor(ms / 1000), nanos: (ms % 1000) * 1_000_000 });
const payload = (value: unknown): Plain => ({
  metadata: { encoding: text.encode('json/plain') },
  data: text.encode(JSON.stringify(value)),
});
const typed = (type: string, value: unknown): Plain => ({
  metadata: { encoding: text.encode('json/plain'), type: text.encode(type) },
  data: text.encode(JSON.stringify(value)),
});
const payloads = (prng: Prng): Plain => ({ payloads: [payload('x'.repeat(prng.pick([0, 10, 5_000])))] });
const memo = (prng: Prng): Plain => ({ fields: { [prng.pick(['a', 'b'])]: payload(1) } });
const header = (): Plain => ({ fields: { trace: payload('t') } });
const searchAttributes = (prng: Prng): Plain => ({
  indexedFields: prng.pick<Plain>([{ FuzzInt: typed('Int', 7) }, { FuzzKeyword: typed('Keyword', 'k'), FuzzDouble: typed('Double', 1.5) }]),
});
const failure = (prng: Prng): Plain => ({
  message: 'it failed',
  source: 'fuzz',
  ...(prng.chance(0.5) ? { cause: { message: 'because', applicationFailureInfo: { type: 'T' } } } : {}),
  applicationFailureInfo: { type: 'T', nonRetryable: prng.chance(0.3) },
});
const retryPolicy = (prng: Prng): Plain => ({
  initialInterval: duration(10),
  backoffCoefficient: prng.pick([1, 2]),
  maximumAttempts: prng.pick([0, 3]),
});
const taskQueue = (prng: Prng, world: World): Plain => ({ name: world.queue(), kind: 1 });
const requestId = (prng: Prng): string => `request-${prng.int(0, 5_000)}`;
const activityId = (prng: Prng): string => prng.pick(['a0', 'a1', 'a2']);
const timerId = (prng: Prng): string => prng.pick(['t0', 't1', 't2']);

/** The field with that probability; without it the server's default is what is tried. */
function maybe(prng: Prng, chance: number, fields: () => Plain): Plain {
  return prng.chance(chance) ? fields() : {};
}

const workerHeartbeat = (prng: Prng): Plain => ({
  workerInstanceKey: prng.pick(['w0', 'w1']),
  workerIdentity: 'fuzz',
  hostInfo: { hostName: 'h', processId: '7', currentHostCpuUsage: 0.5 },
  taskQueue: 'q',
  status: prng.int(0, 3),
  startTime: { seconds: 1_700_000_000, nanos: 0 },
  plugins: [{ name: 'p', version: '1' }],
});

/** What another run follows. */
const again = (prng: Prng): Plain => ({
  ...maybe(prng, 0.2, () => ({ retryPolicy: retryPolicy(prng) })),
  ...maybe(prng, 0.1, () => ({ cronSchedule: prng.pick(['@every 1s', '* * * * *', 'CRON_TZ=Asia/Tokyo 0 3 * * *']) })),
});

const start: Template = (prng, world) => ({
  namespace,
  workflowId: world.workflowId(),
  workflowType,
  taskQueue: taskQueue(prng, world),
  requestId: requestId(prng),
  identity: 'fuzz',
  workflowIdReusePolicy: prng.pick([0, 1, 1, 1, 2, 3]),
  ...maybe(prng, 0.7, () => ({ input: payloads(prng) })),
  ...maybe(prng, 0.3, () => ({ memo: memo(prng) })),
  ...maybe(prng, 0.3, () => ({ searchAttributes: searchAttributes(prng) })),
  ...maybe(prng, 0.2, () => ({ header: header() })),
  ...maybe(prng, 0.2, () => ({ workflowExecutionTimeout: duration(prng.pick([1_000, 60_000])) })),
  ...maybe(prng, 0.2, () => ({ workflowRunTimeout: duration(prng.pick([1_000, 60_000])) })),
  ...maybe(prng, 0.2, () => ({ workflowTaskTimeout: duration(prng.pick([1_000, 10_000])) })),
  // Not both.
  ...(prng.chance(0.1) ? { workflowStartDelay: duration(prng.pick([1, 500])) } : again(prng)),
  ...maybe(prng, 0.1, () => ({ userMetadata: { summary: payload('s'), details: payload('d') } })),
  ...maybe(prng, 0.1, () => ({
    priority: {
      priorityKey: prng.int(0, 7),
      fairnessKey: prng.pick(['', 'a', 'b/é', 'x'.repeat(64)]),
      fairnessWeight: prng.pick([0, 0.001, 3, 1e30]),
    },
  })),
});

/** Every kind of command, with attributes that are fine. */
export const commandTemplates = {
  SCHEDULE_ACTIVITY_TASK: (prng, world) => ({
    activityId: activityId(prng),
    activityType: { name: 'Act' },
    taskQueue: taskQueue(prng, world),
    input: payloads(prng),
    startToCloseTimeout: duration(prng.pick([100, 5_000])),
    ...maybe(prng, 0.3, () => ({ scheduleToStartTimeout: duration(500) })),
    ...maybe(prng, 0.3, () => ({ scheduleToCloseTimeout: duration(2_000) })),
    ...maybe(prng, 0.3, () => ({ heartbeatTimeout: duration(300) })),
    ...maybe(prng, 0.6, () => ({ retryPolicy: retryPolicy(prng) })),
    ...maybe(prng, 0.2, () => ({ header: header() })),
  }),
  REQUEST_CANCEL_ACTIVITY_TASK: (prng) => ({ scheduledEventId: prng.int(4, 12) }),
  START_TIMER: (prng) => ({ timerId: timerId(prng), startToFireTimeout: duration(prng.pick([1, 20, 3_600_000])) }),
  COMPLETE_WORKFLOW_EXECUTION: (prng) => ({ result: payloads(prng) }),
  FAIL_WORKFLOW_EXECUTION: (prng) => ({ failure: failure(prng) }),
  CANCEL_TIMER: (prng) => ({ timerId: timerId(prng) }),
  CANCEL_WORKFLOW_EXECUTION: (prng) => ({ details: payloads(prng) }),
  REQUEST_CANCEL_EXTERNAL_WORKFLOW_EXECUTION: (prng, world) => ({
    namespace: prng.pick(['', namespace, otherFuzzedNamespace]),
    ...world.execution(),
  }),
  RECORD_MARKER: (prng) => ({ markerName: 'm', ...maybe(prng, 0.6, () => ({ details: { data: payloads(prng) } })) }),
  CONTINUE_AS_NEW_WORKFLOW_EXECUTION: (prng, world) => ({
    workflowType,
    taskQueue: taskQueue(prng, world),
    input: payloads(prng),
    initiator: 1,
    ...maybe(prng, 0.3, () => ({ backoffStartInterval: duration(10) })),
    ...maybe(prng, 0.3, () => ({ memo: memo(prng) })),
    ...maybe(prng, 0.3, () => ({ searchAttributes: searchAttributes(prng) })),
    ...maybe(prng, 0.3, () => ({ workflowRunTimeout: duration(30_000) })),
    ...again(prng),
  }),
  START_CHILD_WORKFLOW_EXECUTION: (prng, world) => ({
    namespace: prng.pick(['', namespace, otherFuzzedNamespace]),
    workflowId: world.workflowId(),
    workflowType,
    taskQueue: taskQueue(prng, world),
    input: payloads(prng),
    parentClosePolicy: prng.int(0, 3),
    workflowIdReusePolicy: prng.pick([0, 1, 2, 3]),
    ...maybe(prng, 0.3, () => ({ memo: memo(prng) })),
    ...maybe(prng, 0.3, () => ({ workflowRunTimeout: duration(30_000) })),
    ...again(prng),
  }),
  SIGNAL_EXTERNAL_WORKFLOW_EXECUTION: (prng, world) => ({
    namespace: prng.pick(['', namespace, otherFuzzedNamespace]),
    execution: world.execution(),
    signalName: 's',
    input: payloads(prng),
    ...maybe(prng, 0.1, () => ({ childWorkflowOnly: true })),
  }),
  UPSERT_WORKFLOW_SEARCH_ATTRIBUTES: (prng) => ({ searchAttributes: searchAttributes(prng) }),
  PROTOCOL_MESSAGE: () => ({ messageId: 'message' }),
  MODIFY_WORKFLOW_PROPERTIES: (prng) => ({ upsertedMemo: memo(prng) }),
  SCHEDULE_NEXUS_OPERATION: () => ({ endpoint: 'e', service: 's', operation: 'o', input: payload(1) }),
  REQUEST_CANCEL_NEXUS_OPERATION: (prng) => ({ scheduledEventId: prng.int(4, 12) }),
} as const satisfies Readonly<Record<string, Template>>;

export type CommandKind = keyof typeof commandTemplates;

const closing: readonly CommandKind[] = [
  'COMPLETE_WORKFLOW_EXECUTION',
  'FAIL_WORKFLOW_EXECUTION',
  'CANCEL_WORKFLOW_EXECUTION',
  'CONTINUE_AS_NEW_WORKFLOW_EXECUTION',
];
/** Not built, or without the message that it names. */
const refused: readonly CommandKind[] = ['PROTOCOL_MESSAGE', 'SCHEDULE_NEXUS_OPERATION', 'REQUEST_CANCEL_NEXUS_OPERATION'];
const others = (Object.keys(commandTemplates) as CommandKind[]).filter((kind) => !closing.includes(kind) && !refused.includes(kind));

/** `SCHEDULE_ACTIVITY_TASK` -> `scheduleActivityTaskCommandAttributes` */
function attributesField(kind: CommandKind): string {
  return `${kind.toLowerCase().replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())}CommandAttributes`;
}

function command(kind: CommandKind, prng: Prng, world: World): Plain {
  const type = commandTypes[`COMMAND_TYPE_${kind}`];
  return { commandType: type, [attributesField(kind)]: commandTemplates[kind](prng, world) };
}

const commandTypes = enumType('temporal.api.enums.v1.CommandType').values;

/** A few that leave the workflow open and, a third of the time, one that closes it. */
export function commands(prng: Prng, world: World): Plain[] {
  const kinds: CommandKind[] = Array.from({ length: prng.int(0, 3) }, () => prng.pick(others));
  if (prng.chance(0.03)) kinds.push(prng.pick(refused));
  if (prng.chance(0.3)) kinds.push(prng.pick(closing));
  return kinds.map((kind) => command(kind, prng, world));
}

const activityById: Template = (prng, world) => ({
  namespace,
  ...world.executionWithActivity(),
  activityId: prng.chance(0.8) ? 'a0' : activityId(prng),
  identity: 'fuzz',
});
const activityByToken: Template = (prng, world) => ({ namespace, taskToken: world.takeActivityToken(), identity: 'fuzz' });
/** By its id mostly: what stands for many would leave none untouched. */
const operated = (prng: Prng, world: World): Plain => ({
  namespace,
  execution: world.executionWithActivity(),
  identity: 'fuzz',
  ...(prng.chance(0.8) ? { id: 'a0' } : { type: 'Act' }),
});
const named: Template = (prng, world) => ({ namespace, execution: world.execution() });
const workflow: Template = (prng, world) => ({ namespace, workflowExecution: world.execution(), identity: 'fuzz' });
const paused = (prng: Prng, execution: Execution): Plain => ({
  namespace,
  ...execution,
  identity: 'fuzz',
  reason: 'r',
  requestId: requestId(prng),
});

const queries = [
  "ExecutionStatus = 'Running' AND NOT (WorkflowType IN ('Fuzz', 'other'))",
  'FuzzInt > 6 OR FuzzDouble BETWEEN 1 AND 2',
  "FuzzKeyword STARTS_WITH 'k' AND CloseTime IS NOT NULL",
];
const list: Template = (prng, world) => ({
  namespace,
  pageSize: prng.pick([0, 1, 5]),
  query: prng.pick(['', '', ...queries]),
  nextPageToken: world.pageToken(),
});
const filteredList: Template = (prng, world) => ({
  namespace,
  maximumPageSize: prng.pick([0, 1, 5]),
  nextPageToken: world.pageToken(),
  startTimeFilter: prng.pick([
    {},
    { earliestTime: { seconds: 1 } },
    { earliestTime: { seconds: 1 }, latestTime: { seconds: 4_000_000_000 } },
  ]),
});

const update = (prng: Prng, execution: Plain): Plain => ({
  namespace,
  workflowExecution: execution,
  waitPolicy: { lifecycleStage: prng.pick([0, 2, 2, 3]) },
  request: { meta: { updateId: `u${prng.int(0, 9)}`, identity: 'fuzz' }, input: { name: 'u', args: payloads(prng) } },
});

/** What a worker says of the updates that came with its task, and the commands that place it. */
function updateAnswers(prng: Prng, updates: readonly string[]): { readonly commands: Plain[]; readonly messages: Plain[] } {
  const messages = updates.flatMap((updateId) => {
    const said = (type: string, body: Plain): Plain => ({
      id: `${updateId}/${type}`,
      protocolInstanceId: updateId,
      body: {
        type_url: `type.googleapis.com/temporal.api.update.v1.${type}`,
        value: encodeMessage(messageType(`temporal.api.update.v1.${type}`), body),
      },
    });
    const acceptance = said('Acceptance', { acceptedRequestMessageId: `${updateId}/request`, acceptedRequestSequencingEventId: 1 });
    const response = said('Response', { meta: { updateId }, outcome: { success: payloads(prng) } });
    const rejection = said('Rejection', { rejectedRequestMessageId: `${updateId}/request`, failure: failure(prng) });
    return prng.pick([[acceptance, response], [acceptance, response], [acceptance], [rejection], [], [response]]);
  });
  const placed = messages.filter(() => prng.chance(0.8));
  return { commands: placed.map(({ id }) => ({ commandType: 14, protocolMessageCommandAttributes: { messageId: id } })), messages };
}

const scheduleId = (prng: Prng): string => `s${prng.int(0, 9)}`;
const ofSchedule = (prng: Prng): Plain => ({ namespace, scheduleId: scheduleId(prng), identity: 'fuzz' });

/** Seconds and minutes, so that some of them act. */
const schedule: Template = (prng, world) => ({
  spec: {
    ...maybe(prng, 0.8, () => ({ interval: [{ interval: duration(prng.pick([1_000, 60_000])), phase: duration(prng.int(0, 999)) }] })),
    ...maybe(prng, 0.2, () => ({ cronString: [prng.pick(['* * * * *', '@every 5s', 'CRON_TZ=Europe/London 0 12 * * MON-FRI'])] })),
    ...maybe(prng, 0.2, () => ({ structuredCalendar: [{ second: [{ start: 0, end: 59, step: 7 }], hour: [{ start: 0, end: 23 }] }] })),
    ...maybe(prng, 0.2, () => ({ excludeStructuredCalendar: [{ second: [{ start: prng.int(0, 59) }] }] })),
    ...maybe(prng, 0.2, () => ({ jitter: duration(prng.int(0, 2_000)) })),
    ...maybe(prng, 0.1, () => ({ timezoneName: 'America/New_York' })),
  },
  action: {
    startWorkflow: { workflowId: world.workflowId(), workflowType, taskQueue: taskQueue(prng, world), input: payloads(prng) },
  },
  policies: { overlapPolicy: prng.int(0, 6), pauseOnFailure: prng.chance(0.2), catchupWindow: duration(60_000) },
  state: { paused: prng.chance(0.2), limitedActions: prng.chance(0.5), remainingActions: prng.int(0, 5), notes: 'n' },
});
const schedulePatch = (prng: Prng): Plain => ({
  ...maybe(prng, 0.4, () => ({ triggerImmediately: { overlapPolicy: prng.int(0, 6) } })),
  ...maybe(prng, 0.3, () => ({
    backfillRequest: [{ startTime: { seconds: 1_700_000_000 }, endTime: { seconds: 1_700_000_000 + prng.int(0, 90) }, overlapPolicy: 6 }],
  })),
  ...maybe(prng, 0.3, () => ({ pause: 'p' })),
  ...maybe(prng, 0.3, () => ({ unpause: 'u' })),
});

const jobId = (prng: Prng): string => `j${prng.int(0, 99)}`;
const batchOperation = (prng: Prng): Plain =>
  prng.pick<Plain>([
    { terminationOperation: { details: payloads(prng), identity: 'fuzz' } },
    { signalOperation: { signal: 's', input: payloads(prng), identity: 'fuzz' } },
    { cancellationOperation: { identity: 'fuzz' } },
    { deletionOperation: {} },
    { resetOperation: { resetType: prng.int(0, 3), resetReapplyType: prng.int(0, 3) } },
    { resetOperation: { options: prng.pick<Plain>([{ firstWorkflowTask: {} }, { lastWorkflowTask: {} }, { workflowTaskId: 4 }]) } },
    { unpauseActivitiesOperation: { matchAll: true, resetAttempts: prng.chance(0.5), jitter: duration(prng.int(0, 50)) } },
    { resetActivitiesOperation: { type: 't', keepPaused: prng.chance(0.5) } },
    { updateActivityOptionsOperation: { matchAll: true, restoreOriginal: true } },
    { updateWorkflowOptionsOperation: { workflowExecutionOptions: { priority: { priorityKey: 2 } }, updateMask: { paths: ['priority'] } } },
  ]);

const completion: Template = (prng, world) => ({
  namespace,
  taskToken: world.usedToken(),
  identity: 'fuzz',
  returnNewWorkflowTask: prng.chance(0.3),
  forceCreateNewWorkflowTask: prng.chance(0.3),
  ...maybe(prng, 0.3, () => ({
    stickyAttributes: {
      workerTaskQueue: { name: stickyQueue, kind: 2, normalName: world.queue() },
      scheduleToStartTimeout: duration(prng.pick([50, 5_000])),
    },
  })),
});

export const templates: Readonly<Record<string, Template>> = {
  StartWorkflowExecution: (prng, world) => ({
    ...start(prng, world),
    workflowIdConflictPolicy: prng.pick([0, 1, 2, 3]),
    ...maybe(prng, 0.2, () => ({ requestEagerExecution: true })),
  }),
  SignalWithStartWorkflowExecution: (prng, world) => ({
    ...start(prng, world),
    signalName: 's',
    signalInput: payloads(prng),
    workflowIdConflictPolicy: prng.pick([0, 2, 3]),
  }),
  SignalWorkflowExecution: (prng, world) => ({
    ...workflow(prng, world),
    signalName: 's',
    input: payloads(prng),
    requestId: requestId(prng),
  }),
  RequestCancelWorkflowExecution: (prng, world) => ({ ...workflow(prng, world), requestId: requestId(prng), reason: 'r' }),
  TerminateWorkflowExecution: (prng, world) => ({ ...workflow(prng, world), reason: 'r', details: payloads(prng) }),
  // Seldom of all that there are: the others need something to be about.
  DeleteWorkflowExecution: (_, world) => ({ namespace, workflowExecution: world.execution() }),
  DescribeWorkflowExecution: named,
  ResetStickyTaskQueue: named,
  QueryWorkflow: (prng, world) => ({
    namespace,
    execution: world.executionWithActivity(),
    query: { queryType: 'q', queryArgs: payloads(prng) },
    queryRejectCondition: prng.int(0, 3),
  }),
  UpdateWorkflowExecution: (prng, world) => update(prng, world.executionWithActivity()),
  PollWorkflowExecutionUpdate: (prng, world) => ({
    namespace,
    updateRef: world.updateRef(),
    ...maybe(prng, 0.5, () => ({ waitPolicy: { lifecycleStage: prng.int(0, 3) } })),
  }),
  ExecuteMultiOperation: (prng, world) => {
    const { workflowStartDelay: _delay, cronSchedule: _cron, ...startWorkflow } = start(prng, world);
    return {
      namespace,
      operations: [
        { startWorkflow: { ...startWorkflow, workflowIdConflictPolicy: prng.pick([0, 1, 2, 2]) } },
        { updateWorkflow: update(prng, { workflowId: startWorkflow['workflowId'] }) },
      ],
    };
  },
  StartBatchOperation: (prng, world) => ({
    namespace,
    jobId: jobId(prng),
    reason: 'fuzz',
    maxOperationsPerSecond: prng.pick([0, 0.1, 1_000, -1]),
    ...batchOperation(prng),
    ...prng.pick<Plain>([
      { visibilityQuery: `WorkflowId = '${world.workflowId()}'` },
      { visibilityQuery: 'FuzzInt > 6' },
      { executions: [world.execution(), world.execution()] },
      { targetExecutions: [{ type: 1, businessId: world.workflowId() }] },
    ]),
  }),
  StopBatchOperation: (_prng, world) => ({ namespace, jobId: world.takeJobAtWork(), reason: 'r', identity: 'fuzz' }),
  DescribeBatchOperation: (_prng, world) => ({ namespace, jobId: world.jobId() }),
  ListBatchOperations: (prng) => ({ namespace, pageSize: prng.int(-1, 5) }),
  CreateSchedule: (prng, world) => ({
    namespace,
    scheduleId: scheduleId(prng),
    requestId: requestId(prng),
    schedule: schedule(prng, world),
    ...maybe(prng, 0.3, () => ({ memo: memo(prng) })),
    ...maybe(prng, 0.3, () => ({ searchAttributes: searchAttributes(prng) })),
    ...maybe(prng, 0.2, () => ({ initialPatch: schedulePatch(prng) })),
  }),
  UpdateSchedule: (prng, world) => ({
    ...ofSchedule(prng),
    schedule: schedule(prng, world),
    ...maybe(prng, 0.3, () => ({ conflictToken: Uint8Array.of(0, 0, 0, 0, 0, 0, 0, prng.int(1, 4)) })),
    ...maybe(prng, 0.3, () => ({ memo: memo(prng) })),
    ...maybe(prng, 0.3, () => ({ searchAttributes: searchAttributes(prng) })),
  }),
  PatchSchedule: (prng) => ({ ...ofSchedule(prng), patch: schedulePatch(prng) }),
  DescribeSchedule: ofSchedule,
  DeleteSchedule: ofSchedule,
  ListScheduleMatchingTimes: (prng) => ({
    ...ofSchedule(prng),
    startTime: { seconds: 0 },
    endTime: { seconds: prng.int(1, 4_000_000_000) },
  }),
  ListSchedules: (prng, world) => {
    const { pageSize, ...rest } = list(prng, world);
    return { ...rest, maximumPageSize: pageSize, query: prng.pick(['', "ScheduleId STARTS_WITH 's' AND TemporalSchedulePaused = false"]) };
  },
  CountSchedules: (prng) => ({ namespace, query: prng.pick(['', 'FuzzInt > 6']) }),
  GetWorkflowExecutionHistory: (prng, world) => ({
    ...named(prng, world),
    maximumPageSize: prng.pick([0, 1, 5]),
    nextPageToken: world.pageToken(),
    historyEventFilterType: prng.int(0, 2),
    ...maybe(prng, 0.1, () => ({ waitNewEvent: true })),
  }),
  GetWorkflowExecutionHistoryReverse: (prng, world) => ({
    ...named(prng, world),
    maximumPageSize: prng.pick([0, 1, 5]),
    nextPageToken: world.pageToken(),
  }),
  PollWorkflowTaskQueue: (prng, world) => ({ namespace, taskQueue: taskQueue(prng, world), identity: 'fuzz' }),
  PollActivityTaskQueue: (prng, world) => ({
    namespace,
    taskQueue: taskQueue(prng, world),
    identity: 'fuzz',
    ...maybe(prng, 0.2, () => ({ taskQueueMetadata: { maxTasksPerSecond: { value: prng.pick([0.5, 100, 100_000]) } } })),
  }),
  RespondWorkflowTaskCompleted: (prng, world) => {
    const task = world.takeWorkflowTask();
    const answers = updateAnswers(world.draws, task?.updates ?? []);
    return {
      ...completion(prng, world),
      ...(task === undefined ? {} : { taskToken: task.token }),
      commands: [...answers.commands, ...commands(prng, world)],
      messages: answers.messages,
    };
  },
  RespondWorkflowTaskFailed: (prng, world) => ({
    namespace,
    taskToken: world.takeWorkflowTask()?.token ?? world.usedToken(),
    cause: prng.int(0, 30),
    failure: failure(prng),
    identity: 'fuzz',
  }),
  RespondQueryTaskCompleted: (prng, world) => ({
    namespace,
    taskToken: world.takeQueryToken(),
    completedType: prng.int(0, 2),
    queryResult: payloads(prng),
    errorMessage: 'e',
  }),
  RespondActivityTaskCompleted: (prng, world) => ({ ...activityByToken(prng, world), result: payloads(prng) }),
  RespondActivityTaskFailed: (prng, world) => ({ ...activityByToken(prng, world), failure: failure(prng) }),
  RespondActivityTaskCanceled: (prng, world) => ({ ...activityByToken(prng, world), details: payloads(prng) }),
  RecordActivityTaskHeartbeat: (prng, world) => ({ ...activityByToken(prng, world), details: payloads(prng) }),
  RespondActivityTaskCompletedById: (prng, world) => ({ ...activityById(prng, world), result: payloads(prng) }),
  RespondActivityTaskFailedById: (prng, world) => ({ ...activityById(prng, world), failure: failure(prng) }),
  PauseActivity: (prng, world) => ({ ...operated(prng, world), reason: 'r', requestId: requestId(prng) }),
  UnpauseActivity: (prng, world) => ({ ...operated(prng, world), resetAttempts: prng.chance(0.3), resetHeartbeat: prng.chance(0.3) }),
  ResetActivity: (prng, world) => ({ ...operated(prng, world), keepPaused: prng.chance(0.3), resetHeartbeat: prng.chance(0.3) }),
  PauseActivityExecution: (prng, world) => ({ ...activityById(prng, world), reason: 'r', requestId: requestId(prng) }),
  UnpauseActivityExecution: activityById,
  ResetActivityExecution: (prng, world) => ({ ...activityById(prng, world), keepPaused: prng.chance(0.3) }),
  UpdateActivityExecutionOptions: (prng, world) => ({
    ...activityById(prng, world),
    activityOptions: { heartbeatTimeout: duration(20_000) },
    updateMask: { paths: ['heartbeat_timeout'] },
  }),
  PauseWorkflowExecution: (prng, world) => paused(prng, world.execution()),
  UnpauseWorkflowExecution: (prng, world) => paused(prng, world.takePausedExecution()),
  UpdateWorkflowExecutionOptions: (prng, world) => ({
    ...workflow(prng, world),
    workflowExecutionOptions: {
      priority: { priorityKey: prng.pick([0, 1, 3, 5]), fairnessKey: prng.pick(['', 'tenant']), fairnessWeight: 0.5 },
    },
    updateMask: { paths: prng.pick([['priority'], ['priority.priority_key'], ['priority.fairness_key', 'priority.fairness_weight'], []]) },
  }),
  ResetWorkflowExecution: (prng, world) => ({
    ...workflow(prng, world),
    reason: 'r',
    requestId: requestId(prng),
    workflowTaskFinishEventId: prng.pick([3, 4, 4, 8, 20]),
    resetReapplyType: prng.pick([0, 1, 2, 3]),
  }),
  UpdateActivityOptions: (prng, world) => ({
    ...operated(prng, world),
    ...prng.pick<Plain>([
      { activityOptions: { heartbeatTimeout: duration(20_000) }, updateMask: { paths: ['heartbeat_timeout'] } },
      { activityOptions: { retryPolicy: retryPolicy(prng) }, updateMask: { paths: ['retry_policy.maximum_attempts'] } },
      { activityOptions: { taskQueue: { name: world.queue() } }, updateMask: { paths: ['task_queue.name'] } },
      { restoreOriginal: true },
    ]),
  }),
  RespondActivityTaskCanceledById: (prng, world) => ({
    ...activityById(prng, world),
    ...world.takeExecutionToldToCancel(),
    details: payloads(prng),
  }),
  RecordActivityTaskHeartbeatById: (prng, world) => ({ ...activityById(prng, world), details: payloads(prng) }),
  DescribeTaskQueue: (prng, world) => ({
    namespace,
    taskQueue: taskQueue(prng, world),
    taskQueueType: prng.int(0, 2),
    ...maybe(prng, 0.3, () => ({ includeTaskQueueStatus: true, reportStats: true, reportConfig: true })),
    ...maybe(prng, 0.3, () => ({ apiMode: 1, taskQueueTypes: prng.pick([[], [1], [1, 2]]), reportPollers: true })),
    ...maybe(prng, 0.2, () => ({ apiMode: 1, versions: { unversioned: true }, reportTaskReachability: true })),
  }),
  ListTaskQueuePartitions: (prng, world) => ({ namespace, taskQueue: taskQueue(prng, world) }),
  UpdateTaskQueueConfig: (prng, world) => ({
    namespace,
    identity: 'fuzz',
    taskQueue: world.queue(),
    taskQueueType: 2,
    // Fast enough for the rest of the fuzzing.
    ...maybe(prng, 0.6, () => ({
      updateQueueRateLimit: { reason: 'r', ...maybe(prng, 0.5, () => ({ rateLimit: { requestsPerSecond: 5_000 } })) },
    })),
    ...maybe(prng, 0.4, () => ({ setFairnessWeightOverrides: { [prng.pick(['a', 'b'])]: 2 }, unsetFairnessWeightOverrides: ['c'] })),
  }),
  RecordWorkerHeartbeat: (prng) => ({ namespace, identity: 'fuzz', workerHeartbeat: [workerHeartbeat(prng)] }),
  ListWorkers: (prng) => ({
    namespace,
    pageSize: prng.pick([0, 2]),
    query: prng.pick(['', `TaskQueue = 'q'`, `StartTime > '2026-01-31T12:00:00Z'`]),
  }),
  CountWorkers: (prng) => ({ namespace, query: prng.pick(['', `Status = 'Running' OR HostName STARTS_WITH 'h'`]) }),
  DescribeWorker: (prng) => ({ namespace, workerInstanceKey: prng.pick(['w0', 'w1']) }),
  ShutdownWorker: () => ({ namespace, stickyTaskQueue: stickyQueue, identity: 'fuzz', reason: 'r' }),
  DescribeNamespace: () => ({ namespace }),
  ListWorkflowExecutions: list,
  ScanWorkflowExecutions: list,
  ListOpenWorkflowExecutions: (prng, world) => ({
    ...filteredList(prng, world),
    ...prng.pick([{}, { executionFilter: { workflowId: world.workflowId() } }, { typeFilter: workflowType }]),
  }),
  ListClosedWorkflowExecutions: (prng, world) => ({
    ...filteredList(prng, world),
    ...prng.pick([{}, { executionFilter: { workflowId: world.workflowId() } }, { statusFilter: { status: prng.int(2, 8) } }]),
  }),
  ListArchivedWorkflowExecutions: () => ({ namespace }),
  CountWorkflowExecutions: (prng) => ({ namespace, query: prng.pick(['', 'GROUP BY ExecutionStatus', ...queries]) }),
  GetSearchAttributes: () => ({}),
  ListNamespaces: () => ({ pageSize: 1 }),
  UpdateNamespace: (prng) => ({
    namespace: doomedNamespace(prng),
    updateInfo: { description: 'd', data: { k: 'v' }, state: prng.int(0, 2) },
  }),
  DeprecateNamespace: (prng) => ({ namespace: doomedNamespace(prng) }),
  DeleteNamespace: (prng) => ({ namespace: doomedNamespace(prng) }),
  ListClusters: (prng) => ({ pageSize: prng.pick([0, 1, -1]) }),
  RegisterNamespace: (prng) => ({ namespace: doomedNamespace(prng), workflowExecutionRetentionPeriod: duration(86_400_000) }),
  AddSearchAttributes: (prng) => ({ namespace, searchAttributes: { [`Fuzz${prng.int(0, 20)}`]: prng.int(1, 7) } }),
  RemoveSearchAttributes: (prng) => ({ namespace, searchAttributes: [`Fuzz${prng.int(0, 20)}`] }),
  ListSearchAttributes: () => ({ namespace }),
  GetSystemInfo: () => ({}),
  GetClusterInfo: () => ({}),
};
