/**
 * Two servers beside each other, measured in turns, window by window. A machine that does other work changes its speed within minutes, so rounds of servers
 * that are started one after the other say little; two neighbouring windows are of the same machine. Two processes of one program differ by some per cent
 * as well (what was compiled when, where it lies in memory), so both servers are started anew several times.
 *
 *     round   A ▂▂    ▂▂▂▂    ▂▂   …        pair = a window of A and the one of B next to it; who is first changes
 *             B   ▂▂▂▂    ▂▂▂▂     …        result = median of A / B over all pairs of all rounds, and where 90 % of the medians of resampled rounds are
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

type Pair = readonly [readonly Figure[], readonly Figure[]];

/** One round. */
export async function pairsOf(count: number, measure: (which: 0 | 1) => Promise<readonly Figure[]>): Promise<readonly Pair[]> {
  const pairs: Pair[] = [];
  for (let nth = 0; nth < count; nth++) {
    if (nth % 2 === 0) pairs.push([await measure(0), await measure(1)]);
    else {
      const second = await measure(1);
      pairs.push([await measure(0), second]);
    }
  }
  return pairs;
}

export function concluded(rounds: readonly (readonly Pair[])[]): readonly PairedFigure[] {
  const first = rounds[0]?.[0]?.[0] ?? [];
  return first.map((figure, at) => {
    const valueOf = (figures: readonly Figure[]): number => figures[at]?.value ?? Number.NaN;
    const ratios = rounds.map((pairs) => pairs.map(([a, b]) => valueOf(a) / valueOf(b)));
    const medians = Array.from({ length: resamples }, () => median(drawn(ratios).flatMap(drawn)));
    return {
      ...figure,
      value: median(rounds.flat().map(([a]) => valueOf(a))),
      other: median(rounds.flat().map(([, b]) => valueOf(b))),
      ...{ ratio: median(ratios.flat()), from: percentile(medians, 0.05), to: percentile(medians, 0.95) },
    };
  });
}

export function pairedRow({ name, unit, value, other, ratio, from, to }: PairedFigure): string {
  const digits = (number: number): string => number.toFixed(number >= 100 ? 0 : 2);
  const bounds = `${ratio.toFixed(3)} [${from.toFixed(3)}, ${to.toFixed(3)}]`;
  return `${name.padEnd(60)}${digits(value).padStart(9)}${digits(other).padStart(9)} ${unit.padEnd(6)} ${bounds}`;
}

function median(samples: readonly number[]): number {
  return percentile(samples, 0.5);
}

/** As many, with replacement. */
function drawn<Item>(items: readonly Item[]): readonly Item[] {
  return items.flatMap(() => items.slice(Math.floor(Math.random() * items.length)).slice(0, 1));
}
