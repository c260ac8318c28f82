/** Tasks that somebody adds from outside: what they say has to be what their run says, and they come at its times, each of them once. */
import { describe, expect, test } from 'vitest';
import { evolve } from '../../src/history/evolve/evolve.ts';
import { Shard } from '../../src/history/shard/shard.ts';
import type { WorkflowCommand } from '../../src/history/commands/workflow-commands.ts';
import type { PendingTask, TimerTask, TransferTask } from '../../src/history/run/tasks.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { encodeLetterTask } from '../../src/codec/letter-task-codec.ts';
import {
  bytes,
  completeWorkflow,
  namespaceId,
  scheduleActivity,
  ShardUnderTest,
  startChild,
  terminateWorkflow,
} from './shard-under-test.ts';
import { createSchedule } from './schedule-commands.ts';

const elsewhere = { namespaceId, workflowId: 'elsewhere', runId: '' };
const child = startChild();
const signal = {
  type: 'signalExternalWorkflowExecution',
  userMetadata: undefined,
  attributes: {
    namespace: '',
    namespaceId: '',
    execution: { workflowId: 'other', runId: '' },
    signalName: 'go',
    input: undefined,
    control: '',
    childWorkflowOnly: false,
    header: undefined,
  },
} as const;
const cancel = {
  type: 'requestCancelExternalWorkflowExecution',
  userMetadata: undefined,
  attributes: {
    namespace: '',
    namespaceId: '',
    workflowId: 'other',
    runId: '',
    control: '',
    childWorkflowOnly: false,
    reason: '',
  },
} as const;

class World extends ShardUnderTest {
  add(...tasks: readonly (TransferTask | TimerTask)[]): void {
    this.expectDone(this.adding(tasks));
  }

  refused(...tasks: readonly (TransferTask | TimerTask)[]): string {
    const { reason, message } = this.expectRejected(this.adding(tasks));
    expect(reason).toBe('invalid-argument');
    return message;
  }

  adding(tasks: readonly (TransferTask | TimerTask)[]) {
    const [first] = tasks;
    if (first === undefined) throw new Error('no task');
    return { kind: 'addTasks', key: first.key, tasks: tasks.map((task) => encodeLetterTask(task as PendingTask)) } as const;
  }

  timer(kind: TimerTask['kind']): TimerTask {
    const found = this.timers().find((task) => task.kind === kind);
    if (found === undefined) throw new Error(`no ${kind} is pending`);
    return found;
  }

  timers(): readonly TimerTask[] {
    return [...this.folded.timers.values()];
  }

  get folded(): Shard {
    const shard = new Shard();
    for (const record of this.records) evolve(shard, record, historyWire);
    return shard;
  }
}

function begun(...commands: readonly WorkflowCommand[]): World {
  const shard = new World();
  shard.start();
  shard.complete(shard.pollWorkflowTask(), commands);
  return shard;
}

describe('a task whose target is not the one of its run is refused', () => {
  test.each([
    ['startChild', child],
    ['signalExternal', signal],
    ['cancelExternal', cancel],
  ] as const)('%s', (kind, command) => {
    const shard = begun(command);
    const task = shard.pendingTask(kind);
    const { workflowId } = task.target;
    expect(shard.refused(task, { ...task, target: elsewhere })).toBe(
      `a ${kind} is for workflow elsewhere, and its run has asked for workflow ${workflowId}`,
    );
    expect(shard.refused({ ...task, target: { ...task.target, namespaceId: 'other' } })).toMatch(/namespace other/);
    expect(shard.pendingTasks().filter((each) => each === kind)).toHaveLength(1);
    shard.add(task);
  });

  test('the close of a child, and its first workflow task', () => {
    const shard = begun(child);
    shard.carry(shard.pendingTask('startChild'));
    const first = shard.pendingTask('scheduleChildFirstTask');
    expect(shard.refused({ ...first, child: { ...first.child, workflowId: 'elsewhere' } })).toMatch(/elsewhere/);
    shard.pumpOutbox();
    const closing = { kind: 'closeChild', taskId: 99, key: first.key, version: 0, child: first.child, policy: 1 } as const;
    const known = [...(shard.folded.runs.get(first.key.runId)?.children.values() ?? [])];
    const initiatedEventId = known[0]?.initiatedEventId ?? 0;
    expect(shard.refused({ ...closing, initiatedEventId, child: { ...first.child, workflowId: 'elsewhere' } })).toMatch(/elsewhere/);
  });

  test('a workflow task, and an activity, for another queue', () => {
    const shard = begun(scheduleActivity());
    const activity = shard.pendingTask('activityTask');
    expect(shard.refused({ ...activity, taskQueue: { ...activity.taskQueue, name: 'elsewhere' } })).toMatch(/task queue elsewhere/);
    shard.signal();
    const task = shard.pendingTask('workflowTask');
    expect(shard.refused({ ...task, taskQueue: { ...task.taskQueue, name: 'elsewhere' } })).toMatch(/task queue elsewhere/);
  });

  test('what a schedule asks for', () => {
    const shard = new World();
    shard.ask(createSchedule());
    shard.fireNextTimer();
    const task = shard.pendingTask('startAction');
    expect(shard.refused({ ...task, target: elsewhere })).toMatch(/elsewhere/);
    shard.add(task);
  });
});

