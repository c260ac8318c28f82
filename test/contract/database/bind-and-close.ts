import { describe, expect, test } from 'vitest';
import type { Database } from '../../../src/projections/database-port.ts';
import { allQueues } from './database-under-test.ts';
import type { DatabaseFixture } from './describe-database.ts';
import { emptyDelta, positionAt, uuid, visibilityRow } from './samples.ts';

export function describeBindAndClose(open: () => Promise<DatabaseFixture>): void {
  describe('bind and close', () => {
    test('the first cluster binds it; another is told whose it is, on any connection', async () => {
      const fixture = await open();
      try {
        const other = (await fixture.again?.()) ?? fixture.database;
        expect(await other.cluster()).toBeUndefined();
        expect(await fixture.database.bind('cluster-1')).toBe('cluster-1');
        expect(await other.cluster()).toBe('cluster-1');
        expect(await fixture.database.bind('cluster-1')).toBe('cluster-1');
        expect(await other.bind('cluster-2')).toBe('cluster-1');
        expect(await fixture.database.bind('')).toBe('cluster-1');
        if (other !== fixture.database) await other.close();
      } finally {
        await fixture.close();
      }
    });

    test('two clusters at once: both hear the same one', async () => {
      const fixture = await open();
      try {
        const other = (await fixture.again?.()) ?? fixture.database;
        const owners = await Promise.all([fixture.database.bind('größe-1'), other.bind('größe-2')]);
        expect(new Set(owners).size).toBe(1);
        expect(['größe-1', 'größe-2']).toContain(owners[0]);
        if (other !== fixture.database) await other.close();
      } finally {
        await fixture.close();
      }
    });

    test.each(Object.keys(calls) as readonly (keyof typeof calls)[])('after close: %s rejects', async (method) => {
      const fixture = await open();
      try {
        await fixture.database.close();
        await expect(calls[method](fixture.database)).rejects.toMatchObject({ name: 'DatabaseError', code: 'closed' });
        await fixture.database.close();
      } finally {
        await fixture.close();
      }
    });

    test('close waits for a write, or the write is reported', async () => {
      const fixture = await open();
      try {
        const journal = { kind: 'history', partition: 0 } as const;
        const { fence } = await fixture.database.restore(journal);
        const writing = fixture.database.write(journal, fence, { position: positionAt(1), kind: 'history', delta: emptyDelta }).then(
          ({ kind }) => kind,
          (error: unknown) => error,
        );
        await fixture.database.close();
        const outcome = await writing;
        if (outcome !== 'written' && outcome !== 'unknown') expect(outcome).toMatchObject({ name: 'DatabaseError' });
      } finally {
        await fixture.close();
      }
    });
  });
}

const journal = { kind: 'history', partition: 0 } as const;
const letters = { kind: 'deadLetters', partition: 0 } as const;
const namespaceId = uuid();

/** Every method but close itself, and what finds nothing to be given up then. */
const calls: Readonly<Record<Exclude<keyof Database, 'name' | 'close' | 'giveUp'>, (database: Database) => Promise<unknown>>> = {
  cluster: (database) => database.cluster(),
  bind: (database) => database.bind('cluster-1'),
  restore: (database) => database.restore(journal),
  position: (database) => database.position(journal),
  write: (database) => database.write(journal, 1, { position: positionAt(1), kind: 'history', delta: emptyDelta }),
  flush: (database) => database.flush(journal, 1, [visibilityRow({ namespaceId })], []),
  clearSlots: (database) => database.clearSlots([{ journal, fence: 1 }], { namespaceId, slots: ['Keyword01'], afterRunId: '', max: 1 }),
  rewrite: (database) => database.rewrite(journal, 1, 0, [visibilityRow({ namespaceId })]),
  load: (database) => database.load(journal, [{ kind: 'current', namespaceId, workflowId: 'w' }]),
  transferTasks: (database) => database.transferTasks(journal, 0, 1),
  timers: (database) => database.timers(journal, { afterFireTimeMs: 0, afterTaskId: 0, untilMs: 1, max: 1 }),
  tasksAside: (database) => database.tasksAside(journal),
  dueRuns: (database) => database.dueRuns(journal, 1, 1),
  runIds: (database) => database.runIds(journal, '', 1),
  runs: (database) => database.runs(journal, '', 1, Infinity),
  strayRows: (database) => database.strayRows(journal, undefined, 1),
  rebuildDue: (database) => database.rebuildDue(journal),
  noteRebuild: (database) => database.noteRebuild(journal, 1, true),
  matchingTasks: (database) => database.matchingTasks(journal, 'q', 0, 1),
  matchingQueues: (database) => database.matchingQueues(journal, allQueues),
  countMatchingTasks: (database) => database.countMatchingTasks(journal, { queue: 'q', afterTaskId: 0, untilTaskId: 1, max: 1 }),
  letters: (database) => database.letters(letters, { condition: undefined, afterMessageId: -1, max: 1, bytesMax: 1 }),
  letterIds: (database) => database.letterIds(letters, { condition: undefined, afterMessageId: -1, max: 1 }),
  countLetters: (database) => database.countLetters(letters, undefined),
  letterGroups: (database) => database.letterGroups(letters, { condition: undefined, by: 'fingerprint', max: 1 }),
  history: (database) => database.history(journal, { runId: uuid(), branch: 0, firstEventId: 1, lastEventId: 1, bytesMax: 1 }),
  list: (database) => database.list({ namespaceId, condition: undefined, after: undefined, max: 1 }),
  count: (database) => database.count({ namespaceId, condition: undefined, byStatus: false }),
};
