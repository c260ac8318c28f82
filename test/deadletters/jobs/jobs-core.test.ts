import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { IdRange } from '../../../src/deadletters/letter-commands.ts';
import { countIds, hasId, rangesOfIds } from '../../../src/deadletters/bounds/id-ranges.ts';
import { JobsStory } from '../../../src/deadletters/audit/jobs-story.ts';
import type { Job, JobProgress, JobsCommand, JobsRecord, JobsReply, JobsRequest, PlanLetters } from '../../../src/deadletters/jobs/job.ts';
import type { JobsEffect } from '../../../src/deadletters/jobs/job.ts';
import { JobsCore } from '../../../src/deadletters/jobs/jobs-core.ts';
import { options, planOf, selected } from './plans.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** The actor of jobs, and the journal that it writes. */
class Office {
  nowMs = 1_000;
  readonly settings = { requiresReason: false };
  readonly core = new JobsCore(this.settings);
  readonly journal: JobsRecord[] = [];
  #plans = 0;

  ask(command: JobsCommand): { readonly reply: JobsReply | undefined; readonly effects: readonly JobsEffect[] } {
    const handled = this.core.handle(command, this.nowMs, 7);
    this.core.accept(handled);
    if (handled.kind === 'commit') this.journal.push(...(handled.before ?? []), handled.record);
    const told = handled.effects.find((effect) => effect.kind === 'reply');
    return { reply: handled.kind === 'wait' ? told?.reply : (handled.reply ?? told?.reply), effects: handled.effects };
  }

  plan(ids: readonly IdRange[], more: Partial<PlanLetters> = {}, request = { requestHash: '' }): string {
    const planId = `plan-${String((this.#plans += 1)).padStart(6, '0')}`;
    const { plan, ...store } = selected(7, planId, ids, more);
    expect(this.ask({ ...store, plan: { ...plan, ...request } }).reply?.kind).toBe('planned');
    return planId;
  }

  apply(planId: string, hash?: string): string {
    return said(this.ask({ kind: 'applyPlan', planId, hash }).reply);
  }

  start(ids: readonly IdRange[], more: Partial<PlanLetters> = {}, request = { requestHash: '' }): string {
    const planId = this.plan(ids, more, request);
    expect(this.apply(planId)).toBe('running');
    return planId;
  }

  on(kind: 'pauseJob' | 'resumeJob' | 'cancelJob', jobId: string, reason = ''): string {
    return said(this.ask({ kind, jobId, actor: 'bert', reason }).reply);
  }

  progress(jobId: string, counts: Partial<JobProgress['counts']>): JobProgress {
    const none = { merged: 0, mergedNoop: 0, purged: 0, restored: 0, failed: 0, skipped: 0, gone: 0 };
    const { lastProcessedMessageId } = this.job(jobId);
    return {
      counts: { ...none, ...counts },
      lastProcessedMessageId,
      window: { end: 9, settled: [], unknown: [] },
      failures: [],
      skips: [],
      noops: [],
    };
  }

  end(jobId: string, counts: Partial<JobProgress['counts']>, failedBecause?: string): string {
    this.ask({ kind: 'endJob', jobId, progress: this.progress(jobId, counts), failedBecause });
    return this.job(jobId).state;
  }

  job(jobId: string): Job {
    const { reply } = this.ask({ kind: 'describeJob', jobId });
    if (reply?.kind !== 'job') throw new Error(`no job: ${JSON.stringify(reply)}`);
    return reply.job;
  }

  replayed(): JobsCore {
    const core = new JobsCore({ requiresReason: false });
    for (const record of this.journal) core.evolve(record);
    return core;
  }
}

/** The state of the job, or why not. */
function said(reply: JobsReply | undefined): string {
  if (reply?.kind === 'rejected') return reply.rejection.reason;
  if (reply?.kind === 'canceled') return reply.wasActive ? `canceled: ${reply.job.state}` : `was ${reply.job.state}`;
  return reply?.kind === 'job' ? reply.job.state : (reply?.kind ?? 'nothing');
}

const ten: readonly IdRange[] = [{ from: 0, to: 9 }];

