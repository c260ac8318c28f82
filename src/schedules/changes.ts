/** What happens to a schedule from outside: each answers how far it is then. A step (step.ts) follows. */
import {
  type Backfill,
  type BufferedStart,
  type RecentAction,
  type RunningWorkflow,
  scheduleLimits,
  type SchedulePolicies,
  type ScheduleProgress,
  type ScheduleStateFields,
} from './schedule.ts';

/** What a client asks for once. */
export type SchedulePatch = {
  /** undefined: nothing. `timeMs` 0 = now. */
  readonly trigger: { readonly timeMs: number; readonly overlapPolicy: number } | undefined;
  readonly backfills: readonly Backfill[];
  /** '' = it is not paused by this. */
  readonly pause: string;
  /** '' = it does not go on by this. */
  readonly unpause: string;
};

export function isRepeated({ requestIds }: ScheduleProgress, requestId: string): boolean {
  return requestId !== '' && requestIds.includes(requestId);
}

export function withRequest(progress: ScheduleProgress, requestId: string): ScheduleProgress {
  if (requestId === '') return progress;
  return { ...progress, requestIds: [...progress.requestIds, requestId].slice(-scheduleLimits.requestIdsMax) };
}

export function updateProgress(progress: ScheduleProgress, state: ScheduleStateFields, nowMs: number): ScheduleProgress {
  return { ...progress, ...state, updateTimeMs: nowMs, conflictToken: progress.conflictToken + 1 };
}

export function patchProgress(progress: ScheduleProgress, patch: SchedulePatch, nowMs: number): ScheduleProgress {
  const { trigger, pause, unpause } = patch;
  let patched = addBackfills(trigger === undefined ? progress : addTrigger(progress, trigger, nowMs), patch.backfills);
  // Of both, the second holds, as in Temporal.
  if (pause !== '') patched = { ...patched, paused: true, notes: pause, conflictToken: patched.conflictToken + 1 };
  if (unpause !== '') patched = { ...patched, paused: false, notes: unpause, conflictToken: patched.conflictToken + 1 };
  return patched;
}

function addTrigger(
  progress: ScheduleProgress,
  { timeMs, overlapPolicy }: NonNullable<SchedulePatch['trigger']>,
  nowMs: number,
): ScheduleProgress {
  const { buffered, bufferDropped } = progress;
  if (buffered.length >= scheduleLimits.bufferedMax) return { ...progress, bufferDropped: bufferDropped + 1 };
  const atMs = timeMs === 0 ? freeSecondFrom(progress, nowMs) : timeMs;
  const start: BufferedStart = { nominalTimeMs: atMs, actualTimeMs: atMs, overlapPolicy, manual: true };
  return { ...progress, buffered: [...buffered, start] };
}

/** Workflows of a schedule are told apart by the second in their ids: what is triggered in one that another action has takes the next. */
function freeSecondFrom({ buffered, starting, recentActions }: ScheduleProgress, nowMs: number): number {
  const takenMs = [...buffered, ...starting].map(({ nominalTimeMs }) => nominalTimeMs);
  for (const { scheduleTimeMs } of recentActions) takenMs.push(scheduleTimeMs);
  const secondMs = Math.floor(nowMs / 1_000) * 1_000;
  // Behind the last of them: many that were triggered together are no recent actions any more.
  const lastMs = Math.max(...takenMs.filter((ms) => ms >= secondMs && ms < secondMs + scheduleLimits.bufferedMax * 1_000));
  return lastMs === -Infinity ? nowMs : (Math.floor(lastMs / 1_000) + 1) * 1_000;
}

function addBackfills(progress: ScheduleProgress, asked: readonly Backfill[]): ScheduleProgress {
  if (asked.length === 0) return progress;
  const room = Math.max(0, scheduleLimits.backfillsMax - progress.backfills.length);
  const backfills = [...progress.backfills, ...asked.slice(0, room)];
  return { ...progress, backfills, bufferDropped: progress.bufferDropped + Math.max(0, asked.length - room) };
}

/** The workflow of the action has begun, or had before. undefined: the action is not under way (any more). */
export function actionStarted(progress: ScheduleProgress, workflow: RunningWorkflow, nowMs: number): ScheduleProgress | undefined {
  const action = progress.starting.find(({ startId }) => startId === workflow.startId);
  if (action === undefined) return undefined;
  const result = { ...workflow, scheduleTimeMs: action.actualTimeMs, actualTimeMs: nowMs, status: runningStatus };
  const recentActions = newest([...progress.recentActions, result]);
  const begun = { ...withoutStarting(progress, action.startId), actionCount: progress.actionCount + 1, recentActions };
  return action.tracked ? { ...begun, running: [...progress.running, workflow], runningSeenMs: nowMs } : begun;
}

/** Keeps the newest in the order in which they became due: those that begin together are heard of in any. */
function newest(actions: readonly RecentAction[]): readonly RecentAction[] {
  return actions.toSorted((a, b) => a.startId - b.startId).slice(-scheduleLimits.recentActionsMax);
}

/** `temporal.api.enums.v1.WorkflowExecutionStatus` */
const runningStatus = 1;

