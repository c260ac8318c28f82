import { describe, expect, test } from 'vitest';
import type { LoadKey } from '../../../src/projections/database-port.ts';
import type { DatabaseUnderTest } from './database-under-test.ts';
import {
  bytesOf,
  comparable,
  emptyDelta,
  historyRow,
  idOf,
  matchingRow,
  positionAt,
  runRow,
  taskRow,
  timerRow,
  uuid,
  visibilityRow,
} from './samples.ts';

export function describeRows(use: () => DatabaseUnderTest): void {
  describe('rows', () => {
    test('runs come, are replaced field by field, and are forgotten', async () => {
      const owner = await use().freshOwner();
      const first = runRow({ namespaceId: owner.namespaceId, workflowId: 'größe/注文 🛒' });
      const second = runRow({ namespaceId: owner.namespaceId, workflowId: first.workflowId });
      await owner.written({ runs: [second, first] });
      expect(comparable((await owner.everything()).runs)).toEqual(comparable([first, second]));
      const closed = { ...first, status: 2, state: bytesOf('much less'), forgetMs: 1_800_000_000_000 };
      await owner.written({ runs: [closed] });
      expect(comparable((await owner.everything()).runs)).toEqual(comparable([closed, second]));
      expect((await owner.everything()).dueRuns).toEqual([{ ...idOf(first), forgetMs: 1_800_000_000_000 }]);
      await owner.written({ runs: [first] });
      expect((await owner.everything()).dueRuns).toEqual([]);
    });

    test('a workflow id has one current run; the run need not be there', async () => {
      const owner = await use().freshOwner();
      const [first, second] = [runRow({ namespaceId: owner.namespaceId, workflowId: 'w' }), uuid()];
      const pointer = { kind: 'current', namespaceId: owner.namespaceId, workflowId: 'w' } as const;
      await owner.written({ runs: [first], currentRuns: [first] });
      await owner.written({ currentRuns: [{ ...idOf(first), runId: second }] });
      expect((await owner.database.load(owner.journal, [pointer])).rows).toEqual([{ currentRunId: second, run: undefined }]);
      await owner.written({ currentRuns: [idOf(first)] });
      const [loaded] = (await owner.database.load(owner.journal, [pointer])).rows;
      expect(comparable(loaded)).toEqual(comparable({ currentRunId: first.runId, run: first }));
    });

    test('child starts are found by parent and event, replaced, and kept beside each other', async () => {
      const owner = await use().freshOwner();
      const [parent, other] = [uuid(), uuid()];
      const row = (parentRunId: string, initiatedEventId: number) => ({ parentRunId, initiatedEventId, runId: uuid() });
      const rows = [row(parent, 5), row(parent, 6), row(other, 5)];
      await owner.written({ childStarts: rows });
      const keys: readonly LoadKey[] = rows.map(({ parentRunId, initiatedEventId }) => ({
        kind: 'childStart',
        parentRunId,
        initiatedEventId,
      }));
      const made = async () => (await owner.database.load(owner.journal, keys)).rows;
      expect(await made()).toEqual(rows.map(({ runId }) => ({ currentRunId: runId, run: undefined })));
      const again = row(parent, 6);
      await owner.written({ childStarts: [again] });
      expect((await made()).map(({ currentRunId }) => currentRunId)).toEqual([rows[0]?.runId, again.runId, rows[2]?.runId]);
    });

    test('history rows of a run and branch stand beside each other; the same first event replaces', async () => {
      const owner = await use().freshOwner();
      const [runId, other] = [uuid(), uuid()];
      const onBranch = { ...historyRow(runId, 1, 9, 'branch'), branch: 1 };
      await owner.written({ history: [historyRow(runId, 4, 6), historyRow(runId, 1, 3), historyRow(other, 1, 1), onBranch] });
      await owner.written({ history: [historyRow(runId, 4, 7, 'replaced')] });
      expect(comparable((await owner.everything([runId, other])).history)).toEqual(
        comparable([historyRow(runId, 1, 3), historyRow(runId, 4, 7, 'replaced'), historyRow(other, 1, 1)]),
      );
      const range = { runId, branch: 1, firstEventId: 1, lastEventId: 100, bytesMax: 1000 };
      expect(comparable(await owner.database.history(owner.journal, range))).toEqual(comparable([onBranch]));
    });

    test('transfer tasks and timers come, move aside and back, and go; what is gone may never have been there', async () => {
      const owner = await use().freshOwner();
      await owner.written({
        transferTasks: [taskRow(3), taskRow(1), taskRow(2, { aside: true })],
        timers: [timerRow(50, 1), timerRow(40, 7), timerRow(60, 2, { aside: true })],
      });
      const ids = async () => {
        const { transferTasks, transferTasksAside, timers, timersAside } = await owner.everything();
        return [transferTasks, transferTasksAside, timers, timersAside].map((rows) => rows.map(({ taskId }) => taskId));
      };
      expect(await ids()).toEqual([[1, 3], [2], [7, 1], [2]]);
      await owner.written({
        transferTasks: [taskRow(3, { aside: true }), taskRow(2, { task: bytesOf('another') })],
        timers: [timerRow(30, 1), timerRow(60, 2)],
        goneTransferTasks: [1, 99],
        goneTimers: [7, 1000],
      });
      expect(await ids()).toEqual([[2], [3], [1, 2], []]);
      const { transferTasks, timers } = await owner.everything();
      expect(comparable(transferTasks)).toEqual(comparable([taskRow(2, { task: bytesOf('another') })]));
      expect(comparable(timers)).toEqual(comparable([timerRow(30, 1), timerRow(60, 2)]));
      await owner.written({ goneTransferTasks: [2, 3], goneTimers: [1, 2] });
      expect(await ids()).toEqual([[], [], [], []]);
    });

    test('matching tasks: by queue, whatever its name, replaced and gone', async () => {
      const owner = await use().freshOwner('matching');
      const names = ['orders', 'Orders', 'orders ', '', 'größe/注文 🛒', 'with\0NUL', "o'rders", '/_sys/orders/3'];
      const rows = names.flatMap((queue, i) => [matchingRow(10 + i, queue), matchingRow(30 + i, queue)]);
      await owner.matchingWritten({ tasks: rows });
      for (const [i, queue] of names.entries()) {
        const found = (await owner.database.matchingTasks(owner.journal, queue, 0, 10)).rows;
        expect(comparable(found), queue).toEqual(comparable([matchingRow(10 + i, queue), matchingRow(30 + i, queue)]));
      }
      await owner.matchingWritten({ tasks: [{ ...matchingRow(30, 'orders'), task: bytesOf('new') }], goneTasks: [10, 11, 9999] });
      const { matching } = await owner.everything();
      const left = [...rows.filter(({ taskId }) => ![10, 11, 30].includes(taskId)), { ...matchingRow(30, 'orders'), task: bytesOf('new') }];
      expect(comparable(matching)).toEqual(comparable(left.toSorted((one, other) => one.taskId - other.taskId)));
    });

    test('a retired run goes with its history, its visibility and the start that made it', async () => {
      const owner = await use().freshOwner();
      const ns = { namespaceId: owner.namespaceId };
      const [retired, kept] = [runRow(ns), runRow(ns)];
      const parentRunId = uuid();
      await owner.written({
        runs: [retired, kept],
        currentRuns: [retired, kept],
        childStarts: [
          { parentRunId, initiatedEventId: 5, runId: retired.runId },
          { parentRunId, initiatedEventId: 6, runId: kept.runId },
          // The retired run's own child is another run: its start is found until that one goes.
          { parentRunId: retired.runId, initiatedEventId: 7, runId: kept.runId },
        ],
        history: [historyRow(retired.runId, 1, 2), historyRow(retired.runId, 3, 4), historyRow(kept.runId, 1, 2)],
        visibility: [visibilityRow(idOf(retired)), visibilityRow(idOf(kept))],
      });
      await owner.written({ retiredRuns: [idOf(retired), idOf(runRow(ns))] });
      const left = await owner.everything([retired.runId, kept.runId]);
      expect(left.runs.map(({ runId }) => runId)).toEqual([kept.runId]);
      expect(left.history.map(({ runId }) => runId)).toEqual([kept.runId]);
      expect(left.listed.map(({ runId }) => runId)).toEqual([kept.runId]);
      const keys: readonly LoadKey[] = [
        { kind: 'current', ...idOf(retired) },
        { kind: 'run', ...idOf(retired) },
        { kind: 'childStart', parentRunId, initiatedEventId: 5 },
        { kind: 'childStart', parentRunId, initiatedEventId: 6 },
        { kind: 'childStart', parentRunId: retired.runId, initiatedEventId: 7 },
      ];
      const found = (await owner.database.load(owner.journal, keys)).rows;
      expect(found.map(({ currentRunId }) => currentRunId)).toEqual([undefined, undefined, undefined, kept.runId, kept.runId]);
    });

    test('retirement takes the pointer only if it names the run', async () => {
      const owner = await use().freshOwner();
      const ns = { namespaceId: owner.namespaceId, workflowId: 'w' };
      const [first, second, third] = [runRow(ns), runRow(ns), runRow(ns)];
      const current = async () => {
        const [loaded] = (await owner.database.load(owner.journal, [{ kind: 'current', ...idOf(first) }])).rows;
        return loaded?.currentRunId;
      };
      await owner.written({ runs: [first, second], currentRuns: [second] });
      await owner.written({ retiredRuns: [first] });
      expect(await current()).toBe(second.runId);
      await owner.written({ runs: [third], currentRuns: [third], retiredRuns: [second] });
      expect(await current()).toBe(third.runId);
      await owner.written({ retiredRuns: [third] });
      expect(await current()).toBeUndefined();
    });

    test('retirement comes last: what else the delta says of the run does not stay', async () => {
      const owner = await use().freshOwner();
      const run = runRow({ namespaceId: owner.namespaceId, status: 2, forgetMs: 5 });
      await owner.written({
        runs: [run],
        currentRuns: [run],
        history: [historyRow(run.runId, 1, 2)],
        childStarts: [{ parentRunId: run.runId, initiatedEventId: 5, runId: run.runId }],
        visibility: [visibilityRow({ ...idOf(run), version: 9 })],
        retiredRuns: [run],
      });
      const left = await owner.everything([run.runId]);
      expect([left.runs, left.history, left.listed, left.dueRuns]).toEqual([[], [], [], []]);
      const [loaded] = (await owner.database.load(owner.journal, [{ kind: 'current', ...idOf(run) }])).rows;
      expect(loaded).toEqual({ currentRunId: undefined, run: undefined });
    });

    test('positions come back in every field', async () => {
      const owner = await use().freshOwner();
      const most = Number.MAX_SAFE_INTEGER;
      const positions = [
        positionAt(0, { epoch: 1, sequence: 0, lastOffset: -1, timeMs: 0, schema: 0, counters: new Uint8Array(), trimPoints: [] }),
        positionAt(70, {
          counters: Uint8Array.from({ length: 100_000 }, (_, i) => i % 251),
          trimPoints: Array.from({ length: 64 }, (_, i) => ({ timeMs: 1_770_000_000_000 + i, lastOffset: i, bytes: 7 * i })),
        }),
        positionAt(most, { epoch: most, sequence: most, lastOffset: most - 1, timeMs: most, schema: 2 ** 31 - 1 }),
      ];
      for (const position of positions) {
        expect(await owner.checkpoint({ position, kind: 'history', delta: emptyDelta })).toEqual({ kind: 'written' });
        expect(comparable((await use().other.position(owner.journal)).position)).toEqual(comparable(position));
      }
    });

    test('what was given or taken is nobody else’s afterwards', async () => {
      const owner = await use().freshOwner();
      const run = runRow({ namespaceId: owner.namespaceId });
      const expected = comparable(run);
      const writing = owner.written({ runs: [run] });
      run.state.fill(0);
      await writing;
      const [taken] = (await owner.database.runs(owner.journal, '', 1, Infinity)).rows;
      expect(comparable(taken)).toEqual(expected);
      taken?.state.fill(0);
      expect(comparable((await owner.database.runs(owner.journal, '', 1, Infinity)).rows[0])).toEqual(expected);
    });
  });
}
