/**
 * Purges and their undoing, by several people at once, whose server is killed with -9 again and again:
 *
 *     letters ─▶ purge some, restore some, restore what a job purged, … ─▶ all jobs have ended
 *                                   ▲ killed, started again ┘
 *
 * In the end the audit tells a story of each dead letter that can be (made, purged, restored, purged, …) and ends as the queue has it, each job has
 * counted what the audit says of it, and what is in the queue is what it was.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { LetterClient, type Plain } from '../grpc/deadletter-service/letter-client.ts';
import type { Prng } from '../simulation/prng.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { withClient } from '../support/with-client.ts';
import { heardUnderFire, untilWithin } from './under-fire.ts';

export type UndoCampaign = {
  /** Its workflow tasks fail for good. */
  readonly server: ServerProcess;
  readonly letters: number;
  readonly kills: number;
  /** Changes that are asked for in each life. */
  readonly changes: number;
  readonly prng: Prng;
  /** Instead of killing the server, and starting it again. */
  readonly kill?: () => Promise<void>;
  readonly say?: (line: string) => void;
};

export type UndoReport = {
  readonly purged: number;
  readonly restored: number;
  /** Restores that came too late. */
  readonly tooLate: number;
  readonly wrong: readonly string[];
};

const queue = { category: 'transfer' };
const PEOPLE = 3;
const until = untilWithin(120_000);

export async function undoUnderFire(campaign: UndoCampaign): Promise<UndoReport> {
  const { server, letters, kills, changes, prng, say = () => {} } = campaign;
  await server.start();
  await withClient(server.address, async ({ workflow }) => {
    for (let nth = 0; nth < letters; nth++) await workflow.start('Order', { taskQueue: 'orders', workflowId: `order-${nth}` });
  });
  const first = await withLetters(server, async (client) => {
    await until(`${letters} letters`, async () => (await openLetters(client)).size === letters);
    return await openLetters(client);
  });
  const jobIds: string[] = [];
  for (let kill = 0; kill <= kills; kill++) {
    const isOver = new AbortController();
    const life = withLetters(server, async (client) => {
      await Promise.all(Array.from({ length: PEOPLE }, () => person(client, { letters, changes, jobIds, prng, signal: isOver.signal })));
    });
    if (kill < kills) {
      const before = jobIds.length;
      await until('some changes', async () => jobIds.length > before);
      await delay(prng.int(0, 600));
      if (campaign.kill === undefined) await server.kill9();
      else await campaign.kill();
      isOver.abort();
      await life;
      if (campaign.kill === undefined) await server.start();
      say(`killed, ${jobIds.length} jobs so far`);
    } else await life;
  }
  return await withLetters(server, async (client) => {
    await until('the end of all jobs', async () => (await allOf(client, 'ListJobs', 'jobs', { activeOnly: true })).length === 0);
    return await whatCame(client, first);
  });
}

type Person = {
  readonly letters: number;
  readonly changes: number;
  readonly jobIds: string[];
  readonly prng: Prng;
  readonly signal: AbortSignal;
};

/** Does what comes to mind; whatever is refused is given up. */
async function person(client: LetterClient, { letters, changes, jobIds, prng, signal }: Person): Promise<void> {
  for (let left = changes; left > 0 && !signal.aborted; left--) {
    try {
      const { jobId } = await changed(client, { letters, jobIds, prng });
      jobIds.push(jobId);
      if (prng.chance(0.5)) await client.call('DescribeJob', { jobId, wait: { seconds: 2 } }, { timeoutMs: 5_000 });
    } catch (error) {
      const { code } = error as { readonly code?: number };
      if (!heardUnderFire.has(code)) throw error;
      if (code === status.UNAVAILABLE) left += 1;
      await delay(20);
    }
  }
}

async function changed(client: LetterClient, { letters, jobIds, prng }: Pick<Person, 'letters' | 'jobIds' | 'prng'>) {
  const low = prng.int(0, letters - 1);
  const high = Math.min(letters - 1, low + prng.int(0, letters / 4));
  const kind = prng.int(0, 4);
  if (kind <= 1) {
    const selection = kind === 0 ? { minMessageId: low, maxMessageId: high } : { query: `MessageId >= ${low} AND MessageId <= ${high}` };
    const { plan } = await client.call('PlanDeadLetters', { operation: 'OPERATION_PURGE', queue, selection, reason: 'purged' });
    return jobOf(await client.call('ApplyPlan', { planId: (plan as { readonly planId: string }).planId }));
  }
  const messageIds = Array.from({ length: Math.min(100, high - low + 1) }, (_, at) => low + at);
  const which = kind === 2 && jobIds.length > 0 ? { jobId: prng.pick(jobIds) } : { messageIds };
  return jobOf(await client.call('RestoreDeadLetters', { queue, ...which, reason: 'restored' }));
}

