/**
 * Crash campaigns: load runs through all rounds, servers die or freeze under it, at the end every history is judged by the checker.
 *
 *   file, kafka   kill -9 at a random moment, start again on the same data
 *   state         the same on a file, with a checkpoint every 50 records, the journal trimmed behind it, and no history kept in memory
 *   postgres      kill -9 of the server, of PostgreSQL, or of both, with journals on Kafka and small checkpoints in PostgreSQL
 *   zombie        SIGSTOP one owner, start a second one on the same topics (its claims fence the first), SIGCONT: the first must exit with 3;
 *                 two batch jobs meanwhile
 *   postgresZombie  the same with small checkpoints in PostgreSQL, to which the first still has its connections
 */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { check } from './checker.ts';
import { CrashBatches } from './crash-batches.ts';
import { CrashLoad } from './crash-load.ts';
import type { Violation } from './judged.ts';
import { type Entry, refusedByWorker } from './recorded-history.ts';
import type { Database } from '../../src/projections/database-port.ts';
import { sqliteDatabase } from '../../src/projections/sqlite/sqlite-database.ts';
import type { LocalPostgres } from '../postgres/local-postgres.ts';
import { startPostgres } from '../postgres/postgres.ts';
import type { ServerProcess } from '../support/server-process.ts';
import { embeddedServer, kafkaServers, withFolder } from '../support/servers.ts';

export type Campaign = 'file' | 'state' | 'kafka' | 'postgres' | 'zombie' | 'postgresZombie';

/** Every round has tens of checkpoints, and what is written is not in memory: workflows are loaded, and histories are read from rows or the journal. */
const smallState = { stateLimits: { checkpointRecordsMax: 50, historyCacheBytesMax: 0, hotStateBytesMax: 0 } };

export type CampaignReport = {
  readonly campaign: Campaign;
  readonly seed: number;
  readonly rounds: number;
  readonly workflows: number;
  readonly runs: number;
  readonly resets: number;
  /** That were asked for: those that have completed, that their workers refused, and that found their workflow closed. */
  readonly updates: { readonly completed: number; readonly refused: number; readonly tooLate: number };
  readonly calls: { readonly ok: number; readonly fail: number; readonly unknown: number };
  readonly violations: readonly Violation[];
};

export type CampaignOptions = {
  readonly rounds: number;
  readonly seed: number;
  /** Rounds that are over, from 1. */
  readonly onRound?: (round: number) => void;
};

/** With servers that stay up, a workflow that does not close within this time of the last one that did is stuck (I7). */
const QUIESCENCE_PATIENCE_MS = 30_000;

export async function fileCampaign(options: CampaignOptions): Promise<CampaignReport> {
  return withFolder(async (folder) => {
    return killRounds('file', options, await embeddedServer(join(folder, 'perdure.db')));
  });
}

export async function stateCampaign(options: CampaignOptions): Promise<CampaignReport> {
  return withFolder(async (folder) => {
    const filename = join(folder, 'perdure.db');
    // Asks as bytes, too: nothing may rest on memory that actors share.
    const report = await killRounds('state', options, await embeddedServer(filename, [], { ...smallState, asks: 'as bytes' }));
    const database = sqliteDatabase({ filename: `${filename}-state` });
    try {
      return { ...report, violations: [...report.violations, ...(await checkWritten(database))] };
    } finally {
      await database.close();
    }
  });
}

/** A run whose state was never written proves nothing of it. */
async function checkWritten(database: Pick<Database, 'position'>): Promise<readonly Violation[]> {
  const { position } = await database.position({ kind: 'history', partition: 0 });
  return quiet(position?.lastOffset ?? 0);
}

/** A shard has one of four, with some six records: a checkpoint is written, and then another. */
const WORKFLOWS_PER_ROUND = 25;

function quiet(records: number): readonly Violation[] {
  return records > 100 ? [] : [{ invariant: 'quiet', message: `the database has the first ${records} records of a shard, no more` }];
}

export async function kafkaCampaign(options: CampaignOptions & { readonly brokers: readonly string[] }): Promise<CampaignReport> {
  return withFolder(async (folder) => {
    const [server] = await kafkaServers(folder, options.brokers, `crash-${options.seed}-${Date.now()}`, 1);
    return killRounds('kafka', options, server!);
  });
}

/** `strike`: what dies, and comes back. */
async function killRounds(
  campaign: Campaign,
  options: CampaignOptions,
  server: ServerProcess,
  strike = async (random: () => number): Promise<void> => {
    await server.kill9();
    await delay(random() * 300);
    await server.start();
  },
): Promise<CampaignReport> {
  const random = mulberry32(options.seed);
  await server.start();
  const load = startLoad([server], random);
  try {
    for (let round = 0; round < options.rounds; round++) {
      await Promise.all([delay(100 + random() * 800), load.begun(WORKFLOWS_PER_ROUND)]);
      await strike(random);
      options.onRound?.(round + 1);
    }
    return await report(campaign, options, load);
  } finally {
    await server.stop();
  }
}

export async function postgresCampaign(options: CampaignOptions & { readonly brokers: readonly string[] }): Promise<CampaignReport> {
  return withPostgres(options, 'crash', 1, async (postgres, [server]) => {
    let round = 0;
    return killRounds('postgres', options, server!, async (random) => {
      // Each kind often enough, however few the rounds are.
      const victim = victims[round++ % victims.length];
      if (victim !== 'server') await postgres.kill9();
      if (victim !== 'postgres') await server!.kill9();
      await delay(random() * 300);
      if (victim !== 'server') await postgres.restart();
      if (victim !== 'postgres') await server!.start();
    });
  });
}

