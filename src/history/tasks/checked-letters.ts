/** Names the queues that a letter check asks: for letters that need a closed run (its archive task, its callbacks), or for starts of a schedule. */
import { isSchedules } from '../../schedules/schedule-id.ts';
import type { TaskCategory } from '../run/task-types.ts';

const ofClosedRuns = ['outbound', 'archival', 'timer'] as const satisfies readonly TaskCategory[];
const ofSchedules = ['transfer'] as const satisfies readonly TaskCategory[];

export type CheckedCategory = (typeof ofClosedRuns | typeof ofSchedules)[number];

export function checkedCategories(key: { readonly workflowId: string }): readonly CheckedCategory[] {
  return isSchedules(key) ? ofSchedules : ofClosedRuns;
}