describe('a task is due when its run says so', () => {
  test('a worker keeps its workflow task until its own time is over, whatever time the added one has', () => {
    const shard = new World();
    shard.start({ start: { taskTimeoutMs: 60_000 } });
    const task = shard.pollWorkflowTask();
    const timeout = shard.timer('workflowTaskTimeout');
    shard.add({ ...timeout, fireTimeMs: 1 });
    shard.advance(1_000);
    shard.fireDueTimers();
    expect(shard.history()).toEqual(['workflowExecutionStarted', 'workflowTaskScheduled', 'workflowTaskStarted']);
    shard.complete(task, [completeWorkflow(bytes('done'))]);
  });

  test('nor does a dead letter that somebody has put there end it earlier', () => {
    const shard = new World();
    shard.start({ start: { taskTimeoutMs: 60_000 } });
    shard.pollWorkflowTask();
    const timeout = shard.timer('workflowTaskTimeout') as PendingTask;
    const letter = { queue: 1, messageId: 41, generation: 0 };
    const task = encodeLetterTask({ ...timeout, fireTimeMs: 1 } as PendingTask);
    shard.ask({ kind: 'executeLetter', key: timeout.key, letter, resolvedBelow: 0, task });
    shard.advance(1_000);
    shard.fireDueTimers();
    expect(shard.history()).not.toContain('workflowTaskTimedOut');
    shard.advance(60_000);
    shard.fireDueTimers();
    expect(shard.history()).toContain('workflowTaskTimedOut');
  });

  test('one that waits in no sticky queue is never taken from its queue', () => {
    const shard = new World();
    shard.start();
    const { key, scheduledEventId, stamp } = shard.pendingTask('workflowTask');
    shard.add({ kind: 'workflowTaskTimeout', taskId: 9, fireTimeMs: 1, key, scheduledEventId, stamp, timeout: 'scheduleToStart' });
    shard.fireDueTimers();
    expect(shard.history()).not.toContain('workflowTaskTimedOut');
  });
});

describe('asked once more', () => {
  test('nothing is added of what is pending', () => {
    const shard = begun(child, signal, scheduleActivity());
    const tasks = [shard.pendingTask('startChild'), shard.pendingTask('signalExternal'), shard.pendingTask('activityTask')];
    const before = [shard.pendingTasks(), shard.timers().length];
    shard.add(...tasks, ...shard.timers());
    shard.add(...tasks, ...shard.timers());
    expect([shard.pendingTasks(), shard.timers().length]).toEqual(before);
  });

  test('nor of what no run remembers the task of', () => {
    const shard = begun(startChild({ parentClosePolicy: 1 }));
    shard.pumpOutbox();
    shard.expectDone(terminateWorkflow());
    const closing = shard.pendingTask('closeChild');
    shard.add(closing);
    expect(shard.pendingTasks().filter((kind) => kind === 'closeChild')).toHaveLength(1);
  });
});
