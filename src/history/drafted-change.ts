/** What a decision has written for one run: which schema its record needs for that. What no earlier version reads gets a higher number. */
import type { RecordedEvent } from './events.ts';
import { isLaterRun } from './later-runs.ts';
import type { PlacedFact } from './record.ts';
import { isLaterEvent, isLaterFact, isOperatorsFact } from './schemas.ts';
import type { RunView } from './state.ts';

type DraftedChange = {
  readonly changed: boolean;
  readonly run: RunView;
  readonly events: readonly RecordedEvent[];
  readonly facts: readonly PlacedFact[];
};

/** Of a run in preparation, or the end of one. */
export function isPreparationChange({ changed, run, facts }: DraftedChange): boolean {
  if (!changed) return false;
  if (run.preparation !== undefined) return true;
  for (const { fact } of facts) if (fact.kind === 'preparationEnded') return true;
  return false;
}

export function isInPreparation({ changed, run }: DraftedChange): boolean {
  return changed && run.preparation !== undefined;
}

export function isOperatorsChange({ changed, facts }: DraftedChange): boolean {
  return changed && facts.some(({ fact }) => isOperatorsFact(fact));
}

export function isLaterChange({ changed, run, events, facts }: DraftedChange): boolean {
  if (!changed) return false;
  if (isLaterRun(run)) return true;
  for (const { fact } of facts) if (isLaterFact(fact)) return true;
  for (const { event } of events) if (isLaterEvent(event)) return true;
  return false;
}
