/** Jobs over dead letters, in their real loop: kills, lost answers, takeovers of the queue, and people who pause and cancel. */
import { describe, expect, test } from 'vitest';
import { failedOnceMore } from '../../../src/deadletters/failed-merge.ts';
import { letterOf } from '../../deadletters/letters.ts';
import { options, planOf } from '../../deadletters/jobs/plans.ts';
import { failedOf, JobsWorld, sumOf } from './jobs-world.ts';

async function worldOf(letters: number): Promise<JobsWorld> {
  const world = new JobsWorld(letters);
  await world.start();
  return world;
}

const unpaced = { ...options, rps: 0 };

describe('a plan', () => {
  test('is the dead letters that are there when it is made, with a hash over them; those that come later are left alone', async () => {
    const world = await worldOf(250);
    const request = {
      kind: 'planLetters',
      operation: 'purge',
      queue: { number: 1, category: 'transfer', sourceCluster: 'active' },
    } as const;
    const author = { actor: 'anna', reason: '', query: '', groupId: '' };
    const selection = {
      ids: [
        { from: 10, to: 19 },
        { from: 240, to: 999 },
      ],
      condition: undefined,
    };
    const { plan } = await world.ask({ ...request, ...author, options, selection });
    expect(plan).toMatchObject({
      selected: 20,
      ids: [
        { from: 10, to: 19 },
        { from: 240, to: 249 },
      ],
    });
    expect(plan.hash).toMatch(/^[0-9a-f]{64}$/);
    const { plan: other } = await world.ask({ ...request, ...author, options: { ...options, rps: 5 }, selection });
    expect(other.hash).not.toBe(plan.hash);
  });
});

describe('while the audit cannot be written', () => {
  test('no dead letter is touched, plans are not applied, and jobs can be stopped all the same', async () => {
    const world = await worldOf(10);
    world.isAuditAway = true;
    await world.start();
    const { plan } = await world.ask(planOf({ operation: 'purge' }));
    const { job } = await world.ask({ kind: 'applyPlan', planId: plan.planId, hash: plan.hash });
    await world.pass(10_000);
    expect(world.queue.resolved, 'nobody knows yet who ordered it').toEqual([]);
    const later = world.ask({ kind: 'applyPlan', planId: plan.planId, hash: plan.hash });
    await expect(later).rejects.toThrow(/dead letters cannot be changed while the audit cannot be written/);
    expect((await world.change('cancelJob', job.jobId)).state).toBe('cancelling');
    const ended = await world.ended(job.jobId);
    expect(ended).toMatchObject({ state: 'cancelled', counts: { purged: 0, notTried: 10 } });
  });
});

