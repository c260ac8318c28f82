/** Whoever empties a namespace sees each of its runs, however many of others stand before them. */
import { expect, test } from 'vitest';
import type { RunKey } from '../../../src/kernel/run-key.ts';
import { DatabaseError } from '../../../src/actors/database.ts';
import { ShardTable } from '../../../src/actors/history/durable/shard-table.ts';
import { runsOfNamespaces } from '../../../src/actors/history/runs-of-namespaces.ts';
import { systemClock } from '../../../src/actors/system-ports.ts';

class Memory {
  active = true;
  readonly inMemory = new Map<string, RunKey>();
  readonly inTable: RunKey[] = [];
  /** Behind which run ids its table was read. */
  readonly reads: string[] = [];
  onRead: () => void = () => {};
  readonly core = { runKeys: () => this.inMemory.values() };
  readonly durable = {
    runTable: new ShardTable<'runIds'>({
      journal: { kind: 'history', partition: 0 },
      checkpointer: { fence: 1, written: undefined, isSuperseded: async () => false },
      database: {
        runIds: async (_journal, after, max) => {
          this.reads.push(after);
          this.onRead();
          return { fence: 1, nextOffset: 0, rows: this.inTable.filter(({ runId }) => runId > after).slice(0, max) };
        },
      },
    }),
  };
}

function run(namespaceId: string, nth: number): RunKey {
  return { namespaceId, workflowId: `w${nth}`, runId: `${100_000 + nth}` };
}

/** Of 'a', and what is done with each page. */
async function walked(memory: Memory, onPage: () => void = () => {}): Promise<readonly string[]> {
  const seen: string[] = [];
  for await (const page of runsOfNamespaces(memory, (id) => id === 'a', systemClock)) {
    seen.push(...page.map(({ runId }) => runId));
    onPage();
  }
  return seen;
}

test('the youngest of thousands, in memory and in its table, which is read page by page', async () => {
  const memory = new Memory();
  for (let nth = 0; nth < 2_500; nth++) memory.inMemory.set(`${nth}`, run(nth < 2_498 ? 'b' : 'a', nth));
  for (let nth = 3_000; nth < 6_000; nth++) memory.inTable.push(run(nth < 5_997 ? 'b' : 'a', nth));
  expect(await walked(memory)).toEqual(['102498', '102499', '105997', '105998', '105999']);
  expect(memory.reads).toEqual(['', '103999', '104999', '105999']);
});

test('what is deleted meanwhile hides nothing behind it, and what leaves memory meanwhile is seen', async () => {
  const memory = new Memory();
  for (let nth = 0; nth < 2_500; nth++) memory.inTable.push(run('a', nth));
  for (let nth = 5_000; nth < 6_500; nth++) memory.inMemory.set(`${nth}`, run(nth === 6_499 ? 'a' : 'b', nth));
  let pages = 0;
  const seen = await walked(memory, () => {
    pages += 1;
    if (pages === 1) {
      memory.inMemory.delete('6499');
      memory.inTable.push(run('a', 6_499));
    }
    // The first page of the table.
    if (pages === 3) memory.inTable.splice(0, 1_000);
  });
  expect(seen).toHaveLength(2_501);
  expect(seen.at(-1)).toBe('106499');
});

test('a shard that is not served any more, between two pages, is not taken for one that is empty', async () => {
  const memory = new Memory();
  for (let nth = 0; nth < 1_500; nth++) memory.inTable.push(run('b', nth));
  memory.onRead = () => (memory.active = memory.reads.length < 2);
  await expect(walked(memory)).rejects.toThrow(DatabaseError);
});
