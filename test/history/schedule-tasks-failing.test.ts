/** A schedule one of whose own tasks fails for good, or that is quarantined: it goes on, or says how it can, and may always be deleted. */
import { describe, expect, test } from 'vitest';
import type { TransferTask } from '../../src/history/run/tasks.ts';
import type { ScheduleProgress } from '../../src/schedules/schedule.ts';
import { RedrivenShard } from './redrive/redriven-shard.ts';
import { overlapPolicy } from '../../src/schedules/schedule.ts';
import { active, aScheduleKey, createSchedule, type Defined, patchSchedule, updateSchedule } from './schedule-commands.ts';
import { bytes, completeWorkflow, continueAsNew, deleteWorkflow, namespaceId } from './shard-under-test.ts';

const completed = 2;

const firstId = 'report-2023-11-14T22:14:00Z';
const secondId = 'report-2023-11-14T22:15:00Z';

function scheduled(defined: Defined = {}): RedrivenShard {
  const shard = new RedrivenShard();
  shard.ask(createSchedule({ defined }));
  return shard;
}

function progressOf(shard: RedrivenShard): ScheduleProgress {
  const reply = shard.ask({ kind: 'describeSchedule', key: aScheduleKey });
  if (reply?.kind !== 'scheduleDescription') throw new Error(`no schedule: ${JSON.stringify(reply)}`);
  return reply.progress;
}

function act(shard: RedrivenShard): void {
  shard.fireNextTimer();
  shard.pumpOutbox();
}

function statusOf(shard: RedrivenShard, workflowId: string): number {
  return shard.describe({ namespaceId, workflowId, runId: '' }).status;
}

describe('a start that became a dead letter', () => {
  function withoutFirst(defined: Defined = {}) {
    const shard = scheduled(defined);
    shard.fireNextTimer();
    return { shard, letter: shard.madeLetter(shard.pendingTask('startAction').taskId) };
  }

  test('does not hold up the next ones', () => {
    const { shard } = withoutFirst();
    act(shard);
    expect(statusOf(shard, secondId)).toBe(1);
    expect(progressOf(shard)).toMatchObject({ overlapSkipped: 0, actionCount: 1, running: [{ workflowId: secondId }] });
  });

  test('merged, it starts its workflow late, for which nobody waits', () => {
    const { shard, letter } = withoutFirst();
    shard.execute(letter);
    shard.carryBegun();
    expect(shard.outcomes()).toEqual([{ kind: 'applied' }]);
    expect(statusOf(shard, firstId)).toBe(1);
    expect(progressOf(shard)).toMatchObject({ actionCount: 1, starting: [], running: [] });
    act(shard);
    expect(statusOf(shard, secondId)).toBe(1);
  });

  const checkMs = 3_600_000;
  function checkDue(shard: RedrivenShard): number {
    const checks = shard.records.flatMap(({ tasks }) => tasks.filter(({ kind }) => kind === 'letterCheck'));
    const check = checks.at(-1);
    if (check === undefined || !('fireTimeMs' in check)) throw new Error('nobody looks after the letters');
    expect(check.fireTimeMs - shard.nowMs).toBe(checkMs);
    return check.taskId;
  }

  test('is known for as long as it is one: somebody looks once in an hour, and one that was purged is let go of', () => {
    const { shard } = withoutFirst();
    const first = checkDue(shard);
    shard.advance(checkMs);
    shard.ask({ kind: 'letterChecked', taskId: first, isOpen: true });
    expect(progressOf(shard).starting).toMatchObject([{ startId: 1, left: true }]);
    const second = checkDue(shard);
    shard.advance(checkMs);
    shard.ask({ kind: 'letterChecked', taskId: second, isOpen: false });
    expect(progressOf(shard).starting.filter(({ left }) => left)).toEqual([]);
    expect(shard.core.shard.timers.get(second)).toBeUndefined();
  });

  test('what was looked up before another start became one too says nothing of that', () => {
    const { shard } = withoutFirst();
    const first = checkDue(shard);
    shard.fireNextTimer();
    shard.advance(checkMs);
    shard.madeLetter(shard.pendingTask('startAction').taskId);
    shard.ask({ kind: 'letterChecked', taskId: first, isOpen: false });
    expect(progressOf(shard).starting.filter(({ left }) => left)).toMatchObject([
      { startId: 1, left: true },
      { startId: 2, left: true },
    ]);
    shard.ask({ kind: 'letterChecked', taskId: checkDue(shard), isOpen: false });
    expect(progressOf(shard).starting.filter(({ left }) => left)).toEqual([]);
  });

  test('is looked for once in an hour, however often others fail', () => {
    const { shard } = withoutFirst({ intervalMs: 1_400_000 });
    const check = checkDue(shard);
    for (const _ of [1, 2]) {
      shard.fireNextTimer();
      shard.madeLetter(shard.pendingTask('startAction').taskId);
    }
    expect(shard.nextTimer()).toMatchObject({ taskId: check });
    shard.ask({ kind: 'letterChecked', taskId: check, isOpen: false });
    expect(progressOf(shard).starting).toEqual([]);
  });

  test('deleted, the schedule leaves nothing that would look after its dead letters', () => {
    const { shard } = withoutFirst();
    const check = checkDue(shard);
    shard.expectDone({ kind: 'deleteSchedule', key: aScheduleKey });
    expect([shard.core.shard.timers.get(check), shard.nextTimer()]).toEqual([undefined, undefined]);
  });

  test('stays after a restart what it was', () => {
    const { shard } = withoutFirst();
    const before = progressOf(shard);
    shard.takeOver();
    expect(progressOf(shard)).toEqual(before);
  });
});

