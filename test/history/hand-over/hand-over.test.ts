/**
 * A task that has failed for good is in one place at any time: pending, in the line of its queue, or a dead letter; through journal, rows and
 * restarts.
 */
import { describe, expect, test } from 'vitest';
import type { TimerTask } from '../../../src/history/run/tasks.ts';
import type { TaskFailure } from '../../../src/history/commands/hand-over-commands.ts';
import { handOverLimits } from '../../../src/history/tasks/hand-over.ts';
import { stateCodec } from '../../../src/codec/state-codec.ts';
import { Checkpoints } from '../checkpointed-shard.ts';
import { completeWorkflow, deleteWorkflow, key, ShardUnderTest, startChild, startTimer, terminateWorkflow } from '../shard-under-test.ts';
import { taskFailure, taskSubject } from './task-failure.ts';

class HandingShard extends ShardUnderTest {
  readonly checkpoints: Checkpoints = new Checkpoints(this);

  constructor() {
    super({ retentionMsDefault: 3_000, retentionRecheckMs: 1_000 }, stateCodec);
  }

  handOver(taskId: number, failure: TaskFailure = taskFailure, category = 'transfer'): void {
    this.expectDone({ kind: 'handOverTask', taskId, category, failure, subject: taskSubject });
  }

  accept(sequence: number, ...messageIds: readonly number[]): void {
    this.acceptOf('transfer', sequence, messageIds);
  }

  acceptOf(category: string, sequence: number, messageIds: readonly number[]): void {
    this.expectDone({ kind: 'noteLetters', category, sequence, messageIds });
  }

  timers(): readonly TimerTask[] {
    return [...this.checkpoints.folded.timers.values()];
  }

  /** By sequence: the tasks that wait to become letters. */
  line(category = 'transfer'): readonly (readonly [number, number])[] {
    const { waiting } = this.checkpoints.folded.handOvers?.get(category) ?? { waiting: [] };
    return waiting.map(({ sequence, task }) => [sequence, task.taskId]);
  }

  workflow(nth: number): number {
    this.start({ key: { ...key, workflowId: `wf-${nth}` } });
    return this.transfers().at(-1)?.taskId ?? 0;
  }
}

describe('a task that has failed for good', () => {
  test('leaves its queue for a line, whole, and the line when it is a dead letter', () => {
    const shard = new HandingShard();
    const taskId = shard.workflow(1);
    const task = shard.pendingTask('workflowTask');
    shard.handOver(taskId);
    expect(shard.transfers()).toEqual([]);
    expect(shard.records.at(-1)).toMatchObject({
      type: 'TaskHandedOver',
      // Whoever looks for what befell a workflow finds it in the topic.
      namespace: 'orders',
      workflowId: 'wf-1',
      tasksHandedOver: [{ category: 'transfer', sequence: 1, task, failure: taskFailure, subject: taskSubject }],
    });
    expect(shard.line()).toEqual([[1, taskId]]);
    shard.accept(1, 41);
    expect(shard.records.at(-1)).toMatchObject({
      type: 'LettersAccepted',
      lettersAccepted: [{ sequence: 1, messageIds: [41] }],
    });
    expect(shard.line()).toEqual([]);
    expect(shard.transfers()).toEqual([]);
  });

  test('gets a sequence of its queue, and no two get the same, also when the line was empty meanwhile', () => {
    const shard = new HandingShard();
    const tasks = [1, 2, 3, 4].map((nth) => shard.workflow(nth));
    shard.handOver(tasks[0] ?? 0);
    shard.handOver(tasks[1] ?? 0);
    shard.accept(1, 7);
    expect(shard.line()).toEqual([[2, tasks[1]]]);
    shard.accept(2, 8);
    shard.handOver(tasks[2] ?? 0);
    shard.handOver(tasks[3] ?? 0, taskFailure, 'visibility');
    expect(shard.line()).toEqual([[3, tasks[2]]]);
    expect(shard.line('visibility')).toEqual([[1, tasks[3]]]);
  });

  test('is reported once: what is reported again, or of a task that has ended, writes nothing', () => {
    const shard = new HandingShard();
    const [failed, ended, stored] = [1, 2, 3].map((nth) => shard.workflow(nth));
    shard.handOver(failed ?? 0);
    shard.ask(terminateWorkflow({ key: { ...key, workflowId: 'wf-2' } }));
    shard.expectDone({ kind: 'noteAtMatching', taskIds: [stored ?? 0] });
    const records = shard.records.length;
    for (const taskId of [failed, ended, stored, 10_000]) shard.handOver(taskId ?? 0);
    expect(shard.records.length).toBe(records);
    shard.accept(1, 41);
    shard.accept(1, 41);
    expect(shard.records.length).toBe(records + 1);
  });

  test('becomes a dead letter though its workflow ends meanwhile', () => {
    const shard = new HandingShard();
    const taskId = shard.workflow(1);
    shard.handOver(taskId);
    shard.ask(terminateWorkflow({ key: { ...key, workflowId: 'wf-1' } }));
    expect(shard.line()).toEqual([[1, taskId]]);
  });

  test('an answer for other dead letters than were handed over changes nothing', () => {
    const shard = new HandingShard();
    shard.handOver(shard.workflow(1));
    expect(() => shard.accept(1, 41, 42)).toThrow('1 tasks became 2 letters of transfer');
    expect(shard.line()).toHaveLength(1);
  });
});

