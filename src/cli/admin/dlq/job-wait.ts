/** From plans to the end of their jobs. Whatever ends the wait, the jobs go on, and their ids are said. */
import type { Job } from '../../../wire/generated/api/deadletter/service.ts';
import { CliError, failure } from '../../cli-error.ts';
import type { Invocation } from '../../command.ts';
import { exitCodes, type ExitCode } from '../../exit-codes.ts';
import type { GrpcClient } from '../../grpc-client.ts';
import { listFormat } from '../../output.ts';
import { plainText } from '../../plain-text.ts';
import { printOne } from '../../printed-list.ts';
import type { DlqKind } from './dlq-kind.ts';
import { JobProgress } from './job-progress.ts';
import { operationName, type OperationName } from './operation.ts';
import { queueText } from './queue-names.ts';
import { describeJob } from './service.ts';
import { countsOf, printTotals, totalsJson } from './totals.ts';

type Begin = () => Promise<Job | undefined>;

/** More failures than were allowed: it goes on when somebody has looked. */
const failureBudget = 'failure-budget';

/** Begins the jobs, waits for them unless it is told not to, and prints what became of them. `operation`: where the jobs do not tell. */
export async function carriedOut(
  kind: DlqKind,
  invocation: Invocation,
  client: GrpcClient,
  operation: OperationName | undefined,
  begins: readonly Begin[],
): Promise<ExitCode> {
  const { flags, io } = invocation;
  const format = listFormat(flags.one('output'), 'text');
  const jobs: Job[] = [];
  try {
    for (const begin of begins) {
      const job = await begin();
      if (job === undefined) throw failure('the server answers without a job');
      jobs.push(job);
    }
    const does = operation ?? operationName(jobs[0]?.operation ?? 0);
    if (flags.switched('wait') === false) {
      const counts = countsOf(jobs);
      printOne(
        io,
        format,
        () => totalsJson(does, jobs, counts),
        () => jobs.map((job) => begunText(kind, job)).join(''),
      );
      return exitCodes.done;
    }
    await waitForEnd(kind, invocation, client, jobs);
    return printTotals(kind, does, jobs, { io, format });
  } catch (error) {
    const active = jobs.filter((job) => !hasEnded(job));
    if (!(error instanceof CliError) || active.length === 0) throw error;
    const which = active.map(({ jobId }) => `perdure ${kind} job watch ${jobId}`).join('\n');
    const next = `${active.length === 1 ? 'The job goes' : 'The jobs go'} on:\n${which}`;
    throw new CliError(error.exitCode, error.message, { why: error.why, next });
  }
}

function begunText(kind: DlqKind, { jobId, operation, queue, counts }: Job): string {
  const number = counts?.selected ?? 0;
  return `job ${jobId}: ${operationName(operation)} of ${number} ${number === 1 ? 'letter' : 'letters'} of ${queueText(queue)}\nWatch it: perdure ${kind} job watch ${jobId}\n`;
}

/** Puts each job in its place as it is in the end. */
async function waitForEnd(kind: DlqKind, { flags, io }: Invocation, client: GrpcClient, jobs: Job[]): Promise<void> {
  const progress = new JobProgress(io, flags);
  const told = new Set<string>();
  try {
    for (let index = 0; index < jobs.length; index++) {
      for (let job = jobs[index]; job !== undefined && !isOver(job); jobs[index] = job) {
        progress.show(countsOf(jobs), operationName(job.operation));
        if (job.state === 'paused' && !told.has(job.jobId)) {
          told.add(job.jobId);
          progress.clear();
          const why = job.stateReason === '' ? '' : ` (${plainText(job.stateReason)})`;
          io.err(`perdure: job ${job.jobId} is paused${why}; it goes on with: perdure ${kind} job resume ${job.jobId}\n`);
        }
        const question = { jobId: job.jobId, unlessState: job.state, waitMs: progress.intervalMs };
        const { job: now } = await client.call(describeJob, question, { waitMs: progress.intervalMs });
        if (now === undefined) throw failure('the server answers without a job');
        job = now;
      }
    }
  } finally {
    progress.clear();
  }
}

function isOver(job: Job): boolean {
  return hasEnded(job) || (job.state === 'paused' && job.stateReason.startsWith(failureBudget));
}

function hasEnded({ state }: Job): boolean {
  return !['running', 'paused', 'cancelling', 'planned'].includes(state);
}
