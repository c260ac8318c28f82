/** Starts the jobs of plans and waits for their end. If the wait ends earlier, the jobs continue, and their ids are printed. */
import type { Job } from '../../../wire/generated/api/deadletter/service.ts';
import { CliError } from '../../cli-error.ts';
import { exitCodes, type ExitCode, type Invocation } from '../../command.ts';
import { isRefusedAs, type GrpcClient } from '../../grpc-client.ts';
import { plainText } from '../../plain-text.ts';
import { printOne } from '../../printed-list.ts';
import { JobProgress } from './job-progress.ts';
import { operationName, type OperationName } from './operation.ts';
import { deadLetters, queueText } from './queue-names.ts';
import { howToGoOn, lettersLeft, type Begin } from './parts-left.ts';
import { calls, jobThere, type DlqKind } from './service.ts';
import { countsOf, doneText, printTotals, totalsJson, type Work } from './totals.ts';

/** The reason of a job that is paused because more messages failed than `--max-failures`; an operator has to resume or cancel it. */
const failureBudget = 'failure-budget';

/** A job, and in `line` the parts of its queue that come after it. */
type Begun = { job: Job; readonly line: Begin[] };
/** `lines` has, for each queue, the parts that are not started yet. */
type Order = { readonly kind: DlqKind; readonly invocation: Invocation; readonly client: GrpcClient; readonly lines: Begin[][] };

/**
 * Starts the jobs, waits for them unless `--no-wait` is given, and prints their outcome. `operation` is printed if there is no job that has one.
 * Parts of one queue run one after the other, so that rate and failures count for all together; a queue accepts only a few.
 * With `--no-wait` as many are started as the queue accepts.
 */
export async function carriedOut(
  kind: DlqKind,
  invocation: Invocation,
  client: GrpcClient,
  operation: OperationName | undefined,
  lines: readonly (readonly Begin[])[],
): Promise<ExitCode> {
  const { flags, io } = invocation;
  const order: Order = { kind, invocation, client, lines: lines.map((line) => [...line]) };
  const isInParts = lines.some((line) => line.length > 1);
  const begun: Begun[] = [];
  const does = (): OperationName => operation ?? operationName(begun[0]?.job.operation ?? 0);
  const work = (): Work => workOf(order, begun);
  const tellHowToGoOn = (): void => howToGoOn(kind, order.lines).forEach((text) => io.err(`perdure: ${text}\n`));
  try {
    for (const line of order.lines) await beginNext(line, begun);
    if (flags.switched('wait') === false) {
      for (const line of order.lines) await beginAll(line, begun);
      const { jobs, left } = work();
      const counts = countsOf({ jobs, left });
      printOne(invocation, totalsJson(does(), jobs, counts), () => jobs.map((job) => begunText(kind, job)).join(''));
      tellHowToGoOn();
      return left > 0 ? exitCodes.partlyDone : exitCodes.done;
    }
    await waitForEnd(order, begun);
    const code = printTotals(kind, does(), work(), invocation);
    tellHowToGoOn();
    return code;
  } catch (error) {
    const active = work().jobs.filter((job) => !hasEnded(job));
    const rest = begun.length === 0 ? [] : howToGoOn(kind, order.lines);
    if (!(error instanceof CliError) || active.length + rest.length === 0) throw error;
    const which = active.map(({ jobId }) => `perdure ${kind} job watch ${jobId}`);
    const goOn = active.length === 0 ? [] : [active.length === 1 ? 'The job continues:' : 'The jobs continue:', ...which];
    const done = isInParts ? [`So far: ${doneText(does(), countsOf(work()))}`] : [];
    const why = [error.why ?? [], done].flat().join('\n');
    throw new CliError(error.exitCode, error.message, { why: why === '' ? undefined : why, next: [...goOn, ...rest].join('\n') });
  }
}

function workOf({ lines }: Order, begun: readonly Begun[]): Work {
  return { jobs: begun.map(({ job }) => job), left: lettersLeft(lines) };
}

async function beginNext(line: Begin[], begun: Begun[]): Promise<void> {
  for (let job: Job | undefined; job === undefined && line[0] !== undefined; line.shift()) {
    job = await line[0].begin();
    if (job !== undefined) begun.push({ job, line });
  }
}

async function beginAll(line: Begin[], begun: Begun[]): Promise<void> {
  try {
    while (line.length > 0) await beginNext(line, begun);
  } catch (error) {
    if (!isRefusedAs(error, 'too-many-jobs')) throw error;
  }
}

function begunText(kind: DlqKind, { jobId, operation, queue, counts }: Job): string {
  return `job ${jobId}: ${operationName(operation)} of ${deadLetters(counts?.selected ?? 0)} of ${queueText(queue)}\nWatch it: perdure ${kind} job watch ${jobId}\n`;
}

/** Waits for each job, and starts the next part of its queue when it has ended. Afterwards `begun` has all jobs in their final state. */
async function waitForEnd(order: Order, begun: Begun[]): Promise<void> {
  const { kind, invocation, client } = order;
  const { flags, io } = invocation;
  const progress = new JobProgress(io, flags);
  const told = new Set<string>();
  try {
    for (const each of begun) {
      while (!isOver(each.job)) {
        const { jobId, state, stateReason, operation } = each.job;
        progress.show(countsOf(workOf(order, begun)), operationName(operation));
        if (state === 'paused' && !told.has(jobId)) {
          told.add(jobId);
          progress.clear();
          const why = stateReason === '' ? '' : ` (${plainText(stateReason)})`;
          io.err(`perdure: job ${jobId} is paused${why}; resume it with: perdure ${kind} job resume ${jobId}\n`);
        }
        const question = { jobId, unlessState: state, waitMs: progress.intervalMs };
        each.job = jobThere((await client.call(calls.DescribeJob, question, { waitMs: progress.intervalMs })).job);
      }
      // After a cancelled, paused or failed job a person has to decide, so no further part is started.
      if (each.job.state.startsWith('completed')) await beginNext(each.line, begun);
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