describe('a job', () => {
  test('purges every third dead letter, in steps, and no other', async () => {
    const world = await worldOf(600);
    const ids = Array.from({ length: 200 }, (_, nth) => ({ from: 3 * nth, to: 3 * nth }));
    const job = await world.ended(await world.begin({ operation: 'purge', reason: 'duplicates' }, ids));
    expect(job).toMatchObject({ state: 'completed', counts: { selected: 200, purged: 200, gone: 0 }, lastProcessedMessageId: 597 });
    expect(world.queue.resolved.map(({ messageId }) => messageId)).toEqual(ids.map(({ from }) => from));
    expect(world.queue.resolved[0]).toMatchObject({ who: 'anna', why: 'duplicates', jobId: job.jobId, how: 'purged' });
    expect(Math.max(...world.queue.purges)).toBe(100);
  });

  test('merges at its concurrency; a bad dead letter does not hold up the others, and is reported', async () => {
    const world = await worldOf(100);
    world.queue.outcomeOf = (id) => (id === 0 ? failedOf(world.queue, id) : undefined);
    const job = await world.ended(await world.begin({ options: { ...unpaced, concurrency: 4 } }));
    expect(job).toMatchObject({ state: 'completed-with-failures', counts: { merged: 99, failed: 1 }, failures: [{ messageId: 0 }] });
    expect(world.queue.mostExecuting).toBe(4);
  });

  test('keeps its pace, and a change of it takes effect at once', async () => {
    const world = await worldOf(2_000);
    const jobId = await world.begin({ options: { ...unpaced, rps: 50, concurrency: 64 } });
    await world.pass(1_000);
    const before = world.queue.merges.length;
    await world.pass(4_000);
    expect(Math.abs(world.queue.merges.length - before - 200)).toBeLessThanOrEqual(10);
    await world.ask({ kind: 'updateJob', jobId, actor: 'bert', reason: '', rps: 200, concurrency: undefined });
    const changed = world.queue.merges.length;
    await world.pass(2_000);
    expect(Math.abs(world.queue.merges.length - changed - 400)).toBeLessThanOrEqual(20);
  });

  test('with canary stops at the step where more fail than may', async () => {
    const world = await worldOf(500);
    // One in twenty, from the eleventh on.
    world.queue.outcomeOf = (id) => (id % 20 === 15 ? failedOf(world.queue, id) : undefined);
    const jobId = await world.begin({ options: { ...unpaced, canary: true, maxFailures: 2 } });
    await world.pass(5_000);
    const job = await world.job(jobId);
    expect(job).toMatchObject({ state: 'paused', stateReason: 'failure-budget' });
    expect(world.queue.merges.length).toBeGreaterThan(11);
    expect(world.queue.merges.length).toBeLessThanOrEqual(111);
    const [first, second] = [world.queue.merges[0], world.queue.merges[1]];
    expect((second?.atMs ?? 0) - (first?.atMs ?? 0)).toBeGreaterThanOrEqual(world.queue.mergeMs);
    await world.change('cancelJob', jobId);
    const ended = await world.ended(jobId);
    expect(ended.state).toBe('cancelled');
    expect(sumOf(ended)).toEqual([500, 500]);
  });

  test('that is paused asks for nothing; resumed it goes on, and cancelled it ends when what is under way has', async () => {
    const world = await worldOf(1_000);
    const jobId = await world.begin({ options: { ...unpaced, rps: 100 } });
    await world.pass(1_000);
    expect((await world.change('pauseJob', jobId)).state).toBe('paused');
    await world.pass(100);
    const { length } = world.queue.merges;
    expect(length).toBeGreaterThan(50);
    await world.pass(5_000);
    expect(world.queue.merges.length).toBe(length);
    expect((await world.job(jobId)).counts.merged).toBe(length);
    await world.change('resumeJob', jobId);
    world.queue.mergeMs = 2_000;
    await world.until(() => world.queue.executing.size === 8);
    expect((await world.change('cancelJob', jobId)).state).toBe('cancelling');
    const { length: last } = world.queue.merges;
    const job = await world.ended(jobId);
    expect(job).toMatchObject({ state: 'cancelled', counts: { merged: last, notTried: 1_000 - last } });
    expect(world.queue.resolved.length).toBe(last);
    // Its letters are free again.
    const next = await world.ended(await world.begin({ operation: 'purge' }));
    expect(next).toMatchObject({ state: 'completed', counts: { purged: 1_000 - last } });
  });

  test('counts as gone what was resolved between its plan and its turn', async () => {
    const world = await worldOf(20);
    const ids = [{ from: 5, to: 14 }];
    const { plan } = await world.ask({
      kind: 'planLetters',
      operation: 'merge',
      queue: { number: 1, category: 'transfer', sourceCluster: 'active' },
      selection: { ids: undefined, condition: undefined },
      options: unpaced,
      actor: 'anna',
      reason: '',
      query: '',
      groupId: '',
    });
    await world.ended(await world.begin({ operation: 'purge' }, ids));
    await world.ask({ kind: 'applyPlan', planId: plan.planId, hash: undefined });
    expect(await world.ended(plan.planId)).toMatchObject({ state: 'completed', counts: { merged: 10, gone: 10 } });
  });
});

