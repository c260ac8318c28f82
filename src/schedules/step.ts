/**
 * One step of a schedule: what is due is buffered, what may start is started, and it says when it wants to be woken. Pure, and bounded: a schedule
 * that has slept for a year takes its times by the thousand, each thousand a step of its own; of times that are hard to find, fewer.
 */
import { decideOverlap } from './overlap.ts';
import { passedOver } from './passed-over.ts';
import { SearchSteps, turnStepsMax } from './spec/search-steps.ts';
import {
  actsBySpec,
  type Backfill,
  type BufferedStart,
  overlapPolicy,
  type RunningWorkflow,
  scheduleLimits,
  type ScheduledTime,
  type SchedulePlan,
  type SchedulePolicies,
  type ScheduleProgress,
  type StartingAction,
} from './schedule.ts';

export type ScheduleStep = {
  readonly progress: ScheduleProgress;
  /** Workflows to be started; they are among `progress.starting`. */
  readonly starts: readonly StartingAction[];
  /** Workflows that make way for a start that waits. */
  readonly cancels: readonly RunningWorkflow[];
  readonly terminates: readonly RunningWorkflow[];
  /** Workflows that hold up others, and of which nothing was heard for long: do they still run? */
  readonly looks: readonly RunningWorkflow[];
  /** The next step by itself; undefined: none, whatever the time. */
  readonly wakeTimeMs: number | undefined;
  /** When a schedule goes that has nothing left to do; undefined: this one has something. */
  readonly expireTimeMs: number | undefined;
};

/** The schedule as its last step left it. */
export type LastStep = { readonly progress: ScheduleProgress; readonly policies: SchedulePolicies };

/** `last`: where something has happened since. */
export function stepSchedule(
  before: ScheduleProgress,
  plan: SchedulePlan,
  nowMs: number,
  last: LastStep = { progress: before, policies: plan.policies },
): ScheduleStep {
  const draft = new StepDraft(before);
  const turn = new SearchSteps(turnStepsMax);
  const scheduled = takeDueTimes(draft, plan, nowMs, turn);
  const isKnown = takeBackfills(draft, plan, turn);
  const { starts, holdsUp } = processBuffer(draft, plan);
  const looks = holdsUp ? takeLook(draft, nowMs) : none;
  const { progress } = draft;
  const ends = newEnds(endsWanted(last), endsWanted({ progress, policies: plan.policies }));
  // While the buffer is full no time can be taken: the step after a start or an end that makes room takes it.
  const isFull = progress.buffered.length >= scheduleLimits.bufferedMax;
  const wakeTimeMs = earliest(earliest(isFull ? undefined : scheduled, backfillTime(progress, plan, nowMs, isKnown)), lookTime(progress));
  return { progress, starts, ...ends, looks, wakeTimeMs, expireTimeMs: expiration(progress, wakeTimeMs) };
}

/**
 * A change from outside, between a step by what the schedule was and one by what it is: what was due before the change is due as it was, and a
 * schedule that goes on after a pause has left the pause behind it. What is due and not looked at yet (the server was away) is missed if the
 * change leaves no place for it: a new spec begins now, and a pause too.
 */
