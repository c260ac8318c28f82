/** `… dlq job …`: the jobs that merge, purge or restore dead letters. */
import type { Job } from '../../../wire/generated/api/deadletter/service.ts';
import { usageError } from '../../cli-error.ts';
import type { ExitCode, Invocation } from '../../command.ts';
import { pagesOf, withServer, type GrpcClient, type GrpcMethod } from '../../grpc-client.ts';
import { fieldLines } from '../../printed-fields.ts';
import { PrintedList, printOne } from '../../printed-list.ts';
import { rfc3339, timeFormat, type TimeFormat } from '../../printed-time.ts';
import { plainText } from '../../plain-text.ts';
import { paceOf, reasonOf } from './change-options.ts';
import { carriedOut } from './job-wait.ts';
import { operationName } from './operation.ts';
import { queueText } from './queue-names.ts';
import { allQueues, isCategoryId, isOfCategory } from './queues.ts';
import { count } from './read.ts';
import { calls, jobThere, type DlqKind } from './service.ts';

const pageJobs = 100;
const limitDefault = 100;
const failuresShownMax = 20;
const idsShownMax = 10;

export async function runListJobs(invocation: Invocation): Promise<ExitCode> {
  const { flags } = invocation;
  const time = timeFormat(flags);
  const forms = { json: jobJson, titles, cells: (job: Job) => cells(job, time), none: 'No jobs to show.' };
  const list = new PrintedList<Job>(invocation, forms);
  let missing = count(flags, 'limit', limitDefault) || Infinity;
  return list.whole(() =>
    withServer(invocation, async (client) => {
      const isWanted = await wantedJobs(invocation, client);
      const request = { queue: undefined, activeOnly: flags.switched('active') === true, pageSize: pageJobs };
      for await (const page of pagesOf((nextPageToken) => client.call(calls.ListJobs, { ...request, nextPageToken }))) {
        const wanted = page.jobs.filter(isWanted).slice(0, missing);
        missing -= wanted.length;
        if (!(await list.add(wanted)) || missing <= 0) return;
      }
    }),
  );
}

/** Jobs of all queues, unless flags select some. */
async function wantedJobs({ flags }: Invocation, client: GrpcClient): Promise<(job: Job) => boolean> {
  const [cluster, given] = [flags.one('cluster'), flags.one('category')];
  const category = given === undefined ? undefined : await categoryNamed(given, client);
  return ({ queue }) =>
    (cluster === undefined || queue?.sourceCluster === cluster) && (category === undefined || queue?.category === category);
}

/** The category of an id; only the server knows which one that is. */
async function categoryNamed(given: string, client: GrpcClient): Promise<string> {
  if (!isCategoryId(given)) return given;
  return (await allQueues(client)).find((queue) => isOfCategory(queue, given))?.name?.category ?? given;
}

export async function runDescribeJob(invocation: Invocation): Promise<ExitCode> {
  return withServer(invocation, async (client) => printJob(invocation, await described(client, jobIdOf(invocation))));
}

export async function runWatchJob(kind: DlqKind, invocation: Invocation): Promise<ExitCode> {
  return withServer(invocation, (client) =>
    carriedOut(kind, invocation, client, undefined, [[{ begin: async () => jobThere(await described(client, jobIdOf(invocation))) }]]),
  );
}

export function runPauseJob(invocation: Invocation): Promise<ExitCode> {
  return changed(invocation, calls.PauseJob, orderOf(invocation));
}

export function runResumeJob(invocation: Invocation): Promise<ExitCode> {
  return changed(invocation, calls.ResumeJob, orderOf(invocation));
}

export async function runCancelJob(invocation: Invocation): Promise<ExitCode> {
  const order = orderOf(invocation);
  return withServer(invocation, async (client) => {
    const { job, canceled } = await client.call(calls.CancelJob, order, { isChange: true });
    if (!canceled) invocation.io.err(`perdure: job ${order.jobId} has already ended\n`);
    return printJob(invocation, job, { canceled });
  });
}

export async function runUpdateJob(invocation: Invocation): Promise<ExitCode> {
  const pace = paceOf(invocation.flags);
  if (pace.rps === undefined && pace.concurrency === undefined) throw usageError('job update needs --rps or --concurrency');
  return changed(invocation, calls.UpdateJob, { ...orderOf(invocation), ...pace });
}

type Changed = { readonly job: Job | undefined };

