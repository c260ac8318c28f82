/** Words of the checkers of crash runs. */
import type { FinalRun, Operation } from './recorded-history.ts';

export type Violation = { readonly invariant: string; readonly message: string };

export type Call = { readonly operation: Operation; readonly outcome: 'ok' | 'fail' | 'info' };

export function violation(invariant: string, message: string): Violation {
  return { invariant, message };
}

/** Of a request that was made again and again the strongest outcome counts. */
export function rank(outcome: Call['outcome'] | undefined): number {
  return outcome === undefined ? -1 : ['fail', 'info', 'ok'].indexOf(outcome);
}

/** That run, those that continued it, and no other: whatever they were told is told to a run that a reset makes of the first. */
export function chainFrom(runId: string, byRunId: ReadonlyMap<string, FinalRun>): readonly FinalRun[] {
  const chain: FinalRun[] = [];
  for (let run = byRunId.get(runId); run !== undefined && !chain.includes(run); run = byRunId.get(nextOf(run))) chain.push(run);
  return chain;
}

/** The run that goes on in its place; '' = none. */
export function nextOf(run: FinalRun | undefined): string {
  return run?.events.at(-1)?.nextRunId ?? '';
}

/** The run that it was made of by a reset; '' = none. What its base was made of stands in its history too. */
export function baseOf({ runId, events }: FinalRun): string {
  return events.find(({ reset }) => reset?.newRunId === runId)?.reset?.baseRunId ?? '';
}

/** What a run has become of by resets. */
export function lastReset(run: FinalRun, byRunId: ReadonlyMap<string, FinalRun>): FinalRun {
  const seen = new Set([run.runId]);
  let last = run;
  for (
    let next = byRunId.get(last.resetRunId ?? '');
    next !== undefined && !seen.has(next.runId);
    next = byRunId.get(last.resetRunId ?? '')
  ) {
    seen.add(next.runId);
    last = next;
  }
  return last;
}