export function stepAround(
  before: ScheduleProgress,
  plan: SchedulePlan,
  nowMs: number,
  change: (progress: ScheduleProgress) => { readonly progress: ScheduleProgress; readonly plan: SchedulePlan },
): ScheduleStep {
  const first = stepSchedule(actsBySpec(before) ? before : passingOver(before, plan, nowMs), plan, nowMs);
  const changed = change(first.progress);
  const isUpdated = changed.progress.updateTimeMs !== first.progress.updateTimeMs;
  const leaves = isUpdated || !actsBySpec(changed.progress);
  const missed = leaves && actsBySpec(first.progress) ? countDue(first.progress, plan, nowMs) : 0;
  // What the new spec would have had before now may be millions of times.
  const begun = isUpdated ? passingOver(changed.progress, changed.plan, nowMs - 1) : changed.progress;
  const left = { progress: first.progress, policies: plan.policies };
  const missedCatchupWindow = begun.missedCatchupWindow + missed;
  const step = stepSchedule({ ...begun, missedCatchupWindow }, changed.plan, nowMs, left);
  const isUnpaused = first.progress.paused && !changed.progress.paused;
  const second = isUnpaused && step.expireTimeMs !== undefined ? keptFromNow(step, nowMs) : step;
  return {
    ...second,
    starts: [...first.starts, ...second.starts],
    cancels: union(first.cancels, second.cancels),
    terminates: union(first.terminates, second.terminates),
    looks: union(first.looks, second.looks),
  };
}

function passingOver(progress: ScheduleProgress, { nextTime }: SchedulePlan, nowMs: number): ScheduleProgress {
  const turn = new SearchSteps(turnStepsMax);
  return { ...progress, processedToMs: passedOver(progress.processedToMs, nextTime, nowMs, turn) };
}

/** The schedule has nothing to do, and its retention begins when the pause ends: the times of its spec until then are behind it. */
function keptFromNow(step: ScheduleStep, nowMs: number): ScheduleStep {
  const progress = { ...step.progress, processedToMs: nowMs };
  return { ...step, progress, expireTimeMs: expiration(progress, undefined) };
}

/** Before now, as far as a step looks; beyond that, as many more as there are at this pace. */
function countDue({ processedToMs, updateTimeMs }: ScheduleProgress, { nextTime }: SchedulePlan, nowMs: number): number {
  const turn = new SearchSteps(turnStepsMax);
  let count = 0;
  let countedToMs = processedToMs;
  for (let next = nextTime(processedToMs, turn); next !== undefined && next.nextMs < nowMs; next = nextTime(next.nextMs, turn)) {
    // What was due before the last update was counted by that.
    if (next.nextMs >= updateTimeMs) count++;
    countedToMs = next.nextMs;
    if (count === scheduleLimits.timesPerStepMax || turn.areSpent) {
      return Math.floor((count * (nowMs - processedToMs)) / (countedToMs - processedToMs));
    }
  }
  return count;
}

function union(some: readonly RunningWorkflow[], more: readonly RunningWorkflow[]): readonly RunningWorkflow[] {
  return [...some, ...without(more, some)];
}

/** The list is copied once, whatever a step adds to it. Whoever adds has looked whether there is room. */
class StepDraft {
  progress: ScheduleProgress;
  readonly buffered: BufferedStart[];

  constructor(progress: ScheduleProgress) {
    this.progress = progress;
    this.buffered = [...progress.buffered];
  }

  change(change: Partial<ScheduleProgress>): void {
    this.progress = { ...this.progress, ...change };
  }
}

/** Answers when the next time of the spec is due, or is to be searched for again; undefined: never, or not as long as nobody changes the schedule. */
function takeDueTimes(draft: StepDraft, { nextTime, policies }: SchedulePlan, nowMs: number, turn: SearchSteps): number | undefined {
  const { processedToMs, updateTimeMs } = draft.progress;
  if (!actsBySpec(draft.progress)) return undefined;
  let taken = 0;
  let next = nextTime(processedToMs, turn);
  for (; next !== undefined && next.nextMs <= nowMs; next = nextTime(next.nextMs, turn)) {
    // The first, however hard it was to find: each step gets on.
    if (taken === scheduleLimits.timesPerStepMax || (taken > 0 && turn.areSpent)) return nowMs;
    const isOutdated = next.nextMs < updateTimeMs;
    const isMissed = !isOutdated && nowMs - next.nextMs > policies.catchupWindowMs;
    // It is taken when there is room for it: what is due is never dropped.
    if (!isOutdated && !isMissed && draft.buffered.length >= scheduleLimits.bufferedMax) return nowMs;
    taken++;
    draft.change({ processedToMs: next.nextMs });
    if (isMissed) draft.change({ missedCatchupWindow: draft.progress.missedCatchupWindow + 1 });
    else if (!isOutdated) draft.buffered.push(startAt(next, overlapPolicy.unspecified, false));
  }
  if (next !== undefined) return next.nextMs;
  // It is not known whether there is one: the schedule stays, and what has become due meanwhile is found then.
  return turn.problem === undefined ? undefined : nowMs + scheduleLimits.searchAgainMs;
}

