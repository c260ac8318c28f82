/** Plans and jobs through the front door: what is asked of the actor of jobs, and what is shown of its answers. */
import { status as codes } from '@grpc/grpc-js';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { letterOf } from '../../deadletters/letters.ts';
import { turns } from '../../support/event-loop.ts';
import { openBench, type Bench } from '../frontend-bench.ts';
import { job, jobsAre, theCaller } from './jobs.ts';
import { bytesOfAnswer, LetterClient, type Plain } from './letter-client.ts';
import { LetterOwners } from './letter-owners.ts';
import type { JobState } from '../../../src/kernel/letter-words.ts';

const transfer = { category: 'transfer', sourceCluster: 'active' };
const queue = { number: 1, ...transfer };
const merge = { operation: 'OPERATION_MERGE', queue: { category: 'transfer' } };
const standard = { rps: 100, concurrency: 8, taskTimeoutMs: 30_000, canary: false, maxFailures: 0, overridesLoopGuard: false };
const by = { actor: 'anonymous', caller: theCaller };
const anonymous = { actor: 'anonymous', caller: theCaller, reason: '', query: '', groupId: '' };

let owners: LetterOwners;
let bench: Bench;
let client: LetterClient;
beforeEach(async () => {
  owners = new LetterOwners();
  bench = await openBench({ jobs: owners });
  owners.serveOn(bench.stub);
  client = new LetterClient(bench.address);
  owners.addQueue('transfer', 'active');
  owners.add(1, 3, letterOf(3, 1));
});
afterEach(async () => {
  client.close();
  await bench.close();
});

describe('a plan', () => {
  test('of dead letters that are named is refused where one of them is not there, and says which', async () => {
    jobsAre(owners, () => ({}));
    owners.add(1, 4, letterOf(4, 1));
    const selection = { messageIds: [4, 3, 77] };
    expect(await client.refused('PlanDeadLetters', { ...merge, operation: 'OPERATION_PURGE', selection })).toEqual([
      codes.NOT_FOUND,
      'message 77 is already merged. Nothing was done',
    ]);
    const many = Array.from({ length: 5_000 }, (_, at) => 2 * at);
    const [code, text] = await client.refused('PlanDeadLetters', { ...merge, selection: { messageIds: many } });
    expect(code).toBe(codes.NOT_FOUND);
    expect(text).toContain('message 18 is already merged, message 20 is already merged, and 4989 others');
    expect(owners.jobsRequests).toEqual([]);
  });

  test('is over all dead letters, at the pace that operators have set, unless the request says more', async () => {
    jobsAre(owners, () => ({}));
    for (const id of [4, 9, 12]) owners.add(1, id, letterOf(id, 1));
    await client.call('PlanDeadLetters', { ...merge, options: { canary: true } });
    const selection = { messageIds: [9, 3, 4, 4, 12], minMessageId: 4, namespace: 'shop', shardId: 2, query: 'Attempts > 3' };
    const options = { rps: 0, concurrency: 64, taskTimeout: { seconds: 600 }, maxFailures: 2, overrideLoopGuard: true };
    const more = { operation: 'OPERATION_PURGE', selection, options, reason: 'the fix is out', groupId: 'g-1' };
    await client.call('PlanDeadLetters', { ...merge, ...more });
    const column = (name: string, kind: string) => ({ name, kind });
    expect(owners.jobsRequests).toEqual([
      {
        kind: 'planLetters',
        ...anonymous,
        operation: 'merge',
        queue,
        selection: { ids: undefined, condition: undefined },
        options: { ...standard, canary: true },
      },
      {
        kind: 'planLetters',
        ...anonymous,
        operation: 'purge',
        queue,
        selection: {
          ids: [
            { from: 4, to: 4 },
            { from: 9, to: 9 },
            { from: 12, to: 12 },
          ],
          condition: {
            kind: 'and',
            conditions: [
              { kind: 'compare', column: column('Namespace', 'keyword'), operator: '=', operand: 'shop' },
              { kind: 'compare', column: column('ShardId', 'int'), operator: '=', operand: 2 },
              { kind: 'compare', column: column('Attempts', 'int'), operator: '>', operand: 3 },
            ],
          },
        },
        options: { rps: 0, concurrency: 64, taskTimeoutMs: 600_000, canary: false, maxFailures: 2, overridesLoopGuard: true },
        reason: 'the fix is out',
        query: 'Attempts > 3',
        groupId: 'g-1',
      },
    ]);
  });

  test('is shown with its ids and causes, and applied with its hash or with any', async () => {
    const causes = [{ cause: 'retries-exhausted', errorType: 'Unavailable', count: 2 }];
    const ids = [{ from: 3, to: 4 }];
    const plan = {
      ...anonymous,
      planId: 'p-1',
      hash: 'abc',
      requestHash: '',
      operation: 'merge',
      queue: { ...queue, incarnation: 7 },
      ids,
      selected: 2,
      causes,
      options: standard,
    } as const;
    owners.jobs = ({ kind }) => {
      if (kind === 'planLetters') return { kind: 'planned', plan: { ...plan, createdTimeMs: 1_000, expireTimeMs: 3_601_000 } };
      return { kind: 'job', job };
    };
    expect(await client.call('PlanDeadLetters', { ...merge, selection: { messageIds: [3] } })).toEqual({
      plan: {
        planId: 'p-1',
        hash: 'abc',
        operation: 'OPERATION_MERGE',
        queue: transfer,
        ids,
        selected: 2,
        causes,
        createdTime: { seconds: 1 },
        expireTime: { seconds: 3_601 },
        options: { rps: 100, concurrency: 8, taskTimeout: { seconds: 30 } },
      },
    });
    await client.call('ApplyPlan', { planId: 'p-1', hash: 'abc' });
    await client.call('ApplyPlan', { planId: 'p-1' });
    expect(owners.jobsRequests.slice(1)).toEqual([
      { kind: 'applyPlan', planId: 'p-1', hash: 'abc', by },
      { kind: 'applyPlan', planId: 'p-1', hash: undefined, by },
    ]);
  });

  test.each([
    ['not-found', codes.NOT_FOUND, ''],
    ['invalid-argument', codes.INVALID_ARGUMENT, ''],
    ['failed-precondition', codes.FAILED_PRECONDITION, ''],
    ['overlap', codes.FAILED_PRECONDITION, ''],
    ['plan-not-found', codes.NOT_FOUND, 'plan-not-found'],
    ['plan-expired', codes.FAILED_PRECONDITION, 'plan-expired'],
    ['too-many-stretches', codes.RESOURCE_EXHAUSTED, 'too-many-stretches'],
    ['too-many-jobs', codes.RESOURCE_EXHAUSTED, 'too-many-jobs'],
  ] as const)('that is refused as %s', async (reason, code, told) => {
    owners.jobs = () => ({ kind: 'rejected', rejection: { reason, message: 'why' } });
    expect(await client.refused('PlanDeadLetters', merge)).toEqual([code, 'why']);
    expect(await client.refused('ApplyPlan', { planId: 'p-1' })).toEqual([code, 'why']);
    expect(await client.reasonOfRefusal('ApplyPlan', { planId: 'p-1' })).toBe(told);
  });
});

