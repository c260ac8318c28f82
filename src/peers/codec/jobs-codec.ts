import type { AskFailure } from '../../actors/asks/asks.ts';
import type { Job, JobsRejection, JobsReply, JobsRequest, PlanLetters } from '../../deadletters/jobs/job.ts';
import type { CompleteWithin } from '../../wire/as-core.ts';
import * as wire from '../../wire/generated/peer/jobs.ts';
import { conditionFromWire, conditionToWire } from './condition-codec.ts';
import { askFailureCodecs, converted, plain, UnionCodec, wordOf, type KindCodecs } from './union-codec.ts';
import { type Words, words } from '../../kernel/words.ts';
import { jobOperations, jobStates } from '../../kernel/letter-words.ts';

const requestCodecs: KindCodecs<JobsRequest> = {
  planLetters: converted(1, 'planLetters', wire.writePlanLetters, wire.readPlanLetters, { toWire: planToWire, fromWire: planFromWire }),
  applyPlan: plain(2, 'applyPlan', wire.writeApplyPlan, wire.readApplyPlan),
  describeJob: plain(3, 'describeJob', wire.writeOfJob, wire.readOfJob),
  listJobs: plain(4, 'listJobs', wire.writeListJobs, wire.readListJobs),
  pauseJob: plain(5, 'pauseJob', wire.writeJobOrder, wire.readJobOrder),
  resumeJob: plain(6, 'resumeJob', wire.writeJobOrder, wire.readJobOrder),
  cancelJob: plain(7, 'cancelJob', wire.writeJobOrder, wire.readJobOrder),
  updateJob: plain(8, 'updateJob', wire.writeUpdateJob, wire.readUpdateJob),
};

function planToWire(request: CompleteWithin<PlanLetters>): wire.PlanLetters {
  const { ids, condition, purgedBy } = request.selection;
  return { ...request, selection: { ids: ids && { items: ids }, condition: condition && conditionToWire(condition), purgedBy } };
}

function planFromWire(request: wire.PlanLetters): Omit<CompleteWithin<PlanLetters>, 'kind'> {
  const { ids, condition, purgedBy } = request.selection;
  return { ...withOperation(request), selection: { ids: ids?.items, condition: condition && conditionFromWire(condition), purgedBy } };
}

function withOperation<Message extends { readonly operation: string }>(message: Message) {
  return { ...message, operation: wordOf(jobOperations, message.operation, 'operation of a job') };
}

const rejectionReasons: Words<JobsRejection['reason']> = words(
  'invalid-argument not-found failed-precondition overlap too-many-stretches too-many-jobs plan-not-found plan-expired',
);

const answerCodecs: KindCodecs<JobsReply | AskFailure> = {
  ...askFailureCodecs,
  rejected: plain(1, 'rejected', wire.writeJobsRejected, (r) => {
    const { rejection } = wire.readJobsRejected(r);
    return { rejection: { ...rejection, reason: wordOf(rejectionReasons, rejection.reason, 'JobsRejection.reason') } };
  }),
  planned: plain(2, 'planned', wire.writePlanned, (r) => ({ plan: withOperation(wire.readPlanned(r).plan) })),
  job: plain(3, 'job', wire.writeJobAnswered, (r) => ({ job: jobFromWire(wire.readJobAnswered(r).job) })),
  canceled: plain(4, 'canceled', wire.writeJobCanceled, (r) => {
    const { job, wasActive } = wire.readJobCanceled(r);
    return { job: jobFromWire(job), wasActive };
  }),
  jobs: plain(5, 'jobs', wire.writeJobsListed, (r) => {
    const { jobs, isLast } = wire.readJobsListed(r);
    return { jobs: jobs.map(jobFromWire), isLast };
  }),
};

function jobFromWire(job: wire.Job): CompleteWithin<Job> {
  return { ...withOperation(job), state: wordOf(jobStates, job.state, 'Job.state') };
}

export const jobsAsks = {
  requests: new UnionCodec<JobsRequest>('ask of the jobs', requestCodecs),
  answers: new UnionCodec<JobsReply | AskFailure>('answer of the jobs', answerCodecs),
};
