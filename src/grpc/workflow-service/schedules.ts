import type { ScheduleDescription } from '../../history/schedule/schedule-commands.ts';
import { jitterSeedOf, keptAs } from '../../schedules/schedule-id.ts';
import { type FutureTimes, searchFuture } from '../../schedules/future-times.ts';
import { passedOver } from '../../schedules/passed-over.ts';
import { scheduleLimits, type ScheduleProgress } from '../../schedules/schedule.ts';
import { type CompiledSpec, compileSpec } from '../../schedules/spec/compiled-spec.ts';
import { type MatchingTimes, matchingTimesMax, searchMatching, type TimeRange } from '../../schedules/spec/matching-times.ts';
import { SearchSteps, turnStepsMax } from '../../schedules/spec/search-steps.ts';
import { timesOfSpec } from '../../schedules/times-of-spec.ts';
import { emptyFailure, encodeFailure } from '../../wire/generated/lean/failure.ts';
import {
  type CreateScheduleRequest,
  decodeCreateScheduleRequest,
  decodeDeleteScheduleRequest,
  decodeDescribeScheduleRequest,
  decodeListScheduleMatchingTimesRequest,
  decodePatchScheduleRequest,
  decodeSchedule,
  decodeUpdateScheduleRequest,
  type DescribeScheduleRequest,
  type DescribeScheduleResponse,
  encodeCreateScheduleResponse,
  encodeDeleteScheduleResponse,
  encodeDescribeScheduleResponse,
  encodeListScheduleMatchingTimesResponse,
  encodePatchScheduleResponse,
  encodeUpdateScheduleResponse,
  type ListScheduleMatchingTimesRequest,
  type ListScheduleMatchingTimesResponse,
  type PatchScheduleRequest,
  type Schedule,
  type ScheduleInfo,
  type UpdateScheduleRequest,
} from '../../wire/generated/lean/schedule.ts';
import { actionResult, timestamp } from '../../wire/schedule-info.ts';
import { specFromMessage } from '../../wire/schedule-spec.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { queryFailed } from '../errors/details.ts';
import { invalidArgument, type StatusError } from '../errors/status-error.ts';
import type { Turns } from '../computing-calls.ts';
import type { HandlerContext } from '../handler-context.ts';
import { unary, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { checkBound } from '../validation/bounds.ts';
import { checkLength, checkMemo, type EdgeLimits } from '../validation/lengths.ts';
import { checkedPatch, checkedSchedule, checkWorkflowIdLength } from '../validation/schedule.ts';
import { checkSearchAttributes, withTypes, type DefinedAttributes } from '../validation/search-attributes.ts';
import { withPutAside } from './memo-note.ts';
import { withLeftStarts, withoutListInfo, withoutScheduleAttributes } from './schedule-fields.ts';

/** Schedules, but for their lists (visibility.ts). */
export function scheduleMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    unary('CreateSchedule', decodeCreateScheduleRequest, encodeCreateScheduleResponse, async (request, call) => ({
      conflictToken: tokenOf(await create(context, request, call)),
    })),
    unary('DescribeSchedule', decodeDescribeScheduleRequest, encodeDescribeScheduleResponse, (request, call) =>
      describe(context, request, call),
    ),
    unary('UpdateSchedule', decodeUpdateScheduleRequest, encodeUpdateScheduleResponse, (request, call) => update(context, request, call)),
    unary('PatchSchedule', decodePatchScheduleRequest, encodePatchScheduleResponse, (request, call) => patch(context, request, call)),
    unary('DeleteSchedule', decodeDeleteScheduleRequest, encodeDeleteScheduleResponse, async (request, call) => {
      checkLength(request.identity, 'Identity', context.limits);
      const key = await keyOf(context, request, call);
      await context.history(call, key, { kind: 'deleteSchedule', key });
      return {};
    }),
    unary('ListScheduleMatchingTimes', decodeListScheduleMatchingTimesRequest, encodeListScheduleMatchingTimesResponse, (request, call) =>
      listMatchingTimes(context, request, call),
    ),
  ];
}

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

async function create(context: HandlerContext, request: CreateScheduleRequest, call: Call): Promise<number> {
  const { limits } = context;
  const namespace = await context.openNamespace(call, request.namespace);
  const key = checkedKey(context, namespace.id, request.scheduleId);
  if (request.requestId === '') throw invalidArgument('RequestId is not set on request.');
  checkLength(request.requestId, 'RequestId', limits);
  checkLength(request.identity, 'Identity', limits);
  const schedule = checkedSchedule(request.schedule, namespace, limits, context.nowMs());
  checkMemo(request.memo, limits);
  checkSearchAttributes(request.searchAttributes, namespace, limits);
  const { conflictToken } = await context.history(call, key, {
    kind: 'createSchedule',
    key,
    namespace: namespace.name,
    newRunId: context.ports.newRunId(),
    requestId: request.requestId,
    ...schedule,
    patch: request.initialPatch && checkedPatch(request.initialPatch),
    memo: request.memo,
    searchAttributes: withTypes(request.searchAttributes, namespace, limits),
    identity: request.identity,
    retentionMs: namespace.retentionMs,
  });
  return conflictToken;
}