describe('a job', () => {
  test('is shown with what came of its dead letters', async () => {
    jobsAre(owners, () => ({ state: 'completed-with-failures', endTimeMs: 9_000, skips: [{ messageId: 5, reason: 'loop-guard' }] }));
    expect(await client.call('DescribeJob', { jobId: job.jobId })).toEqual({
      job: {
        jobId: job.jobId,
        planHash: 'h',
        operation: 'OPERATION_MERGE',
        queue: transfer,
        state: 'completed-with-failures',
        actor: 'anonymous',
        ids: [{ to: 1 }, { from: 4, to: 6 }],
        maxMessageId: 6,
        createdTime: { seconds: 1 },
        startTime: { seconds: 2 },
        endTime: { seconds: 9 },
        options: { rps: 100, concurrency: 8, taskTimeout: { seconds: 30 } },
        counts: { selected: 5, merged: 2, mergedNoop: 1, failed: 1, remaining: 3 },
        lastProcessedMessageId: 4,
        failures: [{ messageId: 4, taskId: '3005', taskType: 'T', errorType: 'Internal', errorMessage: 'again', sameCause: true }],
        skips: [{ messageId: 5, reason: 'loop-guard' }],
        noops: [{ reason: 'the workflow is gone' }],
      },
    });
  });

  async function described(request: object, ...states: readonly JobState[]): Promise<unknown> {
    const rest = [...states];
    jobsAre(owners, () => ({ state: rest.length > 1 ? (rest.shift() as JobState) : (rest[0] as JobState) }));
    const { job: shown } = await client.call('DescribeJob', { jobId: job.jobId, ...request });
    return (shown as { readonly state: string }).state;
  }

  test('is waited for until its state is another, it has ended, or the time is over', async () => {
    const wait = { seconds: 30 };
    expect(await described({ wait }, 'running', 'running', 'completed')).toBe('completed');
    expect(await described({ wait, unlessState: 'running' }, 'running', 'paused')).toBe('paused');
    expect(await described({ wait, unlessState: 'running' }, 'paused')).toBe('paused');
    expect(await described({ wait, unlessState: 'completed' }, 'completed')).toBe('completed');
    expect(await described({ wait: { nanos: 1_000_000 } }, 'running')).toBe('running');
    expect(await described({}, 'running')).toBe('running');
  });

  test('that somebody waits for is answered when the server drains', async () => {
    const answer = described({ wait: { seconds: 60 } }, 'running');
    while (owners.jobsRequests.length === 0) await turns();
    await Promise.all([expect(answer).resolves.toBe('running'), bench.frontend.stop(5_000)]);
  });

  test('is paused, resumed, updated and cancelled, with who and why', async () => {
    jobsAre(owners, () => ({ state: 'paused' }));
    const why = { jobId: job.jobId, reason: 'lunch' };
    expect(await client.call('PauseJob', why)).toMatchObject({ job: { state: 'paused' } });
    await client.call('ResumeJob', why);
    await client.call('UpdateJob', { ...why, rps: 0.5 });
    expect(await client.call('CancelJob', why)).toMatchObject({ canceled: true });
    const order = { jobId: job.jobId, actor: 'anonymous', caller: theCaller, reason: 'lunch' };
    expect(owners.jobsRequests).toEqual([
      { kind: 'pauseJob', ...order },
      { kind: 'resumeJob', ...order },
      { kind: 'updateJob', ...order, rps: 0.5, concurrency: undefined },
      { kind: 'cancelJob', ...order },
    ]);
  });
});

