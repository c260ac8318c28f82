/** Jobs over all dead letters of a queue, where those stand in more stretches of message ids than a plan may have. */
import { beforeEach, describe, expect, test } from 'vitest';
import { jobLimits } from '../../../src/deadletters/bounds/job-limits.ts';
import { equals } from '../../../src/grpc/deadletter-service/selection.ts';
import { options, planOf } from '../../deadletters/jobs/plans.ts';
import { failedOf, JobsWorld } from './jobs-world.ts';

const stretches = jobLimits.rangesMax + 100;
const unpaced = { ...options, concurrency: 64 };

describe('of dead letters of which every second one was purged, all', () => {
  let world: JobsWorld;
  beforeEach(async () => {
    world = new JobsWorld(2 * stretches);
    world.settings = { ...world.settings, lettersPerStepMax: 1_000 };
    await world.start();
    for (const [first, end] of [
      [0, stretches / 2],
      [stretches / 2, stretches],
    ] as const) {
      const ids = Array.from({ length: end - first }, (_, nth) => ({ from: 2 * (first + nth), to: 2 * (first + nth) }));
      expect((await world.ended(await world.begin({ operation: 'purge' }, ids))).counts).toMatchObject({ purged: stretches / 2 });
    }
  });

  test('are purged, and no others are counted', async () => {
    const job = await world.ended(await world.begin({ operation: 'purge' }));
    expect(job).toMatchObject({
      state: 'completed',
      ids: [{ from: 1, to: 2 * stretches - 1 }],
      counts: { selected: stretches, purged: stretches, gone: 0, notTried: 0 },
    });
    expect(world.queue.letters.size).toBe(0);
  });

  test('are merged, also by processes that end in between; what failed stays, and what others took is gone', async () => {
    world.queue.outcomeOf = (id) => (id % 1_000 === 1 ? failedOf(world.queue, id) : undefined);
    const { plan } = await world.ask(planOf({ options: unpaced }));
    const others = [{ from: 0, to: 9 }];
    await world.ended(await world.begin({ operation: 'purge' }, others));
    const { job } = await world.ask({ kind: 'applyPlan', planId: plan.planId, hash: plan.hash });
    for (let life = 0; life < 3; life++) {
      const { length } = world.queue.merges;
      await world.until(() => world.queue.merges.length > length + 1_000);
      await world.start();
    }
    const failed = Math.ceil((2 * stretches) / 1_000) - 1;
    expect((await world.ended(job.jobId)).counts).toMatchObject({
      ...{ selected: stretches, merged: stretches - 5 - failed, failed, gone: 5, notTried: 0 },
    });
    expect(world.queue.letters.size).toBe(failed);
  });

  test('are in the hash one by one', async () => {
    const { plan } = await world.ask(planOf({ options: unpaced }));
    const { plan: again } = await world.ask(planOf({ options: unpaced }));
    expect(again.hash).toBe(plan.hash);
    await world.ended(await world.begin({ operation: 'purge' }, [{ from: 5_000, to: 5_001 }]));
    const { plan: other } = await world.ask(planOf({ options: unpaced }));
    expect(other).toMatchObject({ ids: plan.ids, selected: stretches - 1 });
    expect(other.hash).not.toBe(plan.hash);
  });

  test('are restored after their purge, and none that another job purged', async () => {
    const purge = await world.ended(await world.begin({ operation: 'purge' }));
    const selection = { ids: purge.ids, condition: undefined, purgedBy: purge.jobId };
    const { plan } = await world.ask(planOf({ operation: 'restore', options: unpaced, selection }));
    expect(plan).toMatchObject({ ids: purge.ids, selected: stretches });
    const { job } = await world.ask({ kind: 'applyPlan', planId: plan.planId, hash: plan.hash });
    await world.until(() => world.queue.letters.size > 2_000);
    await world.start();
    expect((await world.ended(job.jobId)).counts).toMatchObject({ selected: stretches, restored: stretches, gone: 0, skipped: 0 });
    expect([...world.queue.letters.keys()].filter((id) => id % 2 === 0)).toEqual([]);
  });

  test('of a plan are refused when some between them came back before it was applied', async () => {
    const { plan } = await world.ask(planOf({ options: unpaced }));
    const selection = { ids: [{ from: 100, to: 100 }], condition: undefined };
    const { plan: undo } = await world.ask(planOf({ operation: 'restore', selection }));
    const { job } = await world.ask({ kind: 'applyPlan', planId: undo.planId, hash: undo.hash });
    expect((await world.ended(job.jobId)).counts).toMatchObject({ restored: 1 });
    const applied = world.ask({ kind: 'applyPlan', planId: plan.planId, hash: plan.hash });
    await expect(applied).rejects.toThrow(/failed-precondition: .*may have come back since. Make the plan again/);
    expect(world.queue.merges).toEqual([]);
  });

  test('that a filter selects are too many: nobody else has to wait for those between', async () => {
    const selection = { ids: undefined, condition: equals('Namespace', 'orders') };
    await expect(world.ask(planOf({ selection }))).rejects.toThrow(/too-many-stretches: .*make several plans/);
  });
});
