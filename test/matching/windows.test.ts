/** How much of a long backlog is in memory, whatever the database and the shards do. */
import { expect, test } from 'vitest';
import { matchingStateCodec } from '../../src/codec/matching-state-codec.ts';
import type { LoadStoredTasks } from '../../src/matching/matching-effects.ts';
import { type MatchingLimits, windowLimitsOf } from '../../src/matching/matching-limits.ts';
import type { TaskQueuePartition } from '../../src/kernel/task-queue.ts';
import { Table } from './checkpointed-backlog.ts';
import { activities, add, Host, poll, task } from './fixtures.ts';

function named(nth: number): TaskQueuePartition {
  return { ...activities, name: `orders-${nth}` };
}

/** A host that was just taken over: all of it is in rows. */
class WithTable {
  readonly table = new Table();
  readonly host: Host;
  #polls = 0;

  constructor(queues: number, tasks: number, limits: Partial<MatchingLimits>, name = '') {
    const before = new Host({}, matchingStateCodec);
    for (let nth = 0; nth < tasks; nth++) {
      for (let queue = 0; queue < queues; queue++) before.ask(add(task(`t${queue}-${nth}${name}`), { queue: named(queue) }));
    }
    before.core.cut();
    this.table.write(
      before.core.capture(() => true)!,
      before.journal.length,
    );
    this.host = new Host(limits, matchingStateCodec);
    this.table.installInto(this.host.core);
    this.host.ask({ kind: 'activate' });
    this.host.advanceTo(this.host.now + 1);
  }

  get inMemory(): number {
    return this.host.core.counts().tasksInMemory;
  }

  /** What is stored now is written, and what may leaves memory. */
  write(): void {
    const { core, journal } = this.host;
    core.cut();
    this.table.write(
      core.capture(() => true)!,
      journal.length,
    );
    core.durable();
    this.host.advanceTo(this.host.now + 1);
  }

  poll(queue: number): void {
    this.host.ask(poll(`p${this.#polls++}`, { queue: named(queue), deadlineMs: this.host.now + 60_000 }));
  }

  /** What the database answers to all that is asked of it. */
  answerReads(): void {
    for (;;) {
      const loads = this.host.effects.filter((effect): effect is LoadStoredTasks => effect.kind === 'loadStoredTasks');
      if (loads.length === 0) return;
      this.host.effects = this.host.effects.filter((effect) => effect.kind !== 'loadStoredTasks');
      for (const { queue, key, afterTaskId, max } of loads) {
        const rows = this.table.sorted.filter((row) => row.queue === key && row.taskId > afterTaskId).slice(0, max);
        this.host.ask({ kind: 'storedTasksLoaded', queue, key, rows });
      }
    }
  }
}

test('of many long backlogs, no more comes into memory because the database is slow to answer', () => {
  const of = new WithTable(30, 60, {
    windowTasksPerLaneMax: 50,
    windowTasksPerHostMax: 100,
    windowTasksPerLaneMin: 2,
    removalsFlushMs: 0,
  });
  expect(of.inMemory).toBeLessThanOrEqual(100 + 30 * 2);
  // The first two have filled the host, and are worked off.
  for (let nth = 0; nth < 50; nth++) {
    for (const queue of [0, 1]) of.poll(queue);
    for (const start of of.host.takeStarts()) of.host.answerStart(start);
    of.host.advanceTo(of.host.now + 1);
  }
  for (let queue = 0; queue < 30; queue++) of.poll(queue);
  of.answerReads();
  // Of each queue one is given out, and one is read at least.
  expect(of.inMemory).toBeLessThanOrEqual(100 + 50 + 30 * (2 + 1 + 1));
});

test('tasks of a shard that is not served rest in memory, and so many that no more of a backlog is read', () => {
  const of = new WithTable(1, 300, {
    windowTasksPerLaneMax: 10,
    windowTasksPerHostMax: 40,
    windowTasksPerLaneMin: 4,
    heldTasksPerQueueMax: 40,
  });
  let most = 0;
  for (let nth = 0; nth < 2_000; nth++) {
    of.poll(0);
    for (const start of of.host.takeStarts()) of.host.answerStart(start, { kind: 'refused' });
    of.answerReads();
    if (nth % 20 === 0) of.host.advanceTo(of.host.now + 100);
    most = Math.max(most, of.inMemory);
  }
  expect(most).toBeLessThanOrEqual(40 + 10);
  for (let nth = 0; of.host.core.storedTasks > 0; nth++) {
    expect(nth).toBeLessThan(3_000);
    of.poll(0);
    for (const start of of.host.takeStarts()) of.host.answerStart(start);
    of.answerReads();
    of.host.advanceTo(of.host.now + 1_000);
  }
});

