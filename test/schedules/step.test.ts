/** Schedules as their users see them, without a server: a spec of whole minutes, and workflows that begin and end when the test says so. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  actionClosed,
  actionFailed,
  actionLeft,
  actionStarted,
  patchProgress,
  updateProgress,
  type SchedulePatch,
} from '../../src/schedules/changes.ts';
import {
  newProgress,
  overlapPolicy,
  type NextTime,
  type SchedulePlan,
  type SchedulePolicies,
  type ScheduleProgress,
  scheduleLimits,
} from '../../src/schedules/schedule.ts';
import { tooManyExclusions, turnStepsMax } from '../../src/schedules/spec/search-steps.ts';
import { type ScheduleStep, stepAround, stepSchedule } from '../../src/schedules/step.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const epochMs = 1_700_000_040_000;

const everyMinute: NextTime = (afterMs) => {
  const nextMs = (Math.floor(afterMs / minuteMs) + 1) * minuteMs;
  return { nominalMs: nextMs, nextMs };
};
const never: NextTime = () => undefined;

const open = { paused: false, notes: '', limitedActions: false, remainingActions: 0 };
const nothing: SchedulePatch = { trigger: undefined, backfills: [], pause: '', unpause: '' };

class World {
  progress: ScheduleProgress;
  nowMs = epochMs;
  /** Nominal times, in the order of their starts. */
  readonly started: number[] = [];
  readonly cancelled: string[] = [];
  readonly terminated: string[] = [];
  last: ScheduleStep | undefined;

  readonly policies: SchedulePolicies;
  readonly #nextTime: NextTime;

  constructor(asked: SchedulePolicies = policies(overlapPolicy.skip), nextTime: NextTime = everyMinute, state = open) {
    this.policies = asked;
    this.#nextTime = nextTime;
    this.progress = newProgress(state, this.nowMs);
    this.step();
  }

  step(change: ScheduleProgress = this.progress): void {
    this.#take(stepSchedule(change, this.#plan, this.nowMs, { progress: this.progress, policies: this.policies }));
  }

  change(change: (progress: ScheduleProgress) => ScheduleProgress): void {
    const plan = this.#plan;
    this.#take(stepAround(this.progress, plan, this.nowMs, (progress) => ({ progress: change(progress), plan })));
    this.begin();
  }

  get #plan(): SchedulePlan {
    return { policies: this.policies, nextTime: this.#nextTime };
  }

  #take(step: ScheduleStep): void {
    this.progress = step.progress;
    this.last = step;
    for (const { nominalTimeMs } of step.starts) this.started.push(nominalTimeMs);
    for (const { workflowId } of step.cancels) this.cancelled.push(workflowId);
    for (const { workflowId } of step.terminates) this.terminated.push(workflowId);
  }

  /** What is under way begins, and each start may let another one follow. */
  begin(): void {
    for (let first = this.progress.starting[0]; first !== undefined; first = this.progress.starting[0]) {
      this.step(actionStarted(this.progress, this.workflow(first.startId), this.nowMs)!);
    }
  }

  workflow(startId: number): { startId: number; workflowId: string; runId: string } {
    return { startId, workflowId: `w-${startId}`, runId: `r-${startId}` };
  }

  /** By its wakes alone, as a timer does. */
  sleepUntil(untilMs: number): void {
    for (let wakeMs = this.last?.wakeTimeMs; wakeMs !== undefined && wakeMs <= untilMs; wakeMs = this.last?.wakeTimeMs) {
      this.nowMs = Math.max(this.nowMs, wakeMs);
      this.step();
      this.begin();
    }
    this.nowMs = untilMs;
  }

  close(startId: number, failure?: { kind: 'failed'; message: string } | { kind: 'timedOut' }): void {
    const closed = { workflow: this.workflow(startId), status: failure === undefined ? 2 : 3, failure };
    this.step(actionClosed(this.progress, closed, this.policies, this.nowMs));
    this.begin();
  }

  patch(patch: Partial<SchedulePatch>): void {
    this.change((progress) => patchProgress(progress, { ...nothing, ...patch }, this.nowMs));
  }
}

function policies(policy: number, more: Partial<SchedulePolicies> = {}): SchedulePolicies {
  return { overlapPolicy: policy, catchupWindowMs: 365 * 24 * hourMs, pauseOnFailure: false, ...more };
}

