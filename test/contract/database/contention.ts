import { describe, expect, test } from 'vitest';
import type { JournalId } from '../../../src/projections/database-port.ts';
import { type DatabaseUnderTest, Owner } from './database-under-test.ts';
import { emptyDelta, positionAt, runRow, taskRow, uuid, visibilityRow } from './samples.ts';

/** What an owner does, in this order; between two of its steps the other may do any of its own. */
const steps = ['restore', 'write', 'flush', 'write'] as const;

export function describeContention(use: () => DatabaseUnderTest): void {
  describe('two owners', () => {
    test('in every order of their steps: who restored last writes, the other does not', async () => {
      const orders = interleavings(steps.length, steps.length);
      expect(orders.length).toBe(70);
      for (const order of orders) await contend(use(), order);
    });

    test('at the same time: what the successor restored is what it finds', async () => {
      for (let round = 0; round < 20; round++) {
        const old = await use().freshOwner();
        const namespaceId = old.namespaceId;
        const runs = Array.from({ length: 200 }, () => runRow({ namespaceId, status: 1 }));
        await old.written({ runs });
        const closed = runs.map((run) => ({ ...run, status: 2 }));
        const [outcome, successor] = await Promise.all([old.write({ runs: closed }), Owner.restore(use().other, old.journal)]);
        const isWritten = outcome.kind === 'written';
        expect(successor.restored.position?.nextOffset).toBe(isWritten ? 20 : 10);
        const found = await successor.database.runs(old.journal, '', 1000, Infinity);
        expect(found.fence).toBe(successor.fence);
        expect(new Set(found.rows.map(({ status }) => status))).toEqual(new Set([isWritten ? 2 : 1]));
        expect(await old.write({ runs })).toEqual({ kind: 'fenced' });
      }
    });

    test('many at once: one fence each, and one of them writes', async () => {
      const journal = use().freshJournal();
      const owners = await Promise.all(
        Array.from({ length: 10 }, (_, i) => Owner.restore(i % 2 === 0 ? use().database : use().other, journal)),
      );
      expect(new Set(owners.map(({ fence }) => fence)).size).toBe(10);
      const outcomes = await Promise.all(owners.map((owner, i) => owner.write({ transferTasks: [taskRow(i)] })));
      const last = Math.max(...owners.map(({ fence }) => fence));
      expect(outcomes.map(({ kind }) => kind)).toEqual(owners.map(({ fence }) => (fence === last ? 'written' : 'fenced')));
      const tasks = await use().database.transferTasks(journal, -1, 10);
      expect(tasks.rows.map(({ taskId }) => owners[taskId]?.fence)).toEqual([last]);
    });
  });
}

type Contender = { readonly name: number; fence: number; done: number };

/** Plays one order and keeps beside it what must come of it. */
async function contend(under: DatabaseUnderTest, order: readonly number[]): Promise<void> {
  const journal = under.freshJournal();
  const namespaceId = uuid();
  const contenders: readonly Contender[] = [0, 1].map((name) => ({ name, fence: 0, done: 0 }));
  const tasks: number[] = [];
  const listed: string[] = [];
  let holder: number | undefined;
  for (const [at, name] of order.entries()) {
    const contender = contenders[name];
    if (contender === undefined) throw new Error(`no contender ${name}`);
    const database = name === 0 ? under.database : under.other;
    const mayWrite = holder === name;
    switch (steps[contender.done++]) {
      case 'restore': {
        const { fence, position } = await database.restore(journal);
        expect(position?.sequence, order.join('')).toBe(tasks.at(-1));
        contender.fence = fence;
        holder = name;
        break;
      }
      case 'write': {
        const delta = { ...emptyDelta, transferTasks: [taskRow(at)] };
        const outcome = await database.write(journal, contender.fence, {
          position: positionAt(at, { sequence: at }),
          kind: 'history',
          delta,
        });
        expect(outcome, order.join('')).toEqual({ kind: mayWrite ? 'written' : 'fenced' });
        if (mayWrite) tasks.push(at);
        break;
      }
      case 'flush': {
        const row = visibilityRow({ namespaceId, workflowId: `at ${at}` });
        const outcome = await database.flush(journal, contender.fence, [row], []);
        expect(outcome, order.join('')).toBe(mayWrite ? 'flushed' : 'fenced');
        if (mayWrite) listed.push(row.workflowId);
        break;
      }
      default:
        throw new Error('an owner did more than its steps');
    }
  }
  expect(await tasksOf(under, journal)).toEqual(tasks);
  const { rows } = await under.database.list({ namespaceId, condition: undefined, after: undefined, max: 10 });
  expect(rows.map(({ workflowId }) => workflowId).sort()).toEqual(listed.sort());
}

async function tasksOf(under: DatabaseUnderTest, journal: JournalId): Promise<readonly number[]> {
  return (await under.database.transferTasks(journal, -1, 100)).rows.map(({ taskId }) => taskId);
}

/** All orders of `zeros` zeros and `ones` ones. */
function interleavings(zeros: number, ones: number): readonly (readonly number[])[] {
  if (zeros === 0 || ones === 0) return [[...Array.from({ length: zeros }, () => 0), ...Array.from({ length: ones }, () => 1)]];
  return [...interleavings(zeros - 1, ones).map((rest) => [0, ...rest]), ...interleavings(zeros, ones - 1).map((rest) => [1, ...rest])];
}
