/** The fewest items with which `still` holds: each is left out in turn, the last first. */
export async function shrunk<T>(items: readonly T[], still: (fewer: readonly T[]) => Promise<boolean>): Promise<readonly T[]> {
  let kept = items;
  for (let index = items.length - 1; index >= 0; index--) {
    const fewer = kept.toSpliced(index, 1);
    if (await still(fewer)) kept = fewer;
  }
  return kept;
}
