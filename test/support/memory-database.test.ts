import { describe, expect, test } from 'vitest';
import { DatabaseError, type HistoryDelta } from '../../src/projections/database-port.ts';
import { describeDatabase } from '../contract/database/describe-database.ts';
import { emptyDelta, positionAt, taskRow, uuid, visibilityRow } from '../contract/database/samples.ts';
import { MemoryDatabase, MemoryTables, type WriteFault } from './memory-database.ts';

describeDatabase('in memory', {
  open: async () => {
    const tables = new MemoryTables();
    const database = new MemoryDatabase(tables);
    return { database, again: async () => new MemoryDatabase(tables), close: () => database.close() };
  },
});

describe('faults of the database in memory', () => {
  const journal = { kind: 'history', partition: 0 } as const;
  const checkpoint = (delta: Partial<HistoryDelta>) =>
    ({ position: positionAt(1), kind: 'history', delta: { ...emptyDelta, ...delta } }) as const;

  async function faulty(fault: WriteFault) {
    const tables = new MemoryTables();
    const database = new MemoryDatabase(tables, { onWrite: async () => fault });
    const { fence } = await database.restore(journal);
    return { database, fence, sound: new MemoryDatabase(tables) };
  }

  test('a write fails: nothing is written', async () => {
    const { database, fence, sound } = await faulty('fails');
    const write = database.write(journal, fence, checkpoint({ transferTasks: [taskRow(1)] }));
    await expect(write).rejects.toMatchObject({ code: 'unavailable' });
    expect((await sound.transferTasks(journal, 0, 9)).rows).toEqual([]);
    expect((await sound.position(journal)).position).toBeUndefined();
  });

  test.each([
    ['commit lost', 0],
    ['answer lost', 1],
  ] as const)('%s: unknown, and what stands there tells', async (fault, rows) => {
    const { database, fence, sound } = await faulty(fault);
    expect(await database.write(journal, fence, checkpoint({ transferTasks: [taskRow(1)] }))).toMatchObject({ kind: 'unknown' });
    expect((await sound.transferTasks(journal, 0, 9)).rows.length).toBe(rows);
    expect((await sound.position(journal)).position?.nextOffset).toBe(rows === 0 ? undefined : 1);
    const namespaceId = uuid();
    await expect(database.flush(journal, fence, [visibilityRow({ namespaceId })], [])).rejects.toMatchObject({ code: 'unavailable' });
    expect((await sound.list({ namespaceId, condition: undefined, after: undefined, max: 9 })).rows.length).toBe(rows);
  });

  test('a fenced owner whose answer is lost has written nothing', async () => {
    const { database, fence, sound } = await faulty('answer lost');
    await sound.restore(journal);
    expect(await database.write(journal, fence, checkpoint({ transferTasks: [taskRow(1)] }))).toEqual({ kind: 'fenced' });
    expect((await sound.transferTasks(journal, 0, 9)).rows).toEqual([]);
  });

  test('a read is held, and fails', async () => {
    const { promise: held, reject: fail } = Promise.withResolvers<void>();
    const tables = new MemoryTables();
    const database = new MemoryDatabase(tables, { onRead: (_journal, what) => (what === 'load' ? held : Promise.resolve()) });
    const { fence } = await database.restore(journal);
    let isOver = false;
    const load = database.load(journal, []).finally(() => (isOver = true));
    expect(await database.write(journal, fence, checkpoint({}))).toEqual({ kind: 'written' });
    expect(isOver).toBe(false);
    fail(new DatabaseError('unavailable', 'the database does not answer'));
    await expect(load).rejects.toMatchObject({ code: 'unavailable' });
  });

  test('a write that takes its time meets the fence as it is then', async () => {
    const tables = new MemoryTables();
    const { promise: held, resolve: go } = Promise.withResolvers<undefined>();
    const slow = new MemoryDatabase(tables, { onWrite: () => held });
    const { fence } = await slow.restore(journal);
    const write = slow.write(journal, fence, checkpoint({ transferTasks: [taskRow(1)] }));
    await new MemoryDatabase(tables).restore(journal);
    go(undefined);
    expect(await write).toEqual({ kind: 'fenced' });
  });
});
