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
import { invalidArgument, notBuilt } from '../errors/status-error.ts';
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
import { chosenLetters, onlyId } from './selection.ts';

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
  const messageId = onlyId(given);
  // Throws what became of it.
  if (messageId !== undefined) await askLetters(context, call, queue.number, { kind: 'readLetter', messageId });
  const author = { ...whoCalls(call), reason, query: given?.query ?? '', groupId };
  const { plan } = await askJobs(context, call, { kind: 'planLetters', ...author, operation, queue, selection, options });
  return plan;
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
