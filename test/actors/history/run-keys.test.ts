/** Whoever empties a namespace sees each of its runs, however many of others stand before them. */
import { expect, test } from 'vitest';
import type { Database } from '../../../src/projections/database-port.ts';
import { ShardTable } from '../../../src/projections/checkpoints/shard-table.ts';
import { runKeys } from '../../../src/actors/history/run-keys.ts';
import type { RunKeys, RunKeysPlace } from '../../../src/history/commands/run-keys.ts';
import { LoopTurns } from '../../../src/ports/loop-turns.ts';
import { systemClock } from '../../../src/ports/system-ports.ts';
import type { RunKey } from '../../../src/kernel/run-key.ts';

class Memory {
  readonly inMemory = new Map<string, { readonly key: RunKey }>();
  readonly inTable: RunKey[] = [];
  fence = 1;
  /** Behind which run ids its table was read. */
  readonly reads: string[] = [];
  readonly #runIds: Database['runIds'] = async (_journal, after, max) => {
    this.reads.push(after);
    return { fence: this.fence, nextOffset: 0, rows: this.inTable.filter(({ runId }) => runId > after).slice(0, max) };
  };
  readonly #runTable = new ShardTable<'runIds'>({
    journal: { kind: 'history', partition: 0 },
    checkpointer: { fence: 1, written: undefined, isSuperseded: async () => false },
    database: { runIds: this.#runIds },
  });

  readonly #walked = { core: { shard: { runs: this.inMemory } }, durable: { runTable: this.#runTable } };

  /** Of 'a'. Rejects where the shard says that they are not known. */
  async page(from: RunKeysPlace): Promise<RunKeys> {
    return await runKeys(this.#walked, { kind: 'listRunKeys', namespaceIds: ['a'], from }, new LoopTurns(systemClock));
  }

  put(...keys: readonly RunKey[]): void {
    for (const key of keys) this.inMemory.set(key.runId, { key });
  }
}

function run(namespaceId: string, nth: number): RunKey {
  return { namespaceId, workflowId: `w${nth}`, runId: `${100_000 + nth}` };
}

/** Of 'a', and what is done behind each page. */
async function walked(memory: Memory, onPage: (pages: number) => void = () => {}): Promise<readonly string[]> {
  const seen: string[] = [];
  let pages = 0;
  for (let from: RunKeysPlace | undefined = { isInTable: false, afterRunId: '' }; from !== undefined;) {
    const page = await memory.page(from);
    seen.push(...page.keys.map(({ runId }) => runId));
    from = page.next;
    onPage(++pages);
  }
  return seen;
}

test('the youngest of thousands, in memory and in its table, which is read page by page', async () => {
  const memory = new Memory();
  for (let nth = 0; nth < 2_500; nth++) memory.put(run(nth < 2_498 ? 'b' : 'a', nth));
  for (let nth = 3_000; nth < 6_000; nth++) memory.inTable.push(run(nth < 5_997 ? 'b' : 'a', nth));
  expect(await walked(memory)).toEqual(['102498', '102499', '105997', '105998', '105999']);
  expect(memory.reads).toEqual(['', '103999', '104999', '105999']);
});

test('more in memory than a page holds, in whatever order they came, each once', async () => {
  const memory = new Memory();
  const count = 25_000;
  // 7,919 is prime to it: all of them, mixed.
  for (let nth = 0; nth < count; nth++) memory.put(run('a', (nth * 7_919) % count));
  let pages = 0;
  const seen = await walked(memory, () => pages++);
  expect(seen).toEqual(Array.from({ length: count }, (_, nth) => run('a', nth).runId));
  // Three of memory, and the table, in which there is nothing.
  expect(pages).toBe(4);
});

test('what is deleted meanwhile hides nothing behind it, and what leaves memory meanwhile is seen', async () => {
  const memory = new Memory();
  for (let nth = 0; nth < 2_500; nth++) memory.inTable.push(run('a', nth));
  for (let nth = 5_000; nth < 16_000; nth++) memory.put(run('a', nth));
  const seen = await walked(memory, (pages) => {
    if (pages === 1) {
      memory.inMemory.delete('115999');
      memory.inTable.push(run('a', 15_999));
    }
    // The first page of the table.
    if (pages === 3) memory.inTable.splice(0, 1_000);
  });
  expect(seen).toHaveLength(13_500);
  expect(seen.at(-1)).toBe('115999');
});

test('a table that another has restored since is not taken for one that is empty', async () => {
  const memory = new Memory();
  memory.fence = 2;
  await expect(memory.page({ isInTable: true, afterRunId: '' })).rejects.toThrow('another owner');
});
