/**
 * What a database costs: `node test/projections/sqlite/measure.ts [memory | file] [workflows]`. Checkpoints of 1,000 workflows with one activity, each of
 * four rows and 2.7 KB, then loads of 50 keys and pages of visibility among all that was written. One line for each figure.
 */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '../../../src/projections/sqlite/open-sqlite.ts';
import { positionAt, emptyDelta } from '../../contract/database/samples.ts';
import type { RunKey } from '../../../src/kernel/run-key.ts';
import type { HistoryDelta, LoadKey } from '../../../src/projections/database-port.ts';
import type { Condition } from '../../../src/filter/condition.ts';

const kind = process.argv[2] ?? 'memory';
const workflows = Number(process.argv[3] ?? 100_000);
const perCheckpoint = 1_000;
const folder = mkdtempSync(join(tmpdir(), 'perdure-measure-'));
const filename = kind === 'file' ? join(folder, 'x.db-state') : undefined;
const database = openSqlite({ filename });
const journal = { kind: 'history', partition: 0 } as const;
const namespaceId = '33333333-0000-4000-8000-000000000000';
const state = new Uint8Array(1_300).map((_, i) => (i * 31) % 251);
const events = new Uint8Array(1_100).map((_, i) => (i * 17) % 253);

const runIdAt = (serial: number): RunKey => {
  // As UUIDv7: neighbours in time are neighbours in the index.
  const hex = serial.toString(16).padStart(12, '0');
  return {
    namespaceId,
    workflowId: `order-${(serial * 7919) % 1_000_003}`,
    runId: `${hex.slice(0, 8)}-${hex.slice(8)}-7abc-8def-0123456789ab`,
  };
};

function checkpointDelta(from: number): HistoryDelta {
  const runs = Array.from({ length: perCheckpoint }, (_, i) => runIdAt(from + i));
  return {
    ...emptyDelta,
    runs: runs.map((run) => ({ ...run, status: 2, state, forgetMs: 1_770_000_000_000 + from })),
    currentRuns: runs,
    history: runs.map(({ runId }) => ({ runId, branch: 0, firstEventId: 1, lastEventId: 11, events })),
    visibility: runs.map((run, i) => ({
      ...run,
      shard: 1,
      workflowType: `Type${i % 10}`,
      taskQueue: 'orders',
      status: i % 50 === 0 ? 3 : 2,
      startTimeMs: 1_770_000_000_000 + from + i,
      executionTimeMs: 1_770_000_000_000 + from + i,
      closeTimeMs: 1_770_000_000_100 + from + i,
      executionDurationMs: 100,
      historyLength: 11,
      historySizeBytes: 1100,
      stateTransitionCount: 7,
      parentWorkflowId: '',
      parentRunId: '',
      rootWorkflowId: run.workflowId,
      rootRunId: run.runId,
      memo: undefined,
      searchAttributes: events.subarray(0, 100),
      slots: new Map<string, string | number>([
        ['Keyword01', `customer-${(from + i) % 5000}`],
        ['Int01', from + i],
      ]),
      version: 7,
    })),
  };
}

const say = (what: string, value: number, unit: string): void => console.log(`${kind}\t${what}\t${value.toPrecision(3)}\t${unit}`);
const now = (): number => performance.now();
const cpu = ({ user, system }: NodeJS.CpuUsage): number => (user + system) / 1000;

const { fence } = await database.restore(journal);
let posting = 0;
let waiting = 0;
let threads = 0;
for (let from = 0; from < workflows; from += perCheckpoint) {
  const checkpoint = { kind: 'history', position: positionAt(from + perCheckpoint), delta: checkpointDelta(from) } as const;
  const before = now();
  const [ofProcess, ofLoop] = [cpu(process.cpuUsage()), cpu(process.threadCpuUsage())];
  const write = database.write(journal, fence, checkpoint);
  const outcome = await write;
  const loop = cpu(process.threadCpuUsage()) - ofLoop;
  posting += loop;
  threads += cpu(process.cpuUsage()) - ofProcess - loop;
  waiting += now() - before;
  if (outcome.kind !== 'written') throw new Error(outcome.kind);
}
say('CPU of the event loop', (posting / workflows) * 1000, 'us/workflow');
say('CPU of other threads', (threads / workflows) * 1000, 'us/workflow');
say('written', (waiting / workflows) * 1000, 'us/workflow');
say('written', (workflows * 4) / (waiting / 1000), 'rows/s');
if (filename !== undefined) say('size', (statSync(filename).size + statSync(`${filename}-wal`).size) / workflows, 'bytes/workflow');

await sample('load of 50 keys', 400, (round) =>
  database.load(
    journal,
    Array.from({ length: 50 }, (_, i): LoadKey => ({ kind: 'current', ...runIdAt((round * 50 * 104_729 + i * 15_485_863) % workflows) })),
  ),
);
const keyword = { name: 'Keyword01', kind: 'keyword' } as const;
const conditions: readonly (readonly [string, Condition | undefined])[] = [
  ['all', undefined],
  ['selective', { kind: 'compare', column: keyword, operator: '=', operand: 'customer-42' }],
  ['dense', { kind: 'compare', column: { name: 'ExecutionStatus', kind: 'int' }, operator: '=', operand: 2 }],
  ['selective range', { kind: 'between', column: { name: 'Int01', kind: 'int' }, not: false, low: 500, high: 600 }],
];
for (const [name, condition] of conditions) {
  await sample(`page of 1,000, ${name}`, 5, () => database.list({ namespaceId, condition, after: undefined, max: 1_000 }));
  await sample(`count, ${name}`, 5, () => database.count({ namespaceId, condition, byStatus: false }));
}
await database.close();
rmSync(folder, { recursive: true });

async function sample(what: string, rounds: number, call: (round: number) => Promise<unknown>): Promise<void> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const before = now();
    await call(round);
    times.push(now() - before);
  }
  times.sort((a, b) => a - b);
  say(`${what}, median`, times[Math.floor(rounds / 2)] ?? 0, 'ms');
  say(`${what}, longest`, times.at(-1) ?? 0, 'ms');
}