/** Backfills take up half of the buffer at most, and a few times in each step: one at least. Answers whether it is known which time is next. */
function takeBackfills(draft: StepDraft, { nextTime }: SchedulePlan, turn: SearchSteps): boolean {
  let taken = 0;
  let isKnown = true;
  const backfills = [...draft.progress.backfills];
  while (taken < scheduleLimits.backfillsPerStepMax && draft.buffered.length < scheduleLimits.bufferedMax / 2) {
    const backfill = backfills[0];
    if (backfill === undefined || (taken > 0 && turn.areSpent)) break;
    taken++;
    const search = new SearchSteps();
    const next = nextTime(backfill.fromMs - 1, search);
    turn.take(search.taken);
    if (next === undefined && search.problem !== undefined) {
      // Nobody knows whether there is one: it stays, and is looked for again.
      isKnown = false;
      break;
    }
    if (next === undefined || next.nextMs > backfill.toMs) backfills.shift();
    else {
      draft.buffered.push(startAt(next, backfill.overlapPolicy, true));
      backfills[0] = { ...backfill, fromMs: next.nextMs + 1 };
    }
  }
  draft.change({ backfills });
  return isKnown;
}

function startAt({ nominalMs, nextMs }: ScheduledTime, policy: number, manual: boolean): BufferedStart {
  return { nominalTimeMs: nominalMs, actualTimeMs: nextMs, overlapPolicy: policy, manual };
}

/** `holdsUp`: one that runs, or begins, lets others wait, or has let them be skipped. */
type Actions = Pick<ScheduleStep, 'starts'> & { readonly holdsUp: boolean };

/** Starts that a pause, or the number of actions that are left, does not allow make room for the next. */
function processBuffer(draft: StepDraft, { policies }: SchedulePlan): Actions {
  const starts: StartingAction[] = [];
  let waiting: readonly BufferedStart[] = draft.buffered;
  let holdsUp = false;
  for (;;) {
    const { running, starting } = draft.progress;
    const isRunning = running.length > 0 || starting.some(({ tracked }) => tracked);
    const room = Math.max(0, scheduleLimits.startingMax - underWay(draft.progress));
    const decision = decideOverlap(waiting, { isRunning, policyOfSchedule: policies.overlapPolicy, room });
    holdsUp ||= decision.buffered.length > 0 || decision.skipped > 0;
    draft.change({ buffered: decision.buffered, overlapSkipped: draft.progress.overlapSkipped + decision.skipped });
    let refused = false;
    for (const start of decision.overlapping) refused = !take(draft, start, false, starts) || refused;
    if (decision.next !== undefined) refused = !take(draft, decision.next, true, starts) || refused;
    if (!refused) return { starts, holdsUp };
    waiting = decision.buffered;
  }
}

const none: readonly RunningWorkflow[] = [];

type Ends = Pick<ScheduleStep, 'cancels' | 'terminates'>;

/** Workflows that are to make way for a start that waits. */
export function endsWanted({ progress: { buffered, running }, policies }: LastStep): Ends {
  if (running.length === 0 || buffered.length === 0) return { cancels: none, terminates: none };
  const situation = { isRunning: true, policyOfSchedule: policies.overlapPolicy, room: Infinity };
  const { cancelsRunning, terminatesRunning } = decideOverlap(buffered, situation);
  if (terminatesRunning) return { cancels: none, terminates: running };
  return { cancels: cancelsRunning ? running : none, terminates: none };
}

