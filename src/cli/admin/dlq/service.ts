/** The calls of DeadLetterService. */
import * as wire from '../../../wire/generated/api/deadletter/service.ts';
import { failure } from '../../cli-error.ts';
import type { GrpcMethod } from '../../grpc-client.ts';

export function jobThere(job: wire.Job | undefined): wire.Job {
  if (job === undefined) throw failure('the server answers without a job');
  return job;
}

const path = (method: string): string => `/perdure.api.deadletter.v1.DeadLetterService/${method}`;

export const listDeadLetterQueues: GrpcMethod<wire.ListDeadLetterQueuesRequest, wire.ListDeadLetterQueuesResponse> = {
  path: path('ListDeadLetterQueues'),
  encode: wire.encodeListDeadLetterQueuesRequest,
  decode: wire.decodeListDeadLetterQueuesResponse,
};
export const listDeadLetters: GrpcMethod<wire.ListDeadLettersRequest, wire.ListDeadLettersResponse> = {
  path: path('ListDeadLetters'),
  encode: wire.encodeListDeadLettersRequest,
  decode: wire.decodeListDeadLettersResponse,
};
export const countDeadLetters: GrpcMethod<wire.CountDeadLettersRequest, wire.CountDeadLettersResponse> = {
  path: path('CountDeadLetters'),
  encode: wire.encodeCountDeadLettersRequest,
  decode: wire.decodeCountDeadLettersResponse,
};
export const getDeadLetter: GrpcMethod<wire.GetDeadLetterRequest, wire.GetDeadLetterResponse> = {
  path: path('GetDeadLetter'),
  encode: wire.encodeGetDeadLetterRequest,
  decode: wire.decodeGetDeadLetterResponse,
};
export const groupDeadLetters: GrpcMethod<wire.GroupDeadLettersRequest, wire.GroupDeadLettersResponse> = {
  path: path('GroupDeadLetters'),
  encode: wire.encodeGroupDeadLettersRequest,
  decode: wire.decodeGroupDeadLettersResponse,
};
export const planDeadLetters: GrpcMethod<wire.PlanDeadLettersRequest, wire.PlanDeadLettersResponse> = {
  path: path('PlanDeadLetters'),
  encode: wire.encodePlanDeadLettersRequest,
  decode: wire.decodePlanDeadLettersResponse,
};
export const applyPlan: GrpcMethod<wire.ApplyPlanRequest, wire.ApplyPlanResponse> = {
  path: path('ApplyPlan'),
  encode: wire.encodeApplyPlanRequest,
  decode: wire.decodeApplyPlanResponse,
};
export const describeJob: GrpcMethod<wire.DescribeJobRequest, wire.DescribeJobResponse> = {
  path: path('DescribeJob'),
  encode: wire.encodeDescribeJobRequest,
  decode: wire.decodeDescribeJobResponse,
};
export const listJobs: GrpcMethod<wire.ListJobsRequest, wire.ListJobsResponse> = {
  path: path('ListJobs'),
  encode: wire.encodeListJobsRequest,
  decode: wire.decodeListJobsResponse,
};
export const pauseJob: GrpcMethod<wire.PauseJobRequest, wire.PauseJobResponse> = {
  path: path('PauseJob'),
  encode: wire.encodePauseJobRequest,
  decode: wire.decodePauseJobResponse,
};
export const resumeJob: GrpcMethod<wire.ResumeJobRequest, wire.ResumeJobResponse> = {
  path: path('ResumeJob'),
  encode: wire.encodeResumeJobRequest,
  decode: wire.decodeResumeJobResponse,
};
export const cancelJob: GrpcMethod<wire.CancelJobRequest, wire.CancelJobResponse> = {
  path: path('CancelJob'),
  encode: wire.encodeCancelJobRequest,
  decode: wire.decodeCancelJobResponse,
};
export const updateJob: GrpcMethod<wire.UpdateJobRequest, wire.UpdateJobResponse> = {
  path: path('UpdateJob'),
  encode: wire.encodeUpdateJobRequest,
  decode: wire.decodeUpdateJobResponse,
};
export const restoreDeadLetters: GrpcMethod<wire.RestoreDeadLettersRequest, wire.RestoreDeadLettersResponse> = {
  path: path('RestoreDeadLetters'),
  encode: wire.encodeRestoreDeadLettersRequest,
  decode: wire.decodeRestoreDeadLettersResponse,
};
export const listAuditEntries: GrpcMethod<wire.ListAuditEntriesRequest, wire.ListAuditEntriesResponse> = {
  path: path('ListAuditEntries'),
  encode: wire.encodeListAuditEntriesRequest,
  decode: wire.decodeListAuditEntriesResponse,
};
