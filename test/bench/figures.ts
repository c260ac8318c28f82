/** One measured number, with the unit that it is printed in. */
export type Figure = { readonly name: string; readonly unit: string; readonly value: number; readonly lowerIsBetter: boolean };

export function figure(name: string, unit: string, value: number): Figure {
  return { name, unit, value, lowerIsBetter: unit !== '/s' };
}

/** `share` between 0 and 1; not interpolated. */
export function percentile(samples: readonly number[], share: number): number {
  const sorted = [...samples].sort((a, b) => a - b);
  const index = Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1);
  return sorted[Math.max(0, index)] ?? Number.NaN;
}

/** The median of each figure over several rounds. */
export function medians(rounds: readonly (readonly Figure[])[]): readonly Figure[] {
  const [first = []] = rounds;
  return first.map((figure, i) => ({
    ...figure,
    value: percentile(
      rounds.map((round) => round[i]?.value ?? Number.NaN),
      0.5,
    ),
  }));
}
