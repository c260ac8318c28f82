import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Database, DatabaseError, type HistoryDelta, type JournalId, type LoadKey } from '../../../src/projections/database-port.ts';
import { MemoryDatabase } from '../../support/memory-database.ts';
import { type DatabaseUnderTest, Owner } from './database-under-test.ts';
import { bytesOf, comparable, emptyDelta, positionAt, visibilityRow } from './samples.ts';

/** Few keys, so that deltas meet what others wrote. */
const namespaceIds = ['00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-00000000000b'] as const;
const workflowIds = ['w', 'v', 'w\0', ''] as const;

export function describeRandomWrites(use: () => DatabaseUnderTest): void {
  describe('random deltas', () => {
    test('leave what they leave in the twin, at every step', async () => {
      let serial = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), async (steps) => {
          const journal = use().freshJournal();
          // Run ids of this round alone: visibility is one table for all.
          const runIds = Array.from({ length: 6 }, (_, i) => runIdOf(journal.partition, ++serial, i));
          const subjects = [await Pair.of(use().database, journal), await Pair.of(new MemoryDatabase(), journal)];
          for (const [at, one] of steps.entries()) {
            const [found, expected] = await Promise.all(subjects.map((subject) => subject.play(one, at, runIds)));
            expect(found, `step ${at}`).toEqual(expected);
          }
        }),
        { numRuns: 60 },
      );
    });
  });
}

/** A database and whoever owns the journal in it. */
class Pair {
  readonly #database: Database;
  readonly #journal: JournalId;
  #owner: Owner;
  #former: Owner;

  static async of(database: Database, journal: JournalId): Promise<Pair> {
    return new Pair(database, journal, await Owner.restore(database, journal));
  }

  private constructor(database: Database, journal: JournalId, owner: Owner) {
    this.#database = database;
    this.#journal = journal;
    this.#owner = owner;
    this.#former = owner;
  }

  /** What came of it, and all that can be seen afterwards. */
  async play(one: Step, at: number, runIds: readonly string[]): Promise<unknown> {
    const outcome = await this.#do(one, at, runIds).catch((error: unknown) => {
      if (error instanceof DatabaseError) return error.code;
      throw error;
    });
    return comparable({ outcome, seen: await this.#seen(runIds) });
  }

  async #do(one: Step, at: number, runIds: readonly string[]): Promise<unknown> {
    if (one.do === 'restore') {
      this.#former = this.#owner;
      this.#owner = await Owner.restore(this.#database, this.#journal);
      return this.#owner.restored.position;
    }
    const { fence } = one.byFormer ? this.#former : this.#owner;
    const delta = deltaOf(one, runIds);
    if (one.do === 'flush') return this.#database.flush(this.#journal, fence, delta.visibility, delta.retiredRuns);
    const position = positionAt(at - one.backwards);
    return this.#database.write(this.#journal, fence, { position, kind: 'history', delta });
  }

  async #seen(runIds: readonly string[]): Promise<unknown> {
    const keys: LoadKey[] = [];
    for (const namespaceId of namespaceIds) {
      for (const workflowId of workflowIds) {
        keys.push(
          { kind: 'current', namespaceId, workflowId },
          { kind: 'run', namespaceId, workflowId, runId: runIds[keys.length % 6] ?? '' },
        );
      }
    }
    for (const parentRunId of runIds) keys.push({ kind: 'childStart', parentRunId, initiatedEventId: 5 });
    const { position, ...rows } = await this.#owner.everything(runIds);
    const listed = await Promise.all(
      namespaceIds.map(async (namespaceId) => {
        const all = await this.#database.list({ namespaceId, condition: undefined, after: undefined, max: 10_000 });
        return all.rows.filter(({ runId }) => runIds.includes(runId));
      }),
    );
    const loaded = await this.#database.load(this.#journal, keys);
    return { position: position.position, rows: { ...rows, listed }, loaded: loaded.rows };
  }
}

function runIdOf(partition: number, serial: number, i: number): string {
  const hex = (value: number, length: number): string => value.toString(16).padStart(length, '0');
  return `${hex(partition, 8)}-${hex(i, 4)}-7000-8000-${hex(serial, 12)}`;
}

