/**
 * Run by sqlite-file.test.ts with a limit on the size of files: a commit fails, and somebody who reads keeps the file from being synced. Each
 * outcome is told in a line.
 */
import { DatabaseSync } from 'node:sqlite';
import { openSqlite } from '../../../src/projections/sqlite/open-sqlite.ts';
import { bytesOf, emptyDelta, historyRow, positionAt, runRow, uuid } from '../../contract/database/samples.ts';
import { journalUnderTest } from './generations.ts';
import type { HistoryDelta } from '../../../src/projections/database-port.ts';

const [, , filename = ''] = process.argv;
const database = openSqlite({ filename });
const { fence } = await database.restore(journalUnderTest);
const namespaceId = '22222222-0000-4000-8000-000000000000';
const cold = runRow({ namespaceId, workflowId: 'cold' });
const small = { history: [{ ...historyRow(cold.runId, 1, 1), events: bytesOf('small') }] };
const large = { history: Array.from({ length: 8 }, () => ({ ...historyRow(uuid(), 1, 1), events: new Uint8Array(1024 * 1024) })) };

await write(1, { ...small, runs: [cold], currentRuns: [cold] });
const reader = new DatabaseSync(filename);
reader.exec('BEGIN; SELECT count(*) FROM runs');
await write(2, large);
await loads();
await position();
await loads();
reader.close();
await position();
await write(3, small);
await loads();
await database.close();

async function write(offset: number, delta: Partial<HistoryDelta>): Promise<void> {
  const checkpoint = { kind: 'history', position: positionAt(offset), delta: { ...emptyDelta, ...delta } } as const;
  await tell('write', async () => (await database.write(journalUnderTest, fence, checkpoint)).kind);
}

async function loads(): Promise<void> {
  await tell('load', async () => {
    const { rows } = await database.load(journalUnderTest, [{ kind: 'current', namespaceId, workflowId: 'cold' }]);
    const range = { runId: cold.runId, branch: 0, firstEventId: 1, lastEventId: 1, bytesMax: 1_000 };
    const history = await database.history(journalUnderTest, range);
    return rows[0]?.run?.runId === cold.runId && history.length === 1 ? 'found' : 'lost';
  });
}

async function position(): Promise<void> {
  await tell('position', async () => (await database.position(journalUnderTest)).position?.nextOffset);
}

async function tell(what: string, ask: () => Promise<string | number | undefined>): Promise<void> {
  const answer = await ask().catch(({ code }: { readonly code: string }) => code);
  console.log(`${what} ${answer}`);
}
