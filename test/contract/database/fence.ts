import { describe, expect, test } from 'vitest';
import { allQueues, type DatabaseUnderTest, Owner } from './database-under-test.ts';
import { comparable, emptyDelta, idOf, matchingRow, positionAt, runRow, taskRow, visibilityRow } from './samples.ts';

export function describeFence(use: () => DatabaseUnderTest): void {
  describe('fence', () => {
    test('a journal that was never restored has no fence, no position, and nobody who may write', async () => {
      const { database, freshJournal } = bound(use());
      const journal = freshJournal();
      const row = visibilityRow({ namespaceId: '00000000-0000-4000-8000-000000000001' });
      expect(await database.position(journal)).toEqual({ fence: 0, position: undefined });
      for (const fence of [0, 1, -1]) {
        const checkpoint = { position: positionAt(1), kind: 'history', delta: emptyDelta } as const;
        expect(await database.write(journal, fence, checkpoint)).toEqual({ kind: 'fenced' });
        expect(await database.flush(journal, fence, [row], [])).toBe('fenced');
      }
      expect(await database.load(journal, [])).toEqual({ fence: 0, nextOffset: 0, rows: [] });
      expect(await database.position(journal)).toEqual({ fence: 0, position: undefined });
    });

    test('each restore raises it, with and without a write between them', async () => {
      const owner = await use().freshOwner();
      expect(owner.restored).toEqual({ fence: owner.fence, position: undefined });
      expect(owner.fence).toBeGreaterThan(0);
      const second = await Owner.restore(use().other, owner.journal);
      expect(second.fence).toBeGreaterThan(owner.fence);
      expect(second.restored.position).toBeUndefined();
      await second.written({});
      const third = await Owner.restore(use().database, owner.journal);
      expect(third.fence).toBeGreaterThan(second.fence);
      expect(comparable(third.restored.position)).toEqual(comparable(positionAt(second.nextOffset)));
      expect(comparable(await use().other.position(owner.journal))).toEqual(comparable(third.restored));
    });

    test('it goes by the clock, so that none is given out again where a backup takes the place of the database', async () => {
      // The twin counts restores, whatever takes its place.
      const beforeMs = use().database.name === 'memory' ? 1 : Date.now() - 60_000;
      const owner = await use().freshOwner();
      expect(owner.fence).toBeGreaterThanOrEqual(beforeMs);
    });

    test('the first write needs no position before it, and may stand anywhere', async () => {
      const owner = await use().freshOwner();
      const position = positionAt(0, { epoch: 0, sequence: 0, lastOffset: -1, counters: new Uint8Array(), trimPoints: [] });
      expect(await owner.checkpoint({ position, kind: 'history', delta: emptyDelta })).toEqual({ kind: 'written' });
      expect(comparable((await owner.database.position(owner.journal)).position)).toEqual(comparable(position));
    });

    test('the old owner writes nothing and flushes nothing any more', async () => {
      const old = await use().freshOwner();
      const run = runRow({ namespaceId: old.namespaceId });
      const row = visibilityRow(idOf(run));
      await old.written({ runs: [run], currentRuns: [run], transferTasks: [taskRow(1), taskRow(2)], visibility: [row] });
      const successor = await Owner.restore(use().other, old.journal);
      const before = comparable(await old.everything([run.runId]));
      expect(
        await old.write({
          runs: [{ ...run, state: new Uint8Array(3) }, runRow({ namespaceId: old.namespaceId })],
          transferTasks: [taskRow(3)],
          goneTransferTasks: [1],
          retiredRuns: [run],
          visibility: [visibilityRow({ namespaceId: old.namespaceId })],
        }),
      ).toEqual({ kind: 'fenced' });
      expect(await old.database.flush(old.journal, old.fence, [visibilityRow({ namespaceId: old.namespaceId })], [])).toBe('fenced');
      expect(comparable(await old.everything([run.runId]))).toEqual(before);
      await successor.written({ goneTransferTasks: [1] });
      expect((await old.database.transferTasks(old.journal, 0, 10)).rows.map(({ taskId }) => taskId)).toEqual([2]);
    });

    test('nobody writes under a fence that is not given out yet', async () => {
      const owner = await use().freshOwner();
      const checkpoint = { position: positionAt(10), kind: 'history', delta: { ...emptyDelta, transferTasks: [taskRow(1)] } } as const;
      expect(await owner.database.write(owner.journal, owner.fence + 1, checkpoint)).toEqual({ kind: 'fenced' });
      expect((await owner.database.transferTasks(owner.journal, 0, 10)).rows).toEqual([]);
    });

    test.each([
      ['the same place', { epoch: 5, nextOffset: 100 }, 'written'],
      ['further', { epoch: 5, nextOffset: 101 }, 'written'],
      ['a later epoch', { epoch: 6, nextOffset: 100 }, 'written'],
      ['an offset before', { epoch: 5, nextOffset: 99 }, 'fenced'],
      ['an epoch before', { epoch: 4, nextOffset: 100 }, 'fenced'],
      ['a later epoch at an offset before', { epoch: 6, nextOffset: 99 }, 'fenced'],
      ['an epoch before at a later offset', { epoch: 4, nextOffset: 200 }, 'fenced'],
    ] as const)('the position goes to %s', async (_name, place, kind) => {
      const owner = await use().freshOwner();
      const first = positionAt(100, { epoch: 5 });
      const next = positionAt(place.nextOffset, { ...place, timeMs: 12 });
      const write = (position: typeof first, taskId: number) =>
        owner.checkpoint({ position, kind: 'history', delta: { ...emptyDelta, transferTasks: [taskRow(taskId)] } });
      expect(await write(first, 1)).toEqual({ kind: 'written' });
      expect(await write(next, 2)).toEqual({ kind });
      const isWritten = kind === 'written';
      expect(comparable((await owner.database.position(owner.journal)).position)).toEqual(comparable(isWritten ? next : first));
      expect((await owner.database.transferTasks(owner.journal, 0, 10)).rows.length).toBe(isWritten ? 2 : 1);
    });

    test.each([
      ['that one', { base: 100 }, 'written'],
      ['one before it', { base: 99 }, 'fenced'],
      ['one behind it', { base: 101 }, 'fenced'],
      ['none', { base: 0 }, 'fenced'],
      ['whatever stands there', {}, 'written'],
    ] as const)('where a checkpoint stands, one that goes on from %s', async (_name, base, kind) => {
      const owner = await use().freshOwner();
      await owner.checkpoint({ position: positionAt(100), kind: 'history', delta: emptyDelta });
      const delta = { ...emptyDelta, transferTasks: [taskRow(1)] };
      const next = { position: positionAt(200), kind: 'history', delta, ...base } as const;
      expect(await owner.checkpoint(next)).toEqual({ kind });
      expect((await owner.database.transferTasks(owner.journal, 0, 10)).rows.length).toBe(kind === 'written' ? 1 : 0);
      if (kind === 'written') expect(await owner.checkpoint(next), 'again').toEqual({ kind });
    });

    test('where none stands, one that goes on from another is refused', async () => {
      const owner = await use().freshOwner();
      const first = { position: positionAt(10), kind: 'history', delta: emptyDelta } as const;
      expect(await owner.checkpoint({ ...first, base: 5 })).toEqual({ kind: 'fenced' });
      expect(await owner.checkpoint({ ...first, base: 0 })).toEqual({ kind: 'written' });
    });

    test('a checkpoint whose answer was lost is written again: nothing is twice', async () => {
      const owner = await use().freshOwner();
      const run = runRow({ namespaceId: owner.namespaceId });
      const delta = { ...emptyDelta, runs: [run], currentRuns: [run], transferTasks: [taskRow(1)], goneTimers: [4] };
      const checkpoint = { position: positionAt(10), kind: 'history', delta } as const;
      expect(await owner.checkpoint(checkpoint)).toEqual({ kind: 'written' });
      const before = comparable(await owner.everything([run.runId]));
      expect(await owner.checkpoint(checkpoint)).toEqual({ kind: 'written' });
      expect(comparable(await owner.everything([run.runId]))).toEqual(before);
    });

    test('journals know nothing of each other: partitions, and kinds of the same partition', async () => {
      const history = await use().freshOwner();
      const matching = await Owner.restore(use().database, { ...history.journal, kind: 'matching' });
      const neighbour = await use().freshOwner();
      await history.written({ transferTasks: [taskRow(1)], runs: [runRow({ namespaceId: history.namespaceId })] });
      await matching.matchingWritten({ tasks: [matchingRow(1, 'q')] });
      await matching.matchingWritten({ goneTasks: [1] });
      await Owner.restore(use().database, matching.journal);
      await neighbour.written({ goneTransferTasks: [1] });
      expect((await history.database.transferTasks(history.journal, 0, 9)).rows.length).toBe(1);
      expect((await neighbour.everything()).runs).toEqual([]);
      await history.written({ goneTransferTasks: [1] });
    });

    test('what is read bears the end of the checkpoint that it is of', async () => {
      const owner = await use().freshOwner();
      const { database, journal } = owner;
      const matching = await use().freshOwner('matching');
      const ends = async (): Promise<readonly number[]> => [
        (await database.load(journal, [{ kind: 'current', namespaceId: owner.namespaceId, workflowId: 'w' }])).nextOffset,
        (await database.load(journal, [])).nextOffset,
        (await database.timers(journal, { afterFireTimeMs: 0, afterTaskId: 0, untilMs: 1, max: 1 })).nextOffset,
        (await database.tasksAside(journal)).nextOffset,
        (await database.dueRuns(journal, 1, 1)).nextOffset,
        (await database.runIds(journal, '', 1)).nextOffset,
      ];
      expect(new Set(await ends()), 'nothing was written').toEqual(new Set([0]));
      await owner.written({ transferTasks: [taskRow(1)], timers: [] });
      expect(new Set(await ends())).toEqual(new Set([owner.nextOffset]));
      expect((await database.transferTasks(journal, 0, 1)).nextOffset).toBe(owner.nextOffset);
      await Owner.restore(use().other, journal);
      expect(new Set(await ends())).toEqual(new Set([owner.nextOffset]));
      await matching.matchingWritten({ tasks: [matchingRow(1, 'q')] });
      expect((await database.matchingTasks(matching.journal, 'q', 0, 1)).nextOffset).toBe(matching.nextOffset);
    });

    test('what is read bears the fence under which it was read', async () => {
      const owner = await use().freshOwner();
      const { database, journal } = owner;
      const matching = await use().freshOwner('matching');
      const fences = async (): Promise<readonly number[]> => [
        (await database.load(journal, [{ kind: 'current', namespaceId: owner.namespaceId, workflowId: 'w' }])).fence,
        (await database.load(journal, [])).fence,
        (await database.transferTasks(journal, 0, 1)).fence,
        (await database.timers(journal, { afterFireTimeMs: 0, afterTaskId: 0, untilMs: 1, max: 1 })).fence,
        (await database.tasksAside(journal)).fence,
        (await database.dueRuns(journal, 1, 1)).fence,
        (await database.runIds(journal, '', 1)).fence,
        (await database.runs(journal, '', 1, Infinity)).fence,
      ];
      expect(new Set(await fences())).toEqual(new Set([owner.fence]));
      const successor = await Owner.restore(use().other, journal);
      expect(new Set(await fences())).toEqual(new Set([successor.fence]));
      expect((await database.matchingTasks(matching.journal, 'q', 0, 1)).fence).toBe(matching.fence);
      expect((await database.matchingQueues(matching.journal, allQueues)).fence).toBe(matching.fence);
      const range = { queue: 'q', afterTaskId: 0, untilTaskId: 1, max: 1 };
      expect((await database.countMatchingTasks(matching.journal, range)).fence).toBe(matching.fence);
    });
  });
}

function bound(under: DatabaseUnderTest) {
  return { database: under.database, freshJournal: () => under.freshJournal() };
}
