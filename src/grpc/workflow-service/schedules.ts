import type { Namespace } from '../../cluster/cluster-state.ts';
import type { ScheduleDescription } from '../../history/commands/schedule-commands.ts';
import { jitterSeedOf, keptAs } from '../../schedules/schedule-id.ts';
import { type FutureTimes, searchFuture } from '../../schedules/future-times.ts';
import { passedOver } from '../../schedules/passed-over.ts';
import { scheduleLimits, type ScheduleProgress } from '../../schedules/schedule.ts';
import { type CompiledSpec, compileSpec } from '../../schedules/spec/compiled-spec.ts';
import { type MatchingTimes, matchingTimesMax, searchMatching, type TimeRange } from '../../schedules/spec/matching-times.ts';
import { SearchSteps, turnStepsMax } from '../../schedules/spec/search-steps.ts';
import { timesOfSpec } from '../../schedules/times-of-spec.ts';
import { emptyFailure, encodeFailure } from '../../wire/generated/lean/failure.ts';
import * as wire from '../../wire/generated/lean/schedule.ts';
import { actionResult, timestamp } from '../../wire/schedule-info.ts';
import { specFromMessage } from '../../wire/schedule-spec.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { queryFailed } from '../errors/details.ts';
import { invalidArgument, type StatusError } from '../errors/status-error.ts';
import type { Turns } from '../computing-calls.ts';
import type { HandlerContext } from '../handler-context.ts';
import { inOpenNamespace, methodsOf } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import { checkLength, checkLengths, checkWorkflowIdLength, type EdgeLimits } from '../validation/names.ts';
import { checkMemo } from '../validation/opaque.ts';
import { checkedPatch, checkedSchedule } from '../validation/schedule.ts';
import { checkSearchAttributes, withTypes, type DefinedAttributes } from '../validation/search-attributes.ts';
import { withPutAside } from './memo-note.ts';
import { withLeftStarts, withoutListInfo, withoutScheduleAttributes } from './schedule-fields.ts';

/** Schedules, but for their lists (visibility.ts). */
export const scheduleMethods = methodsOf(wire.codecs, {
  CreateSchedule: inOpenNamespace(async (context, request, call, namespace) => {
    const key = checkedKey(context, namespace.id, request.scheduleId);
    const { requestId, identity, initialPatch } = request;
    if (requestId === '') throw invalidArgument('RequestId is not set on request.');
    const { conflictToken } = await context.history(call, key, {
      kind: 'createSchedule',
      key,
      namespace: namespace.name,
      newRunId: context.ports.newRunId(),
      requestId,
      ...checkedFields(context, request, namespace),
      patch: initialPatch && checkedPatch(initialPatch),
      identity,
      retentionMs: namespace.retentionMs,
    });
    return { conflictToken: tokenOf(conflictToken) };
  }),
  DescribeSchedule: async (context, request, call) => {
    const { key, schedule, progress, memo, searchAttributes, aside } = await described(context, request, call);
    const namespace = await context.namespace(call, request.namespace);
    const { paused, notes, limitedActions, remainingActions } = progress;
    return {
      schedule: {
        ...schedule,
        action: withTypedAttributes(schedule.action, namespace, context.limits),
        state: { paused, notes, limitedActions, remainingActions },
      },
      info: infoOf(progress, timesOf(schedule, jitterSeedOf(key.namespaceId, request.scheduleId), progress, context.nowMs())),
      memo: withPutAside(withLeftStarts(withoutListInfo(memo), progress), aside, 'an update or a patch has them tried again'),
      searchAttributes: withoutScheduleAttributes(searchAttributes),
      conflictToken: tokenOf(progress.conflictToken),
    };
  },
  UpdateSchedule: inOpenNamespace(async (context, request, call, namespace) => {
    const key = checkedKey(context, namespace.id, request.scheduleId);
    const fields = checkedFields(context, request, namespace);
    const requestId = context.requestId(request.requestId);
    const conflictToken = readToken(request.conflictToken);
    await context.history(call, key, { kind: 'updateSchedule', key, requestId, ...fields, conflictToken });
    return {};
  }),
  PatchSchedule: inOpenNamespace(async (context, request, call, namespace) => {
    const key = checkedKey(context, namespace.id, request.scheduleId);
    checkLengths({ RequestId: request.requestId, Identity: request.identity }, context.limits);
    if (request.patch === undefined) throw invalidArgument('Patch is not set on request.');
    const requestId = context.requestId(request.requestId);
    await context.history(call, key, { kind: 'patchSchedule', key, requestId, patch: checkedPatch(request.patch) });
    return {};
  }),
  DeleteSchedule: async (context, request, call) => {
    checkLength(request.identity, 'Identity', context.limits);
    const key = await keyOf(context, request, call);
    await context.history(call, key, { kind: 'deleteSchedule', key });
    return {};
  },
  ListScheduleMatchingTimes: async (context, request, call) => {
    const { startTimeMs: startMs, endTimeMs: endMs } = request;
    if (startMs !== undefined) checkBound('ListScheduleMatchingTimesRequest.start_time', startMs);
    if (endMs !== undefined) checkBound('ListScheduleMatchingTimesRequest.end_time', endMs);
    const { key, schedule } = await described(context, request, call);
    if (startMs === undefined || endMs === undefined) throw noTimes();
    const compiled =
      schedule.spec && compileSpec(specFromMessage(schedule.spec), { jitterSeed: jitterSeedOf(key.namespaceId, request.scheduleId) });
    if (compiled === undefined) return { startTime: [] };
    const range = { startMs, endMs, timesMax: matchingTimesMax };
    const found = await context.computing.run(call, key.namespaceId, (turns) => allMatching(turns, compiled, range));
    if ('problem' in found) throw invalidArgument(found.problem);
    return { startTime: found.timesMs.map(timestamp) };
  },
});

