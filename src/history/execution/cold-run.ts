/**
 * A run that is not in memory: plain data without any class of ours, to be stored somewhere and brought back before the next command for
 * its workflow id is decided. Its tasks and timers stay with the shard, so nothing that is due is missed meanwhile.
 */
import { Pending } from '../pending.ts';
import type { PendingSetName, Run, RunView } from '../state.ts';

type Entries<Set> = Set extends Pending<infer Key, infer Value> ? readonly (readonly [Key, Value])[] : never;

export type ColdRun = Readonly<Omit<RunView, PendingSetName>> & {
  readonly sets: { readonly [Name in PendingSetName]: Entries<Run[Name]> };
  /** It is the newest run of its workflow id. */
  readonly isCurrent: boolean;
};

export function freezeRun(run: RunView, isCurrent: boolean): ColdRun {
  const { signalRequestIds, activities, activityIds, timers, children, externalSignals, externalCancels, ...rest } = run;
  const sets = {
    signalRequestIds: [...signalRequestIds.entries()],
    activities: [...activities.entries()],
    activityIds: [...activityIds.entries()],
    timers: [...timers.entries()],
    children: [...children.entries()],
    externalSignals: [...externalSignals.entries()],
    externalCancels: [...externalCancels.entries()],
  };
  return { ...rest, sets, isCurrent };
}

export function thawRun(cold: ColdRun): Run {
  const { sets, isCurrent: _, ...rest } = cold;
  return {
    ...rest,
    buffered: [...rest.buffered],
    signalRequestIds: thawSet(sets.signalRequestIds),
    activities: thawSet(sets.activities),
    activityIds: thawSet(sets.activityIds),
    timers: thawSet(sets.timers),
    children: thawSet(sets.children),
    externalSignals: thawSet(sets.externalSignals),
    externalCancels: thawSet(sets.externalCancels),
  };
}

function thawSet<Key, Value extends object>(entries: readonly (readonly [Key, Value])[]): Pending<Key, Value> {
  const set = new Pending<Key, Value>();
  for (const [key, value] of entries) set.set(key, value);
  return set;
}
