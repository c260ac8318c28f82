/** What List and Count show of a run, and which changes of it they show. */
import { isListed } from './event-meanings.ts';
import type { Fact, RunChange } from './record.ts';
import { isRunning, type RunView, shownStatus } from './state.ts';

/** A run at one moment: references to what is never changed in place, so it costs next to nothing to keep. */
export type RunSummary = Pick<
  RunView,
  'key' | 'start' | 'status' | 'historySizeBytes' | 'stateTransitionCount' | 'memo' | 'searchAttributes'
> & {
  /** undefined: it is open. */
  readonly closeTimeMs: number | undefined;
  readonly historyLength: number;
};

export type ShownOfRun = Pick<RunView, Exclude<keyof RunSummary, 'historyLength'> | 'nextEventId' | 'pause' | 'preparation'>;

/** What lists show of a run. undefined: no list shows it, because it is being prepared. */
export function summaryOf(run: ShownOfRun): RunSummary | undefined {
  if (run.preparation !== undefined) return undefined;
  const { key, start, nextEventId, historySizeBytes, stateTransitionCount, memo, searchAttributes } = run;
  return {
    key,
    start,
    status: shownStatus(run),
    closeTimeMs: isRunning(run) ? undefined : run.closeTimeMs,
    historyLength: nextEventId - 1,
    historySizeBytes,
    stateTransitionCount,
    memo,
    searchAttributes,
  };
}

export function changesSummary({ events, facts }: RunChange): boolean {
  for (const { event } of events) if (isListed(event)) return true;
  return facts.some(({ fact }) => listedFacts.has(fact.kind));
}

const listedFacts: ReadonlySet<Fact['kind']> = new Set(['problemsReported', 'scheduleChanged', 'pauseInfoChanged', 'preparationEnded']);
