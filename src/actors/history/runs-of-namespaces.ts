/**
 * All runs that some namespaces have in one shard: those in memory, then those in its table, where what leaves memory meanwhile stands. One that
 * is gone since may be among them. Whoever goes through them leaves the shard and its database time for others.
 */
import type { RunKey } from '../../kernel/run-key.ts';
import { DatabaseError } from '../database.ts';
import type { Clock } from '../ports.ts';
import type { HistoryMemory } from './history-memory.ts';

/** Looked at in a turn of the event loop, or with one read. */
const KEYS_AT_ONCE = 1_000;
/** A rest is so many times as long as the read before it. */
const RESTS = 2;
const REST_MS_MAX = 500;

type Walked = Pick<HistoryMemory, 'active'> & {
  readonly core: { readonly runKeys: () => Iterable<RunKey> };
  readonly durable: Pick<NonNullable<HistoryMemory['durable']>, 'runTable'> | undefined;
};

/** Throws DatabaseError, also where the shard is not served. */
export async function* runsOfNamespaces(
  memory: Walked | undefined,
  isWanted: (namespaceId: string) => boolean,
  clock: Pick<Clock, 'monoMs' | 'after'>,
): AsyncGenerator<readonly RunKey[], void> {
  const rest = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve));
  const wanted = (keys: readonly RunKey[]): readonly RunKey[] => keys.filter(({ namespaceId }) => isWanted(namespaceId));
  const served = inService(memory);
  let some: RunKey[] = [];
  for (const key of served.core.runKeys()) {
    some.push(key);
    if (some.length < KEYS_AT_ONCE) continue;
    yield wanted(some);
    some = [];
    await rest(0);
    inService(memory);
  }
  yield wanted(some);
  const { durable } = served;
  let after = '';
  let isLast = durable === undefined;
  while (!isLast) {
    const askedMs = clock.monoMs();
    const keys = await pageBehind(served, after);
    inService(memory);
    await rest(Math.min(RESTS * (clock.monoMs() - askedMs), REST_MS_MAX));
    yield wanted(keys);
    after = keys.at(-1)?.runId ?? after;
    isLast = keys.length < KEYS_AT_ONCE;
  }
}

async function pageBehind({ durable }: Walked, after: string): Promise<readonly RunKey[]> {
  const keys = await durable?.runTable.read((database, journal) => database.runIds(journal, after, KEYS_AT_ONCE));
  if (keys === 'fenced') throw new DatabaseError('unavailable', 'another has restored this shard');
  return keys ?? [];
}

function inService(memory: Walked | undefined): Walked {
  if (memory?.active !== true) throw new DatabaseError('unavailable', 'a shard is not served here now');
  return memory;
}