test('a line that is full takes no more: what finds no room stays pending', () => {
  const shard = new HandingShard();
  shard.checks = false;
  for (let nth = 0; nth <= handOverLimits.tasksMax; nth++) shard.handOver(shard.workflow(nth));
  expect(shard.line()).toHaveLength(handOverLimits.tasksMax);
  const [left] = shard.transfers();
  expect(shard.transfers()).toHaveLength(1);
  shard.accept(1, 0);
  shard.handOver(left?.taskId ?? 0);
  expect(shard.line().at(-1)).toEqual([handOverLimits.tasksMax + 1, left?.taskId]);
});

test('a line is bounded in bytes as well, but one always fits', () => {
  const shard = new HandingShard();
  const large = { ...taskFailure, errorStack: 'x'.repeat(handOverLimits.bytesMax) };
  const [first, second] = [shard.workflow(1), shard.workflow(2)];
  shard.handOver(first, large);
  shard.handOver(second, large);
  expect(shard.line()).toEqual([[1, first]]);
  shard.accept(1, 0);
  shard.handOver(second, large);
  expect(shard.line()).toEqual([[2, second]]);
});

describe('a timer that has failed for good', () => {
  function sleeping(): { readonly shard: HandingShard; readonly timer: TimerTask } {
    const shard = new HandingShard();
    shard.start();
    shard.complete(shard.pollWorkflowTask(), [startTimer('nap', 60_000)]);
    const timer = shard.timers().find(({ kind }) => kind === 'userTimer');
    if (timer === undefined) throw new Error('the timer waits');
    return { shard, timer };
  }

  test('fires no more, waits in the line of timers, whole, and is a dead letter', () => {
    const { shard, timer } = sleeping();
    shard.handOver(timer.taskId, taskFailure, 'timer');
    expect(shard.timers()).not.toContainEqual(timer);
    expect(shard.records.at(-1)).toMatchObject({
      type: 'TaskHandedOver',
      tasksHandedOver: [{ category: 'timer', sequence: 1, task: timer }],
    });
    expect(shard.line('timer')).toEqual([[1, timer.taskId]]);
    expect(shard.line()).toEqual([]);
    const records = shard.records.length;
    shard.advance(3_600_000);
    shard.fireDueTimers();
    expect(shard.records.length).toBe(records);
    shard.acceptOf('timer', 1, [41]);
    expect(shard.line('timer')).toEqual([]);
  });

  test('has no row any more, and stands in its line in a shard that comes back from its rows', () => {
    const { shard, timer } = sleeping();
    for (const _again of [1, 2]) {
      shard.checkpoints.cut();
      shard.checkpoints.capture(Infinity);
      shard.checkpoints.write('written');
      shard.handOver(timer.taskId, taskFailure, 'timer');
    }
    expect([...shard.checkpoints.table.taskIds]).not.toContain(timer.taskId);
    expect(shard.line('timer')).toEqual([[1, timer.taskId]]);
    shard.checkpoints.finish();
  });

  test('that ends a retention stays where it is: its run says it as well', () => {
    const shard = new HandingShard();
    shard.start();
    shard.complete(shard.pollWorkflowTask(), [completeWorkflow()]);
    const [retention] = shard.timers();
    expect(retention?.kind).toBe('retention');
    shard.handOver(retention?.taskId ?? 0, taskFailure, 'timer');
    expect(shard.timers()).toEqual([retention]);
  });
});

