/** A run of the core as `perdure.state.v1.Run`, and back. The message has the core's properties; what differs is said here. */
import { LogError } from '../../ports/log.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { AnsweredRequests } from '../../history/run/answered-requests.ts';
import type { ParentLink, StickyAttributes } from '../../history/commands/history-commands.ts';
import type { Batch } from '../../history/run/batch-state.ts';
import type { Callback } from '../../history/run/callback.ts';
import type { ShownOfRun } from '../../history/run/summary.ts';
import type { WorkflowPause, Activity, Archetype, AsideRun, Child, ExternalRequest, Own, Preparation } from '../../history/run/state.ts';
import type { RequestIdEntry, Reset, Run, RunStart, RunView, UserTimer, WorkflowTask, WorkflowUpdate } from '../../history/run/state.ts';
import type { Schedule, ScheduledBy } from '../../history/run/schedule-state.ts';
import { Pending } from '../../history/run/pending.ts';
import * as state from '../../wire/generated/state/history.ts';
import { decodeEvent, encodeEvent } from '../event-codec.ts';
import { asCore, type Complete, type NumberOf, wordOf } from '../../wire/as-core.ts';
import type { WholeRun } from './left-out.ts';

export function runToMessage(run: RunView, aside: AsideRun | undefined): state.Run {
  return {
    ...run,
    start: startToMessage(run),
    workflowTask: run.workflowTask && workflowTaskToMessage(run.workflowTask),
    buffered: run.buffered.map(encodeEvent),
    signalRequestIds: listOf(run.signalRequestIds),
    updates: listOf(run.updates),
    activities: listOf(run.activities),
    activityIds: activityIdsToMessage(run.activityIds),
    timers: listOf(run.timers),
    children: listOf(run.children),
    externalSignals: listOf(run.externalSignals),
    externalCancels: listOf(run.externalCancels),
    aside,
    schedule: run.own.archetype === 'schedule' ? run.own : undefined,
    batch: run.own.archetype === 'batch' ? run.own : undefined,
    eventsLeftOut: nothing,
  };
}

/** Throws on a number that no program has written. Properties stand in the order of `newRun`: to the engine all runs have one shape. */
export function runFromMessage(message: WholeRun): Complete<Run> {
  return {
    key: asCore<RunKey>(message.key),
    namespace: message.namespace,
    start: startFromMessage(message),
    status: message.status,
    closeTimeMs: message.closeTimeMs,
    successorRunId: message.successorRunId,
    retentionMs: message.retentionMs,
    nextEventId: message.nextEventId,
    historySizeBytes: message.historySizeBytes,
    stateTransitionCount: message.stateTransitionCount,
    previousStartedEventId: message.previousStartedEventId,
    workflowTask: message.workflowTask && workflowTaskFromMessage(message.workflowTask),
    workflowTaskAttempt: message.workflowTaskAttempt,
    workflowTaskStamp: message.workflowTaskStamp,
    closeAttempted: message.closeAttempted,
    sticky: message.sticky && asCore<StickyAttributes>(message.sticky),
    cancelRequested: message.cancelRequested,
    startedWith: message.startedWith,
    memo: message.memo,
    searchAttributes: message.searchAttributes,
    signalCount: message.signalCount,
    requestIds: message.requestIds.map(asCore<RequestIdEntry>),
    buffered: message.buffered.map(decodeEvent),
    bufferedBytes: message.bufferedBytes,
    timeoutTaskId: message.timeoutTaskId,
    backoffTaskId: message.backoffTaskId,
    retentionTaskId: message.retentionTaskId,
    preparation: message.preparation && asCore<Preparation>(message.preparation),
    reset: message.reset && asCore<Reset>(message.reset),
    resetRunId: message.resetRunId,
    pause: message.pause && asCore<WorkflowPause>(message.pause),
    answered: message.answered && asCore<AnsweredRequests>(message.answered),
    own: ownFromMessage(message),
    scheduledBy: message.scheduledBy && asCore<ScheduledBy>(message.scheduledBy),
    callbacks: message.callbacks.length === 0 ? noCallbacks : message.callbacks.map(asCore<Callback>),
    signalRequestIds: pendingOf<string, RequestIdEntry>(message.signalRequestIds, ({ requestId }) => requestId),
    updates: pendingOf<string, WorkflowUpdate>(message.updates, ({ updateId }) => updateId),
    activities: pendingOf<number, Activity>(message.activities, ({ scheduledEventId }) => scheduledEventId),
    attemptBytes: message.attemptBytes,
    activityIds: activityIdsFromMessage(message.activityIds),
    timers: pendingOf<string, UserTimer>(message.timers, ({ timerId }) => timerId),
    children: pendingOf<number, Child>(message.children, ({ initiatedEventId }) => initiatedEventId),
    externalSignals: pendingOf<number, ExternalRequest>(message.externalSignals, ({ initiatedEventId }) => initiatedEventId),
    externalCancels: pendingOf<number, ExternalRequest>(message.externalCancels, ({ initiatedEventId }) => initiatedEventId),
  };
}

