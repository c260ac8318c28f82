/** What a client says of a schedule: checked, and in its canonical form. The texts are Temporal's. */
import type { Namespace } from '../../cluster/cluster-state.ts';
import { cutNotes, type SchedulePatch } from '../../schedules/changes.ts';
import { overlapPolicy, type ScheduleStateFields } from '../../schedules/schedule.ts';
import { canonicalSpec } from '../../schedules/spec/canonical-spec.ts';
import * as wire from '../../wire/generated/lean/schedule.ts';
import { TaskQueueKind } from '../../wire/generated/lean/enums.ts';
import { emptyStartWorkflowExecutionRequest } from '../../wire/generated/lean/workflow_service.ts';
import { specFromMessage, specToMessage } from '../../wire/schedule-spec.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { checkBound } from './bounds.ts';
import { checkWorkflowIdLength, type EdgeLimits } from './names.ts';
import { startAttributes } from './start.ts';

const dayMs = 24 * 3_600_000;
const catchupWindowMsDefault = 365 * dayMs;
const catchupWindowMsMin = 10_000;
/** The longest time that a schedule appends to a workflow id. */
const appendedTime = '-2009-11-10T23:00:00Z';

export type CheckedSchedule = { readonly definition: Uint8Array; readonly state: ScheduleStateFields };

export function checkedSchedule(
  schedule: wire.Schedule | undefined,
  namespace: Namespace,
  limits: EdgeLimits,
  nowMs: number,
): CheckedSchedule {
  const { spec, action, policies, state } = schedule ?? noSchedule;
  const canonical = canonicalSpec(specFromMessage(spec ?? wire.emptyScheduleSpec()));
  if ('problem' in canonical) throw invalidArgument(`Invalid schedule spec: ${canonical.problem}`);
  const startWorkflow = action?.startWorkflow;
  if (startWorkflow === undefined) throw invalidArgument('Only StartWorkflow action is supported for schedules');
  const { notes = '', paused = false, limitedActions = false, remainingActions = 0 } = state ?? {};
  checkBound('ScheduleState.remaining_actions', remainingActions);
  const definition = wire.encodeSchedule({
    spec: specToMessage(canonical.spec),
    action: { startWorkflow: checkedWorkflow(startWorkflow, namespace, limits, nowMs) },
    policies: checkedPolicies(policies),
    state: undefined,
  });
  if (definition.length > limits.blobBytesMax) throw invalidArgument('Blob data size exceeds limit.');
  return { definition, state: { notes: cutNotes(notes), paused, limitedActions, remainingActions } };
}

const noSchedule: wire.Schedule = { spec: undefined, action: undefined, policies: undefined, state: undefined };

function checkedPolicies(policies: wire.SchedulePolicies | undefined): wire.SchedulePolicies {
  const { overlapPolicy: asked = 0, catchupWindowMs = 0, pauseOnFailure = false, keepOriginalWorkflowId = false } = policies ?? {};
  checkBound('SchedulePolicies.overlap_policy', asked);
  return {
    overlapPolicy: asked === overlapPolicy.unspecified ? overlapPolicy.skip : asked,
    // As everywhere, a duration that is not above 0 is one that is not set: ten seconds would lose what an outage holds up.
    catchupWindowMs: catchupWindowMs > 0 ? Math.max(catchupWindowMs, catchupWindowMsMin) : catchupWindowMsDefault,
    pauseOnFailure,
    keepOriginalWorkflowId,
  };
}

function checkedWorkflow(
  workflow: wire.NewWorkflowExecutionInfo,
  namespace: Namespace,
  limits: EdgeLimits,
  nowMs: number,
): wire.NewWorkflowExecutionInfo {
  const { workflowId, cronSchedule, workflowIdReusePolicy, ...start } = workflow;
  checkWorkflowIdLength(workflowId + appendedTime, limits);
  if (cronSchedule !== '') throw invalidArgument('Scheduled workflow must not contain CronSchedule');
  checkBound('NewWorkflowExecutionInfo.workflow_id_reuse_policy', workflowIdReusePolicy);
  const { taskQueue } = startAttributes({ ...emptyStartWorkflowExecutionRequest(), ...start, workflowId }, namespace, limits, nowMs);
  // It has been checked to be none but a normal one.
  return { ...workflow, taskQueue: { ...taskQueue, kind: TaskQueueKind.NORMAL } };
}

export function checkedPatch({ triggerImmediately, backfillRequest, pause, unpause }: wire.SchedulePatch): SchedulePatch {
  if (triggerImmediately !== undefined) {
    checkBound('TriggerImmediatelyRequest.overlap_policy', triggerImmediately.overlapPolicy);
    checkBound('TriggerImmediatelyRequest.scheduled_time', triggerImmediately.scheduledTimeMs);
  }
  const backfills = backfillRequest.map(({ startTimeMs, endTimeMs, overlapPolicy: asked }) => {
    checkBound('BackfillRequest.overlap_policy', asked);
    if (startTimeMs === undefined || endTimeMs === undefined) throw invalidArgument('BackfillRequest needs a start and an end time.');
    checkBound('BackfillRequest.start_time', startTimeMs);
    checkBound('BackfillRequest.end_time', endTimeMs);
    return { fromMs: startTimeMs, toMs: endTimeMs, overlapPolicy: asked };
  });
  const trigger = triggerImmediately && { timeMs: triggerImmediately.scheduledTimeMs, overlapPolicy: triggerImmediately.overlapPolicy };
  return { trigger, backfills, pause: cutNotes(pause), unpause: cutNotes(unpause) };
}