describe('the journal of jobs', () => {
  test('does not grow with what jobs do; a takeover goes on from where it begins', async () => {
    const world = await worldOf(100);
    const ended = await world.begin({ operation: 'purge' }, [{ from: 0, to: 9 }]);
    await world.ended(ended);
    const jobId = await world.begin({ options: { ...unpaced, rps: 0.1 } });
    for (let round = 0; round < 700; round++) {
      await world.change('pauseJob', jobId);
      await world.change('resumeJob', jobId);
    }
    await world.pass(1_000);
    const { start, end } = await world.bounds();
    expect(start).toBeGreaterThan(0);
    expect(end - start).toBeLessThan(1_100);
    await world.start();
    expect(await world.job(ended)).toMatchObject({ state: 'completed', counts: { purged: 10 } });
    await world.ask({ kind: 'updateJob', jobId, actor: 'bert', reason: '', rps: 0, concurrency: undefined });
    expect(await world.ended(jobId)).toMatchObject({ state: 'completed', counts: { merged: 90 } });
  });

  test('that somebody cut elsewhere is served from where it begins', async () => {
    const world = await worldOf(20);
    const forgotten = await world.begin({}, [{ from: 0, to: 9 }]);
    await world.ended(forgotten);
    await world.begin({ options: { ...unpaced, rps: 0.1 } }, [{ from: 10, to: 11 }]);
    await world.cutElsewhere();
    await world.start();
    await expect(world.job(forgotten)).rejects.toThrow('there is no job');
    const other = await world.begin({}, [{ from: 12, to: 19 }]);
    expect(await world.ended(other)).toMatchObject({ state: 'completed', counts: { merged: 8 } });
    await world.start();
    expect(await world.job(other)).toMatchObject({ state: 'completed' });
  });
});