const nat = fc.nat(5);
const run = fc.record({ namespace: fc.nat(1), workflow: fc.nat(3), run: nat });
const task = fc.record({ taskId: nat, aside: fc.boolean(), atMatching: fc.boolean(), text: nat });

const step = fc.oneof(
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restore' as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom('write' as const, 'write' as const, 'write' as const, 'flush' as const),
      byFormer: fc.nat(9).map((n) => n === 0),
      backwards: fc.constantFrom(0, 0, 0, 0, 2),
      runs: fc.uniqueArray(
        fc.record({ id: run, status: nat, forgetMs: fc.option(nat, { nil: undefined }) }),
        by(({ id }) => id.run),
      ),
      currentRuns: fc.uniqueArray(
        run,
        by(({ namespace, workflow }) => `${namespace} ${workflow}`),
      ),
      childStarts: fc.uniqueArray(
        fc.record({ parent: nat, child: nat }),
        by(({ parent }) => parent),
      ),
      history: fc.uniqueArray(
        fc.record({ run: nat, first: nat, events: nat }),
        by(({ run: of, first }) => `${of} ${first}`),
      ),
      transferTasks: fc.uniqueArray(
        task,
        by(({ taskId }) => taskId),
      ),
      timers: fc.uniqueArray(
        fc.record({ task, fireTimeMs: nat }),
        by(({ task: { taskId } }) => taskId),
      ),
      gone: fc.uniqueArray(nat, { maxLength: 3 }),
      atMatching: fc.uniqueArray(nat, { maxLength: 3 }),
      retiredRuns: fc.uniqueArray(run, { maxLength: 2, selector: (one) => one.run }),
      // Not unique: of two rows of one run the later version stays.
      visibility: fc.array(fc.record({ id: run, version: nat, startTimeMs: nat }), { maxLength: 4 }),
    }),
  },
);

type Step = typeof step extends fc.Arbitrary<infer One> ? One : never;

function by<Row>(selector: (row: Row) => unknown): fc.UniqueArrayConstraints<Row, unknown> {
  return { maxLength: 4, selector };
}

function deltaOf(one: Exclude<Step, { do: 'restore' }>, runIds: readonly string[]): HistoryDelta {
  const at = (i: number): string => runIds[i] ?? '';
  const idOf = (id: { readonly namespace: number; readonly workflow: number; readonly run: number }) => ({
    namespaceId: namespaceIds[id.namespace] ?? '',
    workflowId: workflowIds[id.workflow] ?? '',
    runId: at(id.run),
  });
  const rowOf = ({ taskId, aside, text }: { readonly taskId: number; readonly aside: boolean; readonly text: number }) => ({
    taskId,
    aside,
    task: bytesOf(`task ${text}`),
  });
  const touched = new Set([...one.transferTasks.map(({ taskId }) => taskId), ...one.timers.map(({ task: { taskId } }) => taskId)]);
  const gone = one.gone.filter((taskId) => !touched.has(taskId));
  return {
    ...emptyDelta,
    runs: one.runs.map(({ id, status, forgetMs }) => ({ ...idOf(id), status, forgetMs, state: bytesOf(`state ${status}`) })),
    currentRuns: one.currentRuns.map(idOf),
    childStarts: one.childStarts.map(({ parent, child }) => ({ parentRunId: at(parent), initiatedEventId: 5, runId: at(child) })),
    history: one.history.map(({ run: of, first, events }) => ({
      runId: at(of),
      branch: 0,
      firstEventId: first + 1,
      lastEventId: first + 3,
      events: bytesOf(`events ${events}`),
    })),
    transferTasks: one.transferTasks.map((row) => ({ ...rowOf(row), atMatching: row.atMatching })),
    timers: one.timers.map(({ task: row, fireTimeMs }) => ({ ...rowOf(row), fireTimeMs })),
    tasksAtMatching: one.atMatching.filter((taskId) => !touched.has(taskId) && !gone.includes(taskId)),
    goneTransferTasks: gone,
    goneTimers: gone,
    retiredRuns: one.retiredRuns.map(idOf),
    visibility: one.visibility.map(({ id, version, startTimeMs }) => visibilityRow({ ...idOf(id), version, startTimeMs })),
  };
}