/** Shows a run as `runFromMessage` would give it. */
export function shownFromMessage(message: state.Run): ShownOfRun {
  const { status, closeTimeMs, nextEventId, historySizeBytes, stateTransitionCount, memo, searchAttributes } = message;
  const start = startFromMessage(message);
  const key = asCore<RunKey>(message.key);
  const pause = message.pause && asCore<WorkflowPause>(message.pause);
  const preparation = message.preparation && asCore<Preparation>(message.preparation);
  const position = { closeTimeMs, nextEventId, historySizeBytes, stateTransitionCount };
  return { key, start, status, pause, preparation, ...position, memo, searchAttributes };
}

export function asideFromMessage({ aside }: WholeRun): AsideRun | undefined {
  return aside && asCore<AsideRun>(aside);
}

// ── Start ──────────────────────────────────────────────────────────────────────────────────────────────────────────────────────

const { WORKFLOW, SCHEDULE, BATCH } = state.Archetype;
const archetypes: NumberOf<Archetype> = { workflow: WORKFLOW, schedule: SCHEDULE, batch: BATCH };

function startToMessage({ key, start, own }: RunView): state.RunStart {
  const isRoot = start.root.runId === key.runId && start.root.workflowId === key.workflowId;
  return {
    ...start,
    archetype: archetypes[own.archetype],
    firstRunId: start.firstRunId === key.runId ? undefined : start.firstRunId,
    originalRunId: start.originalRunId === key.runId ? undefined : start.originalRunId,
    root: isRoot ? undefined : start.root,
  };
}

function startFromMessage({ key, start }: state.Run): RunStart {
  const { workflowId, runId } = key;
  const { archetype: _, ...ofRun } = start;
  return asCore<RunStart>({
    ...ofRun,
    firstRunId: start.firstRunId ?? runId,
    originalRunId: start.originalRunId ?? runId,
    parent: start.parent && asCore<ParentLink>(start.parent),
    root: start.root ?? { workflowId, runId },
  });
}

function ownFromMessage({ start, schedule, batch }: state.Run): Own {
  const archetype = wordOf(archetypes, start.archetype);
  if (archetype === undefined) throw new LogError('corrupt', `the run has the unknown archetype ${start.archetype}`);
  if (archetype === 'workflow') return { archetype };
  if (archetype === 'schedule' && schedule !== undefined) return asCore<Schedule>({ ...schedule, archetype });
  if (archetype === 'batch' && batch !== undefined) return asCore<Batch>({ ...batch, archetype });
  throw new LogError('corrupt', `the run is a ${archetype} and says nothing of it`);
}

// ── Workflow task ──────────────────────────────────────────────────────────────────────────────────────────────────────────────

const workflowTaskKinds: NumberOf<WorkflowTask['kind']> = {
  normal: state.WorkflowTaskKind.NORMAL,
  transient: state.WorkflowTaskKind.TRANSIENT,
  speculative: state.WorkflowTaskKind.SPECULATIVE,
};

function workflowTaskToMessage(task: WorkflowTask): state.WorkflowTask {
  return { ...task, kind: workflowTaskKinds[task.kind] };
}

function workflowTaskFromMessage(message: state.WorkflowTask): WorkflowTask {
  const kind = wordOf(workflowTaskKinds, message.kind);
  if (kind === undefined) throw new LogError('corrupt', `the run has a workflow task of the unknown kind ${message.kind}`);
  return asCore<WorkflowTask>({ ...message, kind });
}

// ── Sets ───────────────────────────────────────────────────────────────────────────────────────────────────────────────────────
//
// In the order in which their entries came, which is the order in which decisions go through them. The values know their keys.

const nothing: readonly never[] = [];
const noCallbacks: Run['callbacks'] = nothing;

function listOf<Value>(set: { readonly size: number; values(): Iterable<Value> }): readonly Value[] {
  return set.size === 0 ? nothing : [...set.values()];
}

function pendingOf<Key, Value extends object>(messages: readonly Complete<Value>[], keyOf: (value: Value) => Key): Pending<Key, Value> {
  const set = new Pending<Key, Value>();
  for (const message of messages) set.set(keyOf(message), message);
  return set;
}

function activityIdsToMessage(ids: RunView['activityIds']): readonly state.ActivityId[] {
  if (ids.size === 0) return nothing;
  return Array.from(ids.entries(), ([activityId, { scheduledEventId }]) => ({ activityId, scheduledEventId }));
}

function activityIdsFromMessage(messages: readonly state.ActivityId[]): Run['activityIds'] {
  const ids: Run['activityIds'] = new Pending();
  for (const { activityId, scheduledEventId } of messages) ids.set(activityId, { scheduledEventId });
  return ids;
}
