import type { Job, Plan } from '../../../wire/generated/api/deadletter/service.ts';
import { CliError } from '../../cli-error.ts';
import { exitCodes } from '../../exit-codes.ts';
import type { GrpcClient } from '../../grpc-client.ts';
import type { DlqKind } from './dlq-kind.ts';
import { applyPlan, describeJob, jobThere } from './service.ts';

/** The job of a plan. Where no answer comes the job may be there all the same: it has the id of its plan, and the server is asked for it. */
export async function applied(kind: DlqKind, client: GrpcClient, { planId, hash }: Pick<Plan, 'planId' | 'hash'>): Promise<Job> {
  try {
    return jobThere((await client.call(applyPlan, { planId, hash }, { isChange: true })).job);
  } catch (error) {
    if (!(error instanceof CliError) || !hasNoAnswer(error)) throw error;
    const job = await jobIfKnown(client, planId);
    if (job !== undefined) return job;
    const mayBeThere = `Its job may have begun: perdure ${kind} job describe ${planId}`;
    const why = [error.why ?? [], mayBeThere].flat().join('\n');
    throw new CliError(error.exitCode, error.message, { why, next: error.next });
  }
}

function hasNoAnswer({ exitCode }: CliError): boolean {
  return exitCode === exitCodes.unreachable || exitCode === exitCodes.interrupted;
}

/** Undefined: there is none, or nobody can say. */
async function jobIfKnown(client: GrpcClient, jobId: string): Promise<Job | undefined> {
  try {
    return (await client.call(describeJob, { jobId, unlessState: '', waitMs: 0 })).job;
  } catch {
    return undefined;
  }
}
