/** A closed run of a namespace whose histories are archived: it stays until that is done, or nobody wants it any more. */
import { describe, expect, test } from 'vitest';
import { HistoryCore } from '../../src/history/history-core.ts';
import type { HistoryCommand } from '../../src/history/commands/history-commands.ts';
import { encodeLetterTask } from '../../src/codec/letter-task-codec.ts';
import { encodeCallback } from '../../src/wire/generated/lean/callback.ts';
import type { InvokeCallbackTask, PendingTask } from '../../src/history/run/tasks.ts';
import { historyWire } from '../../src/codec/history-wire.ts';
import { taskFailure, unknownSubject } from './hand-over/task-failure.ts';
import { ShardUnderTest, terminateWorkflow } from './shard-under-test.ts';

const hour = 3_600_000;
const retentionMs = 72 * hour;

class ArchivedShard {
  readonly core = new HistoryCore({ wire: historyWire, archives: () => true });
  nowMs = 0;

  /** As another core has written it, without its end. */
  constructor(change: Parameters<ShardUnderTest['start']>[0] = {}) {
    const shard = new ShardUnderTest();
    shard.start(change);
    for (const record of shard.records) this.core.evolve(record);
    this.nowMs = shard.records.at(-1)?.timeMs ?? 0;
    this.do(terminateWorkflow());
  }

  do(command: HistoryCommand): void {
    this.core.accept(this.core.handle(command, this.nowMs, 0));
  }

  /** The one timer there is. */
  get timer(): { readonly kind: string; readonly taskId: number; readonly inMs: number } {
    const next = this.core.shard.timers.next();
    const task = next === undefined ? undefined : this.core.shard.timers.get(next.taskId);
    if (task === undefined) throw new Error('there is a timer');
    return { kind: task.kind, taskId: task.taskId, inMs: task.fireTimeMs - this.nowMs };
  }

  get callback(): InvokeCallbackTask {
    for (let taskId = 50; taskId > 0; taskId--) {
      const task = this.core.shard.transfers.get(taskId);
      if (task?.kind === 'invokeCallback') return task;
    }
    throw new Error('there is a callback');
  }

  handOver(): void {
    this.do({ kind: 'handOverTask', taskId: this.timer.taskId, category: 'archival', failure: taskFailure, subject: unknownSubject });
  }
}

test('a closed run whose archival an operator takes away is not archived, and goes when its retention is over', () => {
  const shard = new ArchivedShard();
  const { taskId } = shard.timer;
  shard.nowMs += 60_000;
  shard.do({ kind: 'removeTask', taskId, taskType: 'TASK_TYPE_ARCHIVAL_ARCHIVE_EXECUTION', by: 'anna' });
  expect(shard.timer).toMatchObject({ kind: 'retention', inMs: retentionMs - 60_000 });
});

test('a closed run that is archived once more, because an operator has added that, has one end', () => {
  const shard = new ArchivedShard();
  const first = shard.timer.taskId;
  const task = shard.core.shard.timers.get(first);
  if (task === undefined) throw new Error('it is to be archived');
  shard.do({ kind: 'addTasks', key: task.key, tasks: [encodeLetterTask(task)] });
  shard.do({ kind: 'archived', taskId: first });
  const second = shard.timer;
  expect(second.kind).toBe('archiveExecution');
  shard.do({ kind: 'archived', taskId: second.taskId });
  const end = shard.timer;
  expect(end).toMatchObject({ kind: 'retention', inMs: retentionMs });
  shard.nowMs += retentionMs;
  shard.do({ kind: 'fireTimer', taskId: end.taskId, jitter: 0 });
  expect(shard.core.shard.timers.next()).toBeUndefined();
});