describe('a plan', () => {
  test('is what was selected, waits an hour to be applied, and is applied once', () => {
    const office = new Office();
    const asked = office.ask(planOf());
    expect(asked.effects).toEqual([{ kind: 'selectLetters', askId: 7, request: planOf() }]);
    const early = office.plan(ten);
    const late = office.plan([{ from: 20, to: 29 }]);
    office.nowMs += HOUR_MS - 1;
    expect(office.apply(early, 'another')).toBe('failed-precondition');
    expect(office.apply(early)).toBe('running');
    expect(office.job(early)).toMatchObject({ jobId: early, counts: { selected: 10, notTried: 0 }, actor: 'anna' });
    office.nowMs += 1;
    expect(office.apply(late)).toBe('plan-expired');
    expect(office.apply('plan-unknown')).toBe('plan-not-found');
    expect(office.end(early, { merged: 10 })).toBe('completed');
    expect(office.apply(early)).toBe('failed-precondition');
  });

  test('of the same dead letters by the same caller is the job that is active; of another caller it overlaps, and the holder is named', () => {
    const office = new Office();
    const first = office.start(ten);
    const { reply: again } = office.ask({ kind: 'applyPlan', planId: office.plan(ten), hash: undefined });
    expect(again).toMatchObject({ kind: 'job', job: { jobId: first } });
    expect(office.ask({ kind: 'applyPlan', planId: first, hash: undefined }).reply).toMatchObject({ job: { jobId: first } });
    const other = office.plan(ten, { actor: 'carla' });
    const { reply } = office.ask({ kind: 'applyPlan', planId: other, hash: undefined });
    expect(reply).toMatchObject({ kind: 'rejected', rejection: { reason: 'overlap', jobId: first } });
    expect(office.apply(office.plan([{ from: 9, to: 12 }]))).toBe('overlap');
    expect(office.apply(office.plan([{ from: 10, to: 12 }]))).toBe('running');
    const elsewhere = { number: 2, category: 'timer', sourceCluster: 'active' };
    expect(office.apply(office.plan(ten, { queue: elsewhere }))).toBe('running');
    office.end(first, { merged: 10 });
    expect(office.apply(other)).toBe('running');
  });

  test('of the same dead letters for another reason, or asked for from elsewhere, is in the audit, though its job is the one that runs', () => {
    const office = new Office();
    const job = office.start(ten, { reason: 'the fix is out' });
    const acts = () => office.journal.flatMap((record) => ('act' in record && record.act?.action === 'apply' ? [record.act] : []));
    const caller = { authType: '', peer: '10.0.0.9:4711', client: 'tdbg', requestId: '' };
    office.nowMs += 1_000;
    expect(office.apply(office.plan(ten, { reason: 'the fix is out' }))).toBe('running');
    expect(acts(), 'asked for again').toHaveLength(1);
    expect(office.apply(office.plan(ten, { reason: 'they are needed' }))).toBe('running');
    expect(office.apply(office.plan(ten, { caller, reason: 'the fix is out' }))).toBe('running');
    office.ask({ kind: 'applyPlan', planId: job, hash: undefined, by: { actor: 'bert', caller } });
    expect(acts().slice(1)).toEqual([
      { action: 'apply', actor: 'anna', reason: 'they are needed' },
      { action: 'apply', actor: 'anna', reason: 'the fix is out', caller },
      { action: 'apply', actor: 'bert', reason: 'the fix is out', caller },
    ]);
    const story = new JobsStory({ source: 'jobs', queueTopic: () => 'letters' });
    for (const [offset, record] of office.journal.entries()) story.tell(record, offset);
    const told = story.take().filter(({ action, jobId }) => action === 'apply' && jobId === job);
    const again = 'merge: answered with this job, which was running';
    expect(told.map(({ outcome }) => outcome)).toEqual(['merge', again, again, again]);
    expect(office.job(job)).toMatchObject({ reason: 'the fix is out', actor: 'anna' });
  });

  test('that asks for the same while its job has handled some of it is that job, but for dead letters that have come since', () => {
    const office = new Office();
    const request = { requestHash: 'all of them' };
    const job = office.start(ten, {}, request);
    const again = (ids: readonly IdRange[], isDirect: boolean): unknown => {
      const { reply } = office.ask({ kind: 'applyPlan', planId: office.plan(ids, {}, request), hash: undefined, isDirect });
      return reply?.kind === 'job' ? reply.job.jobId : said(reply);
    };
    expect(again([{ from: 5, to: 9 }], false)).toBe(job);
    expect(again([{ from: 5, to: 12 }], false)).toBe('overlap');
    expect(again([{ from: 5, to: 12 }], true)).toBe(job);
    const other = office.plan([{ from: 5, to: 9 }], { actor: 'carla' }, request);
    expect(office.apply(other)).toBe('overlap');
  });

  test('of a thousand that nobody applies the oldest goes with the next, and large ones before', () => {
    const office = new Office();
    const first = office.plan(ten);
    for (let nth = 0; nth < 1_001; nth++) {
      office.nowMs += 1;
      office.plan(ten);
    }
    expect(office.apply(first)).toBe('plan-not-found');
    const ranges = Array.from({ length: 10_000 }, (_, index) => ({ from: 3 * index, to: 3 * index }));
    const large = office.plan(ranges);
    for (let nth = 0; nth < 200; nth++) {
      office.nowMs += 1;
      office.plan(ranges);
    }
    expect(office.apply(large)).toBe('plan-not-found');
    expect(office.core.state.size).toBeLessThan(200);
    expect(office.replayed().state.canonical()).toBe(office.core.state.canonical());
  });

  test('of nothing is a job that is completed', () => {
    const office = new Office();
    expect(office.apply(office.plan([]))).toBe('completed');
  });

  test('is refused beyond the limits, and says how to go on', () => {
    const office = new Office();
    expect(office.ask(selected(7, 'plan', [{ from: 0, to: 5_000_000 }])).reply?.kind, 'one stretch').toBe('planned');
    const ranges = Array.from({ length: 10_001 }, (_, index) => ({ from: 2 * index, to: 2 * index }));
    const tooMany = office.ask(selected(7, 'plan', ranges)).reply;
    expect(tooMany).toMatchObject({
      kind: 'rejected',
      rejection: { reason: 'too-many-stretches', message: expect.stringContaining('several plans') },
    });
    for (let nth = 0; nth < 16; nth++) office.start([{ from: 10 * nth, to: 10 * nth }]);
    expect(office.apply(office.plan([{ from: 1_000, to: 1_000 }]))).toBe('too-many-jobs');
  });

  test.each([
    ['rps', { options: { ...options, rps: 0.05 } }],
    ['rps', { options: { ...options, rps: 10_001 } }],
    ['rps', { options: { ...options, rps: NaN } }],
    ['concurrency', { options: { ...options, concurrency: 65 } }],
    ['task timeout', { options: { ...options, taskTimeoutMs: 999 } }],
    ['failures', { options: { ...options, maxFailures: -1 } }],
    ['loop guard without a reason', { options: { ...options, overridesLoopGuard: true } }],
    ['canary of a purge', { operation: 'purge' as const, options: { ...options, canary: true } }],
    ['restore', { operation: 'restore' as const }],
    ['reason', { reason: 'x'.repeat(501) }],
    ['ids', { selection: { ids: [{ from: 4, to: 2 }], condition: undefined } }],
    ['ids', { selection: { ids: [...ten, { from: 10, to: 12 }], condition: undefined } }],
  ] satisfies readonly (readonly [string, Partial<PlanLetters>])[])(
    'with a wrong %s is refused before dead letters are looked for',
    (_, wrong) => {
      const asked = new Office().ask(planOf(wrong));
      expect(said(asked.reply)).toBe('invalid-argument');
      expect(asked.effects).toEqual([]);
    },
  );

  test('without a reason is not applied where one is required', () => {
    const office = new Office();
    office.settings.requiresReason = true;
    expect(office.apply(office.plan(ten))).toBe('invalid-argument');
    const planId = office.plan(ten, { reason: 'duplicates' });
    expect(office.apply(planId)).toBe('running');
    expect(office.on('pauseJob', planId)).toBe('invalid-argument');
    expect(office.on('pauseJob', planId, 'too fast')).toBe('paused');
  });
});