describe('whatever happens', () => {
  test.each(['purge', 'merge'] as const)(
    'a %s of ten thousand dead letters that is killed again and again, it ends by itself and counts right',
    async (operation) => {
      const world = await worldOf(10_000);
      const bad = (id: number): boolean => id % 1_000 === 7;
      world.queue.outcomeOf = (id) => (bad(id) ? failedOf(world.queue, id) : undefined);
      const jobId = await world.begin({ operation, options: { ...unpaced, concurrency: 64 } });
      for (const resolved of [150, 1_777, 4_203, 8_888]) {
        await world.until(() => world.queue.resolved.length >= resolved);
        await world.start();
      }
      const job = await world.ended(jobId);
      const failed = operation === 'merge' ? 10 : 0;
      expect(job).toMatchObject({
        counts: { failed, gone: 0, skipped: 0, [operation === 'merge' ? 'merged' : 'purged']: 10_000 - failed },
      });
      expect(sumOf(job)).toEqual([10_000, 10_000]);
      expect(new Set(world.queue.resolved.map(({ messageId }) => messageId)).size).toBe(10_000 - failed);
      expect(world.queue.resolved.length).toBe(10_000 - failed);
      expect([...world.queue.letters.values()].map(({ generation }) => generation)).toEqual(Array.from({ length: failed }, () => 1));
    },
  );

  test.each(['purge', 'merge'] as const)(
    'a %s asks for no dead letter before the log has it as one that may be asked for',
    async (operation) => {
      const world = await worldOf(2_000);
      const early: number[] = [];
      world.queue.fault = (request) => {
        const ids = request.kind === 'purgeLetters' ? request.letters.map(({ messageId }) => messageId) : [];
        if (request.kind === 'mergeLetter') ids.push(request.messageId);
        early.push(...ids.filter((id) => id > world.windowEnd()));
        return undefined;
      };
      const job = await world.ended(await world.begin({ operation, options: { ...unpaced, concurrency: 64 } }));
      expect(job.state).toBe('completed');
      expect(early).toEqual([]);
    },
  );

  test('a purge tells what was executed as merged, also where it was written before its owner was asked again', async () => {
    const world = await worldOf(10);
    const jobId = await world.begin({ operation: 'purge', options: unpaced });
    let asked = 0;
    world.queue.fault = ({ kind }) => {
      if (kind !== 'purgeLetters' || (asked += 1) > 1) return undefined;
      world.queue.takeOver();
      world.queue.settledEarlier(3);
      return 'away';
    };
    const { counts } = await world.ended(jobId);
    expect(counts).toMatchObject({ merged: 1, purged: 9, gone: 0 });
    expect(world.queue.resolved.filter(({ how }) => how === 'purged')).toHaveLength(9);
  });

  test.each(['purge', 'merge'] as const)(
    'to the queue, a %s claims again and goes on: owners that change, answers that are lost',
    async (operation) => {
      const world = await worldOf(3_000);
      const jobId = await world.begin({ operation, options: { ...unpaced, concurrency: 16 } });
      let asks = 0;
      world.queue.fault = () => {
        asks += 1;
        if (asks % 97 === 0) world.queue.takeOver();
        if (asks % 41 === 0) return 'answer lost';
        return asks % 29 === 0 ? 'away' : undefined;
      };
      const job = await world.ended(jobId);
      expect(sumOf(job)).toEqual([3_000, 3_000]);
      expect(world.queue.resolved.length).toBe(job.counts.merged + job.counts.purged);
      expect(job.counts.gone).toBe(0);
    },
  );

  test('a queue that nobody owns for five minutes pauses its job, which says so; resumed it ends', async () => {
    const world = await worldOf(100);
    world.queue.fault = (request) => (request.kind === 'claimLetters' || request.kind === 'mergeLetter' ? 'away' : undefined);
    const jobId = await world.begin({});
    await world.pass(330_000);
    expect(await world.job(jobId)).toMatchObject({ state: 'paused', stateReason: expect.stringContaining('nobody is there') });
    world.queue.fault = () => undefined;
    await world.change('resumeJob', jobId);
    expect(await world.ended(jobId)).toMatchObject({ state: 'completed', counts: { merged: 100 } });
  });

  test.each([
    ['merged', (): undefined => undefined, { merged: 20, failed: 0, gone: 0 }],
    ['failed', (world: JobsWorld, id: number) => failedOf(world.queue, id), { merged: 0, failed: 20, gone: 0 }],
  ] as const)(
    'a job that is taken over while its dead letters are under way tries none twice: all are %s, and counted so',
    async (_, outcomeOf, counts) => {
      const world = await worldOf(20);
      world.queue.mergeMs = 3_000;
      world.queue.outcomeOf = (id) => outcomeOf(world, id);
      const jobId = await world.begin({ options: unpaced });
      await world.until(() => world.queue.executing.size === 8);
      await world.start();
      expect(await world.ended(jobId)).toMatchObject({ counts });
      expect(world.queue.merges.map(({ messageId }) => messageId)).toEqual(Array.from({ length: 20 }, (_unused, id) => id));
    },
  );

  test('a failure that the queue writes for nobody, while it is taken over, is one of the job that asked: it tries that dead letter no more', async () => {
    const world = await worldOf(8);
    world.queue.mergeMs = 3_000;
    const jobId = await world.begin({ options: unpaced });
    await world.until(() => world.queue.executing.size === 8);
    world.queue.takeOver();
    const letter = world.queue.letters.get(3) ?? letterOf(1, 4);
    const timeMs = world.clock.wallMs();
    const failed = failedOnceMore(letter, { failure: letter.failure, jobId: '', timeMs, maxGeneration: 5 });
    world.queue.settledEarlier(3, { kind: 'failed', isSameCause: true, letter: failed });
    await world.start();
    const { counts, failures } = await world.ended(jobId);
    expect(counts).toMatchObject({ merged: 7, failed: 1 });
    expect(failures.map(({ messageId }) => messageId)).toEqual([3]);
    expect(world.queue.letters.get(3)?.generation).toBe(1);
  });

  test('a failure that was not heard of is reported with whether its cause is the same', async () => {
    const world = await worldOf(4);
    world.queue.outcomeOf = (id) => {
      const letter = letterOf(1, id + 1);
      const failure = { ...letter.failure, fingerprint: id < 2 ? letter.failure.fingerprint : 'ffffffffffffffff' };
      return { kind: 'failed', isSameCause: id < 2, letter: failedOnceMore(letter, { failure, jobId: '', timeMs: 0, maxGeneration: 5 }) };
    };
    const jobId = await world.begin({ options: unpaced });
    await world.until(() => [...world.queue.letters.values()].every(({ generation }) => generation === 1));
    await world.start();
    const { failures } = await world.ended(jobId);
    expect(failures.map(({ messageId, sameCause }) => [messageId, sameCause])).toEqual([
      [0, true],
      [1, true],
      [2, false],
      [3, false],
    ]);
  });

  test('a job that is cancelled while dead letters of its former life are under way waits for what comes of them', async () => {
    const world = await worldOf(20);
    world.queue.mergeMs = 3_000;
    const jobId = await world.begin({ options: unpaced });
    await world.until(() => world.queue.executing.size === 8);
    await world.start();
    await world.change('cancelJob', jobId);
    expect(await world.ended(jobId)).toMatchObject({ state: 'cancelled', counts: { merged: 8, notTried: 12 } });
    expect(world.queue.resolved.length).toBe(8);
  });

  test('dead letters that cannot be read for a while are merged when they can', async () => {
    const world = await worldOf(30);
    let isAway = true;
    world.queue.outcomeOf = () => (isAway ? { kind: 'notBegun', message: 'the database is away' } : undefined);
    const jobId = await world.begin({ options: unpaced });
    await world.pass(60_000);
    expect((await world.job(jobId)).counts).toMatchObject({ merged: 0, failed: 0, skipped: 0 });
    isAway = false;
    expect(await world.ended(jobId)).toMatchObject({ state: 'completed', counts: { merged: 30 } });
  });

  test('claims whose release was lost hinder nobody', async () => {
    const world = await worldOf(40);
    world.queue.fault = (request) => (request.kind === 'releaseClaim' ? 'away' : undefined);
    for (let id = 0; id < 16; id++) await world.ended(await world.begin({ options: unpaced }, [{ from: id, to: id }]));
    world.queue.fault = () => undefined;
    const job = await world.ended(await world.begin({ options: unpaced }, [{ from: 20, to: 29 }]));
    expect(job).toMatchObject({ state: 'completed', counts: { merged: 10 } });
  });

  test('an outcome that comes after the task timeout counts', async () => {
    const world = await worldOf(3);
    world.queue.mergeMs = 20_000;
    const job = await world.ended(await world.begin({ options: { ...unpaced, taskTimeoutMs: 1_000 } }));
    expect(job).toMatchObject({ state: 'completed', counts: { merged: 3, failed: 0 }, failures: [] });
    expect(world.queue.merges.length).toBe(3);
  });

  test('a dead letter of which its shard said nothing is asked for once more before its job ends, also after a kill', async () => {
    const world = await worldOf(3);
    world.queue.outcomeOf = (id) => {
      const tries = world.queue.merges.filter(({ messageId }) => messageId === id).length;
      const error = { errorType: 'OutcomeUnknown', errorMessage: 'its shard has not said' };
      return tries < 2 ? { kind: 'unsettled', letter: letterOf(1, id + 1), error } : undefined;
    };
    const jobId = await world.begin({ options: { ...unpaced, concurrency: 1, rps: 1 } });
    await world.until(() => world.queue.merges.length === 3);
    await world.start();
    expect(await world.ended(jobId)).toMatchObject({ state: 'completed', counts: { merged: 3, failed: 0 }, failures: [] });
  });

  test('a job none of whose dead letters is heard of for five minutes pauses, and says so', async () => {
    const world = await worldOf(1_000);
    world.queue.outcomeOf = (id) => {
      const error = { errorType: 'OutcomeUnknown', errorMessage: 'its shard has not said' };
      return { kind: 'unsettled', letter: letterOf(1, id + 1), error };
    };
    world.queue.mergeMs = 30_000;
    const jobId = await world.begin({ options: unpaced });
    await world.pass(340_000);
    expect(await world.job(jobId)).toMatchObject({ state: 'paused', stateReason: expect.stringContaining('no shard reports') });
  });

  test('an outcome that nobody hears of is reported as such, and the dead letter stays', async () => {
    const world = await worldOf(3);
    world.queue.mergeMs = 1e9;
    const job = await world.ended(await world.begin({ options: { ...unpaced, taskTimeoutMs: 1_000 } }));
    expect(job).toMatchObject({
      state: 'completed-with-failures',
      counts: { failed: 3 },
      failures: [{ errorType: 'OutcomeUnknown' }, {}, {}],
    });
    expect(world.queue.letters.size).toBe(3);
  });
});

