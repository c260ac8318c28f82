/**
 * What checkpoints and loads cost on PostgreSQL: `node test/projections/postgres/figures.ts`.
 *
 * A workflow of one activity leaves four rows of 2.7 KB together: its pointer, its run, its history, its visibility.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { postgresOptions, startPostgres } from '../../postgres/postgres.ts';
import { historyCheckpoint, namespaceId, openedPostgres, visibilityRow } from './support.ts';
import type { HistoryDelta, RunRow } from '../../../src/projections/database-port.ts';

const workflowsPerCheckpoint = 1_000;
const checkpoints = 100;
const journal = { kind: 'history', partition: 0 } as const;

let workflows = 0;

/** As run ids are made: neighbours in time are neighbours in the index. */
function orderedUuid(): string {
  const time = (Date.now() * 4096 + (workflows++ % 4096)).toString(16).padStart(15, '0');
  return `${time.slice(0, 8)}-${time.slice(8, 12)}-7${time.slice(12)}-${randomUUID().slice(19)}`;
}

function delta(): Partial<HistoryDelta> & { readonly runs: readonly RunRow[] } {
  const runs = Array.from({ length: workflowsPerCheckpoint }, (): RunRow => {
    const runId = orderedUuid();
    return { namespaceId, workflowId: `order-${runId}`, runId, status: 2, state: randomBytes(700), forgetMs: Date.now() + 86_400_000 };
  });
  const history = runs.map(({ runId }) => ({ runId, branch: 0, firstEventId: 1, lastEventId: 11, events: randomBytes(1_500) }));
  const times = {
    status: 2,
    closeTimeMs: Date.now(),
    executionDurationMs: 200,
    historyLength: 11,
    historySizeBytes: 1_500,
    stateTransitionCount: 7,
  };
  const visibility = runs.map(({ runId, workflowId }) =>
    visibilityRow({ runId, workflowId, ...times, rootRunId: runId, rootWorkflowId: workflowId, memo: randomBytes(100) }),
  );
  return { runs, currentRuns: runs, history, visibility };
}

const server = await startPostgres({ shared_buffers: '256MB', max_wal_size: '4GB' });
const database = await openedPostgres(postgresOptions(server));
const { fence } = await database.restore(journal);
const runs: RunRow[] = [];
let wallMs = 0;
let cpuUs = 0;
const serverBeganMs = server.cpuMs();
for (let n = 1; n <= checkpoints; n++) {
  const rows = delta();
  runs.push(...rows.runs);
  const [startedMs, cpu] = [performance.now(), process.cpuUsage()];
  const outcome = await database.write(journal, fence, historyCheckpoint(n, rows));
  wallMs += performance.now() - startedMs;
  const used = process.cpuUsage(cpu);
  cpuUs += used.user + used.system;
  if (outcome.kind !== 'written') throw new Error(outcome.kind);
}
const written = workflowsPerCheckpoint * checkpoints;
const perWorkflow = (us: number): string => (us / written).toFixed(1);
console.log(
  `${written} workflows in ${checkpoints} checkpoints, µs each: ${perWorkflow(wallMs * 1000)} of the clock; CPU ${perWorkflow(cpuUs)} here,`,
  `${perWorkflow((server.cpuMs() - serverBeganMs) * 1000)} in PostgreSQL`,
);

const times: number[] = [];
for (let n = 0; n < 200; n++) {
  const keys = Array.from({ length: 50 }, () => {
    const { workflowId } = runs[Math.floor(Math.random() * runs.length)] ?? { workflowId: '' };
    return { kind: 'current', namespaceId, workflowId } as const;
  });
  const startedMs = performance.now();
  const loaded = await database.load(journal, keys);
  times.push(performance.now() - startedMs);
  if (loaded.rows.some(({ run }) => run === undefined)) throw new Error('a run is missing');
}
times.sort((a, b) => a - b);
console.log(`a load of 50 keys among ${runs.length} runs: p50 ${times[100]?.toFixed(2)} ms, p99 ${times[198]?.toFixed(2)} ms`);
await database.close();
await server.stop();
