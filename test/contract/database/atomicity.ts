import { describe, expect, test } from 'vitest';
import type { HistoryDelta } from '../../../src/projections/database-port.ts';
import type { DatabaseUnderTest } from './database-under-test.ts';
import { comparable, historyRow, idOf, matchingRow, runRow, taskRow, timerRow, uuid, visibilityRow } from './samples.ts';

const namespaceId = uuid();
const noUuid = 'no uuid';

/** Of each table the row that no database takes. */
const refused: readonly (readonly [string, Partial<HistoryDelta>])[] = [
  ['a run without a UUID', { runs: [runRow({ namespaceId, runId: noUuid })] }],
  ['a run whose status is no number', { runs: [runRow({ namespaceId, status: Number.NaN })] }],
  ['a run that is forgotten at no time', { runs: [runRow({ namespaceId, forgetMs: Number.NaN })] }],
  ['a run of no namespace', { runs: [runRow({ namespaceId: noUuid })] }],
  ['a current run without a UUID', { currentRuns: [{ namespaceId, workflowId: 'w', runId: noUuid }] }],
  ['a child start of no event', { childStarts: [{ parentRunId: uuid(), initiatedEventId: Number.NaN, runId: uuid() }] }],
  ['a child start that made no run', { childStarts: [{ parentRunId: uuid(), initiatedEventId: 5, runId: noUuid }] }],
  ['events of no number', { history: [historyRow(uuid(), 1, Number.NaN)] }],
  ['events of no run', { history: [historyRow(noUuid, 1, 2)] }],
  ['a transfer task without a number', { transferTasks: [taskRow(Number.NaN)] }],
  ['a transfer task of half a number', { transferTasks: [taskRow(1.5)] }],
  ['a transfer task beyond 2^63', { transferTasks: [taskRow(2 ** 64)] }],
  ['a timer that fires at no time', { timers: [timerRow(Number.NaN, 77)] }],
  ['a timer that fires at the end of numbers', { timers: [timerRow(Number.POSITIVE_INFINITY, 77)] }],
];

export function describeAtomicity(use: () => DatabaseUnderTest): void {
  describe('a delta is written whole or not at all', () => {
    test.each(refused)('%s, behind rows of every table: all are refused, and the next write is not', async (_name, bad) => {
      const owner = await use().freshOwner();
      const ns = { namespaceId: owner.namespaceId };
      const [kept, replaced, retired, began] = [runRow(ns), runRow(ns), runRow(ns), runRow(ns)];
      const runIds = [kept, replaced, retired, began].map(({ runId }) => runId);
      await owner.written({
        runs: [kept, replaced, retired],
        currentRuns: [kept, replaced, retired],
        childStarts: [{ parentRunId: kept.runId, initiatedEventId: 5, runId: retired.runId }],
        history: [kept, replaced, retired].map(({ runId }) => historyRow(runId, 1, 4)),
        transferTasks: [taskRow(1), taskRow(2, { aside: true })],
        timers: [timerRow(100, 3), timerRow(200, 4, { aside: true })],
        visibility: [kept, replaced, retired].map((run) => visibilityRow(idOf(run))),
      });
      const before = comparable(await owner.everything(runIds));
      const good: Partial<HistoryDelta> = {
        runs: [{ ...replaced, status: 2, forgetMs: 99 }, began],
        currentRuns: [began],
        childStarts: [{ parentRunId: kept.runId, initiatedEventId: 7, runId: began.runId }],
        history: [historyRow(began.runId, 1, 2), historyRow(replaced.runId, 5, 6)],
        transferTasks: [taskRow(5)],
        timers: [timerRow(50, 6)],
        goneTransferTasks: [1],
        goneTimers: [3],
        retiredRuns: [retired],
        visibility: [visibilityRow(idOf(began)), visibilityRow({ ...idOf(replaced), version: 2, status: 2 })],
      };
      const names = new Set([...Object.keys(good), ...Object.keys(bad)]) as Set<keyof HistoryDelta>;
      const whole = Object.fromEntries([...names].map((name) => [name, [...(good[name] ?? []), ...(bad[name] ?? [])]]));
      await expect(owner.write(whole)).rejects.toMatchObject({ name: 'DatabaseError', code: 'data' });
      expect(comparable(await owner.everything(runIds))).toEqual(before);
      const key = { kind: 'childStart', parentRunId: kept.runId } as const;
      const starts = await owner.database.load(owner.journal, [
        { ...key, initiatedEventId: 5 },
        { ...key, initiatedEventId: 7 },
      ]);
      expect(starts.rows.map(({ currentRunId }) => currentRunId)).toEqual([retired.runId, undefined]);
      await owner.written(good);
      expect((await owner.everything(runIds)).runs.map(({ runId }) => runId)).toEqual(
        [kept, replaced, began].map(({ runId }) => runId).sort(),
      );
    });

    test('a matching task without a number, behind good ones', async () => {
      const owner = await use().freshOwner('matching');
      await owner.matchingWritten({ tasks: [matchingRow(1, 'q'), matchingRow(2, 'q')] });
      const before = comparable(await owner.everything());
      const bad = owner.writeMatching({ tasks: [matchingRow(3, 'q'), matchingRow(Number.NaN, 'q')], goneTasks: [1] });
      await expect(bad).rejects.toMatchObject({ name: 'DatabaseError', code: 'data' });
      expect(comparable(await owner.everything())).toEqual(before);
      await owner.matchingWritten({ tasks: [matchingRow(3, 'q')], goneTasks: [1] });
      expect((await owner.everything()).matching.map(({ taskId }) => taskId)).toEqual([2, 3]);
    });

    test('what is refused to one owner harms no other', async () => {
      const [bad, good] = [await use().freshOwner(), await use().freshOwner()];
      const outcomes = await Promise.allSettled([
        bad.write({ transferTasks: [taskRow(1), taskRow(Number.NaN)] }),
        good.write({ transferTasks: [taskRow(1)] }),
        bad.write({ transferTasks: [taskRow(2)] }),
      ]);
      expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'fulfilled']);
      expect((await good.everything()).transferTasks.length).toBe(1);
      expect((await bad.everything()).transferTasks.map(({ taskId }) => taskId)).toEqual([2]);
    });
  });
}
