/** How far a schedule is. */
import { mergeFields } from '../fields.ts';
import type { Fact } from '../record.ts';
import type { HistoryWire } from '../replies.ts';
import type { Run } from '../state.ts';
import { changedProgress } from './progress-change.ts';
import type { Schedule } from './schedule-state.ts';

type ScheduleChanged = Extract<Fact, { readonly kind: 'scheduleChanged' }>;

const nothingYet: Pick<Schedule, 'definition' | 'lastCompletionResult' | 'continuedFailure' | 'wakeTaskId' | 'letterCheckTaskId'> = {
  definition: new Uint8Array(0),
  lastCompletionResult: undefined,
  continuedFailure: undefined,
  wakeTaskId: 0,
  letterCheckTaskId: 0,
};

/** The first makes the run a schedule's. */
export function evolveSchedule(run: Run, fact: ScheduleChanged, wire: HistoryWire): void {
  const { definition, last, memo, searchAttributes, wakeTimeMs } = fact;
  if (run.schedule === undefined) run.start = { ...run.start, archetype: 'schedule' };
  const before = run.schedule ?? nothingYet;
  const progress = changedProgress(run.schedule?.progress, fact);
  run.schedule = { ...before, ...last, definition: definition ?? before.definition, progress, wakeTimeMs };
  run.memo = mergeFields(run.memo, memo, wire);
  run.searchAttributes = mergeFields(run.searchAttributes, searchAttributes, wire);
}
