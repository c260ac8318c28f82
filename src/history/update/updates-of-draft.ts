/** Updates of a run, and who waits for them, as a decision leaves them so far. */
import type { Draft } from '../draft.ts';
import type { PendingUpdate, UpdateWait } from './pending-update.ts';

/** In the order of their admission. */
export function pendingUpdates(draft: Draft, runId: string): ReadonlyMap<string, PendingUpdate> {
  const before = draft.volatile.updates.get(runId) ?? noUpdates;
  let changed: Map<string, PendingUpdate> | undefined;
  for (const change of draft.changes) {
    if (change.kind === 'updatePending' && change.runId === runId) (changed ??= new Map(before)).set(change.update.updateId, change.update);
    else if (change.kind === 'updateEnded' && change.runId === runId) (changed ??= new Map(before)).delete(change.updateId);
  }
  return changed ?? before;
}

const noUpdates: ReadonlyMap<string, PendingUpdate> = new Map();

/** Those who wait for an update of the run, less those whom this decision has answered. */
export function waitingForUpdates(draft: Draft, runId: string): readonly UpdateWait[] {
  const before = draft.volatile.updateWaits.get(runId);
  const waits = before === undefined ? new Map<number, UpdateWait>() : new Map(before);
  for (const change of draft.changes) {
    if (change.kind === 'updateAwaited' && change.runId === runId) waits.set(change.wait.askId, change.wait);
    else if (change.kind === 'waitEnded') waits.delete(change.askId);
  }
  return [...waits.values()];
}
