/** Full, valid requests: families thin them out and bend them. */
import type { Fields } from '../program.ts';

export const seconds = (value: number): Fields => ({ seconds: value });
export const millis = (value: number): Fields => ({ seconds: Math.floor(value / 1000), nanos: (value % 1000) * 1_000_000 });

const json = Buffer.from('json/plain').toString('base64');
export const payload = (value: unknown): Fields => ({
  metadata: { encoding: json },
  data: Buffer.from(JSON.stringify(value)).toString('base64'),
});
export const payloads = (value: unknown): Fields => ({ payloads: [payload(value)] });
export const applicationFailure = (type: string, more: Fields = {}): Fields => ({
  message: `failed with ${type}`,
  source: 'differential',
  applicationFailureInfo: { type, ...more },
});

export const startRequest = (slot = 0): Fields => ({
  workflowId: `$W${slot}`,
  workflowType: { name: 'diff-type' },
  taskQueue: { name: `$Q${slot}`, kind: 'TASK_QUEUE_KIND_NORMAL' },
  input: payloads('input'),
  workflowExecutionTimeout: seconds(200),
  workflowRunTimeout: seconds(100),
  workflowTaskTimeout: seconds(8),
  identity: 'client',
  requestId: 'request-1',
  memo: { fields: { note: payload('memo') } },
  searchAttributes: { indexedFields: { DiffKeyword: payload('k'), DiffInt: payload(7) } },
  header: { fields: { trace: payload('header') } },
  userMetadata: { summary: payload('summary') },
  workflowStartDelay: seconds(3),
  priority: { priorityKey: 2, fairnessKey: 'fair', fairnessWeight: 1.5 },
});

export const startNeeds = ['workflowId', 'workflowType', 'taskQueue'];

export const signalRequest = (slot = 0): Fields => ({
  workflowExecution: { workflowId: `$W${slot}`, runId: `$RUN${slot}` },
  signalName: 'signal-1',
  input: payloads('signalled'),
  identity: 'client',
  requestId: 'signal-request-1',
  header: { fields: { trace: payload('header') } },
});

export const cancelRequest = (slot = 0): Fields => ({
  workflowExecution: { workflowId: `$W${slot}`, runId: `$RUN${slot}` },
  identity: 'client',
  requestId: 'cancel-request-1',
  firstExecutionRunId: `$RUN${slot}`,
  reason: 'no reason',
});

export const terminateRequest = (slot = 0): Fields => ({
  workflowExecution: { workflowId: `$W${slot}`, runId: `$RUN${slot}` },
  reason: 'because',
  details: payloads('details'),
  identity: 'client',
  firstExecutionRunId: `$RUN${slot}`,
});

export const signalWithStartRequest = (slot = 0): Fields => ({
  ...startRequest(slot),
  signalName: 'signal-1',
  signalInput: payloads('signalled'),
});

const activityRetry = {
  initialInterval: millis(100),
  backoffCoefficient: 1,
  maximumInterval: seconds(2),
  maximumAttempts: 2,
  nonRetryableErrorTypes: ['Fatal'],
};

export const commands: { readonly [name: string]: (slot: number) => Fields } = {
  scheduleActivityTask: (slot) => ({
    activityId: 'activity-1',
    activityType: { name: 'act' },
    taskQueue: { name: `$Q${slot}`, kind: 'TASK_QUEUE_KIND_NORMAL' },
    input: payloads('in'),
    scheduleToCloseTimeout: seconds(60),
    scheduleToStartTimeout: seconds(50),
    startToCloseTimeout: seconds(40),
    heartbeatTimeout: seconds(30),
    retryPolicy: activityRetry,
    header: { fields: { trace: payload('header') } },
    priority: { priorityKey: 3 },
  }),
  requestCancelActivityTask: () => ({ scheduledEventId: 5 }),
  startTimer: () => ({ timerId: 'timer-1', startToFireTimeout: seconds(60) }),
  cancelTimer: () => ({ timerId: 'timer-1' }),
  recordMarker: () => ({
    markerName: 'marker',
    details: { data: payloads(1) },
    header: { fields: { trace: payload('header') } },
    failure: applicationFailure('Marked'),
  }),
  completeWorkflowExecution: () => ({ result: payloads('result') }),
  failWorkflowExecution: () => ({ failure: applicationFailure('Broken', { nonRetryable: true }) }),
  cancelWorkflowExecution: () => ({ details: payloads('canceled') }),
  continueAsNewWorkflowExecution: (slot) => ({
    workflowType: { name: 'next-type' },
    taskQueue: { name: `$Q${slot}`, kind: 'TASK_QUEUE_KIND_NORMAL' },
    input: payloads('again'),
    workflowRunTimeout: seconds(90),
    workflowTaskTimeout: seconds(7),
    backoffStartInterval: seconds(2),
    initiator: 'CONTINUE_AS_NEW_INITIATOR_WORKFLOW',
    header: { fields: { trace: payload('header') } },
    memo: { fields: { note: payload('carried') } },
    searchAttributes: { indexedFields: { DiffKeyword: payload('c') } },
  }),
  startChildWorkflowExecution: () => ({
    namespace: 'default',
    workflowId: '$W1',
    workflowType: { name: 'child-type' },
    taskQueue: { name: '$Q1', kind: 'TASK_QUEUE_KIND_NORMAL' },
    input: payloads('child'),
    workflowExecutionTimeout: seconds(80),
    workflowRunTimeout: seconds(70),
    workflowTaskTimeout: seconds(6),
    parentClosePolicy: 'PARENT_CLOSE_POLICY_REQUEST_CANCEL',
    control: 'control',
    workflowIdReusePolicy: 'WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE',
    header: { fields: { trace: payload('header') } },
    memo: { fields: { note: payload('child') } },
    searchAttributes: { indexedFields: { DiffKeyword: payload('child') } },
    priority: { priorityKey: 1 },
  }),
  requestCancelExternalWorkflowExecution: () => ({
    namespace: 'default',
    workflowId: '$W1',
    runId: '$RUN1',
    control: 'control',
    childWorkflowOnly: false,
    reason: 'outside',
  }),
  signalExternalWorkflowExecution: () => ({
    namespace: 'default',
    execution: { workflowId: '$W1', runId: '$RUN1' },
    signalName: 'outside',
    input: payloads('outside'),
    control: 'control',
    childWorkflowOnly: false,
    header: { fields: { trace: payload('header') } },
  }),
  upsertWorkflowSearchAttributes: () => ({ searchAttributes: { indexedFields: { DiffKeyword: payload('u'), DiffInt: payload(8) } } }),
  modifyWorkflowProperties: () => ({ upsertedMemo: { fields: { note: payload('modified'), more: payload(1) } } }),
};

/** `attributes` undefined: the command comes without any. */
export function command(name: string, attributes: Fields | undefined, more: Fields = {}): Fields {
  const commandType = `COMMAND_TYPE_${name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase()}`;
  return { commandType, ...(attributes === undefined ? {} : { [`${name}CommandAttributes`]: attributes }), ...more };
}
