/** A job, and an actor of jobs that has no other. */
import { expect } from 'vitest';
import type { Caller } from '../../../src/deadletters/audit/audit-entry.ts';
import type { Job, JobsReply, JobsRequest } from '../../../src/deadletters/jobs/job.ts';
import type { LetterOwners } from './letter-owners.ts';

/** How whoever calls is told of, beside his name. */
export const theCaller: Caller = expect.objectContaining({ peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/) });

export const job: Job = {
  actor: 'anonymous',
  reason: '',
  query: '',
  groupId: '',
  jobId: '0e8f3f04-5ff4-4c9b-8a58-5d0f0f8a0c55',
  planHash: 'h',
  requestHash: '',
  operation: 'merge',
  queue: { number: 1, category: 'transfer', sourceCluster: 'active', incarnation: 7 },
  ids: [
    { from: 0, to: 1 },
    { from: 4, to: 6 },
  ],
  options: { rps: 100, concurrency: 8, taskTimeoutMs: 30_000, canary: false, maxFailures: 0, overridesLoopGuard: false },
  state: 'running',
  stateReason: '',
  createdTimeMs: 1_000,
  startTimeMs: 2_000,
  endTimeMs: undefined,
  counts: { selected: 5, merged: 2, mergedNoop: 1, purged: 0, restored: 0, failed: 1, skipped: 0, gone: 0, notTried: 0 },
  lastProcessedMessageId: 4,
  failures: [{ messageId: 4, taskId: '3005', taskType: 'T', errorType: 'Internal', errorMessage: 'again', sameCause: true }],
  skips: [],
  noops: [{ messageId: 0, reason: 'the workflow is gone' }],
};

/** Every plan is carried out as `of` says. */
export function jobsAre(owners: Pick<LetterOwners, 'jobs'>, of: (request: JobsRequest) => Partial<Job>): void {
  owners.jobs = (request): JobsReply => {
    if (request.kind === 'planLetters') {
      const { operation, queue, options, actor, reason, query, groupId } = request;
      const author = { actor, reason, query, groupId };
      const plan = {
        ...author,
        planId: 'plan-1',
        hash: 'h',
        requestHash: '',
        operation,
        queue: { ...queue, incarnation: queue.incarnation ?? 7 },
        options,
        ids: [],
        selected: 0,
        causes: [],
      };
      return { kind: 'planned', plan: { ...plan, createdTimeMs: 1, expireTimeMs: 2 } };
    }
    if (request.kind === 'cancelJob') return { kind: 'canceled', job: { ...job, ...of(request) }, wasActive: true };
    return { kind: 'job', job: { ...job, ...of(request) } };
  };
}
