import { describe, expect, test } from 'vitest';
import type { LoadKey } from '../../../src/projections/database-port.ts';
import type { DatabaseUnderTest } from './database-under-test.ts';
import { comparable, idOf, runRow, uuid } from './samples.ts';

export function describeLoads(use: () => DatabaseUnderTest): void {
  describe('loads', () => {
    test('one answer for each key, in their order, also for keys that are asked twice', async () => {
      const owner = await use().freshOwner();
      const ns = { namespaceId: owner.namespaceId };
      const [old, current] = [runRow({ ...ns, workflowId: 'w' }), runRow({ ...ns, workflowId: 'w' })];
      const other = runRow({ ...ns, workflowId: 'x' });
      const start = { parentRunId: uuid(), initiatedEventId: 9, runId: old.runId };
      await owner.written({ runs: [old, current, other], currentRuns: [current, other], childStarts: [start] });
      const answers: readonly (readonly [LoadKey, string | undefined, unknown])[] = [
        [{ kind: 'run', ...idOf(other) }, other.runId, other],
        [{ kind: 'current', ...ns, workflowId: 'none' }, undefined, undefined],
        [{ kind: 'run', ...idOf(old) }, current.runId, old],
        [{ kind: 'current', ...ns, workflowId: 'w' }, current.runId, current],
        [{ kind: 'childStart', parentRunId: start.parentRunId, initiatedEventId: 9 }, old.runId, undefined],
        [{ kind: 'childStart', parentRunId: start.parentRunId, initiatedEventId: 8 }, undefined, undefined],
        [{ kind: 'run', ...ns, workflowId: 'w', runId: uuid() }, current.runId, undefined],
        [{ kind: 'run', ...ns, workflowId: 'none', runId: uuid() }, undefined, undefined],
        [{ kind: 'run', ...idOf(other) }, other.runId, other],
        [{ kind: 'current', ...ns, workflowId: 'w' }, current.runId, current],
      ];
      const loaded = await owner.database.load(
        owner.journal,
        answers.map(([key]) => key),
      );
      expect(comparable(loaded.rows)).toEqual(comparable(answers.map(([, currentRunId, run]) => ({ currentRunId, run }))));
    });

    test('a run is only found by the workflow that it is of', async () => {
      const owner = await use().freshOwner();
      const run = runRow({ namespaceId: owner.namespaceId, workflowId: 'w' });
      const stranger = { namespaceId: uuid(), workflowId: 'w' };
      await owner.written({ runs: [run], currentRuns: [run] });
      const keys: readonly LoadKey[] = [
        { kind: 'run', ...idOf(run), workflowId: 'W' },
        { kind: 'run', ...idOf(run), workflowId: 'w ' },
        { kind: 'run', ...stranger, runId: run.runId },
        { kind: 'current', ...stranger },
      ];
      const nothing = { currentRunId: undefined, run: undefined };
      expect((await owner.database.load(owner.journal, keys)).rows).toEqual(keys.map(() => nothing));
      const neighbour = await use().freshOwner();
      expect((await neighbour.database.load(neighbour.journal, [{ kind: 'run', ...idOf(run) }])).rows).toEqual([nothing]);
    });

    test.each(['', 'no uuid', '00000000-0000-0000-0000-00000000000', '0'.repeat(32), 'x'.repeat(5000), 'with\0NUL', '注文'])(
      'what a client calls a run and is no UUID is not there: %j',
      async (runId) => {
        const owner = await use().freshOwner();
        const run = runRow({ namespaceId: owner.namespaceId, workflowId: 'w' });
        await owner.written({ runs: [run], currentRuns: [run] });
        const loaded = await owner.database.load(owner.journal, [
          { kind: 'run', ...idOf(run), runId },
          { kind: 'childStart', parentRunId: runId, initiatedEventId: 5 },
          { kind: 'current', namespaceId: runId, workflowId: 'w' },
        ]);
        const nothing = { currentRunId: undefined, run: undefined };
        expect(loaded.rows).toEqual([{ ...nothing, currentRunId: run.runId }, nothing, nothing]);
        const range = { runId, branch: 0, firstEventId: 1, lastEventId: 9, bytesMax: 100 };
        expect(await owner.database.history(owner.journal, range)).toEqual([]);
      },
    );

    test('200 keys at once, every third missing, each kind among them', async () => {
      const owner = await use().freshOwner();
      const runs = Array.from({ length: 200 }, (_, i) => runRow({ namespaceId: owner.namespaceId, workflowId: `w ${i}` }));
      const isThere = (i: number): boolean => i % 3 !== 0;
      const stored = runs.filter((_, i) => isThere(i));
      const parentRunId = uuid();
      await owner.written({
        runs: stored,
        currentRuns: stored,
        childStarts: stored.map(({ runId }) => ({ parentRunId, initiatedEventId: runs.findIndex((run) => run.runId === runId), runId })),
      });
      const kinds = ['current', 'run', 'childStart'] as const;
      const keys = runs.map((run, i): LoadKey => {
        const kind = kinds[(i % 7) % 3] ?? 'run';
        return kind === 'childStart' ? { kind, parentRunId, initiatedEventId: i } : { kind, ...idOf(run) };
      });
      const loaded = await owner.database.load(owner.journal, keys);
      expect(comparable(loaded.rows)).toEqual(
        comparable(
          runs.map((run, i) => ({
            currentRunId: isThere(i) ? run.runId : undefined,
            run: isThere(i) && keys[i]?.kind !== 'childStart' ? run : undefined,
          })),
        ),
      );
      expect((await owner.database.load(owner.journal, [])).rows).toEqual([]);
    });
  });
}
