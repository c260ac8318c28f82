import type { Job, Plan } from '../../../wire/generated/api/deadletter/service.ts';
import { CliError } from '../../cli-error.ts';
import { exitCodes } from '../../command.ts';
import type { GrpcClient } from '../../grpc-client.ts';
import { calls, jobThere, type DlqKind } from './service.ts';

/** Applies a plan. If no answer comes, the job may still exist: it has the id of its plan, so the server is asked for it. */
export async function applied(kind: DlqKind, client: GrpcClient, { planId, hash }: Pick<Plan, 'planId' | 'hash'>): Promise<Job> {
  try {
    return jobThere((await client.call(calls.ApplyPlan, { planId, hash }, { isChange: true })).job);
  } catch (error) {
    if (!(error instanceof CliError) || !hasNoAnswer(error)) throw error;
    const job = await jobIfKnown(client, planId);
    if (job !== undefined) return job;
    const mayBeThere = `Its job may have started: perdure ${kind} job describe ${planId}`;
    const why = [error.why ?? [], mayBeThere].flat().join('\n');
    throw new CliError(error.exitCode, error.message, { why, next: error.next });
  }
}

function hasNoAnswer({ exitCode }: CliError): boolean {
  return exitCode === exitCodes.unreachable || exitCode === exitCodes.interrupted;
}

/** Undefined if there is no such job, or if the server does not say. */
async function jobIfKnown(client: GrpcClient, jobId: string): Promise<Job | undefined> {
  try {
    return (await client.call(calls.DescribeJob, { jobId, unlessState: '', waitMs: 0 })).job;
  } catch {
    return undefined;
  }
}
