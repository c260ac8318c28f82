/**
 * Runs that earlier versions cannot read: they have, or had, what came after record schema 5 and state schema 4. Whatever writes a new kind of
 * event, fact or field leaves something in its run by which it is known here, so that its record, and every checkpoint from then on, say so.
 */
import type { RunView } from './state.ts';

export function isLaterRun({ updates, startedWith, reset, resetRunId, pause, schedule, scheduledBy, batch }: RunView): boolean {
  const isOfLaterArchetype = schedule !== undefined || scheduledBy !== undefined || batch !== undefined;
  const isOfReset = reset !== undefined || resetRunId !== '';
  return isOfLaterArchetype || isOfReset || updates.size > 0 || startedWith !== undefined || pause !== undefined;
}
