/** What the pause of a workflow does to its run, and the search attribute that tells of pauses. */
import { mergeFields } from '../fields.ts';
import type { EventOf } from '../events.ts';
import type { HistoryWire } from '../replies.ts';
import type { Run } from '../state.ts';

export function evolvePause(run: Run, event: EventOf<'workflowExecutionPaused' | 'workflowExecutionUnpaused'>): void {
  // The next task is no repetition: these events came in between.
  if (run.workflowTask === undefined) run.workflowTaskAttempt = 1;
  run.pause = event.type === 'workflowExecutionPaused' ? { timeMs: event.eventTimeMs, ...event.attributes } : undefined;
}

/** The search attribute of workflows that are paused, or have activities that are. */
export const pauseInfo = 'TemporalPauseInfo';

/** Without entries it is gone. */
export function evolvePauseInfo(run: Run, entries: readonly string[], wire: HistoryWire): void {
  const fields = wire.encodeFields(new Map([[pauseInfo, wire.encodeKeywords(entries)]]));
  run.searchAttributes = mergeFields(run.searchAttributes, fields, wire);
}
