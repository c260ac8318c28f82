/** A selection is frozen into a plan, and a plan becomes a job. A restore is both in one call: letters that were purged get back into their queue. */
import { rangesOfIds } from '../../deadletters/bounds/id-ranges.ts';
import type { IdRange } from '../../deadletters/letter-commands.ts';
import type { AskedQueue, Job, LetterSelection, Plan } from '../../deadletters/jobs/job.ts';
import { Operation, type Plan as WirePlan, type RestoreDeadLettersRequest } from '../../wire/generated/api/deadletter/service.ts';
import type { KnownDeadLetterQueue } from '../../cluster/cluster-records.ts';
import { notFound } from '../errors/details.ts';
import { failedPrecondition, hasCode, invalidArgument, notBuilt, statusCode } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { JobSettings } from '../ports.ts';
import type { Call } from '../transport/call.ts';
import { checkedReason, hasEnded, jobMessage, jobOptions, operationNumbers, optionsMessage } from './jobs.ts';
import { askJobs, askLetters, type DeadLetterHandlers, whoCalls } from './letter-asks.ts';
import { shardThatIsThere } from './letters.ts';
import { letterLimits } from './letter-pages.ts';
import { queueThatIsThere } from './queues.ts';
import { asCondition, chosenLetters } from './selection.ts';
import type { JobOperation } from '../../kernel/letter-words.ts';

export const planHandlers: DeadLetterHandlers = {
  PlanDeadLetters: async (context, request, call) => {
    const { groupId, selection: given } = request;
    const operation = operationAsked(request.operation);
    const settings = context.ports.letterSettings();
    const reason = reasonAsked(request.reason, settings);
    const options = jobOptions(operation, request.options, settings, reason);
    const selection = chosenLetters(given);
    const queue = await queueThatIsThere(context, call, request.queue);
    await shardThatIsThere(context, call, [queue], given?.shardId ?? 0);
    await namedAreThere(context, call, queue, given?.messageIds ?? []);
    const author = { ...whoCalls(call), reason, query: given?.query ?? '', groupId };
    const { plan } = await askJobs(context, call, { kind: 'planLetters', ...author, operation, queue, selection, options });
    return { plan: planMessage(plan) };
  },
  ApplyPlan: async (context, { planId, hash }, call) => {
    if (planId === '') throw invalidArgument('plan_id is not set');
    const { job } = await askJobs(context, call, { kind: 'applyPlan', planId, hash: hash === '' ? undefined : hash, by: whoCalls(call) });
    return { job: jobMessage(job) };
  },
  RestoreDeadLetters: async (context, request, call) => {
    const begin = beginOf(context, call, 'restore', request.reason);
    const { queue, ...selection } = request.jobId === '' ? await byIds(context, call, request) : await byJob(context, call, request);
    return { job: jobMessage(await begin(queue, selection)) };
  },
};

/** Checks what is asked of a job; what comes back plans and applies it in one go: nobody looks at the plan. */
export function beginOf(context: HandlerContext, call: Call, operation: JobOperation, givenReason: string) {
  const settings = context.ports.letterSettings();
  const reason = reasonAsked(givenReason, settings);
  const options = jobOptions(operation, undefined, settings, reason);
  const by = whoCalls(call);
  return async (queue: AskedQueue, selection: LetterSelection): Promise<Job> => {
    const author = { ...by, reason, query: '', groupId: '' };
    const { plan } = await askJobs(context, call, { kind: 'planLetters', ...author, operation, queue, selection, options });
    const { job } = await askJobs(context, call, { kind: 'applyPlan', planId: plan.planId, hash: plan.hash, isDirect: true, by });
    return job;
  };
}

/** Whoever names letters means each of them. Throws what became of the first that is not in the queue, and which others are not. */
async function namedAreThere(context: HandlerContext, call: Call, { number }: KnownDeadLetterQueue, named: readonly number[]) {
  const [first, ...others] = new Set(named);
  if (first === undefined) return;
  if (others.length === 0) return void (await askLetters(context, call, number, { kind: 'readLetter', messageId: first }));
  const condition = asCondition({ ids: rangesOfIds(named), condition: undefined });
  const { ids } = await askLetters(context, call, number, { kind: 'findLetters', condition, afterMessageId: -1, max: named.length });
  const there = new Set(ids.map(({ messageId }) => messageId));
  const missing = [first, ...others].filter((id) => !there.has(id));
  if (missing.length > 0) throw notFound(await whatBecameOf(context, call, number, missing));
}

async function whatBecameOf(context: HandlerContext, call: Call, queue: number, missing: readonly number[]): Promise<string> {
  const { missingTold } = letterLimits;
  const told: string[] = [];
  for (const messageId of missing.slice(0, missingTold)) {
    try {
      await askLetters(context, call, queue, { kind: 'readLetter', messageId });
      // It came back just now.
      told.push(`message ${messageId} was not in the queue`);
    } catch (error) {
      if (!hasCode(error, statusCode.notFound)) throw error;
      told.push(error.message);
    }
  }
  const more = missing.length - told.length;
  return `${told.join(', ')}${more === 0 ? '' : `, and ${more} others of those named are not in the queue`}. Nothing was done`;
}

function reasonAsked(reason: string, { requiresReason }: JobSettings): string {
  if (requiresReason && reason === '') throw invalidArgument('reason is not set: this cluster requires one');
  return checkedReason(reason);
}

function operationAsked(operation: number): JobOperation {
  switch (operation) {
    case Operation.MERGE:
      return 'merge';
    case Operation.PURGE:
      return 'purge';
    case Operation.RESTORE:
      throw notBuilt('OPERATION_RESTORE');
    case Operation.UNSPECIFIED:
      throw invalidArgument('operation is not set');
    default:
      throw invalidArgument(`Unknown operation: ${operation}`);
  }
}

function planMessage(plan: Plan): WirePlan {
  const { queue, operation, options, ...same } = plan;
  return {
    ...same,
    operation: operationNumbers[operation],
    queue: { category: queue.category, sourceCluster: queue.sourceCluster },
    options: optionsMessage(options),
  };
}

// ── What was purged ────────────────────────────────────────────────────────────────────────────────────────────────────────────

type Purged = LetterSelection & { readonly queue: AskedQueue; readonly ids: readonly IdRange[] };

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
  const ids = rangesOfIds(messageIds);
  const purged = await askLetters(context, call, queue.number, { kind: 'findPurged', ids, purgedBy: undefined });
  const found = new Set([...purged.ids, ...purged.lost]);
  const others = [...new Set(messageIds)].filter((id) => !found.has(id));
  if (others.length > 0) throw notFound(notPurged(others));
  return { queue, ids, condition: undefined };
}

function notPurged(ids: readonly number[]): string {
  const { missingTold } = letterLimits;
  const more = ids.length > missingTold ? ` and ${ids.length - missingTold} more` : '';
  const named = `${ids.length === 1 ? 'message' : 'messages'} ${ids.slice(0, missingTold).join(', ')}${more}`;
  return `${named} ${ids.length === 1 ? 'is' : 'are'} not purged, so there is nothing to restore. Nothing was done`;
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
  return { queue: job.queue, ids: job.ids, condition: undefined, purgedBy: jobId };
}
