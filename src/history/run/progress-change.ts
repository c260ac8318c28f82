/** How a record says how far a schedule is: of lists that may be a thousand long, and change with each answer, it has the change alone. */
import type { ScheduleProgress } from '../../schedules/schedule.ts';

/** From index `from` on so many go, and those that are added come in their place. */
export type ListChange<T> = { readonly from: number; readonly removed: number; readonly added: readonly T[] };

type ChangeOf<List extends readonly unknown[]> = ListChange<List[number]> | undefined;

export type ProgressChange = {
  /** The progress without its long lists. */
  readonly progress: ScheduleProgress;
  readonly buffered: ChangeOf<ScheduleProgress['buffered']>;
  readonly starting: ChangeOf<ScheduleProgress['starting']>;
  readonly backfills: ChangeOf<ScheduleProgress['backfills']>;
};

const noLists = { buffered: [], starting: [], backfills: [] } as const;

/** `before` undefined: it begins. */
export function progressChange(before: ScheduleProgress | undefined, progress: ScheduleProgress): ProgressChange {
  const known = before ?? noLists;
  return {
    progress: { ...progress, ...noLists },
    buffered: listChange(known.buffered, progress.buffered),
    starting: listChange(known.starting, progress.starting),
    backfills: listChange(known.backfills, progress.backfills),
  };
}

export function changedProgress(before: ScheduleProgress | undefined, change: ProgressChange): ScheduleProgress {
  const known = before ?? noLists;
  return {
    ...change.progress,
    buffered: changedList(known.buffered, change.buffered),
    starting: changedList(known.starting, change.starting),
    backfills: changedList(known.backfills, change.backfills),
  };
}

/** A step keeps what it does not change: the same values are the same objects. */
function listChange<T>(before: readonly T[], after: readonly T[]): ListChange<T> | undefined {
  const shorter = Math.min(before.length, after.length);
  let from = 0;
  while (from < shorter && before[from] === after[from]) from++;
  let kept = 0;
  while (kept < shorter - from && before[before.length - 1 - kept] === after[after.length - 1 - kept]) kept++;
  if (from + kept === before.length && before.length === after.length) return undefined;
  return { from, removed: before.length - kept - from, added: after.slice(from, after.length - kept) };
}

function changedList<T>(before: readonly T[], change: ListChange<T> | undefined): readonly T[] {
  return change === undefined ? before : before.toSpliced(change.from, change.removed, ...change.added);
}
