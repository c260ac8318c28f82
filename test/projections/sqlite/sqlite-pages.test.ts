/** What a checkpoint writes of a file in which there is much already. */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Fence, JournalId } from '../../../src/projections/database-port.ts';
import { sqliteDatabase } from '../../../src/projections/sqlite/sqlite-database.ts';
import { uuidAt } from '../../../src/kernel/uuid.ts';
import { emptyDelta, historyRow, positionAt, runRow, visibilityRow } from '../../contract/database/samples.ts';

const journal: JournalId = { kind: 'history', partition: 0 };
const namespaceId = '00000000-0000-4000-8000-0000000000aa';
const pageBytes = 8_192;

/** From the nth millisecond on, one in each. */
function checkpointOf(count: number, fromMs: number) {
  const runs = Array.from({ length: count }, (_, n) => {
    const workflowId = `order-${String(fromMs + n).padStart(6, '0')}`;
    return runRow({ namespaceId, workflowId, runId: uuidAt(fromMs + n, crypto.randomUUID()), state: new Uint8Array(200) });
  });
  const delta = {
    ...emptyDelta,
    runs,
    currentRuns: runs,
    history: runs.map(({ runId }) => historyRow(runId, 1, 5)),
    visibility: runs.map(({ workflowId, runId }, n) =>
      visibilityRow({ namespaceId, workflowId, runId, startTimeMs: fromMs + n, executionTimeMs: fromMs + n }),
    ),
  };
  return { position: positionAt(fromMs + count), kind: 'history', delta } as const;
}

test('runs that begin write few pages beside many that are there: theirs stand at the end of each table', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'perdure-pages-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const filename = join(folder, 'x.db-state');
  const written = async (fence: Fence | undefined, count: number, fromMs: number): Promise<Fence> => {
    const database = sqliteDatabase({ filename });
    onTestFinished(() => database.close());
    const mine = fence ?? (await database.restore(journal)).fence;
    expect(await database.write(journal, mine, checkpointOf(count, fromMs))).toEqual({ kind: 'written' });
    if (fence === undefined) await database.close();
    return mine;
  };
  const fence = await written(undefined, 4_000, 1);
  // Opened anew, its write-ahead log is empty.
  await written(fence, 20, 5_000);
  const pages = (await stat(`${filename}-wal`)).size / pageBytes;
  // With ids that lie anywhere it is twice as many.
  expect(pages).toBeLessThan(45);
});