describe('a job', () => {
  test.each([
    ['all were merged, or gone before', { merged: 8, gone: 2 }, 'completed'],
    ['one failed', { merged: 9, failed: 1 }, 'completed-with-failures'],
    ['one was skipped', { merged: 9, skipped: 1 }, 'completed-with-failures'],
  ])('%s: it ends as such', (_, counts, state) => {
    const office = new Office();
    expect(office.end(office.start(ten), counts)).toBe(state);
  });

  test('is paused, resumed, changed and cancelled; once it has ended nothing changes it', () => {
    const office = new Office();
    const jobId = office.start(ten);
    expect(office.on('resumeJob', jobId)).toBe('failed-precondition');
    expect(office.on('pauseJob', jobId, 'lunch')).toBe('paused');
    expect(office.job(jobId).stateReason).toBe('lunch');
    expect(office.ask({ kind: 'updateJob', jobId, actor: 'bert', reason: '', rps: 5, concurrency: undefined }).reply).toMatchObject({
      job: { state: 'paused', options: { rps: 5, concurrency: 8 } },
    });
    expect(said(office.ask({ kind: 'updateJob', jobId, actor: 'bert', reason: '', rps: 0.01, concurrency: 1 }).reply)).toBe(
      'invalid-argument',
    );
    expect(office.on('resumeJob', jobId)).toBe('running');
    expect(office.on('cancelJob', jobId)).toBe('canceled: cancelling');
    expect(office.on('pauseJob', jobId)).toBe('failed-precondition');
    expect(office.on('cancelJob', jobId)).toBe('canceled: cancelling');
    expect(office.end(jobId, { merged: 4 })).toBe('cancelled');
    expect(office.job(jobId).counts).toMatchObject({ merged: 4, notTried: 6 });
    const { length } = office.journal;
    expect(office.on('cancelJob', jobId)).toBe('was cancelled');
    for (const kind of ['pauseJob', 'resumeJob'] as const) expect(office.on(kind, jobId)).toBe('failed-precondition');
    expect(office.end(jobId, { merged: 10 })).toBe('cancelled');
    expect(office.journal.length).toBe(length);
    expect(office.on('cancelJob', 'nobody')).toBe('not-found');
  });

  test('with canary is paused when more fail than may; whoever resumes it knows of those', () => {
    const office = new Office();
    const jobId = office.start(ten, { options: { ...options, canary: true, maxFailures: 1 } });
    const note = (failed: number): string => {
      office.ask({ kind: 'noteProgress', jobId, progress: office.progress(jobId, { failed }) });
      const { state, stateReason } = office.job(jobId);
      return `${state} ${stateReason}`;
    };
    expect(note(1)).toBe('running ');
    expect(note(2)).toBe('paused failure-budget');
    expect(office.on('resumeJob', jobId)).toBe('running');
    expect(note(3)).toBe('running ');
    expect(note(4)).toBe('paused failure-budget');
  });

  test('goes by what was reported last, though something that was reported before comes later', () => {
    const office = new Office();
    const jobId = office.start(ten);
    const [early, late] = [office.progress(jobId, { merged: 2 }), office.progress(jobId, { merged: 5 })];
    for (const progress of [late, early]) office.ask({ kind: 'noteProgress', jobId, progress });
    expect(office.job(jobId).counts.merged).toBe(5);
  });

  test('is kept for 30 days, plans for two hours, and the newest come first', () => {
    const office = new Office();
    const first = office.start(ten);
    office.end(first, { merged: 10 });
    const plan = office.plan(ten);
    office.nowMs += 2 * HOUR_MS;
    office.ask({ kind: 'forgetOldJobs' });
    expect(office.apply(plan)).toBe('plan-not-found');
    const second = office.start(ten);
    const list = (more: Partial<JobsRequest & { kind: 'listJobs' }> = {}): unknown => {
      const { reply } = office.ask({ kind: 'listJobs', queue: undefined, activeOnly: false, afterJobId: undefined, max: 10, ...more });
      return reply?.kind === 'jobs' ? reply.jobs.map(({ jobId }) => jobId) : reply;
    };
    expect(list()).toEqual([second, first]);
    expect(list({ max: 1 })).toEqual([second]);
    expect(list({ afterJobId: second })).toEqual([first]);
    expect(list({ activeOnly: true })).toEqual([second]);
    expect(list({ queue: 2 })).toEqual([]);
    office.nowMs += 30 * DAY_MS;
    office.ask({ kind: 'forgetOldJobs' });
    expect(list()).toEqual([second]);
    expect(office.replayed().state.canonical()).toBe(office.core.state.canonical());
  });

  test('that has ended leaves when a thousand newer ones of its queue have', () => {
    const office = new Office();
    for (let nth = 0; nth < 1_002; nth++) office.end(office.start([{ from: nth, to: nth }]), { merged: 1 });
    office.ask({ kind: 'forgetOldJobs' });
    expect(said(office.ask({ kind: 'describeJob', jobId: 'plan-000002' }).reply)).toBe('not-found');
    expect(said(office.ask({ kind: 'describeJob', jobId: 'plan-000003' }).reply)).toBe('completed');
  });
});

