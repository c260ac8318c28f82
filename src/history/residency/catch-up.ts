/** A run whose row could not be read, and can be now: with the records that have waited for it. */
import { evolve } from '../evolve.ts';
import type { HistoryRecord } from '../record.ts';
import type { HistoryWire } from '../replies.ts';
import { Shard } from '../shard.ts';
import type { AsideRun, Run } from '../state.ts';
import type { PendingTask } from '../tasks.ts';

export type CaughtUp = {
  readonly aside: AsideRun | undefined;
  /** The end of its retention, if one of the records has closed it. */
  readonly retention: PendingTask | undefined;
};

/**
 * The run is changed. In a shard of its own: where the row is not the one from which the records go on (an older backup) evolving throws, and the
 * real one must not notice.
 */
export function catchUp(run: Run, aside: AsideRun | undefined, records: Iterable<HistoryRecord>, wire: HistoryWire): CaughtUp {
  const { runId } = run.key;
  const alone = new Shard();
  alone.installRun(run);
  if (aside !== undefined) alone.installAside(runId, aside);
  for (const record of records) evolve(alone, partOf(record, runId), wire);
  return { aside: alone.aside.get(runId), retention: alone.timers.get(run.retentionTaskId) ?? alone.tasksAside.get(run.retentionTaskId) };
}

function partOf(record: HistoryRecord, runId: string): HistoryRecord {
  const runs = record.runs.filter((change) => change.runId === runId);
  const tasks = record.tasks.filter(({ key }) => key.runId === runId);
  const lettersBegun = record.lettersBegun?.filter(({ task }) => task.key.runId === runId) ?? [];
  return { ...record, runs, tasks, lettersBegun, retiredRuns: [] };
}
