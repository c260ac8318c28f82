/** A selection is frozen into a plan, and a plan becomes a job. */
import type { JobOperation, Plan } from '../../deadletters/jobs/job.ts';
import {
  decodeApplyPlanRequest,
  decodePlanDeadLettersRequest,
  encodeApplyPlanResponse,
  encodePlanDeadLettersResponse,
  Operation,
  type Plan as WirePlan,
  type PlanDeadLettersRequest,
} from '../../wire/generated/api/deadletter/service.ts';
import type { KnownDeadLetterQueue } from '../../cluster/cluster-state.ts';
import { notFound } from '../errors/details.ts';
import { statusCode } from '../errors/status-code.ts';
import { invalidArgument, notBuilt, StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { NamedMethod } from '../method.ts';
import type { JobSettings } from '../ports.ts';
import type { Call } from '../transport/call.ts';
import { whoCalls } from './callers.ts';
import { checkedReason, jobOptions } from './job-options.ts';
import { jobMessage, operationOf, optionsMessage } from './job-message.ts';
import { askJobs, askLetters } from './letter-asks.ts';
import { letterMethod } from './letter-method.ts';
import { shardThatIsThere } from './letters.ts';
import { queueThatIsThere } from './queues.ts';
import { letterLimits } from './letter-limits.ts';
import { asCondition, chosenLetters, rangesOf } from './selection.ts';

const groupIdCharsMax = 1_000;

export function planMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    letterMethod('PlanDeadLetters', decodePlanDeadLettersRequest, encodePlanDeadLettersResponse, async (request, call) => ({
      plan: planMessage(await planned(context, call, request)),
    })),
    letterMethod('ApplyPlan', decodeApplyPlanRequest, encodeApplyPlanResponse, async ({ planId, hash }, call) => {
      if (planId === '') throw invalidArgument('plan_id is not set');
      const { job } = await askJobs(context, call, { kind: 'applyPlan', planId, hash: hash === '' ? undefined : hash, by: whoCalls(call) });
      return { job: jobMessage(job) };
    }),
  ];
}

async function planned(context: HandlerContext, call: Call, request: PlanDeadLettersRequest): Promise<Plan> {
  const { groupId, selection: given } = request;
  const operation = operationAsked(request.operation);
  const settings = context.ports.letterSettings();
  const reason = reasonAsked(request.reason, settings);
  const options = jobOptions(operation, request.options, settings, reason);
  if (groupId.length > groupIdCharsMax) throw invalidArgument('group_id is too long');
  const selection = chosenLetters(given);
  const queue = await queueThatIsThere(context, call, request.queue);
  await shardThatIsThere(context, call, [queue], given?.shardId ?? 0);
  await namedAreThere(context, call, queue, given?.messageIds ?? []);
  const author = { ...whoCalls(call), reason, query: given?.query ?? '', groupId };
  const { plan } = await askJobs(context, call, { kind: 'planLetters', ...author, operation, queue, selection, options });
  return plan;
}

/** Whoever names letters means each of them. Throws what became of the first that is not in the queue, and which others are not. */
async function namedAreThere(
  context: HandlerContext,
  call: Call,
  { number }: KnownDeadLetterQueue,
  named: readonly number[],
): Promise<void> {
  const [first, ...others] = new Set(named);
  if (first === undefined) return;
  if (others.length === 0) return void (await askLetters(context, call, number, { kind: 'readLetter', messageId: first }));
  const condition = asCondition({ ids: rangesOf(named), condition: undefined });
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
      if (!(error instanceof StatusError) || error.code !== statusCode.notFound) throw error;
      told.push(error.message);
    }
  }
  const more = missing.length - told.length;
  return `${told.join(', ')}${more === 0 ? '' : `, and ${more} others of those named are not in the queue`}. Nothing was done`;
}

/** Throws where operators want a reason and there is none. */
export function reasonAsked(reason: string, { requiresReason }: JobSettings): string {
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
  const { planId, hash, operation, queue, ids, selected, causes, createdTimeMs, expireTimeMs, options, reason } = plan;
  return {
    planId,
    hash,
    operation: operationOf(operation),
    queue: { category: queue.category, sourceCluster: queue.sourceCluster },
    ids,
    selected,
    causes,
    createdTimeMs,
    expireTimeMs,
    options: optionsMessage(options),
    reason,
  };
}
