/**
 * A process that dies between any two things that it does to a log or a database: before one arrives there (`asked`), and when it is done and
 * nobody has heard (`done`). Whatever else it does is in memory alone, so these are all the states that a death can leave behind: after the cut
 * of a checkpoint and in the middle of its capture is before `write`, COMMIT sent is `write asked`, committed and not answered `write done`, behind
 * the raised fence `restore done`, between load and install `load done`, in the middle of a window `timers`, between two pages of a rebuild of
 * List `runs asked`.
 *
 *     PERDURE_SIM_SEEDS=5000    a hundredth of them here: as many deaths of each kind of run
 *     PERDURE_SIM_FIRST=1       of which seed
 *
 * One server on a log and a database that do as they are told: what is met is the death alone, and sometimes another one while it comes back.
 */
import { describe, expect, test } from 'vitest';
import { letterPlan } from './deadletters/plans.ts';
import { type HistoryPlan, runHistorySeed } from './history/run-seed.ts';
import { type MatchingPlan, runMatchingSeed } from './matching/run-seed.ts';
import type { Death, SimOutcome } from './sim-run.ts';

const deathsMax = Math.ceil(Number(process.env['PERDURE_SIM_SEEDS'] ?? 5_000) / 100);
const seed = Number(process.env['PERDURE_SIM_FIRST'] ?? 1);

const steady = {
  servers: 1,
  // So small a world comes by all points, and a run of it takes half of the time that a larger one does.
  clients: 2,
  exclusive: false,
  faultMs: 300,
  nemesisMs: 1_000_000,
  rates: {},
  nodeFaults: [],
  timeoutMs: 60,
  delayMsMax: 3,
  recordsMax: 5,
  journalRetentionMs: 0,
  database: { rates: {}, writeMsMax: 10, trimShare: 1, delayMsMax: 3, lateMsMax: 50 },
};

const kinds: Readonly<
  Record<
    string,
    {
      readonly run: (deaths: readonly Death[]) => Promise<SimOutcome>;
      readonly points: readonly string[];
      readonly diesAtThemAlone?: boolean;
      /** Of the deaths of others: each run costs more than theirs, and one death is enough. */
      readonly share?: number;
    }
  >
> = {
  'a history shard': {
    run: (deaths) => runHistorySeed(seed, (): HistoryPlan => ({ ...steady, seed, shards: 1, cacheBytesMax: 0, retentionMs: 300, deaths })),
    points: [
      'append',
      'bounds',
      'flush',
      'history',
      'load',
      'read',
      'rebuildDue',
      'restore',
      'runIds',
      'timers',
      'transferTasks',
      'truncate',
      'write',
    ],
  },
  'a history shard that builds List again': {
    run: (deaths) =>
      runHistorySeed(seed, (): HistoryPlan => ({
        ...steady,
        seed,
        shards: 1,
        cacheBytesMax: 0,
        retentionMs: 300,
        journalRetentionMs: undefined,
        // So often that it happens in any run.
        clients: 1,
        faultMs: 600,
        listSetBackMs: 100,
        deaths,
      })),
    points: ['noteRebuild', 'rewrite', 'runs', 'strayRows'],
    diesAtThemAlone: true,
  },
  'a process with dead letters': {
    run: (deaths) => {
      const letters = { failShare: 0.4, purgeShare: 0.3, jobEveryMs: 30, undoWindowMs: 200 };
      const shard = { shards: 1, cacheBytesMax: 0, retentionMs: 60_000, journalRetentionMs: undefined };
      return runHistorySeed(seed, (): HistoryPlan => ({
        ...letterPlan(seed),
        ...steady,
        ...shard,
        clients: 1,
        faultMs: 500,
        seed,
        letters,
        deaths,
      }));
    },
    points: ['append', 'letters', 'read', 'restore', 'write'],
    diesAtThemAlone: true,
    share: 0.4,
  },
  'a matching host': {
    run: (deaths) => {
      const windows = { windowTasksPerLaneMax: 2, windowTasksPerHostMax: 4, windowTasksPerLaneMin: 1, heldTasksPerQueueMax: 12 };
      const load = { workers: 1, matchingPartitions: 1, queueNames: 2, queuePartitions: 1, expiringShare: 0.1, historyFaultShare: 0.05 };
      return runMatchingSeed(seed, (): MatchingPlan => ({ ...steady, ...load, seed, limits: windows, deaths }));
    },
    points: ['append', 'bounds', 'countMatchingTasks', 'matchingQueues', 'matchingTasks', 'read', 'restore', 'truncate', 'write'],
  },
};

describe.each(Object.entries(kinds))('%s dies', (_name, { run, points, diesAtThemAlone = false, share = 1 }) => {
  test(`at ${deathsMax} of the steps between it and what lasts`, { timeout: 600_000 }, async () => {
    const living = await run([]);
    expect(living.violation).toBeUndefined();
    const found = new Set([...living.points.keys()].map((point) => point.split(' ')[0] ?? ''));
    expect(
      points.filter((point) => !found.has(point)),
      'a run comes by all of them',
    ).toEqual([]);
    const deaths = deathsAt(living.points, deathsMax * share, (point) => !diesAtThemAlone || points.includes(point.split(' ')[0] ?? ''));
    for (const death of deaths) {
      const { reached, violation, lastTrace } = await run([death]);
      expect(violation, `${JSON.stringify(death)}\n${lastTrace.slice(-60).join('\n')}`).toBeUndefined();
      expect(reached, JSON.stringify(death)).toContain(`died at ${death.point}`);
    }
  });

  if (share < 1) return;

  test('and once more while it comes back, at each step of that', { timeout: 600_000 }, async () => {
    const met = new Set<string>();
    for (let nth = 1; nth <= deathsMax / 2; nth++) {
      const { reached, violation, lastTrace } = await run([
        { point: 'write done', nth: 3 },
        { point: 'any', nth },
        { point: 'any', nth: 6 },
      ]);
      expect(violation, `step ${nth}\n${lastTrace.slice(-60).join('\n')}`).toBeUndefined();
      for (const moment of reached) met.add(moment);
    }
    for (const point of ['restore asked', 'restore done', 'read done', 'append done']) expect(met).toContain(`died at ${point}`);
  });
});

/** Of each point some, from the first to the last, as evenly as can be; if only one, then in the midst of the run. */
function deathsAt(met: ReadonlyMap<string, number>, max: number, isWanted: (point: string) => boolean): readonly Death[] {
  const points = [...met].filter(([point]) => isWanted(point));
  const each = Math.max(1, Math.floor(max / points.length));
  return points.flatMap(([point, times]) => {
    const count = Math.min(each, times);
    return Array.from({ length: count }, (_, index) => ({ point, nth: 1 + Math.floor(((index + 0.5) * times) / count) }));
  });
}
