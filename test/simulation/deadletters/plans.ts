/** Plans of runs in which tasks become dead letters. */
import type { HistoryPlan } from '../history/run-seed.ts';
import { historyPlanOf } from '../history/run-seed.ts';
import { Prng } from '../prng.ts';

/** As for history shards; one or two processes, each of which may own a queue whose shard is the other's. */
export function letterPlan(seed: number): HistoryPlan {
  const random = new Prng(seed * 2 ** 20 + 9);
  const { listSetBackMs: _never, ...base } = historyPlanOf(seed);
  return {
    ...base,
    servers: base.exclusive || seed % 3 === 0 ? 1 : 2,
    // Between an outcome and its tombstone there are some milliseconds.
    nodeFaults: [...base.nodeFaults, 'crash', 'crash'],
    nemesisMs: random.int(40, 150),
    delayMsMax: random.pick([5, 20]),
    retentionMs: 60_000,
    ...(base.database === undefined ? {} : { database: { ...base.database, backups: false, damagedShare: 0 } }),
    letters: {
      failShare: random.pick([0.05, 0.2, 0.5]),
      purgeShare: random.pick([0, 0, 0.3, 0.6]),
      jobEveryMs: random.pick([20, 50, 200]),
      undoWindowMs: random.pick([0, 0, 300, 3_000]),
    },
  };
}