describe('a queue that started again since, for its topic was deleted', () => {
  test('is changed by no plan of before, whatever its hash: that is refused with what happened', async () => {
    const world = await worldOf(10);
    const { plan } = await world.ask(planOf({ operation: 'purge' }));
    world.queue.beginAnew(10);
    await expect(world.ask({ kind: 'applyPlan', planId: plan.planId, hash: plan.hash })).rejects.toThrow(
      /failed-precondition: .*has started again since/,
    );
    expect(world.queue.letters.size).toBe(10);
    const { plan: again } = await world.ask(planOf({ operation: 'purge' }));
    expect(again.hash).not.toBe(plan.hash);
    const { job } = await world.ask({ kind: 'applyPlan', planId: again.planId, hash: again.hash });
    expect(await world.ended(job.jobId)).toMatchObject({ state: 'completed', counts: { purged: 10 } });
  });

  test.each(['merge', 'purge'] as const)(
    'ends a %s that is under way: what may have been done is reported as unknown, and no other dead letter is touched',
    async (operation) => {
      const world = await worldOf(1_000);
      const jobId = await world.begin({ operation, options: { ...unpaced, rps: 10 } });
      await world.until(() => (operation === 'merge' ? world.queue.merges.length : world.queue.purges.length) === 20);
      const resolved = world.queue.resolved.length;
      world.queue.beginAnew(30);
      await world.start();
      const job = await world.ended(jobId);
      const done = job.counts[operation === 'merge' ? 'merged' : 'purged'];
      expect(job).toMatchObject({ state: 'failed', stateReason: expect.stringContaining('has started again since'), counts: { gone: 0 } });
      expect([done > 0, done <= resolved]).toEqual([true, true]);
      expect(job.counts.failed).toBeGreaterThan(0);
      expect(job.failures[0]).toMatchObject({
        errorType: 'OutcomeUnknown',
        errorMessage: expect.stringContaining('has started again since'),
      });
      expect(sumOf(job)[0]).toBe(1_000);
      expect([world.queue.letters.size, world.queue.resolved]).toEqual([30, []]);
      const next = await world.ended(await world.begin({ operation, options: unpaced }));
      expect(next.counts).toMatchObject({ selected: 30, [operation === 'merge' ? 'merged' : 'purged']: 30 });
    },
  );

  test('that a paused job of before cannot be resumed upon; and a new job over the same ids is hindered by none', async () => {
    const world = await worldOf(100);
    const jobId = await world.begin({ options: { ...unpaced, concurrency: 1, rps: 1 } });
    await world.until(() => world.queue.merges.length === 3);
    await world.change('pauseJob', jobId);
    await world.pass(2_000);
    world.queue.beginAnew(20);
    const next = await world.ended(await world.begin({ operation: 'purge', options: unpaced }));
    expect(next).toMatchObject({ state: 'completed', counts: { purged: 20 } });
    await world.change('resumeJob', jobId);
    const job = await world.ended(jobId);
    expect(job).toMatchObject({ state: 'failed', counts: { merged: 3, gone: 0 } });
    expect(sumOf(job)[0]).toBe(100);
  });
});