/** The action could not be started, and never will be. undefined: it is not under way (any more). */
export function actionFailed(progress: ScheduleProgress, startId: number): ScheduleProgress | undefined {
  return progress.starting.some((one) => one.startId === startId) ? withoutStarting(progress, startId) : undefined;
}

/**
 * Its start is given up for now, and may be tried again by whoever looks after dead letters: the next ones neither wait for it nor want for its
 * place. Who purges the letter tells nobody: it is looked for now and then, and the oldest of many are let go of. undefined: it is not under way (any more).
 */
export function actionLeft(progress: ScheduleProgress, startId: number): ScheduleProgress | undefined {
  if (!progress.starting.some((one) => one.startId === startId && !one.left)) return undefined;
  const starting = progress.starting.map((one) => (one.startId === startId ? { ...one, tracked: false, left: true } : one));
  const kept = starting.filter(({ left }) => left).slice(-scheduleLimits.leftMax);
  return { ...progress, starting: starting.filter((one) => !one.left || kept.includes(one)) };
}

/** None of the starts that were left is a letter any more: they were purged, and nobody will start them. undefined: there are none. */
export function letGoOfLeft(progress: ScheduleProgress): ScheduleProgress | undefined {
  return hasLeft(progress) ? { ...progress, starting: progress.starting.filter(({ left }) => !left) } : undefined;
}

export function hasLeft({ starting }: ScheduleProgress): boolean {
  return starting.some(({ left }) => left);
}

function withoutStarting(progress: ScheduleProgress, startId: number): ScheduleProgress {
  return { ...progress, starting: progress.starting.filter((one) => one.startId !== startId) };
}

/** The workflow of the action is found nowhere: how it ended nobody knows. undefined: nobody waits for it. */
export function actionGone(progress: ScheduleProgress, startId: number): ScheduleProgress | undefined {
  const running = progress.running.filter((one) => one.startId !== startId);
  return running.length === progress.running.length ? undefined : { ...progress, running };
}

/** It was seen to have ended, and its news, with its result, may still come. undefined: they are lost, or nobody waits for them. */
export function actionSeenClosed(
  progress: ScheduleProgress,
  { workflow: { startId }, status }: ClosedAction,
  nowMs: number,
): ScheduleProgress | undefined {
  const isAwaited = progress.running.some((one) => one.startId === startId);
  const isNew = progress.recentActions.some((action) => action.startId === startId && action.status === runningStatus);
  if (!isAwaited || !isNew) return undefined;
  const runningSeenMs = nowMs - scheduleLimits.lookAfterMs + scheduleLimits.newsAfterMs;
  return { ...progress, runningSeenMs, recentActions: withStatus(progress.recentActions, startId, status) };
}

/** The workflow of the action runs, also where it had ended: it was reset meanwhile. undefined: that is what is known. */
export function actionSeenRunning(progress: ScheduleProgress, startId: number): ScheduleProgress | undefined {
  const isKnown = !progress.recentActions.some((action) => action.startId === startId && action.status !== runningStatus);
  if (isKnown || !progress.running.some((one) => one.startId === startId)) return undefined;
  return { ...progress, recentActions: withStatus(progress.recentActions, startId, runningStatus) };
}

function withStatus(actions: readonly RecentAction[], startId: number, status: number): readonly RecentAction[] {
  return actions.map((action) => (action.startId === startId ? { ...action, status } : action));
}

export type ClosedAction = {
  readonly workflow: RunningWorkflow;
  /** `temporal.api.enums.v1.WorkflowExecutionStatus` */
  readonly status: number;
  /** undefined: it has neither failed nor timed out. */
  readonly failure: { readonly kind: 'failed'; readonly message: string } | { readonly kind: 'timedOut' } | undefined;
};

/** The news may come before those of its start, and stand for them. undefined: nobody waits for it. */
export function actionClosed(
  known: ScheduleProgress,
  { workflow, status, failure }: ClosedAction,
  { pauseOnFailure }: SchedulePolicies,
  nowMs: number,
): ScheduleProgress | undefined {
  const { startId } = workflow;
  const begun = actionStarted(known, workflow, nowMs);
  const progress = begun ?? known;
  if (!progress.running.some((one) => one.startId === startId)) return begun;
  const closed = {
    ...progress,
    runningSeenMs: nowMs,
    running: progress.running.filter((one) => one.startId !== startId),
    recentActions: withStatus(progress.recentActions, startId, status),
  };
  if (failure === undefined || !pauseOnFailure || progress.paused) return closed;
  const notes =
    failure.kind === 'failed'
      ? `paused due to workflow failure: ${workflow.workflowId}: ${failure.message}`
      : `paused due to workflow timeout: ${workflow.workflowId}`;
  return { ...closed, paused: true, notes: cutNotes(notes), conflictToken: closed.conflictToken + 1 };
}

/** Notes are part of every change that is written of a schedule, and of its row in lists. */
export function cutNotes(notes: string): string {
  return notes.slice(0, scheduleLimits.notesCharsMax).toWellFormed();
}
