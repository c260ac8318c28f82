/** What the history core has of a schedule's definition, which is stored as temporal.api.schedule.v1.Schedule. */
import { LogError } from '../ports/log.ts';
import type { ScheduleDefinition, ScheduledWorkflow, ScheduleWire } from '../history/run/schedule-wire.ts';
import { withRetryDefaults } from '../kernel/retry-policy.ts';
import { decodeFields, encodeFields } from '../wire/fields.ts';
import { encodePayload } from '../wire/generated/lean/common.ts';
import { decodeFailure } from '../wire/generated/lean/failure.ts';
import { decodeSchedule, encodeScheduleListInfo, type NewWorkflowExecutionInfo } from '../wire/generated/lean/schedule.ts';
import { jsonPayload } from '../wire/json-payload.ts';
import { listedDefinition, listedProgress, listInfoField } from '../wire/schedule-info.ts';
import { specFromMessage } from '../wire/schedule-spec.ts';
import { ownLimits } from '../wire/wire-limits.ts';

const utf8 = new TextEncoder();

export const scheduleWire: ScheduleWire = {
  readDefinition,

  listedMemo(listed, progress) {
    const metadata = new Map([['encoding', utf8.encode('binary/plain')]]);
    // Bytes of a message behind bytes of that message are one message.
    const data = Buffer.concat([listed, encodeScheduleListInfo(listedProgress(progress))]);
    return encodeFields(new Map([[listInfoField, encodePayload({ metadata, data, externalPayloads: [] })]]));
  },

  ownAttributes({ paused }) {
    const division = jsonPayload('TemporalScheduler', 'Keyword');
    const attributes = { TemporalNamespaceDivision: division, TemporalSchedulePaused: jsonPayload(paused, 'Bool') };
    return encodeFields(new Map(Object.entries(attributes)));
  },

  workflowAttributes: (attributes, scheduleId, startTimeText) =>
    encodeFields(
      new Map([
        ...(attributes === undefined ? [] : decodeFields(attributes)),
        ['TemporalScheduledStartTime', jsonPayload(startTimeText, 'Datetime')],
        ['TemporalScheduledById', jsonPayload(scheduleId, 'Keyword')],
      ]),
    ),

  failureMessage: (failure) => decodeFailure(failure, ownLimits).message,
};

function readDefinition(bytes: Uint8Array): ScheduleDefinition {
  const { spec, action, policies } = decodeSchedule(bytes, ownLimits);
  const workflow = action?.startWorkflow;
  if (workflow === undefined || spec === undefined || policies?.catchupWindowMs === undefined) {
    throw new LogError('corrupt', 'a schedule lacks its spec, its action or its policies');
  }
  const { overlapPolicy, catchupWindowMs, pauseOnFailure, keepOriginalWorkflowId } = policies;
  return {
    spec: specFromMessage(spec),
    policies: { overlapPolicy, catchupWindowMs, pauseOnFailure },
    workflow: scheduledWorkflow(workflow),
    keepsWorkflowId: keepOriginalWorkflowId,
    listed: encodeScheduleListInfo(listedDefinition(spec, workflow.workflowType?.name ?? '')),
  };
}

function scheduledWorkflow(action: NewWorkflowExecutionInfo): ScheduledWorkflow {
  return {
    workflowId: action.workflowId,
    workflowType: action.workflowType?.name ?? '',
    taskQueue: action.taskQueue ?? { name: '', kind: 0, normalName: '' },
    input: action.input,
    header: action.header,
    memo: action.memo,
    searchAttributes: action.searchAttributes,
    executionTimeoutMs: action.workflowExecutionTimeoutMs,
    runTimeoutMs: action.workflowRunTimeoutMs,
    taskTimeoutMs: action.workflowTaskTimeoutMs,
    userMetadata: action.userMetadata,
    priority: action.priority,
    // As it was asked for is how it is described.
    retryPolicy: action.retryPolicy && withRetryDefaults(action.retryPolicy),
  };
}