/** What was wanted before was asked for then: a workflow may take long to end, and each time that is due meanwhile would ask once more. */
function newEnds(before: Ends, now: Ends): Ends {
  const cancels = without(now.cancels, [...before.cancels, ...before.terminates]);
  return { cancels, terminates: without(now.terminates, before.terminates) };
}

function without(some: readonly RunningWorkflow[], others: readonly RunningWorkflow[]): readonly RunningWorkflow[] {
  return some.filter(({ startId }) => !others.some((one) => one.startId === startId));
}

/** False: it does not start, and is forgotten. */
function take(draft: StepDraft, start: BufferedStart, tracked: boolean, starts: StartingAction[]): boolean {
  const { progress } = draft;
  if (!start.manual) {
    if (!actsBySpec(progress)) return false;
    if (progress.limitedActions)
      draft.change({ remainingActions: progress.remainingActions - 1, conflictToken: progress.conflictToken + 1 });
  }
  const startId = progress.lastStartId + 1;
  const { nominalTimeMs, actualTimeMs, manual } = start;
  const action: StartingAction = { startId, nominalTimeMs, actualTimeMs, manual, tracked, left: false };
  draft.change({ lastStartId: startId, starting: [...progress.starting, action] });
  starts.push(action);
  return true;
}

function underWay({ starting }: ScheduleProgress): number {
  return starting.reduce((count, { left }) => (left ? count : count + 1), 0);
}

/** Once in a while: whoever runs for a day tells by itself when it ends. */
function takeLook(draft: StepDraft, nowMs: number): readonly RunningWorkflow[] {
  const { running, runningSeenMs } = draft.progress;
  if (running.length === 0 || nowMs < runningSeenMs + scheduleLimits.lookAfterMs) return none;
  draft.change({ runningSeenMs: nowMs });
  return running;
}

/** What is skipped is looked at when the next one is due; for what waits, nothing else may ever be. */
function lookTime({ buffered, running, runningSeenMs }: ScheduleProgress): number | undefined {
  return buffered.length > 0 && running.length > 0 ? runningSeenMs + scheduleLimits.lookAfterMs : undefined;
}

/** When a backfill goes on that waits for nothing but its turn. `isKnown`: which of its times is next. */
function backfillTime(progress: ScheduleProgress, { policies }: SchedulePlan, nowMs: number, isKnown: boolean): number | undefined {
  const { backfills, buffered } = progress;
  const first: Backfill | undefined = backfills[0];
  if (first === undefined) return undefined;
  const policy = first.overlapPolicy === overlapPolicy.unspecified ? policies.overlapPolicy : first.overlapPolicy;
  // The others go on when a workflow closes; where none is waited for, nothing else would wake them.
  if (policy !== overlapPolicy.allowAll && buffered.length > 0) return undefined;
  return nowMs + (isKnown ? scheduleLimits.backfillPauseMs : scheduleLimits.searchAgainMs);
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return Math.min(a, b);
}

/** A week after the last that happened to it, as in Temporal. One that is paused stays; the end of a pause, or workflow, happens to it. */
function expiration(progress: ScheduleProgress, wakeTimeMs: number | undefined): number | undefined {
  const { paused, buffered, running, backfills, recentActions } = progress;
  const isIdle = buffered.length + underWay(progress) + running.length + backfills.length === 0;
  if (paused || !isIdle || wakeTimeMs !== undefined) return undefined;
  const { createTimeMs, updateTimeMs, processedToMs, runningSeenMs } = progress;
  const lastMs = Math.max(recentActions.at(-1)?.actualTimeMs ?? 0, createTimeMs, updateTimeMs, processedToMs, runningSeenMs);
  return lastMs + scheduleLimits.idleRetentionMs;
}
