/** A closed run of a namespace whose histories are archived: it stays until that is done, or nobody wants it any more. */
import { describe, expect, test } from 'vitest';
import { HistoryCore } from '../../src/history/history-core.ts';
import type { HistoryCommand } from '../../src/history/commands.ts';
import { historyWire } from '../../src/topics/codec/history-wire.ts';
import { taskFailure, unknownSubject } from './hand-over/task-failure.ts';
import { ShardUnderTest, terminateWorkflow } from './shard-under-test.ts';

const hour = 3_600_000;
const retentionMs = 72 * hour;

class ArchivedShard {
  readonly core = new HistoryCore({ wire: historyWire, archives: () => true });
  nowMs = 0;

  /** As another core has written it, without its end. */
  constructor() {
    const shard = new ShardUnderTest();
    shard.start();
    for (const record of shard.records) this.core.evolve(record);
    this.nowMs = shard.records.at(-1)?.timeMs ?? 0;
    this.do(terminateWorkflow());
  }

  do(command: HistoryCommand): void {
    this.core.accept(this.core.handle(command, this.nowMs, 0));
  }

  /** The one timer there is. */
  get timer(): { readonly kind: string; readonly taskId: number; readonly inMs: number } {
    const next = this.core.nextTimer();
    const task = next === undefined ? undefined : this.core.timerTask(next.taskId);
    if (task === undefined) throw new Error('there is a timer');
    return { kind: task.kind, taskId: task.taskId, inMs: task.fireTimeMs - this.nowMs };
  }

  handOver(): void {
    this.do({ kind: 'handOverTask', taskId: this.timer.taskId, category: 'archival', failure: taskFailure, subject: unknownSubject });
  }
}

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

  test('whose task is a letter is asked about when its retention would be over, and each hour from then', () => {
    const shard = new ArchivedShard();
    shard.handOver();
    expect(shard.core.handOvers?.get('archival')?.waiting).toHaveLength(1);
    expect(shard.timer).toMatchObject({ kind: 'archiveLetterCheck', inMs: retentionMs });
    shard.nowMs += retentionMs;
    for (let asked = 0; asked < 3; asked++) {
      shard.do({ kind: 'archiveLetterChecked', taskId: shard.timer.taskId, isOpen: true });
      expect(shard.timer).toMatchObject({ kind: 'archiveLetterCheck', inMs: hour });
      shard.nowMs += hour;
    }
    shard.do({ kind: 'archiveLetterChecked', taskId: shard.timer.taskId, isOpen: false });
    const { kind, taskId, inMs } = shard.timer;
    expect([kind, inMs]).toEqual(['retention', 0]);
    shard.do({ kind: 'fireTimer', taskId, jitter: 0 });
    expect(shard.core.nextTimer()).toBeUndefined();
  });

  test('what is told twice changes nothing the second time', () => {
    const shard = new ArchivedShard();
    const { taskId } = shard.timer;
    shard.do({ kind: 'archived', taskId });
    const before = shard.core.canonicalState();
    shard.do({ kind: 'archived', taskId });
    shard.do({ kind: 'archiveLetterChecked', taskId, isOpen: false });
    expect(shard.core.canonicalState()).toBe(before);
  });
});