function jobOf({ job }: Plain): { readonly jobId: string } {
  return job as { readonly jobId: string };
}

// ── What has come of it ────────────────────────────────────────────────────────────────────────────────────────────────────────

type Entry = {
  readonly action: string;
  readonly source: string;
  readonly jobId: string;
  readonly messageIds?: readonly (number | string)[];
};
type Job = { readonly jobId: string; readonly counts?: Readonly<Record<string, number>>; readonly state: string };

async function whatCame(client: LetterClient, first: ReadonlyMap<number, string>): Promise<UndoReport> {
  const open = await openLetters(client);
  const jobs = (await allOf(client, 'ListJobs', 'jobs', {})) as readonly Job[];
  let entries: readonly Entry[] = [];
  const wrong: string[] = [];
  await until('the audit', async () => {
    entries = ((await allOf(client, 'ListAuditEntries', 'entries', { queue })) as readonly Entry[]).toReversed();
    wrong.splice(0, Infinity, ...wrongStories(entries, open, first), ...wrongCounts(entries, jobs));
    // What came last is told within moments.
    return wrong.length === 0 || (await isToldOf(client, entries.length));
  });
  for (const [id, content] of open) if (first.get(id) !== content) wrong.push(`letter ${id} is another: ${content}, not ${first.get(id)}`);
  const sum = (name: string): number => jobs.reduce((total, { counts }) => total + (counts?.[name] ?? 0), 0);
  return { purged: sum('purged'), restored: sum('restored'), tooLate: sum('skipped'), wrong };
}

/** Two seconds bring no more. */
async function isToldOf(client: LetterClient, count: number): Promise<boolean> {
  await delay(2_000);
  return (await allOf(client, 'ListAuditEntries', 'entries', { queue })).length === count;
}

function wrongStories(entries: readonly Entry[], open: ReadonlyMap<number, string>, first: ReadonlyMap<number, string>): readonly string[] {
  const stories = new Map<number, string[]>();
  for (const { action, messageIds = [] } of entries) {
    if (!['dead-letter', 'purge', 'restore'].includes(action)) continue;
    for (const id of messageIds) stories.set(Number(id), [...(stories.get(Number(id)) ?? []), action]);
  }
  return [...first.keys()].flatMap((id) => {
    const story = stories.get(id) ?? [];
    const told = story.map((action, nth) => (nth === 0 ? action === 'dead-letter' : action === (nth % 2 === 1 ? 'purge' : 'restore')));
    const isOpen = story.at(-1) !== 'purge';
    return told.length > 0 && !told.includes(false) && isOpen === open.has(id)
      ? []
      : [`letter ${id}: ${story.join(', ')}, and it is ${open.has(id) ? 'there' : 'not there'}`];
  });
}

function wrongCounts(entries: readonly Entry[], jobs: readonly Job[]): readonly string[] {
  return jobs.flatMap(({ jobId, counts = {}, state }) => {
    const of = (wanted: string): number =>
      entries
        .filter(({ action, jobId: by }) => action === wanted && by === jobId)
        .reduce((sum, { messageIds = [] }) => sum + messageIds.length, 0);
    const [purged = 0, restored = 0] = [counts['purged'], counts['restored']];
    return state.startsWith('completed') && purged === of('purge') && restored === of('restore')
      ? []
      : [`job ${jobId} is ${state} with ${purged} purged, ${restored} restored; the audit tells of ${of('purge')} and ${of('restore')}`];
  });
}

/** By id, what must not change. */
async function openLetters(client: LetterClient): Promise<ReadonlyMap<number, string>> {
  const letters = await allOf(client, 'ListDeadLetters', 'letters', { queues: [queue], queue, includePayload: true });
  return new Map(
    letters.map(({ messageId = 0, generation = 0, state, taskId, workflowId, runId, errorMessage, firstFailureTime, payload }) => [
      Number(messageId),
      JSON.stringify({ generation, state, taskId, workflowId, runId, errorMessage, firstFailureTime, payload }),
    ]),
  );
}

async function allOf(client: LetterClient, method: string, field: string, request: Plain): Promise<readonly Plain[]> {
  const all: Plain[] = [];
  let nextPageToken: unknown = new Uint8Array(0);
  do {
    const page: Plain = await client.onceServed(method, { ...request, nextPageToken });
    all.push(...((page[field] as readonly Plain[] | undefined) ?? []));
    ({ nextPageToken } = page);
  } while ((nextPageToken as Uint8Array | undefined)?.length);
  return all;
}

async function withLetters<T>({ address }: ServerProcess, use: (client: LetterClient) => Promise<T>): Promise<T> {
  const client = new LetterClient(address);
  try {
    return await use(client);
  } finally {
    client.close();
  }
}
