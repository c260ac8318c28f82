/** Letters that were purged get back into their queue: named by their ids, or all that a job purged. */
import type { IdRange } from '../../deadletters/commands.ts';
import type { Job, JobQueue } from '../../deadletters/jobs/job.ts';
import {
  decodeRestoreDeadLettersRequest,
  encodeRestoreDeadLettersResponse,
  type RestoreDeadLettersRequest,
} from '../../wire/generated/api/deadletter/service.ts';
import { notFound } from '../errors/details.ts';
import { statusCode } from '../errors/status-code.ts';
import { invalidArgument, StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { whoCalls } from './callers.ts';
import { jobMessage } from './job-message.ts';
import { jobOptions } from './job-options.ts';
import { hasEnded } from './jobs.ts';
import { askJobs, askLetters } from './letter-asks.ts';
import { letterLimits } from './letter-limits.ts';
import { letterMethod } from './letter-method.ts';
import { reasonAsked } from './plans.ts';
import { queueThatIsThere } from './queues.ts';
import { rangesOf } from './selection.ts';

type Purged = { readonly queue: JobQueue; readonly ids: readonly IdRange[]; readonly purgedBy?: string };

export function restoreMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    letterMethod('RestoreDeadLetters', decodeRestoreDeadLettersRequest, encodeRestoreDeadLettersResponse, async (request, call) => ({
      job: jobMessage(await restored(context, call, request)),
    })),
  ];
}

async function restored(context: HandlerContext, call: Call, request: RestoreDeadLettersRequest): Promise<Job> {
  const settings = context.ports.letterSettings();
  const reason = reasonAsked(request.reason, settings);
  const options = jobOptions('restore', undefined, settings, reason);
  const { queue, ids, purgedBy } = request.jobId === '' ? await byIds(context, call, request) : await byJob(context, call, request);
  const by = whoCalls(call);
  const selection = { ids, condition: undefined, ...(purgedBy === undefined ? {} : { purgedBy }) };
  const author = { ...by, reason, query: '', groupId: '' };
  const { plan } = await askJobs(context, call, { kind: 'planLetters', ...author, operation: 'restore', queue, selection, options });
  const { job } = await askJobs(context, call, { kind: 'applyPlan', planId: plan.planId, hash: plan.hash, isDirect: true, by });
  return job;
}

async function byIds(context: HandlerContext, call: Call, { queue: name, messageIds }: RestoreDeadLettersRequest): Promise<Purged> {
  const { messageIdsMax } = letterLimits;
  if (messageIds.length === 0) throw invalidArgument('neither message_ids nor job_id is set');
  if (messageIds.length > messageIdsMax) {
    throw invalidArgument(`message_ids has ${messageIds.length} values, and may have ${messageIdsMax}`);
  }
  for (const id of messageIds) if (id < 0) throw invalidArgument(`Invalid message id: ${id}`);
  const queue = await queueThatIsThere(context, call, name);
  const { nextId } = await askLetters(context, call, queue.number, { kind: 'countLetters' });
  const unknown = messageIds.find((id) => id >= nextId);
  if (unknown !== undefined) throw notFound(`there is no message ${unknown}`);
  const ids = rangesOf(messageIds);
  const purged = await askLetters(context, call, queue.number, { kind: 'findPurged', ids, purgedBy: undefined });
  const found = new Set([...purged.ids, ...purged.lost]);
  const others = [...new Set(messageIds)].filter((id) => !found.has(id));
  if (others.length > 0) throw notFound(notPurged(others));
  return { queue, ids };
}

function notPurged(ids: readonly number[]): string {
  const { missingTold } = letterLimits;
  const more = ids.length > missingTold ? ` and ${ids.length - missingTold} more` : '';
  const named = `${ids.length === 1 ? 'message' : 'messages'} ${ids.slice(0, missingTold).join(', ')}${more}`;
  return `${named} ${ids.length === 1 ? 'is' : 'are'} not purged, so there is nothing to restore. Nothing was done`;
}

function failedPrecondition(message: string): StatusError {
  return new StatusError(statusCode.failedPrecondition, message);
}

/** What is still purged cannot be undone: it would go on. */
async function byJob(context: HandlerContext, call: Call, { queue: name, jobId, messageIds }: RestoreDeadLettersRequest): Promise<Purged> {
  if (messageIds.length > 0) throw invalidArgument('message_ids and job_id are set: leave one of them out');
  const { job } = await askJobs(context, call, { kind: 'describeJob', jobId });
  if (name !== undefined && (await queueThatIsThere(context, call, name)).number !== job.queue.number) {
    throw invalidArgument(`job ${jobId} is of another queue: ${job.queue.category} of ${job.queue.sourceCluster}`);
  }
  if (job.operation !== 'purge') throw failedPrecondition(`job ${jobId} is a ${job.operation}: only a purge can be undone`);
  if (!hasEnded(job)) throw failedPrecondition(`job ${jobId} is ${job.state}: cancel it, or wait for its end`);
  return { queue: { ...job.queue, incarnation: job.queue.incarnation ?? 0 }, ids: job.ids, purgedBy: jobId };
}