async function update(context: HandlerContext, request: UpdateScheduleRequest, call: Call): Promise<Record<never, never>> {
  const { limits } = context;
  const namespace = await context.openNamespace(call, request.namespace);
  const key = checkedKey(context, namespace.id, request.scheduleId);
  checkLength(request.requestId, 'RequestId', limits);
  checkLength(request.identity, 'Identity', limits);
  const schedule = checkedSchedule(request.schedule, namespace, limits, context.nowMs());
  checkMemo(request.memo, limits);
  checkSearchAttributes(request.searchAttributes, namespace, limits);
  await context.history(call, key, {
    kind: 'updateSchedule',
    key,
    requestId: context.requestId(request.requestId),
    ...schedule,
    conflictToken: readToken(request.conflictToken),
    memo: request.memo,
    searchAttributes: withTypes(request.searchAttributes, namespace, limits),
  });
  return {};
}

async function patch(context: HandlerContext, request: PatchScheduleRequest, call: Call): Promise<Record<never, never>> {
  const namespace = await context.openNamespace(call, request.namespace);
  const key = checkedKey(context, namespace.id, request.scheduleId);
  checkLength(request.requestId, 'RequestId', context.limits);
  checkLength(request.identity, 'Identity', context.limits);
  if (request.patch === undefined) throw invalidArgument('Patch is not set on request.');
  const requestId = context.requestId(request.requestId);
  await context.history(call, key, { kind: 'patchSchedule', key, requestId, patch: checkedPatch(request.patch) });
  return {};
}

async function describe(context: HandlerContext, request: DescribeScheduleRequest, call: Call): Promise<DescribeScheduleResponse> {
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
}

/** It is kept as it was sent; what it starts gets the types in the same way. */
function withTypedAttributes(action: Schedule['action'], attributes: DefinedAttributes, limits: EdgeLimits): Schedule['action'] {
  if (action?.startWorkflow === undefined) return action;
  const { searchAttributes, ...workflow } = action.startWorkflow;
  return { ...action, startWorkflow: { ...workflow, searchAttributes: withTypes(searchAttributes, attributes, limits) } };
}

type Described = ScheduleDescription & { readonly schedule: Schedule };

async function described(context: HandlerContext, request: NamesSchedule, call: Call): Promise<Described> {
  const key = await keyOf(context, request, call);
  const description = await context.history(call, key, { kind: 'describeSchedule', key });
  return { ...description, schedule: decodeSchedule(description.definition, ownLimits) };
}

function infoOf(progress: ScheduleProgress, { timesMs, problem }: FutureTimes): ScheduleInfo {
  return {
    actionCount: progress.actionCount,
    missedCatchupWindow: progress.missedCatchupWindow,
    overlapSkipped: progress.overlapSkipped,
    bufferDropped: progress.bufferDropped,
    bufferSize: progress.buffered.length,
    runningWorkflows: progress.running.map(({ workflowId, runId }) => ({ workflowId, runId })),
    recentActions: progress.recentActions.map(actionResult),
    futureActionTimes: timesMs.map(timestamp),
    createTimeMs: progress.createTimeMs,
    updateTimeMs: progress.updateTimeMs,
    invalidScheduleError: problem ?? '',
    stateSizeBytes: 0,
  };
}

function timesOf({ spec }: Schedule, jitterSeed: string, progress: ScheduleProgress, nowMs: number): FutureTimes {
  if (spec === undefined) return { timesMs: [], problem: undefined };
  const nextTime = timesOfSpec(specFromMessage(spec), jitterSeed);
  // Nothing happens to a paused schedule for long, and meanwhile it passes over its times.
  const { paused, processedToMs: knownMs } = progress;
  const processedToMs = paused ? passedOver(knownMs, nextTime, nowMs, new SearchSteps(turnStepsMax)) : knownMs;
  return searchFuture(nextTime, { ...progress, processedToMs }, scheduleLimits.futureActionsMax);
}

async function listMatchingTimes(
  context: HandlerContext,
  request: ListScheduleMatchingTimesRequest,
  call: Call,
): Promise<ListScheduleMatchingTimesResponse> {
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
}

/** As the query of a workflow that refuses it. */
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

/** 0 = whatever it is. */
function readToken(bytes: Uint8Array): number {
  if (bytes.length === 0) return 0;
  if (bytes.length !== tokenBytes) throw invalidArgument('malformed conflict token');
  const token = Number(Buffer.from(bytes).readBigUInt64BE());
  return token > 0 && token < neverGiven ? token : neverGiven;
}

/** It matches none. */
const neverGiven = Number.MAX_SAFE_INTEGER;
