import type { HistoryRecord } from '../../../src/history/run/record.ts';

/** A record of a shard, of which only `parts` matter. */
export function historyRecord(parts: Partial<HistoryRecord>): HistoryRecord {
  const names = { type: 'test', namespaceId: 'ns', namespace: 'ns', workflowId: 'wf', runId: 'run' };
  return { timeMs: 0, ...names, runs: [], tasks: [], finishedTaskIds: [], ...parts };
}