describe('overlap', () => {
  test('skip: what is due while a workflow runs is left out, and counted', () => {
    const world = new World();
    world.sleepUntil(epochMs + 3 * minuteMs);
    expect(world.started).toEqual([epochMs + minuteMs]);
    expect(world.progress.overlapSkipped).toBe(2);
    world.close(1);
    world.sleepUntil(epochMs + 4 * minuteMs);
    expect(world.started).toEqual([epochMs + minuteMs, epochMs + 4 * minuteMs]);
    expect(world.progress.actionCount).toBe(2);
  });

  test('buffer one: the first that is due meanwhile follows at once', () => {
    const world = new World(policies(overlapPolicy.bufferOne));
    world.sleepUntil(epochMs + 4 * minuteMs);
    world.close(1);
    expect(world.started).toEqual([epochMs + minuteMs, epochMs + 2 * minuteMs]);
    expect(world.progress).toMatchObject({ overlapSkipped: 2, buffered: [] });
  });

  test('buffer all: each one follows the other', () => {
    const world = new World(policies(overlapPolicy.bufferAll));
    world.sleepUntil(epochMs + 3 * minuteMs);
    for (const startId of [1, 2, 3]) world.close(startId);
    expect(world.started).toEqual([1, 2, 3].map((n) => epochMs + n * minuteMs));
  });

  test.each([
    ['by its wakes', (world: World, untilMs: number) => world.sleepUntil(untilMs)],
    [
      'after an outage',
      (world: World, untilMs: number) => {
        world.nowMs = untilMs;
        world.step();
        world.begin();
      },
    ],
  ])('buffer all, %s: a full buffer drops no time; the times wait for their places', (_, pass) => {
    const count = scheduleLimits.bufferedMax + 500;
    const world = new World(policies(overlapPolicy.bufferAll));
    pass(world, epochMs + count * minuteMs);
    expect(world.progress.buffered.length).toBe(scheduleLimits.bufferedMax);
    expect(world.last?.wakeTimeMs, 'nothing but the end of a workflow makes room').toBeGreaterThan(world.nowMs);
    for (let startId = 1; startId <= count; startId++) world.close(startId);
    expect(world.started).toEqual(Array.from({ length: count }, (__, n) => epochMs + (n + 1) * minuteMs));
    expect(world.progress).toMatchObject({ bufferDropped: 0, missedCatchupWindow: 0, overlapSkipped: 0 });
  });

  test('what waits for a place in a full buffer is missed when its catch-up window is over', () => {
    const count = scheduleLimits.bufferedMax + 500;
    const world = new World(policies(overlapPolicy.bufferAll, { catchupWindowMs: 24 * hourMs }));
    world.sleepUntil(epochMs + count * minuteMs);
    world.nowMs += 48 * hourMs;
    world.close(1);
    expect(world.progress).toMatchObject({ bufferDropped: 0, missedCatchupWindow: count + 24 * 60 - (scheduleLimits.bufferedMax + 2) });
  });

  test('what waits for a place in a full buffer is counted as missed by a pause', () => {
    const world = new World(policies(overlapPolicy.bufferAll));
    world.sleepUntil(epochMs + (scheduleLimits.bufferedMax + 11) * minuteMs + 1);
    world.patch({ pause: 'stop' });
    expect(world.progress).toMatchObject({ bufferDropped: 0, missedCatchupWindow: 10 });
    world.patch({ unpause: 'go' });
    expect(world.progress).toMatchObject({ bufferDropped: 0, missedCatchupWindow: 10 });
  });

  test('allow all, after an outage: no more are being started than there are places for, and none is lost', () => {
    const count = scheduleLimits.startingMax + 500;
    const world = new World(policies(overlapPolicy.allowAll));
    world.nowMs += count * minuteMs;
    do {
      world.step();
      expect(world.progress.starting.length).toBeLessThanOrEqual(scheduleLimits.startingMax);
    } while (world.last!.wakeTimeMs! <= world.nowMs);
    world.begin();
    expect(world.started).toEqual(Array.from({ length: count }, (_, n) => epochMs + (n + 1) * minuteMs));
    expect(world.progress).toMatchObject({ actionCount: count, bufferDropped: 0, buffered: [] });
  });

  test.each([
    [overlapPolicy.cancelOther, 'cancelled'],
    [overlapPolicy.terminateOther, 'terminated'],
  ] as const)('policy %i: the one that runs is %s, once, and the next begins when it has closed', (policy, how) => {
    const world = new World(policies(policy));
    world.sleepUntil(epochMs + 2 * minuteMs);
    expect(world[how]).toEqual(['w-1']);
    for (let wakes = 1; wakes <= 3; wakes++) world.step();
    expect(world[how]).toEqual(['w-1']);
    expect(world.started).toEqual([epochMs + minuteMs]);
    world.close(1);
    expect(world.started).toEqual([epochMs + minuteMs, epochMs + 2 * minuteMs]);
  });

  test('what waited while a workflow was being started ends it once it has started', () => {
    const world = new World(policies(overlapPolicy.skip), never);
    const trigger = { timeMs: 0, overlapPolicy: overlapPolicy.unspecified };
    const patched = (progress: ScheduleProgress) =>
      patchProgress(progress, { ...nothing, trigger: { ...trigger, overlapPolicy: overlapPolicy.cancelOther } }, world.nowMs);
    world.step(patchProgress(world.progress, { ...nothing, trigger }, world.nowMs));
    world.step(patched(world.progress));
    expect([world.progress.starting.length, world.progress.buffered.length, world.cancelled]).toEqual([1, 1, []]);
    world.begin();
    expect(world.cancelled).toEqual(['w-1']);
  });

  test('a workflow that was asked to end is terminated where that is wanted later', () => {
    const world = new World(policies(overlapPolicy.cancelOther));
    world.sleepUntil(epochMs + 2 * minuteMs);
    world.patch({ trigger: { timeMs: 0, overlapPolicy: overlapPolicy.terminateOther } });
    world.sleepUntil(epochMs + 4 * minuteMs);
    expect([world.cancelled, world.terminated]).toEqual([['w-1'], ['w-1']]);
  });

  test.each([
    ['cancelled', overlapPolicy.cancelOther],
    ['terminated', overlapPolicy.terminateOther],
  ] as const)('a start that waits for no other begins while the one that runs is being %s for another', (how, policy) => {
    const world = new World(policies(policy));
    world.sleepUntil(epochMs + 2 * minuteMs);
    expect([world[how], world.progress.buffered.length]).toEqual([['w-1'], 1]);
    world.nowMs += 7_000;
    world.patch({ trigger: { timeMs: 0, overlapPolicy: overlapPolicy.allowAll } });
    expect(world.started).toEqual([epochMs + minuteMs, world.nowMs]);
    world.patch({ backfills: [{ fromMs: epochMs - 2 * minuteMs, toMs: epochMs - minuteMs, overlapPolicy: overlapPolicy.allowAll }] });
    expect(world.started.slice(2)).toEqual([epochMs - 2 * minuteMs, epochMs - minuteMs]);
    // Nobody ends them, and what has waited begins when the first has made way.
    world.close(1);
    expect([world.started.length, world[how]]).toEqual([5, ['w-1']]);
  });

  test('what is triggered together has seconds of its own, however much it is', () => {
    const world = new World(policies(overlapPolicy.allowAll), never);
    const trigger = { timeMs: 0, overlapPolicy: overlapPolicy.unspecified };
    for (let n = 0; n < 50; n++) {
      if (n % 20 === 0) world.nowMs += 700;
      world.patch({ trigger });
    }
    expect(new Set(world.started.map((ms) => Math.floor(ms / 1_000))).size).toBe(50);
    // Whoever says which time it is for means that.
    world.patch({ trigger: { ...trigger, timeMs: epochMs } });
    expect(world.started.at(-1)).toBe(epochMs);
  });

  test('allow all: everything begins when it is due, and nobody waits for its end', () => {
    const world = new World(policies(overlapPolicy.allowAll));
    world.sleepUntil(epochMs + 3 * minuteMs);
    expect(world.started).toEqual([1, 2, 3].map((n) => epochMs + n * minuteMs));
    expect(world.progress.running).toEqual([]);
    expect(world.progress.actionCount).toBe(3);
  });

  test('of what is still to begin the newest takes the place under cancel other', () => {
    const world = new World(policies(overlapPolicy.cancelOther));
    world.nowMs += 3 * minuteMs;
    world.step();
    expect(world.started).toEqual([epochMs + 3 * minuteMs]);
    expect(world.cancelled).toEqual([]);
  });
});

