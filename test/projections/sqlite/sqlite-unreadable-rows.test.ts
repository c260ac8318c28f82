/** A row whose ids have a wrong length is its own trouble: what is read beside it comes, and somebody hears of it once. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, expect, test } from 'vitest';
import { sqliteDatabase } from '../../../src/projections/sqlite/sqlite-database.ts';
import { allPages } from '../../contract/database/database-under-test.ts';
import { emptyDelta, positionAt, runRow, uuid } from '../../contract/database/samples.ts';
import { queuesWithDamagedNames } from './damaged-queue-names.ts';
import type { JournalId, MatchingQueue } from '../../../src/projections/database-port.ts';
import type { Said } from '../../../src/projections/thread/messages.ts';

const folder = mkdtempSync(join(tmpdir(), 'perdure-unreadable-'));
afterAll(() => rmSync(folder, { recursive: true }));

const journal: JournalId = { kind: 'history', partition: 0 };
const damage = `
  UPDATE runs SET run_id = x'0102' WHERE workflow_id = CAST('wf-1' AS BLOB);
  UPDATE runs SET namespace_id = x'01' WHERE workflow_id = CAST('wf-3' AS BLOB);
  UPDATE executions SET run_id = x'01' WHERE workflow_id = CAST('wf-4' AS BLOB);
  UPDATE child_starts SET run_id = x'01';`;

test('pages go past it and end where the table ends, and a load brings all other keys', async () => {
  const filename = join(folder, 'x.db-state');
  const said: Said[] = [];
  const database = sqliteDatabase({ filename }, (line) => said.push(line));
  const namespaceId = uuid();
  const runs = Array.from({ length: 7 }, (_, nth) => runRow({ namespaceId, workflowId: `wf-${nth}`, forgetMs: 1_000 + nth }));
  const parentRunId = uuid();
  const childStarts = [{ parentRunId, initiatedEventId: 5, runId: runs[0]!.runId }];
  const { fence } = await database.restore(journal);
  const delta = { ...emptyDelta, runs, currentRuns: runs, childStarts };
  expect(await database.write(journal, fence, { kind: 'history', position: positionAt(10), delta, base: 0 })).toEqual({ kind: 'written' });
  const other = new DatabaseSync(filename);
  other.exec(damage);
  other.close();

  const readable = runs.filter((_, nth) => nth !== 1 && nth !== 3).map(({ workflowId }) => workflowId);
  for (let time = 1; time <= 2; time++) {
    const seen: string[] = [];
    for (let after = ''; ;) {
      const { rows } = await database.runIds(journal, after, 2);
      seen.push(...rows.map(({ workflowId }) => workflowId));
      after = rows.at(-1)?.runId ?? '';
      if (rows.length < 2) break;
    }
    // What the filter of keys is made of: a workflow whose pointer can be read is among them.
    expect(seen).toEqual(runs.filter((_, nth) => nth !== 1).map(({ workflowId }) => workflowId));
    const due = await database.dueRuns(journal, 2_000, 5);
    expect(due.rows.map(({ workflowId }) => workflowId)).toEqual(readable);
    expect((await database.runs(journal, '', 5, Infinity)).rows.map(({ workflowId }) => workflowId)).toEqual(readable);
  }
  expect(said).toHaveLength(2);
  expect(new Set(said.map(({ fields }) => fields['runId']))).toEqual(new Set(['0102', runs[3]!.runId.replaceAll('-', '')]));

  const current = (nth: number) => ({ kind: 'current', namespaceId, workflowId: `wf-${nth}` }) as const;
  const childStart = { kind: 'childStart', parentRunId, initiatedEventId: 5 } as const;
  const { rows } = await database.load(journal, [current(0), current(3), current(4), childStart, current(5)]);
  expect(rows.map(({ run }) => run?.state.length)).toEqual([runs[0]!.state.length, 0, 0, 0, runs[5]!.state.length]);
  const [, ofRun, ofPointer, ofChild] = rows.map(({ currentRunId }) => currentRunId);
  expect([ofRun, ofPointer, ofChild]).toEqual([runs[3]!.runId, undefined, undefined]);
  await database.close();
});

test('queues whose names are damaged are pages of their own, and those between and behind them come', async () => {
  const matching: JournalId = { kind: 'matching', partition: 0 };
  const filename = join(folder, 'names.db-state');
  const database = sqliteDatabase({ filename }, () => {});
  const { fence } = await database.restore(matching);
  const delta = { tasks: queuesWithDamagedNames.rows, goneTasks: [] };
  expect(await database.write(matching, fence, { kind: 'matching', position: positionAt(10), delta, base: 0 })).toEqual({
    kind: 'written',
  });
  const other = new DatabaseSync(filename);
  for (const [taskId, name] of queuesWithDamagedNames.damaged)
    other.exec(`UPDATE matching_tasks SET queue = x'${name}' WHERE task_id = ${taskId}`);
  other.close();
  for (const tasksOfAllMax of [1, 2, 100]) {
    const pages = await allPages<MatchingQueue>(async (last) => {
      const page = { afterName: last?.storedName, tasksMax: 1, tasksOfAllMax };
      return (await database.matchingQueues(matching, page)).rows;
    });
    expect(pages.map(({ queue, tasks }) => [queue, tasks.map(({ taskId }) => taskId)])).toEqual(queuesWithDamagedNames.wanted);
  }
  await database.close();
});
