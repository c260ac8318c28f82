/**
 * Two servers beside each other, measured in turns, window by window. A machine that does other work changes its speed within minutes, so rounds of servers
 * that are started one after the other say little; two neighbouring windows are of the same machine.
 *
 *     A ▂▂    ▂▂▂▂    ▂▂   …        pair = a window of A and the one of B next to it; who is first changes
 *     B   ▂▂▂▂    ▂▂▂▂     …        result = median of A / B over all pairs, and where 90 % of resampled medians are
 */
import { percentile, type Figure } from './figures.ts';

const resamples = 2_000;

export type PairedFigure = Figure & {
  /** Of the second server. */
  readonly other: number;
  /** First by second: the median of the pairs, and the bounds of 90 % of a bootstrap. */
  readonly ratio: number;
  readonly from: number;
  readonly to: number;
};

type Measure = (which: 0 | 1) => Promise<readonly Figure[]>;

export async function inPairs(pairs: number, measure: Measure, done: (pair: number) => void): Promise<readonly PairedFigure[]> {
  const measured: (readonly [readonly Figure[], readonly Figure[]])[] = [];
  for (let pair = 1; pair <= pairs; pair++) {
    if (pair % 2 === 1) measured.push([await measure(0), await measure(1)]);
    else {
      const second = await measure(1);
      measured.push([await measure(0), second]);
    }
    done(pair);
  }
  const [[first] = [[]]] = measured;
  return first.map((figure, at) => {
    const values = measured.map(([a, b]) => [a[at]?.value ?? Number.NaN, b[at]?.value ?? Number.NaN] as const);
    const ratios = values.map(([a, b]) => a / b);
    const median = (samples: readonly number[]): number => percentile(samples, 0.5);
    const medians = Array.from({ length: resamples }, () =>
      median(ratios.map(() => ratios[Math.floor(Math.random() * ratios.length)] ?? 1)),
    );
    return {
      ...figure,
      value: median(values.map(([a]) => a)),
      other: median(values.map(([, b]) => b)),
      ...{ ratio: median(ratios), from: percentile(medians, 0.05), to: percentile(medians, 0.95) },
    };
  });
}

export function pairedRow({ name, unit, value, other, ratio, from, to }: PairedFigure): string {
  const digits = (number: number): string => number.toFixed(number >= 100 ? 0 : 2);
  const bounds = `${ratio.toFixed(3)} [${from.toFixed(3)}, ${to.toFixed(3)}]`;
  return `${name.padEnd(60)}${digits(value).padStart(9)}${digits(other).padStart(9)} ${unit.padEnd(6)} ${bounds}`;
}