test('of a run that is to be archived no retention can be added, and an archival that is added is made at once', () => {
  const shard = new ArchivedShard();
  const { taskId } = shard.timer;
  const task = shard.core.shard.timers.get(taskId);
  if (task === undefined) return expect.unreachable();
  const add = (added: PendingTask): void => shard.do({ kind: 'addTasks', key: task.key, tasks: [encodeLetterTask(added)] });
  add({ kind: 'retention', taskId: 1, fireTimeMs: 1, key: task.key });
  expect(shard.timer).toMatchObject({ taskId });
  add({ kind: 'archiveExecution', taskId: 1, fireTimeMs: shard.nowMs + 1_000 * retentionMs, key: task.key });
  expect(shard.timer).toMatchObject({ kind: 'archiveExecution', inMs: 0 });
});

describe('a closed run', () => {
  test('is archived within five minutes, and kept for its retention from its close on', () => {
    const shard = new ArchivedShard();
    const { kind, taskId, inMs } = shard.timer;
    expect(kind).toBe('archiveExecution');
    expect(inMs).toBeLessThanOrEqual(5 * 60_000);
    shard.nowMs += hour;
    shard.do({ kind: 'archived', taskId });
    expect(shard.timer).toMatchObject({ kind: 'retention', inMs: retentionMs - hour });
  });

  test('that was archived long after its retention goes at once', () => {
    const shard = new ArchivedShard();
    const { taskId } = shard.timer;
    shard.nowMs += 2 * retentionMs;
    shard.do({ kind: 'archived', taskId });
    expect(shard.timer).toMatchObject({ kind: 'retention', inMs: 0 });
  });

  test('whose task is a dead letter is asked about when its retention would be over, and each hour from then', () => {
    const shard = new ArchivedShard();
    shard.handOver();
    expect(shard.core.shard.handOvers?.get('archival')?.waiting).toHaveLength(1);
    expect(shard.timer).toMatchObject({ kind: 'letterCheck', inMs: retentionMs });
    shard.nowMs += retentionMs;
    for (let asked = 0; asked < 3; asked++) {
      shard.do({ kind: 'letterChecked', taskId: shard.timer.taskId, isOpen: true });
      expect(shard.timer).toMatchObject({ kind: 'letterCheck', inMs: hour });
      shard.nowMs += hour;
    }
    shard.do({ kind: 'letterChecked', taskId: shard.timer.taskId, isOpen: false });
    const { kind, taskId, inMs } = shard.timer;
    expect([kind, inMs]).toEqual(['retention', 0]);
    shard.do({ kind: 'fireTimer', taskId, jitter: 0 });
    expect(shard.core.shard.timers.next()).toBeUndefined();
  });

  test('that is archived while its callback is tried again stays until that is known, and is archived with it', () => {
    const callback = encodeCallback({ nexus: { url: 'http://example.com/', header: new Map() }, links: [] });
    const shard = new ArchivedShard({ callbacks: { callbacks: [callback], callbacksMax: 1 } });
    const task = shard.callback;
    shard.do({ kind: 'handOverTask', taskId: task.taskId, category: 'outbound', failure: taskFailure, subject: unknownSubject });
    const { taskId } = shard.timer;
    const letter = { queue: 1, messageId: 1, generation: 0 };
    shard.do({ kind: 'executeLetter', key: task.key, letter, resolvedBelow: 0, task: encodeLetterTask(task) });
    shard.do({ kind: 'archived', taskId });
    expect(shard.core.shard.timers.next()).toBeUndefined();
    shard.do({ kind: 'callbackAnswered', taskId: shard.callback.taskId, outcome: { kind: 'delivered' } });
    shard.do({ kind: 'archived', taskId: shard.timer.taskId });
    expect(shard.timer).toMatchObject({ kind: 'retention', inMs: retentionMs });
  });

  test('what is reported twice changes nothing the second time', () => {
    const shard = new ArchivedShard();
    const { taskId } = shard.timer;
    shard.do({ kind: 'archived', taskId });
    const before = shard.core.canonicalState();
    shard.do({ kind: 'archived', taskId });
    shard.do({ kind: 'letterChecked', taskId, isOpen: false });
    expect(shard.core.canonicalState()).toBe(before);
  });
});
