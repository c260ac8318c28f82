/** Clears the columns that removed search attributes have left, a stretch of rows after the other; whoever writes rows has turns between them. */
import type { Database, HeldJournal, SlotsLeft } from '../database-port.ts';
import type { Clock } from '../../ports/machine.ts';

/** Looked at in one transaction, which keeps flushes and checkpoints waiting. */
const STRETCH_ROWS = 1_000;
const PAUSE_MS = 10;

/** Clears the slots in all rows; false: one of the fences is raised. */
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