describe('the run of a message to another shard that is handed over', () => {
  const childId = 'child';

  /** A child in its own workflow id, closed; its parent has not heard of it. */
  function closedChild(): { readonly shard: HandingShard; readonly taskId: number } {
    const shard = new HandingShard();
    shard.start();
    shard.complete(shard.pollWorkflowTask(), [startChild()]);
    shard.pumpOutbox();
    for (;;) {
      const task = shard.pollWorkflowTask();
      const isChild = task.key.workflowId === childId;
      shard.complete(task, isChild ? [completeWorkflow()] : []);
      if (isChild) break;
    }
    return { shard, taskId: shard.pendingTask('notifyParent').taskId };
  }

  const kept = (shard: HandingShard): boolean => [...shard.checkpoints.folded.runs.values()].some((run) => run.key.workflowId === childId);

  const passRetention = (shard: HandingShard): void => {
    for (let second = 0; second < 10; second++) {
      shard.advance(1_000);
      shard.fireDueTimers();
    }
  };

  test('is kept until it is a dead letter, however long its retention is over', () => {
    const { shard, taskId } = closedChild();
    shard.handOver(taskId);
    passRetention(shard);
    expect(kept(shard)).toBe(true);
    shard.accept(1, 41);
    passRetention(shard);
    expect(kept(shard)).toBe(false);
  });

  test('also by a shard that comes back from its rows meanwhile', () => {
    const { shard, taskId } = closedChild();
    shard.handOver(taskId);
    shard.checkpoints.cut();
    shard.checkpoints.capture(Infinity);
    // Compares what the rows hold with what was folded.
    shard.checkpoints.write('written');
    expect([...shard.checkpoints.table.taskIds]).not.toContain(taskId);
    passRetention(shard);
    shard.accept(1, 41);
    shard.checkpoints.finish();
  });

  test('may be deleted before that, and what its parent has started is known until it is a dead letter, also after a restart from rows', () => {
    const { shard, taskId } = closedChild();
    shard.ask(deleteWorkflow({ ...key, workflowId: childId }));
    shard.handOver(taskId);
    shard.checkpoints.cut();
    shard.checkpoints.capture(Infinity);
    // Compares what the rows hold with what was folded.
    shard.checkpoints.write('written');
    expect(shard.checkpoints.folded.childStarts.size).toBe(1);
    shard.accept(1, 41);
    expect(shard.checkpoints.folded.childStarts.size).toBe(0);
    shard.checkpoints.finish();
  });

  test('may be deleted: the dead letter comes all the same', () => {
    const { shard, taskId } = closedChild();
    shard.handOver(taskId);
    shard.ask(deleteWorkflow({ ...key, workflowId: childId }));
    expect(kept(shard)).toBe(false);
    expect(shard.line()).toEqual([[1, taskId]]);
    shard.accept(1, 41);
    expect([...shard.checkpoints.folded.undelivered]).toEqual([]);
  });
});
