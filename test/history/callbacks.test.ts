/** Completion callbacks of a closed run in its shard: what becomes of them, and how long the run stays for them. */
import { describe, expect, test } from 'vitest';
import type { OwnCallbackCommand } from '../../src/history/commands/callback-commands.ts';
import type { PendingTask, Task, TimerTask, TransferTask } from '../../src/history/run/tasks.ts';
import { encodeCallback } from '../../src/wire/generated/lean/callback.ts';
import { callbackState } from '../../src/history/generated/enums.ts';
import { encodeLetterTask } from '../../src/codec/letter-task-codec.ts';
import { RedrivenShard } from './redrive/redriven-shard.ts';
import { deleteWorkflow, key, terminateWorkflow } from './shard-under-test.ts';

const hour = 3_600_000;
const retentionMs = 72 * hour;
const url = 'http://example.com/';
const callback = encodeCallback({ nexus: { url, header: new Map() }, links: [] });

class CallingShard extends RedrivenShard {
  constructor(callbacks = 1) {
    super();
    this.start({ callbacks: { callbacks: Array.from({ length: callbacks }, () => callback), callbacksMax: 32 } });
    this.ask(terminateWorkflow());
  }

  get task(): TransferTask {
    return this.pendingTask('invokeCallback');
  }

  get backoff(): Task {
    const task = this.core.shard.timers.get(this.nextTimer()?.taskId ?? 0);
    if (task?.kind !== 'callbackBackoff') throw new Error('nothing is paused');
    return task;
  }

  tell(outcome: Extract<OwnCallbackCommand, { readonly kind: 'callbackAnswered' }>['outcome']): void {
    this.expectDone({ kind: 'callbackAnswered', taskId: this.task.taskId, outcome });
  }

  refused(): PendingTask {
    return this.madeLetter(this.task.taskId);
  }

  add(...tasks: readonly PendingTask[]): void {
    this.expectDone({ kind: 'addTasks', key: tasks[0]?.key ?? key, tasks: tasks.map(encodeLetterTask) });
  }

  get tasks(): readonly string[] {
    const { transfers, timers } = this.checkpoints.folded;
    return [...transfers.values(), ...timers.values()].map(({ kind }) => kind).sort();
  }

  get callbackStates(): readonly number[] {
    return [...this.checkpoints.folded.runs.values()].flatMap((run) => run.callbacks.map(({ state }) => state));
  }

  get isKept(): boolean {
    return this.ask({ kind: 'describeWorkflow', key })?.kind === 'description';
  }

  /** Whether its letter is in its queue still, as whoever asks the queue is told. */
  letterIsOpen = false;

  /** To each time at which something is due. */
  wait(ms: number): void {
    for (let leftMs = ms; ;) {
      const next = this.nextTimer();
      const inMs = next === undefined ? Infinity : Math.max(0, next.fireTimeMs - this.nowMs);
      if (next === undefined || inMs > leftMs) return this.advance(leftMs);
      this.advance(inMs);
      leftMs -= inMs;
      const task = this.core.shard.timers.get(next.taskId);
      if (task?.kind !== 'letterCheck') this.fireDueTimers();
      else this.expectDone({ kind: 'letterChecked', taskId: task.taskId, isOpen: this.letterIsOpen });
    }
  }
}

const failed = { kind: 'failed', message: 'down', pauseMs: hour } as const;