describe('time', () => {
  test('a server that was away makes up for what is within the catch-up window, and counts the rest as missed', () => {
    const world = new World(policies(overlapPolicy.allowAll, { catchupWindowMs: 3 * minuteMs }));
    world.nowMs += 10 * minuteMs;
    world.step();
    expect(world.started).toEqual([7, 8, 9, 10].map((n) => epochMs + n * minuteMs));
    expect(world.progress.missedCatchupWindow).toBe(6);
    world.step();
    expect(world.progress.missedCatchupWindow).toBe(6);
  });

  test('years of sleep are taken in steps of bounded size', () => {
    const world = new World(policies(overlapPolicy.skip));
    world.nowMs += 3_500 * minuteMs;
    let steps = 0;
    do {
      world.step();
      steps++;
    } while (world.last?.wakeTimeMs !== undefined && world.last.wakeTimeMs <= world.nowMs);
    expect(steps).toBe(4);
    expect(world.last?.wakeTimeMs).toBe(epochMs + 3_501 * minuteMs);
    expect(world.progress.overlapSkipped).toBe(3_499);
  });

  test('what was due is found in many short steps, where each time is hard to find', () => {
    let searches = 0;
    const hard: NextTime = (afterMs, turn) => {
      searches++;
      turn.take(turnStepsMax / 2);
      return everyMinute(afterMs, turn);
    };
    const world = new World(policies(overlapPolicy.allowAll), hard);
    world.patch({ backfills: [{ fromMs: epochMs - 20 * minuteMs, toMs: epochMs - minuteMs, overlapPolicy: overlapPolicy.allowAll }] });
    world.nowMs = epochMs + 50 * minuteMs;
    let searchesMax = 0;
    for (let wakeMs = epochMs; wakeMs <= epochMs + 50 * minuteMs; wakeMs = world.last?.wakeTimeMs ?? Infinity) {
      world.nowMs = Math.max(world.nowMs, wakeMs);
      searches = 0;
      world.step();
      searchesMax = Math.max(searchesMax, searches);
      world.begin();
    }
    expect(searchesMax).toBeLessThanOrEqual(4);
    const due = Array.from({ length: 70 }, (_, n) => epochMs + (n - 19) * minuteMs).filter((ms) => ms !== epochMs);
    expect(world.started.toSorted((a, b) => a - b)).toEqual([epochMs - 20 * minuteMs, ...due]);
  });

  test('what was due while it was paused is neither made up for nor missed', () => {
    const world = new World(policies(overlapPolicy.allowAll));
    world.patch({ pause: 'for the night' });
    expect(world.progress).toMatchObject({ paused: true, notes: 'for the night', conflictToken: 2 });
    expect(world.last?.wakeTimeMs).toBeUndefined();
    expect(world.last?.expireTimeMs).toBeUndefined();
    world.nowMs += 5 * minuteMs;
    world.patch({ unpause: 'good morning' });
    world.sleepUntil(epochMs + 6 * minuteMs);
    expect(world.started).toEqual([epochMs + 6 * minuteMs]);
    expect(world.progress.missedCatchupWindow).toBe(0);
  });

  describe('with jitter, the pause and its end between a nominal time and its time', () => {
    const jittered: NextTime = (afterMs, turn) => {
      const { nominalMs } = everyMinute(afterMs, turn)!;
      return { nominalMs, nextMs: nominalMs + 30_000 };
    };

    test.each([
      ['within one minute', 2_000, 4_000],
      ['after an hour', -hourMs, 4_000],
      ['after a year', -365 * 24 * hourMs, 4_000],
    ])('%s: the time is still to come', (_, pausedAtMs, unpausedAtMs) => {
      const world = new World(policies(overlapPolicy.allowAll), jittered);
      const minute = epochMs + 366 * 24 * hourMs;
      world.progress = newProgress(open, minute + pausedAtMs - 30_000);
      world.nowMs = minute + pausedAtMs;
      world.patch({ pause: 'p' });
      world.nowMs = minute + unpausedAtMs - 1;
      world.patch({ trigger: { timeMs: 1, overlapPolicy: overlapPolicy.allowAll } });
      world.nowMs++;
      world.patch({ unpause: 'u' });
      world.sleepUntil(minute + minuteMs);
      expect(world.started).toEqual([1, minute]);
      expect(world.progress.missedCatchupWindow).toBe(0);
    });

    test('what is due before the end of the pause is past', () => {
      const world = new World(policies(overlapPolicy.allowAll), jittered);
      world.nowMs = epochMs + minuteMs + 2_000;
      world.patch({ pause: 'p' });
      world.nowMs = epochMs + minuteMs + 30_000;
      world.patch({ unpause: 'u' });
      world.sleepUntil(epochMs + 2 * minuteMs + 30_000);
      expect(world.started).toEqual([epochMs + 2 * minuteMs]);
    });

    test('where each time is hard to find, the end of a long pause takes no longer than a turn', () => {
      let searches = 0;
      const world = new World(policies(overlapPolicy.allowAll), (afterMs, turn) => {
        searches++;
        turn.take(turnStepsMax / 2);
        return jittered(afterMs, turn);
      });
      world.patch({ pause: 'p' });
      world.nowMs += 365 * 24 * hourMs;
      searches = 0;
      world.patch({ unpause: 'u' });
      expect(searches).toBeLessThanOrEqual(8);
      const fromMs = world.nowMs;
      world.sleepUntil(fromMs + 2 * minuteMs);
      for (const startedMs of world.started) expect(startedMs).toBeGreaterThan(fromMs);
    });
  });

  test('an update takes back what was due before it with the jitter of the spec', () => {
    const jittered: NextTime = (afterMs, turn) => {
      const { nominalMs } = everyMinute(afterMs, turn)!;
      return { nominalMs, nextMs: nominalMs + 30_000 };
    };
    const world = new World(policies(overlapPolicy.allowAll), jittered);
    world.nowMs = epochMs + minuteMs + 10_000;
    world.change((progress) => updateProgress(progress, open, world.nowMs));
    world.sleepUntil(epochMs + 2 * minuteMs);
    // Its nominal time is past and its time is not: it is not lost.
    expect(world.started).toEqual([epochMs + minuteMs]);
  });

  test.each([
    ['an update', (progress: ScheduleProgress, nowMs: number) => updateProgress(progress, open, nowMs)],
    ['a pause', (progress: ScheduleProgress, nowMs: number) => patchProgress(progress, { ...nothing, pause: 'stop' }, nowMs)],
  ])('what %s finds due after a long absence, and not looked at yet, is counted as missed', (_, change) => {
    const seen = (minutes: number): number => {
      const world = new World(policies(overlapPolicy.skip));
      world.nowMs += minutes * minuteMs + 1;
      world.change((progress) => change(progress, world.nowMs));
      const { overlapSkipped, missedCatchupWindow } = world.progress;
      return world.started.length + overlapSkipped + missedCatchupWindow;
    };
    // Some within a step; the first of the next; as many as are counted; and beyond.
    for (const minutes of [1, 1_000, 1_001, 2_000, 3_500]) expect(seen(minutes)).toBe(minutes);
  });

  test('a new spec passes over what it would have had since the last time of the old one, however much that is', () => {
    const nowMs = epochMs + 180 * 24 * hourMs + 1;
    const yearly: NextTime = () => ({ nominalMs: epochMs + 365 * 24 * hourMs, nextMs: epochMs + 365 * 24 * hourMs });
    const asked = policies(overlapPolicy.skip);
    const step = stepAround(newProgress(open, epochMs), { policies: asked, nextTime: yearly }, nowMs, (known) => ({
      progress: updateProgress(known, open, nowMs),
      plan: { policies: asked, nextTime: everyMinute },
    }));
    expect([step.starts, step.wakeTimeMs]).toEqual([[], nowMs - 1 + minuteMs]);
  });

  test('an update that finds nothing behind counts no time of another spec', () => {
    const nowMs = epochMs + hourMs + 1;
    const tomorrow: NextTime = () => ({ nominalMs: epochMs + 24 * hourMs, nextMs: epochMs + 24 * hourMs });
    const [before, after] = [tomorrow, everyMinute].map((nextTime) => ({ policies: policies(overlapPolicy.skip), nextTime }));
    const { progress } = stepAround(newProgress(open, epochMs), before!, nowMs, (known) => ({
      progress: updateProgress(known, open, nowMs),
      plan: after!,
    }));
    expect(progress).toMatchObject({ missedCatchupWindow: 0, buffered: [], starting: [] });
  });

  test('limited actions end, and a week later the schedule', () => {
    const world = new World(policies(overlapPolicy.allowAll), everyMinute, { ...open, limitedActions: true, remainingActions: 2 });
    world.sleepUntil(epochMs + 10 * minuteMs);
    expect(world.started).toEqual([1, 2].map((n) => epochMs + n * minuteMs));
    expect(world.progress.remainingActions).toBe(0);
    expect(world.last?.wakeTimeMs).toBeUndefined();
    expect(world.last?.expireTimeMs).toBe(epochMs + 2 * minuteMs + scheduleLimits.idleRetentionMs);
  });

  test.each([
    ['an empty spec', never, open],
    [
      'a spec that is past',
      ((afterMs) => (afterMs < epochMs ? { nominalMs: epochMs, nextMs: epochMs } : undefined)) satisfies NextTime,
      open,
    ],
    ['used up', everyMinute, { ...open, limitedActions: true }],
  ])('the week of a paused schedule (%s) counts from the end of the pause', (_, nextTime, state) => {
    const world = new World(policies(overlapPolicy.skip), nextTime, { ...state, paused: true });
    world.sleepUntil(epochMs + 8 * 24 * hourMs);
    world.patch({ unpause: 'go' });
    expect(world.last?.expireTimeMs).toBe(world.nowMs + scheduleLimits.idleRetentionMs);
    world.patch({ trigger: { timeMs: 0, overlapPolicy: overlapPolicy.unspecified } });
    expect(world.last?.expireTimeMs, 'its workflow runs').toBeUndefined();
    world.sleepUntil(world.nowMs + 9 * 24 * hourMs);
    world.close(1);
    expect(world.last?.expireTimeMs, 'and has ended').toBe(world.nowMs + scheduleLimits.idleRetentionMs);
  });

  test('a spec without any time goes after a week; one whose next time is not found stays, and acts once it is', () => {
    const without = new World(policies(overlapPolicy.allowAll), never);
    expect(without.last?.expireTimeMs).toBe(epochMs + scheduleLimits.idleRetentionMs);

    let isFound = false;
    const world = new World(policies(overlapPolicy.skip), (afterMs, turn) => {
      if (isFound) return everyMinute(afterMs, turn);
      turn.giveUp('unknown time zone Mars/Olympus');
      return undefined;
    });
    world.sleepUntil(epochMs + 30 * 24 * hourMs);
    expect(world.last?.expireTimeMs).toBeUndefined();
    isFound = true;
    world.sleepUntil(epochMs + 32 * 24 * hourMs);
    expect(world.started).toEqual([epochMs + minuteMs]);
    expect(world.progress.overlapSkipped).toBe(32 * 24 * 60 - 1);
  });
});