test('jobs are listed page by page, of one queue or of all', async () => {
  owners.jobs = (request) => {
    if (request.kind !== 'listJobs') throw new Error(request.kind);
    return { kind: 'jobs', jobs: [{ ...job, jobId: `behind ${request.afterJobId}` }], isLast: request.afterJobId !== undefined };
  };
  const first = await client.call('ListJobs', { pageSize: 1, activeOnly: true });
  expect(first).toMatchObject({ jobs: [{ jobId: 'behind undefined' }] });
  const { nextPageToken } = first;
  const second = await client.call('ListJobs', { pageSize: 1, activeOnly: true, nextPageToken });
  expect(second).toMatchObject({ jobs: [{ jobId: 'behind behind undefined' }] });
  expect(second).not.toHaveProperty('nextPageToken');
  expect(await client.refused('ListJobs', { nextPageToken })).toEqual([
    codes.INVALID_ARGUMENT,
    'NextPageToken was given for another request.',
  ]);
  await client.call('ListJobs', { queue: transfer });
  expect(owners.jobsRequests.at(-1)).toEqual({ kind: 'listJobs', queue: 1, activeOnly: false, afterJobId: undefined, max: 100 });
  expect(await client.call('ListJobs', { queue: { category: 'archival' } })).toEqual({});
});

test('a page of jobs with much to tell ends before it is too large for clients', async () => {
  const failures = Array.from({ length: 100 }, (_, messageId) => ({
    ...{ messageId, taskId: '7', taskType: 'T', errorType: 'Internal', sameCause: false },
    errorMessage: 'x'.repeat(2_000),
  }));
  const jobs = Array.from({ length: 40 }, (_, at) => ({ ...job, jobId: `job-${at}`, failures }));
  owners.jobs = (request) => {
    if (request.kind !== 'listJobs') throw new Error(request.kind);
    const next = jobs.findIndex(({ jobId }) => jobId === request.afterJobId) + 1;
    return { kind: 'jobs', jobs: jobs.slice(next, next + request.max), isLast: true };
  };
  const listed: string[] = [];
  let more: Plain = {};
  do {
    const page = await client.call('ListJobs', more);
    expect(bytesOfAnswer('ListJobs', page)).toBeLessThan(4 * 1024 * 1024);
    listed.push(...(page['jobs'] as readonly Plain[]).map(({ jobId }) => String(jobId)));
    more = page['nextPageToken'] === undefined ? {} : { nextPageToken: page['nextPageToken'] };
  } while (Object.keys(more).length > 0);
  expect(listed).toEqual(jobs.map(({ jobId }) => jobId));
});
