import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { AskFailure } from '../../../src/actors/asks/asks.ts';
import type { Job, JobAuthor, JobOptions, JobQueue, Plan } from '../../../src/deadletters/jobs/job.ts';
import type { JobsReply, JobsRequest, PlanLetters } from '../../../src/deadletters/jobs/job.ts';
import { jobsAsks } from '../../../src/peers/codec/jobs-codec.ts';
import { WireError } from '../../../src/wire/wire-error.ts';
import { askFailures } from './arbitrary-ask-failure.ts';
import { condition, deepCondition } from './arbitrary-condition.ts';
import { anyNumber, type ByKind, caller, count, flag, idRange, list, orNone, record, text, word } from './arbitrary.ts';
import { describeCodec, numbersOf, sample } from './round-trip.ts';
import type { JobOperation } from '../../../src/kernel/letter-words.ts';

const author: { readonly [Name in keyof JobAuthor]-?: fc.Arbitrary<JobAuthor[Name]> } = {
  actor: text,
  caller: orNone(caller),
  reason: text,
  query: text,
  groupId: text,
};
const operation = word<JobOperation>('merge', 'purge', 'restore');
const named = { number: count, category: text, sourceCluster: text };
const queue: fc.Arbitrary<JobQueue> = record({ ...named, incarnation: count });
const options: fc.Arbitrary<JobOptions> = record({
  rps: anyNumber,
  concurrency: count,
  taskTimeoutMs: count,
  canary: flag,
  maxFailures: count,
  overridesLoopGuard: flag,
});
const order = { jobId: text, actor: text, caller: orNone(caller), reason: text };

const requests: ByKind<JobsRequest> = {
  planLetters: record({
    ...author,
    kind: fc.constant('planLetters' as const),
    operation,
    queue: record({ ...named, incarnation: orNone(count) }),
    selection: record({ ids: orNone(list(idRange)), condition: orNone(condition), purgedBy: orNone(text) }),
    options,
  }),
  applyPlan: record({
    kind: fc.constant('applyPlan' as const),
    planId: text,
    hash: orNone(text),
    isDirect: orNone(flag),
    incarnation: orNone(count),
    comebacks: orNone(text),
    by: orNone(record({ actor: text, caller })),
  }),
  describeJob: record({ kind: fc.constant('describeJob' as const), jobId: text }),
  listJobs: record({
    kind: fc.constant('listJobs' as const),
    queue: orNone(count),
    activeOnly: flag,
    afterJobId: orNone(text),
    max: count,
  }),
  pauseJob: record({ ...order, kind: fc.constant('pauseJob' as const) }),
  resumeJob: record({ ...order, kind: fc.constant('resumeJob' as const) }),
  cancelJob: record({ ...order, kind: fc.constant('cancelJob' as const) }),
  updateJob: record({ ...order, kind: fc.constant('updateJob' as const), rps: orNone(anyNumber), concurrency: orNone(count) }),
};

const plan: fc.Arbitrary<Plan> = record({
  ...author,
  planId: text,
  hash: text,
  requestHash: text,
  operation,
  queue,
  ids: list(idRange),
  selected: count,
  comebacks: orNone(text),
  purgedBy: orNone(text),
  causes: list(record({ cause: text, errorType: text, count })),
  options,
  createdTimeMs: count,
  expireTimeMs: count,
});
const letterReason = record({ messageId: count, reason: text });
const job: fc.Arbitrary<Job> = record({
  ...author,
  jobId: text,
  planHash: text,
  requestHash: text,
  operation,
  queue,
  ids: list(idRange),
  purgedBy: orNone(text),
  options,
  state: word('running', 'paused', 'cancelling', 'cancelled', 'completed', 'completed-with-failures', 'failed'),
  stateReason: text,
  createdTimeMs: count,
  startTimeMs: count,
  endTimeMs: orNone(count),
  counts: record({
    selected: count,
    merged: count,
    mergedNoop: count,
    purged: count,
    restored: count,
    failed: count,
    skipped: count,
    gone: count,
    notTried: count,
  }),
  lastProcessedMessageId: count,
  failures: list(record({ messageId: count, taskId: text, taskType: text, errorType: text, errorMessage: text, sameCause: flag })),
  skips: list(letterReason),
  noops: list(letterReason),
});

const answers: ByKind<JobsReply | AskFailure> = {
  ...askFailures,
  planned: record({ kind: fc.constant('planned' as const), plan }),
  job: record({ kind: fc.constant('job' as const), job }),
  canceled: record({ kind: fc.constant('canceled' as const), job, wasActive: flag }),
  jobs: record({ kind: fc.constant('jobs' as const), jobs: list(job), isLast: flag }),
  rejected: record({
    kind: fc.constant('rejected' as const),
    rejection: record({
      reason: word(
        ...(['invalid-argument', 'not-found', 'failed-precondition', 'overlap'] as const),
        ...(['too-many-stretches', 'too-many-jobs', 'plan-not-found', 'plan-expired'] as const),
      ),
      message: text,
      jobId: orNone(text),
    }),
  }),
};

describeCodec('asks of the jobs', jobsAsks.requests, requests);
describeCodec('answers of the jobs', jobsAsks.answers, answers);

test('golden: the numbers of asks and answers', () => {
  expect(numbersOf(jobsAsks.requests, requests)).toMatchInlineSnapshot(`
    {
      "applyPlan": 2,
      "cancelJob": 7,
      "describeJob": 3,
      "listJobs": 4,
      "pauseJob": 5,
      "planLetters": 1,
      "resumeJob": 6,
      "updateJob": 8,
    }
  `);
  expect(numbersOf(jobsAsks.answers, answers)).toMatchInlineSnapshot(`
    {
      "busy": 103,
      "canceled": 4,
      "dataLoss": 107,
      "deadline": 102,
      "internal": 105,
      "job": 3,
      "jobs": 5,
      "notHere": 106,
      "planned": 2,
      "rejected": 1,
      "tooLarge": 104,
      "unavailable": 101,
    }
  `);
});

describe('a condition', () => {
  const planWith = (selection: PlanLetters['selection']): PlanLetters => ({ ...sample(requests.planLetters), selection });

  test('as deep as a filter may be comes back as it was', () => {
    const sent = planWith({ ids: undefined, condition: deepCondition, purgedBy: undefined });
    expect(jobsAsks.requests.decode(jobsAsks.requests.encode(sent))).toEqual(sent);
  });

  test('of which a part is missing is refused', () => {
    const sent = planWith({ ids: undefined, condition: { kind: 'and', conditions: [] }, purgedBy: undefined });
    const encoded = Buffer.from(jobsAsks.requests.encode(sent));
    const at = encoded.indexOf(Buffer.from([10, 3, ...Buffer.from('and')]));
    // In place of its name, which has as many bytes.
    const other = Uint8Array.from(encoded.fill('not', at + 2, at + 5));
    expect(() => jobsAsks.requests.decode(other)).toThrow(new WireError('ConditionTerm.terms is missing'));
  });
});