describe('by hand', () => {
  test('a trigger starts now, also while the schedule is paused, and takes no limited action', () => {
    const world = new World(policies(overlapPolicy.skip), never, { ...open, paused: true, limitedActions: true, remainingActions: 1 });
    world.patch({ trigger: { timeMs: 0, overlapPolicy: overlapPolicy.unspecified } });
    expect(world.started).toEqual([epochMs]);
    expect(world.progress.remainingActions).toBe(1);
    world.patch({ trigger: { timeMs: epochMs - 5, overlapPolicy: overlapPolicy.allowAll } });
    expect(world.started).toEqual([epochMs, epochMs - 5]);
  });

  test('a backfill begins what was due between two times, both included, and goes on while the schedule is paused', () => {
    const world = new World(policies(overlapPolicy.skip), everyMinute, { ...open, paused: true });
    const backfill = { fromMs: epochMs - 25 * minuteMs, toMs: epochMs - minuteMs, overlapPolicy: overlapPolicy.allowAll };
    world.patch({ backfills: [backfill] });
    world.sleepUntil(epochMs + minuteMs);
    expect(world.started).toEqual(Array.from({ length: 25 }, (_, n) => epochMs - (25 - n) * minuteMs));
    expect(world.progress.backfills).toEqual([]);
  });

  test('a backfill whose next time nobody knows stays, and goes on when it is found', () => {
    let isFound = false;
    const world = new World(
      policies(overlapPolicy.skip),
      (afterMs, turn) => {
        if (isFound) return everyMinute(afterMs, turn);
        turn.giveUp('unknown time zone Mars/Olympus');
        return undefined;
      },
      { ...open, paused: true },
    );
    world.patch({ backfills: [{ fromMs: epochMs - 5 * minuteMs, toMs: epochMs - minuteMs, overlapPolicy: overlapPolicy.allowAll }] });
    world.sleepUntil(epochMs + 30 * 24 * hourMs);
    expect([world.started, world.progress.backfills.length]).toEqual([[], 1]);
    isFound = true;
    world.sleepUntil(epochMs + 32 * 24 * hourMs);
    expect(world.started).toHaveLength(5);
    expect(world.progress.backfills).toEqual([]);
  });

  test('a backfill of what is easy to find goes on at its pace, though nobody knows what is due next', () => {
    const world = new World(policies(overlapPolicy.skip), (afterMs, turn) => {
      if (afterMs < epochMs - 1) return everyMinute(afterMs, turn);
      turn.giveUp(tooManyExclusions);
      return undefined;
    });
    expect(world.last?.wakeTimeMs).toBe(epochMs + scheduleLimits.searchAgainMs);
    // The first of them begins and runs on; the others are skipped, ten in each step.
    world.patch({ backfills: [{ fromMs: epochMs - 100 * minuteMs, toMs: epochMs - minuteMs, overlapPolicy: overlapPolicy.skip }] });
    world.sleepUntil(epochMs + minuteMs);
    expect(world.started).toEqual([epochMs - 100 * minuteMs]);
    expect(world.progress).toMatchObject({ backfills: [], overlapSkipped: 99 });
    expect(world.last?.wakeTimeMs, 'and what is due next is looked for a day later').toBeGreaterThan(
      epochMs + scheduleLimits.searchAgainMs,
    );
  });

  test.each([
    [1_200, overlapPolicy.allowAll],
    [1_500, overlapPolicy.allowAll],
    [1_500, overlapPolicy.bufferAll],
  ])('of %i times (policy %i) begins all of them, however slowly starts are answered', (count, policy) => {
    const world = new World(policies(overlapPolicy.skip), everyMinute, { ...open, paused: true });
    const backfill = { fromMs: epochMs - count * minuteMs, toMs: epochMs - minuteMs, overlapPolicy: policy };
    world.step(patchProgress(world.progress, { ...nothing, backfills: [backfill] }, world.nowMs));
    // No start is answered at first, and each answer is a step of its own.
    for (let wakes = 0; wakes < 200; wakes++) {
      world.nowMs += scheduleLimits.backfillPauseMs;
      world.step();
      expect(world.progress.starting.length).toBeLessThanOrEqual(scheduleLimits.startingMax);
    }
    world.begin();
    world.sleepUntil(epochMs + hourMs);
    for (let startId = 1; startId <= count && policy === overlapPolicy.bufferAll; startId++) world.close(startId);
    expect(world.started.toSorted((a, b) => a - b)).toEqual(Array.from({ length: count }, (_, n) => epochMs - (count - n) * minuteMs));
    expect(world.progress).toMatchObject({ actionCount: count, bufferDropped: 0, backfills: [], buffered: [] });
  });

  test('a trigger for which a full buffer has no place is dropped, and counted', () => {
    const world = new World(policies(overlapPolicy.bufferAll));
    world.sleepUntil(epochMs + (scheduleLimits.bufferedMax + 1) * minuteMs);
    world.patch({ trigger: { timeMs: 0, overlapPolicy: overlapPolicy.unspecified } });
    expect(world.progress).toMatchObject({ bufferDropped: 1 });
    expect(world.progress.buffered).toHaveLength(scheduleLimits.bufferedMax);
  });

  test('one that buffers goes on as its workflows close', () => {
    const world = new World(policies(overlapPolicy.skip), everyMinute, { ...open, paused: true });
    world.patch({ backfills: [{ fromMs: epochMs - 25 * minuteMs, toMs: epochMs - minuteMs, overlapPolicy: overlapPolicy.bufferAll }] });
    for (let startId = 1; startId <= 25; startId++) world.close(startId);
    expect(world.started).toHaveLength(25);
    expect(world.progress).toMatchObject({ backfills: [], buffered: [], running: [] });
  });

  test('backfills beyond their limit are dropped, and counted', () => {
    const world = new World(policies(overlapPolicy.skip), never);
    const backfill = { fromMs: 0, toMs: 1, overlapPolicy: overlapPolicy.allowAll };
    world.progress = patchProgress(world.progress, { ...nothing, backfills: Array.from({ length: 1_003 }, () => backfill) }, world.nowMs);
    expect(world.progress).toMatchObject({ bufferDropped: 3 });
  });
});