describe('the news of an end that became a dead letter, which was purged', () => {
  function waiting() {
    const shard = scheduled();
    act(shard);
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow(bytes('a result'))]);
    const letter = shard.madeLetter(shard.pendingTask('notifySchedule').taskId);
    return { shard, letter };
  }

  test('hold up the next actions for no longer than the schedule waits before it asks', () => {
    const { shard } = waiting();
    for (let minute = 1; minute <= 11; minute++) act(shard);
    expect(progressOf(shard)).toMatchObject({ actionCount: 1, overlapSkipped: 11, running: [], recentActions: [{ status: completed }] });
    act(shard);
    expect(progressOf(shard)).toMatchObject({ actionCount: 2, overlapSkipped: 11, running: [{ startId: 2 }] });
  });

  test('hold up what is buffered as long, though nothing else is due', () => {
    const { shard } = waiting();
    shard.ask(patchSchedule({ pause: 'no more', trigger: { timeMs: 0, overlapPolicy: overlapPolicy.bufferOne } }));
    expect(progressOf(shard)).toMatchObject({ buffered: [{ manual: true }], running: [{ workflowId: firstId }] });
    act(shard);
    expect(progressOf(shard)).toMatchObject({ buffered: [{ manual: true }], running: [{ workflowId: firstId }] });
    act(shard);
    expect(shard.nowMs).toBe(progressOf(shard).createTimeMs + 12 * 60_000 - (progressOf(shard).createTimeMs % 60_000));
    expect(progressOf(shard)).toMatchObject({ buffered: [], running: [{ startId: 2 }] });
  });

  test('merged after all, change nothing', () => {
    const { shard, letter } = waiting();
    for (let minute = 1; minute <= 12; minute++) act(shard);
    const before = progressOf(shard);
    shard.execute(letter);
    shard.pumpOutbox();
    expect(progressOf(shard)).toEqual(before);
  });

  test('merged before another action begins, bring that one the result', () => {
    const { shard, letter } = waiting();
    for (let minute = 1; minute <= 11; minute++) act(shard);
    expect(progressOf(shard)).toMatchObject({ running: [], recentActions: [{ startId: 1, status: completed }] });
    shard.execute(letter);
    shard.pumpOutbox();
    act(shard);
    const [running] = progressOf(shard).running;
    const [next] = shard.events(running?.runId ?? '');
    expect(next?.attributes).toMatchObject({ lastCompletionResult: bytes('a result') });
  });

  test('of a workflow that is deleted meanwhile: it is waited for no more', () => {
    const { shard } = waiting();
    shard.expectDone(deleteWorkflow({ namespaceId, workflowId: firstId, runId: '' }));
    for (let minute = 1; minute <= 11; minute++) act(shard);
    expect(progressOf(shard)).toMatchObject({ actionCount: 2, running: [{ startId: 2 }] });
  });
});

test('a workflow that runs for long is asked for now and then, and holds up the next actions for as long as it runs', () => {
  const shard = scheduled();
  act(shard);
  for (let minute = 1; minute <= 60; minute++) act(shard);
  expect(progressOf(shard)).toMatchObject({ actionCount: 1, overlapSkipped: 60, running: [{ workflowId: firstId }] });
  const looks = shard.records.flatMap(({ tasks }) => tasks.filter(({ kind }) => kind === 'lookAtAction'));
  expect(looks).toHaveLength(6);
});

function looksOf(shard: RedrivenShard): readonly TransferTask[] {
  return shard.transfers().filter(({ kind }) => kind === 'lookAtAction');
}

test('one look at a workflow is under way at a time, however long its shard is away', () => {
  const shard = scheduled({ intervalMs: 600_000 });
  act(shard);
  for (const _ of [1, 2, 3]) shard.fireNextTimer();
  expect(looksOf(shard)).toHaveLength(1);
  shard.takeOver();
  shard.fireNextTimer();
  expect(looksOf(shard)).toHaveLength(1);
  shard.pumpOutbox();
  expect(looksOf(shard)).toEqual([]);
  shard.fireNextTimer();
  expect(looksOf(shard)).toHaveLength(1);
});

test('news of an end that a look has overtaken still bring the action that waits the result', () => {
  const shard = scheduled({ intervalMs: 600_000, policies: { overlapPolicy: overlapPolicy.bufferOne } });
  act(shard);
  for (const _ of [1, 2]) shard.fireNextTimer();
  shard.complete(shard.pollWorkflowTask(), [completeWorkflow(bytes('a result'))]);
  const news = shard.pendingTask('notifySchedule');
  shard.carry(looksOf(shard)[0]!);
  for (const task of shard.transfers()) if (task.kind === 'startAction') shard.carry(task);
  expect(progressOf(shard).recentActions).toMatchObject([{ startId: 1, status: completed }]);
  shard.carry(news);
  shard.pumpOutbox();
  const { running } = progressOf(shard);
  expect(running).toMatchObject([{ startId: 2 }]);
  const [next] = shard.events(running[0]?.runId ?? '');
  expect(next?.attributes).toMatchObject({ lastCompletionResult: bytes('a result') });
});