describe('a run with a callback', () => {
  test.each(['its attempt', 'the pause before the next'])('of which an operator takes %s away goes when its retention is over', (what) => {
    const shard = new CallingShard();
    if (what !== 'its attempt') shard.tell(failed);
    const { taskId, kind } = what === 'its attempt' ? shard.task : shard.backoff;
    const taskType = kind === 'invokeCallback' ? 'TASK_TYPE_STATE_MACHINE_OUTBOUND' : 'TASK_TYPE_STATE_MACHINE_TIMER';
    shard.expectDone({ kind: 'removeTask', taskId, taskType, by: 'anna' });
    shard.wait(retentionMs - 1);
    expect(shard.isKept).toBe(true);
    shard.wait(1);
    expect(shard.isKept).toBe(false);
  });

  test('is kept for as long as it is tried, and goes when that and its retention are over', () => {
    const shard = new CallingShard();
    for (let tries = 0; tries < 100; tries++) {
      shard.tell(failed);
      shard.wait(hour);
    }
    expect(shard.isKept).toBe(true);
    shard.tell({ kind: 'delivered' });
    shard.wait(1);
    expect(shard.isKept).toBe(false);
  });

  test('that is deleted while its callback is on its way leaves no dead letter, whatever the answer', () => {
    const shard = new CallingShard();
    const { taskId } = shard.task;
    shard.expectDone(deleteWorkflow());
    shard.fails(taskId);
    expect(shard.records.some(({ tasksHandedOver = [] }) => tasksHandedOver.length > 0)).toBe(false);
    expect(shard.pendingTasks()).not.toContain('invokeCallback');
  });

  test('whose dead letter is merged is kept until it is delivered, also when its retention ends meanwhile', () => {
    const shard = new CallingShard();
    const task = shard.refused();
    shard.wait(retentionMs - hour);
    shard.execute(task);
    shard.tell({ ...failed, pauseMs: 2 * hour });
    shard.wait(2 * hour);
    expect(shard.isKept).toBe(true);
    shard.tell({ kind: 'delivered' });
    shard.wait(1);
    expect(shard.isKept).toBe(false);
  });

  test('that has failed is kept beyond its retention for as long as its dead letter is there, and a merge delivers it', () => {
    const shard = new CallingShard();
    const task = shard.refused();
    shard.letterIsOpen = true;
    shard.wait(10 * retentionMs);
    expect(shard.isKept).toBe(true);
    shard.execute(task);
    shard.tell({ kind: 'delivered' });
    shard.wait(1);
    expect(shard.isKept).toBe(false);
  });

  test('whose pause has become a dead letter is tried again when that is merged', () => {
    const shard = new CallingShard();
    shard.tell(failed);
    const task = shard.madeLetter(shard.backoff.taskId);
    shard.letterIsOpen = true;
    shard.wait(10 * retentionMs);
    shard.execute(task);
    shard.fireDueTimers();
    expect(shard.outcomes()).toEqual([{ kind: 'applied' }]);
    shard.tell({ kind: 'delivered' });
    shard.wait(1);
    expect(shard.isKept).toBe(false);
  });

  test('that has failed goes within the hour once its dead letter is purged', () => {
    const shard = new CallingShard();
    shard.refused();
    shard.letterIsOpen = true;
    shard.wait(2 * retentionMs);
    shard.letterIsOpen = false;
    shard.wait(hour);
    expect(shard.isKept).toBe(false);
  });

  test.each(['its attempt', 'the pause before the next'])('whose merge is withdrawn by a purge of %s goes within the hour', (what) => {
    const shard = new CallingShard();
    if (what !== 'its attempt') shard.tell(failed);
    const task = shard.madeLetter((what === 'its attempt' ? shard.task : shard.backoff).taskId);
    shard.letterIsOpen = true;
    shard.execute(task);
    if (what === 'its attempt') shard.unsent();
    expect(shard.withdraw(task)).toEqual({ kind: 'letterWithdrawn' });
    expect(shard.callbackStates).toEqual([callbackState.failed]);
    shard.wait(2 * retentionMs);
    expect(shard.isKept).toBe(true);
    shard.letterIsOpen = false;
    shard.wait(hour);
    expect(shard.isKept).toBe(false);
  });

  test('whose merge was withdrawn by a purge is delivered when that was undone and the dead letter is merged', () => {
    const shard = new CallingShard();
    const task = shard.refused();
    shard.execute(task);
    shard.unsent();
    expect(shard.withdraw(task)).toEqual({ kind: 'letterWithdrawn' });
    expect(shard.execute(task)).toBeUndefined();
    shard.tell({ kind: 'delivered' });
    expect(shard.outcomes()).toEqual([{ kind: 'noop', detail: 'it was withdrawn, and not executed' }, { kind: 'applied' }]);
    expect(shard.callbackStates).toEqual([callbackState.succeeded]);
  });

  test('whose dead letter is merged and fails again is kept for its retention, and not for ever', () => {
    const shard = new CallingShard();
    shard.execute(shard.refused());
    shard.fails(shard.begun.taskId);
    shard.wait(retentionMs - 1);
    expect(shard.isKept).toBe(true);
    shard.wait(1);
    expect(shard.isKept).toBe(false);
  });
});

describe('a task that an operator adds', () => {
  test('is added once, however often the request has it', () => {
    const shard = new CallingShard();
    const task = shard.refused();
    shard.add(task, task, task);
    expect(shard.tasks).toEqual(['invokeCallback', 'letterCheck']);
    shard.tell({ kind: 'delivered' });
    expect(shard.callbackStates).toEqual([callbackState.succeeded]);
  });

  test('for the pause of a callback that was delivered is none, and takes nothing back', () => {
    const shard = new CallingShard();
    shard.tell(failed);
    const { backoff } = shard;
    shard.wait(hour);
    shard.tell({ kind: 'delivered' });
    shard.add(backoff as PendingTask);
    expect(shard.tasks).toEqual(['retention']);
  });

  test('for a pause comes at the end of that pause, and its removal takes back no callback that was delivered', () => {
    const shard = new CallingShard();
    shard.tell(failed);
    const first = shard.backoff as TimerTask;
    shard.add({ ...first, fireTimeMs: shard.nowMs + 10 * hour });
    const second = [...shard.checkpoints.folded.timers.values()].find(({ taskId }) => taskId !== first.taskId);
    expect(second?.fireTimeMs).toBe(first.fireTimeMs);
    shard.advance(hour);
    shard.expectDone({ kind: 'fireTimer', taskId: first.taskId, jitter: 0 });
    shard.tell({ kind: 'delivered' });
    shard.expectDone({ kind: 'removeTask', taskId: second?.taskId ?? 0, taskType: 'TASK_TYPE_STATE_MACHINE_TIMER', by: 'anna' });
    expect(shard.callbackStates).toEqual([callbackState.succeeded]);
    expect(shard.tasks).toEqual(['retention']);
  });

  test.each(['is tried', 'has failed', 'was delivered'])('for the end of a retention changes none while the callback %s', (what) => {
    const shard = new CallingShard();
    const runKey = shard.task.key;
    if (what === 'was delivered') shard.tell({ kind: 'delivered' });
    if (what === 'has failed') shard.refused();
    const before = shard.tasks;
    shard.add({ kind: 'retention', taskId: 1, fireTimeMs: 1, key: runKey });
    expect(shard.tasks).toEqual(before);
  });
});