describe('outcomes', () => {
  test('a start that fails for good lets the next one begin', () => {
    const world = new World(policies(overlapPolicy.bufferAll));
    world.nowMs += 2 * minuteMs;
    world.step();
    expect(world.started).toEqual([epochMs + minuteMs]);
    world.progress = actionFailed(world.progress, 1)!;
    world.step();
    expect(world.started).toEqual([epochMs + minuteMs, epochMs + 2 * minuteMs]);
    expect(world.progress.actionCount).toBe(0);
  });

  test('the news of an end may come before those of the start, and are heard once', () => {
    const world = new World();
    world.nowMs += minuteMs;
    world.step();
    const closed = { workflow: world.workflow(1), status: 2, failure: undefined };
    world.progress = actionClosed(world.progress, closed, world.policies, world.nowMs)!;
    expect(world.progress).toMatchObject({ actionCount: 1, running: [], starting: [], recentActions: [{ workflowId: 'w-1', status: 2 }] });
    expect(actionStarted(world.progress, world.workflow(1), world.nowMs)).toBeUndefined();
    expect(actionClosed(world.progress, closed, world.policies, world.nowMs)).toBeUndefined();
  });

  test('pause on failure says why', () => {
    const failing = policies(overlapPolicy.skip, { pauseOnFailure: true });
    const failed = new World(failing);
    failed.sleepUntil(epochMs + minuteMs);
    failed.close(1, { kind: 'failed', message: 'no disk' });
    expect(failed.progress).toMatchObject({ paused: true, notes: 'paused due to workflow failure: w-1: no disk' });
    const timedOut = new World(failing);
    timedOut.sleepUntil(epochMs + minuteMs);
    timedOut.close(1, { kind: 'timedOut' });
    expect(timedOut.progress).toMatchObject({ paused: true, notes: 'paused due to workflow timeout: w-1' });
  });

  test('however much a failure says, the notes are short', () => {
    const world = new World(policies(overlapPolicy.skip, { pauseOnFailure: true }));
    world.sleepUntil(epochMs + minuteMs);
    world.close(1, { kind: 'failed', message: `${'x'.repeat(990)}${'\u{1F600}'.repeat(1_000_000)}` });
    expect(world.progress).toMatchObject({ paused: true });
    expect(world.progress.notes.length).toBeLessThanOrEqual(1_000);
    expect(world.progress.notes.isWellFormed()).toBe(true);
  });

  test('what begins together is remembered in its order, however the news of it come', () => {
    const world = new World(policies(overlapPolicy.allowAll));
    const trigger = { timeMs: 0, overlapPolicy: overlapPolicy.unspecified };
    const twice = patchProgress(patchProgress(world.progress, { ...nothing, trigger }, epochMs), { ...nothing, trigger }, epochMs);
    let { progress } = stepSchedule(twice, { policies: world.policies, nextTime: never }, epochMs);
    expect(progress.starting).toHaveLength(2);
    for (const startId of [2, 1]) progress = actionStarted(progress, world.workflow(startId), epochMs)!;
    expect(progress.recentActions.map(({ startId }) => startId)).toEqual([1, 2]);
  });

  test('the last ten actions are remembered', () => {
    const world = new World(policies(overlapPolicy.allowAll));
    world.sleepUntil(epochMs + 25 * minuteMs);
    expect(world.progress.recentActions.map(({ startId }) => startId)).toEqual([16, 17, 18, 19, 20, 21, 22, 23, 24, 25]);
  });
});