describe('the journal', () => {
  test('may begin at a claim once all that stands before it is written again, whatever happens meanwhile', () => {
    const office = new Office();
    const [ended, running] = [office.start(ten), office.start([{ from: 100, to: 199 }])];
    office.end(ended, { merged: 10 });
    for (let nth = 0; nth < 250; nth++) office.plan([{ from: 1_000 + nth, to: 1_000 + nth }]);
    office.journal.length = 0;
    const carry = (isFirst: boolean): boolean => {
      const [effect] = office.ask({ kind: 'carryJobs', cut: 77, isFirst }).effects;
      return effect?.kind === 'carried' && effect.isAll;
    };
    expect(carry(true)).toBe(false);
    office.on('pauseJob', running, 'lunch');
    office.start([{ from: 300, to: 309 }]);
    office.nowMs += 2 * HOUR_MS;
    office.ask({ kind: 'forgetOldJobs' });
    for (let pages = 0; !carry(false); pages++) expect(pages).toBeLessThan(10);
    expect(office.replayed().state.canonical()).toBe(office.core.state.canonical());
    expect(office.replayed().state.cut).toBe(77);
    expect(office.job(running).state).toBe('paused');
  });
});

describe('whatever is asked in whatever order', () => {
  const ids = fc.uniqueArray(fc.nat(40), { minLength: 1, maxLength: 12 }).map(rangesOfIds);
  const job = fc.nat(6);
  const step = fc.oneof(
    fc.record({ do: fc.constant('start' as const), ids, actor: fc.constantFrom('anna', 'bert') }),
    fc.record({ do: fc.constantFrom('pauseJob' as const, 'resumeJob' as const, 'cancelJob' as const), job }),
    fc.record({ do: fc.constant('note' as const), job, failed: fc.nat(3), merged: fc.nat(9) }),
    fc.record({ do: fc.constantFrom('end' as const, 'fail' as const), job, merged: fc.nat(12), failed: fc.nat(2) }),
    fc.record({ do: fc.constant('pass' as const), hours: fc.constantFrom(1, 3, 24 * 31) }),
  );

  test('dead letters are held once, counts add up, and the journal is the state', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const office = new Office();
        const jobs: string[] = [];
        for (const each of steps) {
          const jobId = 'job' in each ? (jobs[each.job] ?? 'nobody') : '';
          const selectedIds = countIds(office.core.state.job(jobId)?.job.ids ?? []);
          if (each.do === 'start') {
            const planId = office.plan(each.ids, { actor: each.actor });
            if (office.ask({ kind: 'applyPlan', planId, hash: undefined }).reply?.kind === 'job') jobs.unshift(planId);
          } else if (each.do === 'pass') {
            office.nowMs += each.hours * HOUR_MS;
            office.ask({ kind: 'forgetOldJobs' });
          } else if (each.do === 'note' || each.do === 'end' || each.do === 'fail') {
            if (office.core.state.job(jobId) === undefined) continue;
            const merged = Math.min(each.merged, selectedIds);
            const progress = office.progress(jobId, { merged, failed: Math.min(each.failed, selectedIds - merged) });
            if (each.do === 'note') office.ask({ kind: 'noteProgress', jobId, progress });
            else office.ask({ kind: 'endJob', jobId, progress, failedBecause: each.do === 'fail' ? 'the queue is gone' : undefined });
          } else office.on(each.do, jobId);
          check(office);
        }
      }),
    );
  });

  function check(office: Office): void {
    const { core } = office;
    expect(office.replayed().state.canonical()).toBe(core.state.canonical());
    const active = [...core.state.active].map((entry) => entry.job);
    for (let id = 0; id <= 40; id++) expect(active.filter((held) => hasId(held.ids, id)).length).toBeLessThanOrEqual(1);
    const { reply } = office.ask({ kind: 'listJobs', queue: undefined, activeOnly: false, afterJobId: undefined, max: 99 });
    const jobs = reply?.kind === 'jobs' ? reply.jobs : [];
    for (const { counts, endTimeMs, state } of jobs) {
      const { selected: all, merged, purged, restored, failed, skipped, gone, notTried } = counts;
      if (endTimeMs === undefined) continue;
      expect(merged + purged + restored + failed + skipped + gone + notTried).toBe(all);
      if (state === 'completed') expect(merged + purged + gone).toBe(all);
    }
  }
});