const victims = ['server', 'postgres', 'both'] as const;

export async function postgresZombieCampaign(options: CampaignOptions & { readonly brokers: readonly string[] }): Promise<CampaignReport> {
  return withPostgres(options, 'zombie', 2, (_postgres, servers) => zombieRounds('postgresZombie', options, servers));
}

/** Servers that write small checkpoints into a PostgreSQL of their own; in the end there must be some. */
async function withPostgres(
  { brokers, seed }: CampaignOptions & { readonly brokers: readonly string[] },
  name: string,
  count: number,
  run: (postgres: LocalPostgres, servers: readonly ServerProcess[]) => Promise<CampaignReport>,
): Promise<CampaignReport> {
  const postgres = await startPostgres();
  try {
    return await withFolder(async (folder) => {
      const prefix = `${name}-postgres-${seed}-${Date.now()}`;
      const perdure = [`postgres: { url: "postgres://perdure@127.0.0.1:${postgres.port}/postgres" }`, 'journalRetention: 0s'];
      const report = await run(postgres, await kafkaServers(folder, brokers, prefix, count, { hidden: smallState, perdure }));
      const [row] = await postgres.run(`SELECT max(last_offset)::int AS records FROM "${prefix}".journals WHERE kind = 'history'`);
      return { ...report, violations: [...report.violations, ...quiet(Number(row?.['records'] ?? 0))] };
    });
  } finally {
    await postgres.stop();
  }
}

export async function zombieCampaign(options: CampaignOptions & { readonly brokers: readonly string[] }): Promise<CampaignReport> {
  return withFolder(async (folder) => {
    return zombieRounds('zombie', options, await kafkaServers(folder, options.brokers, `zombie-${options.seed}-${Date.now()}`, 2));
  });
}

async function zombieRounds(campaign: Campaign, options: CampaignOptions, servers: readonly ServerProcess[]): Promise<CampaignReport> {
  const random = mulberry32(options.seed);
  await servers[0]!.start();
  const load = startLoad(servers, random);
  const batches = new CrashBatches(addressesOf(servers), 'default');
  const violations: Violation[] = [];
  try {
    for (let round = 0; round < options.rounds; round++) {
      const zombie = servers[round % 2]!;
      await Promise.all([delay(100 + random() * 700), load.begun(WORKFLOWS_PER_ROUND)]);
      zombie.pause();
      await servers[(round + 1) % 2]!.start();
      await delay(random() * 500);
      zombie.resume();
      const code = await zombie.exitCode(15_000);
      if (code !== 3)
        violations.push({ invariant: 'I10', message: `round ${round}: the fenced process did not exit with 3 but ${code ?? 'runs on'}` });
      if (code === undefined) await zombie.kill9();
      options.onRound?.(round + 1);
    }
    const judged = await report(campaign, options, load);
    return { ...judged, violations: [...violations, ...judged.violations, ...(await batches.finish(QUIESCENCE_PATIENCE_MS))] };
  } finally {
    for (const server of servers) await server.stop();
  }
}

function startLoad(servers: readonly ServerProcess[], random: () => number): CrashLoad {
  const load = new CrashLoad({
    addresses: addressesOf(servers),
    ...{ namespace: 'default', clients: 6, pollers: 6, random },
    ...{ eagerShare: 0.3, pauseShare: 0.2, resetShare: 0.25, chainShare: 0.2, updateShare: 0.35 },
  });
  load.run();
  return load;
}

function addressesOf(servers: readonly ServerProcess[]): readonly string[] {
  return servers.map(({ address }) => address);
}

async function report(campaign: CampaignReport['campaign'], options: CampaignOptions, load: CrashLoad): Promise<CampaignReport> {
  const finalRuns = await load.finish(QUIESCENCE_PATIENCE_MS);
  const entries = load.recorder.entries;
  const count = (type: string): number => entries.filter((entry) => entry.type === type).length;
  return {
    campaign,
    seed: options.seed,
    rounds: options.rounds,
    workflows: new Set(finalRuns.map(({ workflowId }) => workflowId)).size,
    runs: finalRuns.length,
    resets: finalRuns.filter(({ resetRunId }) => resetRunId !== undefined).length,
    updates: updatesOf(entries),
    calls: { ok: count('ok'), fail: count('fail'), unknown: count('info') },
    violations: check({ entries, finalRuns }),
  };
}

function updatesOf(entries: readonly Entry[]): CampaignReport['updates'] {
  const ends = new Map<string, keyof CampaignReport['updates']>();
  for (const { type, operation } of entries) {
    if (operation.f !== 'update') continue;
    const isCompleted = type === 'ok' && operation.answer?.value !== undefined;
    const isRefused = type === 'ok' && operation.answer?.failure === refusedByWorker;
    ends.set(operation.updateId, isCompleted ? 'completed' : isRefused ? 'refused' : (ends.get(operation.updateId) ?? 'tooLate'));
  }
  const count = (end: keyof CampaignReport['updates']): number => [...ends.values()].filter((each) => each === end).length;
  return { completed: count('completed'), refused: count('refused'), tooLate: count('tooLate') };
}

/** Small seeded generator: the same seed makes the same moments. */
function mulberry32(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