describe('a workflow that is to make way', () => {
  function cancelling() {
    const shard = scheduled({ intervalMs: 300_000, policies: { overlapPolicy: overlapPolicy.cancelOther } });
    act(shard);
    shard.complete(shard.pollWorkflowTask());
    return shard;
  }
  const asked = (shard: RedrivenShard): number =>
    shard.records.flatMap(({ tasks }) => tasks.filter(({ kind }) => kind === 'endAction')).length;

  const isToEnd = (shard: RedrivenShard): boolean =>
    shard.describe({ namespaceId, workflowId: progressOf(shard).running[0]?.workflowId ?? '', runId: '' }).cancelRequested;

  test('is asked to once, however many times are due and whoever looks at it meanwhile', () => {
    const shard = cancelling();
    for (let times = 1; times <= 6; times++) act(shard);
    expect(asked(shard)).toBe(1);
    expect(progressOf(shard).buffered.length).toBeGreaterThan(3);
    expect(isToEnd(shard)).toBe(true);
  });

  test('is asked again where it has gone on in a run that knows of no request', () => {
    const shard = cancelling();
    act(shard);
    shard.complete(shard.pollWorkflowTask(), [continueAsNew()]);
    expect(asked(shard)).toBe(1);
    expect(isToEnd(shard)).toBe(false);
    act(shard);
    expect(asked(shard)).toBe(2);
    expect(isToEnd(shard)).toBe(true);
  });

  test('is asked again where the request was a dead letter, and was purged', () => {
    const shard = cancelling();
    shard.fireNextTimer();
    shard.madeLetter(shard.pendingTask('endAction').taskId);
    for (const _ of [1, 2]) act(shard);
    expect(asked(shard)).toBe(2);
    expect(isToEnd(shard)).toBe(true);
  });
});

describe('a wake that became a dead letter', () => {
  function asleep() {
    const shard = scheduled();
    const { taskId } = shard.nextTimer()!;
    return { shard, letter: shard.madeLetter(taskId) };
  }

  test.each([
    ['an update', updateSchedule({ state: active })],
    ['a trigger', patchSchedule({ trigger: { timeMs: 0, overlapPolicy: 0 } })],
  ])('%s wakes the schedule again', (_, command) => {
    const { shard } = asleep();
    expect(shard.nextTimer()).toBeUndefined();
    shard.ask(command);
    expect(shard.nextTimer()).toMatchObject({ fireTimeMs: 1_700_000_040_000 });
    act(shard);
    expect(progressOf(shard).lastStartId).toBeGreaterThan(0);
  });

  test('merged, it is the wake again', () => {
    const { shard, letter } = asleep();
    shard.execute(letter);
    act(shard);
    expect(statusOf(shard, firstId)).toBe(1);
    act(shard);
    expect(progressOf(shard).overlapSkipped).toBe(1);
  });

  test('the schedule can be deleted', () => {
    const { shard } = asleep();
    shard.expectDone({ kind: 'deleteSchedule', key: aScheduleKey });
    expect(shard.core.has(aScheduleKey)).toBe(false);
  });
});

describe('quarantined', () => {
  function aside(): RedrivenShard {
    const shard = scheduled();
    shard.fireNextTimer();
    const { taskId } = shard.nextTimer()!;
    shard.expectDone({ kind: 'putAside', key: aScheduleKey, failedCommand: 'fireTimer', taskId, reason: 'planted' });
    expect(shard.core.shard.aside.size).toBe(1);
    expect([shard.nextTimer(), shard.pendingTasks()]).toEqual([undefined, []]);
    return shard;
  }

  test('it can be described, and deleted with all that waits', () => {
    const shard = aside();
    expect(progressOf(shard).starting).toHaveLength(1);
    shard.expectDone({ kind: 'deleteSchedule', key: aScheduleKey });
    expect([shard.core.has(aScheduleKey), shard.core.shard.aside.size, shard.pendingTasks(), shard.nextTimer()]).toEqual([
      false,
      0,
      [],
      undefined,
    ]);
    shard.takeOver();
    expect([shard.core.has(aScheduleKey), shard.core.shard.aside.size]).toEqual([false, 0]);
  });

  test.each([
    ['an update', updateSchedule({ state: active })],
    ['a patch', patchSchedule({ unpause: 'again' })],
  ])('%s has its tasks tried again', (_, command) => {
    const shard = aside();
    shard.ask(command);
    expect(shard.core.shard.aside.size).toBe(0);
    shard.pumpOutbox();
    expect(statusOf(shard, firstId)).toBe(1);
    act(shard);
    expect(progressOf(shard).overlapSkipped).toBe(1);
  });
});