function changed<Order>(invocation: Invocation, method: GrpcMethod<Order, Changed>, order: Order): Promise<ExitCode> {
  return withServer(invocation, async (client) => printJob(invocation, (await client.call(method, order, { isChange: true })).job));
}

function orderOf(invocation: Invocation) {
  return { jobId: jobIdOf(invocation), reason: reasonOf(invocation.flags) };
}

function jobIdOf({ args: [jobId = ''] }: Invocation): string {
  return jobId;
}

async function described(client: GrpcClient, jobId: string): Promise<Job | undefined> {
  return (await client.call(calls.DescribeJob, { jobId, unlessState: '', waitMs: 0 })).job;
}

function printJob(invocation: Invocation, job: Job | undefined, more: object = {}): ExitCode {
  const shown = jobThere(job);
  return printOne(invocation, { ...jobJson(shown), ...more }, () => jobText(shown));
}

const titles = ['JOB', 'OPERATION', 'QUEUE', 'STATE', 'SELECTED', 'DONE', 'FAILED', 'REMAINING', 'CREATED', 'BY'];

function cells(job: Job, time: TimeFormat): readonly string[] {
  const { jobId, operation, queue, state, counts, createdTimeMs, actor } = job;
  const done = (counts?.merged ?? 0) + (counts?.purged ?? 0) + (counts?.restored ?? 0);
  const numbers = [counts?.selected ?? 0, done, counts?.failed ?? 0, counts?.remaining ?? 0].map(String);
  return [jobId, operationName(operation), queueText(queue), state, ...numbers, time(createdTimeMs), plainText(actor) || '-'];
}

function jobJson(job: Job) {
  const { jobId, groupId, planHash, operation, queue, state, stateReason, actor, reason, query, options, counts } = job;
  const { maxMessageId, lastProcessedMessageId, failures, skips, noops } = job;
  return {
    ...{ jobId, groupId, planHash, operation: operationName(operation), queue: queueText(queue) },
    category: queue?.category ?? '',
    sourceCluster: queue?.sourceCluster ?? '',
    ...{ state, stateReason, actor, reason, filter: query },
    ids: job.ids.map(({ from, to }) => [from, to] as const),
    maxMessageId,
    createdTime: rfc3339(job.createdTimeMs),
    startTime: rfc3339(job.startTimeMs),
    endTime: rfc3339(job.endTimeMs),
    rps: options?.rps ?? 0,
    concurrency: options?.concurrency ?? 0,
    canary: options?.canary ?? false,
    maxFailures: options?.maxFailures ?? 0,
    taskTimeoutMs: options?.taskTimeoutMs ?? 0,
    overrideLoopGuard: options?.overrideLoopGuard ?? false,
    ...{ counts, lastProcessedMessageId, failures, skips, noops },
  };
}

function jobText(job: Job): string {
  const { counts, ids, failures, skips, noops, ...fields } = jobJson(job);
  const ranges = ids.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`));
  const rows = fieldLines({ ...fields, ids: ranges.slice(0, 10).join(', ') + (ranges.length > 10 ? ', …' : ''), ...counts });
  const failed = failures
    .toSorted(byMessage)
    .map((each) => `failed: message ${each.messageId}  ${plainText(`${each.errorType}: ${each.errorMessage}`)}`);
  const details = [
    ...failed.slice(0, failuresShownMax),
    ...(failed.length > failuresShownMax ? [`… and ${failed.length - failuresShownMax} more in -o json`] : []),
    ...byReason('skipped', skips),
    ...byReason('nothing left to do', noops),
  ];
  return `${[...rows, ...details].join('\n')}\n`;
}

type ReasonedMessage = { readonly messageId: number; readonly reason: string };

function byMessage(a: { readonly messageId: number }, b: { readonly messageId: number }): number {
  return a.messageId - b.messageId;
}

/** One line for each reason, because hundreds of messages have only a few. */
function byReason(what: string, messages: readonly ReasonedMessage[]): readonly string[] {
  return [...Map.groupBy(messages.toSorted(byMessage), ({ reason }) => reason)].map(([reason, those]) => {
    const ids = those.slice(0, idsShownMax).map(({ messageId }) => messageId);
    const more = those.length > ids.length ? `, … (${those.length})` : '';
    return `${what}: ${those.length === 1 ? 'message' : 'messages'} ${ids.join(', ')}${more}  ${plainText(reason)}`;
  });
}
