/** Clears the columns that removed search attributes have left, a stretch of rows after the other; whoever writes rows has turns between them. */
import type { Database, HeldJournal } from '../../database.ts';
import type { Clock } from '../../ports.ts';

export type SlotsLeft = {
  readonly namespaceIds: readonly string[];
  readonly slots: readonly string[];
  /** Behind the records that removed what was in them: rows that are made with less of the registry may still hold it. */
  readonly registryPosition: number;
};

/** Looked at in one transaction, which keeps flushes and checkpoints waiting. */
const STRETCH_ROWS = 1_000;
const PAUSE_MS = 10;

/** False: one of the fences is raised. */
export async function clearSlots(
  database: Pick<Database, 'clearSlots'>,
  clock: Pick<Clock, 'after'>,
  held: readonly HeldJournal[],
  { namespaceIds, slots }: SlotsLeft,
): Promise<boolean> {
  for (const namespaceId of namespaceIds) {
    let afterRunId: string | undefined = '';
    while (afterRunId !== undefined) {
      const cleared = await database.clearSlots(held, { namespaceId, slots, afterRunId, max: STRETCH_ROWS });
      if (cleared.kind === 'fenced') return false;
      afterRunId = cleared.lastRunId;
      if (afterRunId !== undefined) await new Promise<void>((resolve) => void clock.after(PAUSE_MS, resolve));
    }
  }
  return true;
}
