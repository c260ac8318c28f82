/**
 * Runs of some namespaces, page by page:
 *
 *     memory, behind '' ─▶ behind r10000 ─▶ … ─▶ table, behind '' ─▶ behind r1000 ─▶ … ─▶ nowhere
 *
 * The shard remembers nothing of whoever goes through them, so each page from memory looks at all runs there: in slices, beside what is served.
 */
import type { ListRunKeys, RunKeys, RunKeysPlace } from '../../history/commands/run-keys.ts';
import { FirstOf } from '../../kernel/first-of.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { LoopTurns } from '../../ports/loop-turns.ts';
import { DatabaseError } from '../../projections/database-port.ts';
import type { ShardTable } from '../../projections/checkpoints/shard-table.ts';

type Walked = {
  readonly core: { readonly shard: { readonly runs: ReadonlyMap<string, { readonly key: RunKey }> } };
  readonly durable: { readonly runTable: Pick<ShardTable<'runIds'>, 'read'> } | undefined;
};

/** A page from memory: it costs a look at all runs there. */
const PAGE_RUNS = 10_000;
const PAGE_ROWS = 1_000;
/** Between two looks at the clock. */
const RUNS_PER_STEP = 64;

/** Rejects with DatabaseError. */
export async function runKeys(memory: Walked, { namespaceIds, from }: ListRunKeys, turns: Pick<LoopTurns, 'through'>): Promise<RunKeys> {
  const wanted = new Set(namespaceIds);
  const isWanted = ({ namespaceId }: RunKey): boolean => wanted.has(namespaceId);
  return from.isInTable ? await inTable(memory, isWanted, from) : await inMemory(memory, isWanted, from, turns);
}

async function inMemory(
  { core }: Walked,
  isWanted: (key: RunKey) => boolean,
  { afterRunId }: RunKeysPlace,
  turns: Pick<LoopTurns, 'through'>,
): Promise<RunKeys> {
  const first = new FirstOf<RunKey>(PAGE_RUNS + 1, (one, other) => (one.runId < other.runId ? -1 : 1));
  const steps = function* (): Generator<void, void> {
    let looked = 0;
    for (const { key } of core.shard.runs.values()) {
      if (key.runId > afterRunId && isWanted(key)) first.add(key);
      if (++looked % RUNS_PER_STEP === 0) yield;
    }
  };
  await turns.through(steps());
  const keys = first.found.slice(0, PAGE_RUNS);
  const behind = first.found.length > PAGE_RUNS ? keys.at(-1) : undefined;
  const next = behind === undefined ? { isInTable: true, afterRunId: '' } : { isInTable: false, afterRunId: behind.runId };
  return { kind: 'runKeys', keys, next };
}

async function inTable({ durable }: Walked, isWanted: (key: RunKey) => boolean, { afterRunId }: RunKeysPlace): Promise<RunKeys> {
  const keys = (await durable?.runTable.read((database, journal) => database.runIds(journal, afterRunId, PAGE_ROWS))) ?? [];
  if (keys === 'fenced') throw new DatabaseError('unavailable', 'the shard has another owner now');
  const last = keys.length < PAGE_ROWS ? undefined : keys.at(-1);
  return { kind: 'runKeys', keys: keys.filter(isWanted), next: last && { isInTable: true, afterRunId: last.runId } };
}