test('whatever happens, no time of the spec is acted on twice, and one workflow at most is waited for', () => {
  const policy = fc.integer({ min: 1, max: 6 });
  const happening = fc.oneof(
    fc.record({ do: fc.constant('sleep' as const), ms: fc.integer({ min: 0, max: 5 * minuteMs }) }),
    fc.record({ do: fc.constant('away' as const), ms: fc.integer({ min: 0, max: 20 * minuteMs }) }),
    fc.record({ do: fc.constant('close' as const), ms: fc.nat(5) }),
    fc.record({ do: fc.constant('pause' as const), ms: fc.nat(1) }),
    fc.record({ do: fc.constant('update' as const), ms: fc.nat(1) }),
  );
  fc.assert(
    fc.property(
      policy,
      fc.integer({ min: 0, max: 10 * minuteMs }),
      fc.array(happening, { maxLength: 40 }),
      (asked, catchupWindowMs, program) => {
        const world = new World(policies(asked, { catchupWindowMs }));
        for (const { do: what, ms } of program) {
          if (what === 'sleep') world.sleepUntil(world.nowMs + ms);
          else if (what === 'close') world.close(world.progress.running.at(ms)?.startId ?? 0);
          else if (what === 'pause') world.patch(ms === 0 ? { pause: 'p' } : { unpause: 'u' });
          else if (what === 'update') {
            world.progress = updateProgress(world.progress, { ...open, paused: ms === 0 }, world.nowMs);
            world.step();
          } else {
            world.nowMs += ms;
            world.step();
            world.begin();
          }
          const { running, starting, buffered } = world.progress;
          expect(running.length + starting.filter(({ tracked }) => tracked).length).toBeLessThanOrEqual(1);
          if (buffered.length > 0) expect(running.length + starting.length, 'somebody is waited for').toBeGreaterThan(0);
          if (!world.progress.paused) expect(world.last?.wakeTimeMs).toBeGreaterThan(world.nowMs - minuteMs * 6);
        }
        expect(new Set(world.started).size).toBe(world.started.length);
      },
    ),
    { numRuns: 500 },
  );
});