type NamesSchedule = { readonly namespace: string; readonly scheduleId: string };

async function keyOf(context: HandlerContext, { namespace, scheduleId }: NamesSchedule, call: Call) {
  const { id } = await context.namespace(call, namespace);
  return checkedKey(context, id, scheduleId);
}

function checkedKey({ limits }: HandlerContext, namespaceId: string, scheduleId: string) {
  if (scheduleId === '') throw invalidArgument('ScheduleId is not set on request.');
  const key = { namespaceId, workflowId: keptAs(scheduleId), runId: '' };
  checkWorkflowIdLength(key.workflowId, limits);
  return key;
}

function checkedFields(context: HandlerContext, request: wire.CreateScheduleRequest | wire.UpdateScheduleRequest, namespace: Namespace) {
  const { limits } = context;
  const { requestId, identity, memo, searchAttributes } = request;
  checkLengths({ RequestId: requestId, Identity: identity }, limits);
  const schedule = checkedSchedule(request.schedule, namespace, limits, context.nowMs());
  checkMemo(memo, limits);
  checkSearchAttributes(searchAttributes, namespace, limits);
  return { ...schedule, memo, searchAttributes: withTypes(searchAttributes, namespace, limits) };
}

/** An action is kept as it was sent; what it starts gets the types in this way too. */
function withTypedAttributes(action: wire.Schedule['action'], attributes: DefinedAttributes, limits: EdgeLimits): wire.Schedule['action'] {
  if (action?.startWorkflow === undefined) return action;
  const { searchAttributes, ...workflow } = action.startWorkflow;
  return { ...action, startWorkflow: { ...workflow, searchAttributes: withTypes(searchAttributes, attributes, limits) } };
}

type Described = ScheduleDescription & { readonly schedule: wire.Schedule };

async function described(context: HandlerContext, request: NamesSchedule, call: Call): Promise<Described> {
  const key = await keyOf(context, request, call);
  const description = await context.history(call, key, { kind: 'describeSchedule', key });
  return { ...description, schedule: wire.decodeSchedule(description.definition, ownLimits) };
}

function infoOf(progress: ScheduleProgress, { timesMs, problem }: FutureTimes): wire.ScheduleInfo {
  const { actionCount, missedCatchupWindow, overlapSkipped, bufferDropped, createTimeMs, updateTimeMs } = progress;
  return {
    ...{ actionCount, missedCatchupWindow, overlapSkipped, bufferDropped, createTimeMs, updateTimeMs },
    bufferSize: progress.buffered.length,
    runningWorkflows: progress.running.map(({ workflowId, runId }) => ({ workflowId, runId })),
    recentActions: progress.recentActions.map(actionResult),
    futureActionTimes: timesMs.map(timestamp),
    invalidScheduleError: problem ?? '',
    stateSizeBytes: 0,
  };
}

function timesOf({ spec }: wire.Schedule, jitterSeed: string, progress: ScheduleProgress, nowMs: number): FutureTimes {
  if (spec === undefined) return { timesMs: [], problem: undefined };
  const nextTime = timesOfSpec(specFromMessage(spec), jitterSeed);
  // Nothing happens to a paused schedule for long, and meanwhile it passes over its times.
  const { paused, processedToMs: knownMs } = progress;
  const processedToMs = paused ? passedOver(knownMs, nextTime, nowMs, new SearchSteps(turnStepsMax)) : knownMs;
  return searchFuture(nextTime, { ...progress, processedToMs }, scheduleLimits.futureActionsMax);
}

/** The error is that of a query which its workflow refuses: so Temporal's schedules answer. */
function noTimes(): StatusError {
  const message = 'missing or invalid query';
  return queryFailed(message, encodeFailure({ ...emptyFailure(), message, source: 'GoSDK' }));
}

/** A thousand times that are hard to find take a third of a second, in which others have their turns. */
async function allMatching(turns: Turns, spec: CompiledSpec, range: TimeRange): Promise<MatchingTimes> {
  const search = searchMatching(spec, range);
  for (;;) {
    await turns.next();
    const { done, value } = search.next();
    if (done === true) return value;
  }
}

const tokenBytes = 8;

function tokenOf(conflictToken: number): Uint8Array {
  const bytes = Buffer.alloc(tokenBytes);
  bytes.writeBigUInt64BE(BigInt(conflictToken));
  return bytes;
}

/** The token that a request names; 0 = whichever the schedule has. */
function readToken(bytes: Uint8Array): number {
  if (bytes.length === 0) return 0;
  if (bytes.length !== tokenBytes) throw invalidArgument('malformed conflict token');
  const token = Number(Buffer.from(bytes).readBigUInt64BE());
  return token > 0 && token < neverGiven ? token : neverGiven;
}

const neverGiven = Number.MAX_SAFE_INTEGER;