test('tasks of workflows with long names fill the windows of a host with fewer of them', () => {
  const limits = { windowTasksPerLaneMax: 50, windowTasksPerLaneMin: 2, windowBytesPerHostMax: 400_000, removalsFlushMs: 0 };
  const short = new WithTable(10, 60, limits);
  expect(short.inMemory).toBe(10 * 50);
  const long = new WithTable(10, 60, limits, 'x'.repeat(1_000));
  expect(long.inMemory).toBeLessThanOrEqual(100 + 10 * 2);
  // The first windows are worked off, and others come in their place.
  let most = 0;
  for (let nth = 0; nth < 800 && long.host.core.storedTasks > 0; nth++) {
    long.poll(nth % 10);
    for (const start of long.host.takeStarts()) long.host.answerStart(start);
    long.answerReads();
    long.host.advanceTo(long.host.now + 1);
    most = Math.max(most, long.inMemory);
  }
  expect(most, 'one read of a queue more').toBeLessThanOrEqual(100 + 10 * 2 + 50);
  expect(long.host.core.storedTasks).toBe(0);
});

test('on little memory windows have their share of bytes as of tasks', () => {
  const share = 1 / 256;
  expect(new WithTable(10, 60, windowLimitsOf(share)).inMemory, 'by their number').toBeGreaterThan(150);
  // 64 KiB, and ten of each queue.
  expect(new WithTable(10, 60, windowLimitsOf(share), 'x'.repeat(1_000)).inMemory).toBeLessThanOrEqual(16 + 10 * 10);
});

test('tasks with long names that are stored together are in the window when they are offers', () => {
  const of = new WithTable(1, 5, {
    windowTasksPerLaneMax: 50,
    windowTasksPerLaneMin: 1,
    windowBytesPerHostMax: 10_000,
    removalsFlushMs: 0,
  });
  // Nobody knows what their shard has made of their starts: they are stored with one record when their polls end.
  for (let nth = 0; nth < 5; nth++) of.host.ask(poll(`short-${nth}`, { queue: named(1), deadlineMs: of.host.now + 30 }));
  for (let nth = 0; nth < 5; nth++) of.host.ask(add(task(`long-${nth}`.padEnd(1_000, 'x')), { queue: named(1) }));
  for (const start of of.host.takeStarts()) of.host.answerStart(start, { kind: 'unavailable' });
  of.host.advanceTo(of.host.now + 1_000);
  expect(of.host.journal.map(({ spilled }) => spilled.length)).toEqual([5]);
  of.write();
  const given: number[] = [];
  for (let nth = 0; nth < 20 && of.host.core.storedTasks > 0; nth++) {
    for (const queue of [0, 1]) of.poll(queue);
    for (const { rowsMin, key } of of.host.effects.filter((effect): effect is LoadStoredTasks => effect.kind === 'loadStoredTasks')) {
      expect(of.table.sorted.filter((row) => row.queue === key).length, 'what is thought to be there is there').toBeGreaterThanOrEqual(
        rowsMin,
      );
    }
    of.answerReads();
    for (const start of of.host.takeStarts()) {
      given.push(start.task.key.workflowId.length);
      of.host.answerStart(start);
    }
    of.host.advanceTo(of.host.now + 1);
    of.write();
  }
  expect(given).toHaveLength(10);
  expect(of.host.core.storedTasks).toBe(0);
});

test('history offers again what it is not sure of: a copy is stored of what is a row alone, no other beside it, and each task is started once', () => {
  const of = new WithTable(1, 60, { windowTasksPerLaneMax: 10, windowTasksPerHostMax: 10, removalsFlushMs: 0 });
  const offerAll = (): void => {
    for (let nth = 0; nth < 60; nth++) of.host.ask(add(task(`t0-${nth}`), { queue: named(0) }));
  };
  const stored = (): number => of.host.journal.flatMap(({ spilled }) => spilled).length;
  for (let times = 0; times < 4; times++) offerAll();
  expect(stored(), 'what is in memory is known, copies too').toBe(50);
  of.write();
  expect(of.inMemory).toBe(10);
  offerAll();
  expect(stored(), 'as many for each time that history is taken over').toBe(100);
  const started: string[] = [];
  for (let nth = 0; of.host.core.storedTasks > 0; nth++) {
    expect(nth).toBeLessThan(1_000);
    of.poll(0);
    for (const start of of.host.takeStarts()) {
      const name = start.task.key.workflowId;
      if (started.includes(name)) of.host.answerStart(start, { kind: 'obsolete' });
      else {
        started.push(name);
        of.host.answerStart(start);
      }
    }
    of.answerReads();
    of.host.advanceTo(of.host.now + 1);
    if (nth % 10 === 0) of.write();
  }
  expect(started, 'in the order in which they came first').toEqual(Array.from({ length: 60 }, (_, nth) => `t0-${nth}`));
  of.write();
  expect(of.table.rows.size, 'copies go when their turn has come').toBe(0);
});
