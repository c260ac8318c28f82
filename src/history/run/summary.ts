/** What List and Count show of a run, and which changes of it they show. */
import type { RunKey } from '../../kernel/run-key.ts';
import { isListed } from './event-meanings.ts';
import type { Fact, RunChange } from './record.ts';
import { isRunning, type RunStart, type RunView, shownStatus } from './state.ts';

/** A run at one moment: references to what is never changed in place, so it costs next to nothing to keep. */
export type RunSummary = {
  readonly key: RunKey;
  readonly start: RunStart;
  /** `temporal.api.enums.v1.WorkflowExecutionStatus` */
  readonly status: number;
  /** undefined: it is open. */
  readonly closeTimeMs: number | undefined;
  readonly historyLength: number;
  readonly historySizeBytes: number;
  /** Grows with every record about the run. */
  readonly stateTransitionCount: number;
  readonly memo: Uint8Array | undefined;
  readonly searchAttributes: Uint8Array | undefined;
};

export type ShownOfRun = Pick<
  RunView,
  | 'key'
  | 'start'
  | 'status'
  | 'pause'
  | 'preparation'
  | 'closeTimeMs'
  | 'nextEventId'
  | 'historySizeBytes'
  | 'stateTransitionCount'
  | 'memo'
  | 'searchAttributes'
>;

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
