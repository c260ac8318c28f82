/**
 * A filter may select messages in more ranges of ids than one plan can have. Then each half of the ids gets its own plan, in one group, in the
 * order of ids. A server keeps plans for an hour; a part that is started later gets a new plan for the same ids.
 */
import { randomUUID } from 'node:crypto';
import type { Plan, PlanDeadLettersRequest, QueueName } from '../../../wire/generated/api/deadletter/service.ts';
import { isRefusedAs, type GrpcClient } from '../../grpc-client.ts';
import { applied } from './applied.ts';
import { allQueues } from './queues.ts';
import { boundsOf, type Begin } from './parts-left.ts';
import { calls, type DlqKind } from './service.ts';

export type Part = { readonly plan: Plan; readonly request: PlanDeadLettersRequest };

/** No plan is empty, and messages that arrive while the plans are made are in none of them. */
export async function plannedInParts(client: GrpcClient, request: PlanDeadLettersRequest): Promise<readonly Part[]> {
  try {
    const { plan } = await client.call(calls.PlanDeadLetters, request, { isChange: true });
    return plan === undefined || plan.selected === 0 ? [] : [{ plan, request }];
  } catch (error) {
    const { selection, queue } = request;
    if (!isRefusedAs(error, 'too-many-stretches') || selection === undefined || queue === undefined) throw error;
    const from = selection.minMessageId ?? 0;
    const to = selection.maxMessageId ?? (await nextMessageId(client, queue)) - 1;
    if (from >= to) throw error;
    const middle = from + Math.floor((to - from) / 2);
    const groupId = request.groupId === '' ? randomUUID() : request.groupId;
    const half = (minMessageId: number, maxMessageId: number): Promise<readonly Part[]> =>
      plannedInParts(client, { ...request, groupId, selection: { ...selection, minMessageId, maxMessageId } });
    return [...(await half(from, middle)), ...(await half(middle + 1, to))];
  }
}

export function beginsPart(kind: DlqKind, client: GrpcClient, { plan, request }: Part): Begin {
  return {
    plan,
    begin: async () => {
      try {
        return await applied(kind, client, plan);
      } catch (error) {
        if (!isRefusedAs(error, 'plan-not-found', 'plan-expired') || request.selection === undefined) throw error;
        const { from: minMessageId, to: maxMessageId } = boundsOf([plan]);
        const selection = { ...request.selection, minMessageId, maxMessageId };
        const { plan: again } = await client.call(calls.PlanDeadLetters, { ...request, selection }, { isChange: true });
        return again === undefined || again.selected === 0 ? undefined : await applied(kind, client, again);
      }
    },
  };
}

/** An empty source cluster means this cluster's own queue. */
async function nextMessageId(client: GrpcClient, { category, sourceCluster }: QueueName): Promise<number> {
  const queues = await allQueues(client);
  const isMeant = (name: QueueName | undefined, targetCluster: string): boolean =>
    name?.category === category && name.sourceCluster === (sourceCluster === '' ? targetCluster : sourceCluster);
  return queues.find(({ name, targetCluster }) => isMeant(name, targetCluster))?.nextMessageId ?? 0;
}
