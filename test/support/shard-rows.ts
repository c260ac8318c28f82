/** All rows that a database in memory holds of a history shard: as what it is made of again, and as answers to loads. */
import type { JournalId } from '../../src/projections/database-port.ts';
import { unpackRow } from '../../src/actors/history/events/history-rows.ts';
import type { RunRow, ShardRows, StoredRun } from '../../src/history/shard/rows.ts';
import type { HistoryCore } from '../../src/history/history-core.ts';
import type { Loaded } from '../../src/history/residency/install.ts';
import { stateCodec } from '../../src/codec/state-codec.ts';
import type { JournalTables, MemoryTables } from './memory-database.ts';

export function shardRows(tables: MemoryTables, journal: JournalId): ShardRows {
  const { runs, currentRuns, transferTasks, timers } = tables.journal(journal);
  return {
    runs: [...runs.values()].map((run) => withEvents(tables.journal(journal), run)),
    currentRuns: [...currentRuns].map(([execution, runId]) => {
      const [namespaceId = '', workflowId = ''] = execution.split('\0');
      return { namespaceId, workflowId, runId };
    }),
    transferTasks: [...transferTasks.values()].toSorted((one, other) => one.taskId - other.taskId),
    timers: timers.values(),
  };
}

/** Whatever is not in memory comes there. False: some of it cannot now, for runs were deleted meanwhile. */
export function loadAll(core: HistoryCore, tables: MemoryTables, journal: JournalId): boolean {
  const { runs, currentRuns, childStarts, timers, transferTasks } = tables.journal(journal);
  for (const row of timers.values()) if (!row.aside) core.timerWindow.install(row);
  for (const row of transferTasks.values()) if (!row.aside) core.transferWindow?.install(row);
  const loaded: Loaded[] = [];
  for (const row of runs.values()) {
    const run = withEvents(tables.journal(journal), row);
    const { namespaceId, workflowId, runId } = run;
    const currentRunId = currentRuns.get(`${namespaceId}\0${workflowId}`);
    const currentRow = currentRunId === undefined ? undefined : runs.get(currentRunId);
    const current = currentRow && withEvents(tables.journal(journal), currentRow);
    loaded.push({ key: { kind: 'run', namespaceId, workflowId, runId }, currentRunId, run });
    loaded.push({ key: { kind: 'current', namespaceId, workflowId }, currentRunId, run: current });
  }
  for (const { parentRunId, initiatedEventId, runId } of childStarts.values()) {
    loaded.push({ key: { kind: 'childStart', parentRunId, initiatedEventId }, currentRunId: runId, run: undefined });
  }
  return core.installLoaded(loaded, core.beginLoad());
}

/** What a row leaves to history, as `events-left-out.ts` reads it. */
function withEvents({ history }: JournalTables, run: RunRow): StoredRun {
  const wanted = stateCodec.eventsLeftOut(run.state);
  if (wanted.length === 0) return run;
  const events = new Map<number, Uint8Array>();
  for (const row of history.values()) {
    if (row.runId !== run.runId || row.branch !== 0) continue;
    for (const [index, event] of unpackRow(row).entries())
      if (wanted.includes(row.firstEventId + index)) events.set(row.firstEventId + index, event);
  }
  return { ...run, events };
}

/** Tasks leave memory that may. */
export function tasksLeave(core: HistoryCore, nowMs: number): void {
  for (const _look of core.timerWindow.leave(() => nowMs));
  for (const _look of core.transferWindow?.leave(() => nowMs) ?? []);
}
