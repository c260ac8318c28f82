import { describe, expect, test } from 'vitest';
import type { RunKey } from '../../../src/kernel/run-key.ts';
import type { MatchingQueue, MatchingTaskRow, RunRow, TaskRow, TimerRow } from '../../../src/projections/database-port.ts';
import { allPages, allQueues, allTimers, type DatabaseUnderTest, type Owner } from './database-under-test.ts';
import { comparable, idOf, matchingRow, runRow, taskRow, timerRow } from './samples.ts';

export function describeWindows(use: () => DatabaseUnderTest): void {
  describe('windows', () => {
    test('timers by fire time, then by task id, page by page; ties and edges, none that is aside', async () => {
      const owner = await use().freshOwner();
      // Ids against the order of the times, and seven of one time.
      const timers = [
        ...[90, 80, 70, 70, 70, 70, 70, 70, 70, 60, 50].map((fireTimeMs, i) => timerRow(fireTimeMs, 100 + ((i * 7) % 11))),
        timerRow(-5, 1),
        timerRow(0, 2),
        timerRow(65, 3, { aside: true }),
      ];
      await owner.written({ timers });
      const expected = timers.filter(({ aside }) => !aside).sort((a, b) => a.fireTimeMs - b.fireTimeMs || a.taskId - b.taskId);
      for (const max of [1, 2, 3, 5, 13, 100]) {
        expect(comparable(await timersOf(owner, max)), `pages of ${max}`).toEqual(comparable(expected));
      }
      const until = async (untilMs: number) =>
        (await owner.database.timers(owner.journal, { ...allTimers, untilMs, max: 100 })).rows.length;
      expect([await until(-6), await until(-5), await until(0), await until(69), await until(70), await until(90)]).toEqual([
        0, 1, 2, 4, 11, 13,
      ]);
    });

    test('a timer that is moved stands once, where it was moved to', async () => {
      const owner = await use().freshOwner();
      await owner.written({ timers: [timerRow(100, 1), timerRow(200, 2)] });
      await owner.written({ timers: [timerRow(300, 1)] });
      expect((await timersOf(owner, 10)).map(({ taskId, fireTimeMs }) => [taskId, fireTimeMs])).toEqual([
        [2, 200],
        [1, 300],
      ]);
    });

    test('transfer tasks by id, page by page', async () => {
      const owner = await use().freshOwner();
      const ids = [12, 3, 5, 10, 1, 7, 100, 20];
      await owner.written({ transferTasks: [...ids.map((id) => taskRow(id)), taskRow(6, { aside: true })] });
      for (const max of [1, 3, 8, 50]) {
        const pages = await allPages<TaskRow>(async (last) => {
          const { rows } = await owner.database.transferTasks(owner.journal, last?.taskId ?? 0, max);
          expect(rows.length).toBeLessThanOrEqual(max);
          return rows;
        });
        expect(pages.map(({ taskId }) => taskId)).toEqual(ids.toSorted((a, b) => a - b));
      }
    });

    test('transfer tasks that matching has stored are passed over, whether their rows were written so or it was noted later', async () => {
      const owner = await use().freshOwner();
      const idsOf = async () => (await owner.database.transferTasks(owner.journal, -1, 100)).rows.map(({ taskId }) => taskId);
      await owner.written({ transferTasks: [1, 2, 3, 4, 5].map((id) => taskRow(id, { atMatching: id === 2 })) });
      expect(await idsOf()).toEqual([1, 3, 4, 5]);
      await owner.written({ tasksAtMatching: [3, 5, 99], goneTransferTasks: [1] });
      expect(await idsOf(), 'and what has no row gets none').toEqual([4]);
      // Aside, and back in its queue.
      await owner.written({ transferTasks: [taskRow(3, { aside: true, atMatching: true })] });
      expect((await owner.database.tasksAside(owner.journal)).rows.transferTasks).toMatchObject([{ taskId: 3, atMatching: true }]);
      await owner.written({ transferTasks: [taskRow(3, { atMatching: true }), taskRow(5)] });
      expect(await idsOf()).toEqual([4, 5]);
      await owner.written({ goneTransferTasks: [2, 3, 4, 5] });
      expect(await idsOf()).toEqual([]);
    });

    test('tasks of runs that were quarantined, and no others', async () => {
      const owner = await use().freshOwner();
      const aside = { aside: true };
      await owner.written({
        transferTasks: [taskRow(9, aside), taskRow(2), taskRow(4, aside)],
        timers: [timerRow(10, 8, aside), timerRow(20, 3, aside), timerRow(5, 1)],
      });
      const { rows } = await owner.database.tasksAside(owner.journal);
      expect(comparable(rows)).toEqual(
        comparable({
          transferTasks: [taskRow(4, aside), taskRow(9, aside)],
          timers: [timerRow(20, 3, aside), timerRow(10, 8, aside)],
        }),
      );
    });

    test('runs whose retention ended: by its end, then by id; open ones and later ones never', async () => {
      const owner = await use().freshOwner();
      const at = (forgetMs: number | undefined) => runRow({ namespaceId: owner.namespaceId, forgetMs });
      const runs = [at(30), at(undefined), at(10), at(20), at(10), at(31), at(undefined), at(-1)];
      await owner.written({ runs });
      const due = runs
        .flatMap(({ forgetMs, ...run }) => (forgetMs === undefined || forgetMs > 30 ? [] : [{ ...idOf(run), forgetMs }]))
        .sort((a, b) => a.forgetMs - b.forgetMs || (a.runId < b.runId ? -1 : 1));
      expect((await owner.database.dueRuns(owner.journal, 30, 100)).rows).toEqual(due);
      expect((await owner.database.dueRuns(owner.journal, 30, 2)).rows).toEqual(due.slice(0, 2));
      expect((await owner.database.dueRuns(owner.journal, -2, 100)).rows).toEqual([]);
      // In rounds, as retention goes: each takes what the one before left.
      const rounds = await allPages<RunKey>(async () => {
        const { rows } = await owner.database.dueRuns(owner.journal, 30, 2);
        await owner.written({ retiredRuns: rows });
        return rows;
      });
      expect(rounds.map(({ runId }) => runId)).toEqual(due.map(({ runId }) => runId));
    });

    test('all runs, page by page', async () => {
      const owner = await use().freshOwner();
      const runs = Array.from({ length: 25 }, () => runRow({ namespaceId: owner.namespaceId }));
      await owner.written({ runs: runs.toReversed() });
      for (const max of [1, 4, 25, 26]) {
        const pages = await allPages<RunRow>(async (last) => {
          const { rows } = await owner.database.runs(owner.journal, last?.runId ?? '', max, Infinity);
          expect(rows.length).toBeLessThanOrEqual(max);
          return rows;
        });
        expect(pages.map(({ runId }) => runId)).toEqual(runs.map(({ runId }) => runId));
        const ids = await allPages<RunKey>(async (last) => (await owner.database.runIds(owner.journal, last?.runId ?? '', max)).rows);
        expect(ids).toEqual(runs.map(({ namespaceId, workflowId, runId }) => ({ namespaceId, workflowId, runId })));
      }
    });

    test('matching tasks of one queue by id, page by page', async () => {
      const owner = await use().freshOwner('matching');
      const ids = Array.from({ length: 20 }, (_, i) => (i * 7) % 20);
      await owner.matchingWritten({ tasks: ids.map((id) => matchingRow(id, id % 2 === 0 ? 'even' : 'odd')) });
      const pages = await allPages<MatchingTaskRow>(async (last) => {
        const { rows } = await owner.database.matchingTasks(owner.journal, 'odd', last?.taskId ?? -1, 3);
        expect(rows.length).toBeLessThanOrEqual(3);
        return rows;
      });
      expect(pages.map(({ taskId }) => taskId)).toEqual([1, 3, 5, 7, 9, 11, 13, 15, 17, 19]);
      expect((await owner.database.matchingTasks(owner.journal, 'neither', -1, 3)).rows).toEqual([]);
    });

    test('matching queues by name, page by page, each with its first tasks and its last id', async () => {
      const owner = await use().freshOwner('matching');
      const ids = Array.from({ length: 36 }, (_, i) => (i * 7) % 36);
      const names = ['with\0NUL', 'orders', 'größe/注文 🛒', 'orders\0', 'x'.repeat(1_000), ''];
      const rows = ids.map((id) => matchingRow(id, names[id % names.length] ?? ''));
      await owner.matchingWritten({ tasks: rows });
      const byName = names.toSorted((one, other) => Buffer.compare(Buffer.from(one), Buffer.from(other)));
      for (const [tasksMax, tasksOfAllMax] of [
        [1, 1],
        [1, 2],
        [4, 5],
        [6, 18],
        [7, 36],
        [6, 37],
      ] as const) {
        const found = await allPages<MatchingQueue>(async (last) => {
          const page = { afterName: last?.storedName, tasksMax, tasksOfAllMax };
          const { rows: queues } = await owner.database.matchingQueues(owner.journal, page);
          const taken = queues.map(({ tasks }) => tasks.length);
          const sum = (counts: readonly number[]): number => counts.reduce((one, other) => one + other, 0);
          expect(sum(taken.slice(0, -1)), 'it ends with the queue with which there are enough').toBeLessThan(tasksOfAllMax);
          if (sum(taken) < tasksOfAllMax) expect(queues.at(-1)?.queue ?? last?.queue, 'there is no other').toBe(byName.at(-1));
          return queues;
        });
        const wanted = byName.map((queue) => {
          const all = rows.filter((row) => row.queue === queue).toSorted((one, other) => one.taskId - other.taskId);
          return { queue, storedName: Buffer.from(queue), lastTaskId: all.at(-1)?.taskId ?? -1, tasks: all.slice(0, tasksMax) };
        });
        expect(comparable(found)).toEqual(comparable(wanted));
      }
      const neighbour = await use().freshOwner('matching');
      expect((await neighbour.database.matchingQueues(neighbour.journal, allQueues)).rows).toEqual([]);
    });

    test('matching tasks of one queue are counted, stretch by stretch', async () => {
      const owner = await use().freshOwner('matching');
      const ids = Array.from({ length: 20 }, (_, i) => i);
      await owner.matchingWritten({ tasks: ids.map((id) => matchingRow(id, id % 2 === 0 ? 'even' : 'odd')) });
      const count = async (queue: string, afterTaskId: number, untilTaskId: number, max: number) =>
        (await owner.database.countMatchingTasks(owner.journal, { queue, afterTaskId, untilTaskId, max })).rows;
      expect(await count('odd', -1, 19, 100)).toEqual({ count: 10, lastTaskId: 19 });
      expect(await count('odd', -1, 19, 4)).toEqual({ count: 4, lastTaskId: 7 });
      expect(await count('odd', 7, 16, 4)).toEqual({ count: 4, lastTaskId: 15 });
      expect(await count('odd', 15, 16, 4)).toEqual({ count: 0, lastTaskId: 15 });
      expect(await count('neither', 3, 19, 4)).toEqual({ count: 0, lastTaskId: 3 });
    });
  });
}

function timersOf(owner: Owner, max: number): Promise<readonly TimerRow[]> {
  return allPages<TimerRow>(async (last) => {
    const after = last === undefined ? {} : { afterFireTimeMs: last.fireTimeMs, afterTaskId: last.taskId };
    const { rows } = await owner.database.timers(owner.journal, { ...allTimers, ...after, max });
    expect(rows.length).toBeLessThanOrEqual(max);
    return rows;
  });
}
