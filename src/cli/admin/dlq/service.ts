import { calls as codecs, type Job } from '../../../wire/generated/api/deadletter/service.ts';
import { failure } from '../../cli-error.ts';
import { methodsOf } from '../../grpc-client.ts';

export const calls = methodsOf('perdure.api.deadletter.v1.DeadLetterService', codecs);

export function jobThere(job: Job | undefined): Job {
  if (job === undefined) throw failure('the server answers without a job');
  return job;
}

/** The two families of commands: `admin dlq` is about tasks from other clusters, `admin queue dlq` about this cluster's own. */
export type DlqKind = 'admin dlq' | 'admin queue dlq';