describe('starts that became dead letters', () => {
  function leaveAll(world: World): void {
    for (const { startId } of world.progress.starting) world.progress = actionLeft(world.progress, startId) ?? world.progress;
    world.step();
  }

  test('leave their places to others, however many there are; the newest of them are known', () => {
    const world = new World(policies(overlapPolicy.allowAll));
    for (let round = 0; round < 2; round++) {
      world.nowMs += scheduleLimits.startingMax * minuteMs;
      world.step();
      leaveAll(world);
    }
    const { starting, bufferDropped, lastStartId } = world.progress;
    expect([lastStartId, bufferDropped, starting.length]).toEqual([2_000, 0, scheduleLimits.leftMax]);
    expect(starting[0]?.startId).toBe(2_000 - scheduleLimits.leftMax + 1);
  });

  test('do not keep a schedule for which nothing is left to do', () => {
    const world = new World(policies(overlapPolicy.allowAll), never);
    world.progress = patchProgress(world.progress, { ...nothing, trigger: { timeMs: 0, overlapPolicy: 0 } }, world.nowMs);
    world.step();
    expect(world.last?.expireTimeMs).toBeUndefined();
    leaveAll(world);
    expect(world.last?.expireTimeMs).toBe(epochMs + scheduleLimits.idleRetentionMs);
  });
});
