/**
 * A filter may select letters in more stretches of ids than a plan may have: then each half of the ids has a plan of its own, in one group, in the
 * order of ids. A server keeps plans for an hour; one that is begun later is made again, of the same ids.
 */
import { randomUUID } from 'node:crypto';
import type { Plan, PlanDeadLettersRequest, QueueName } from '../../../wire/generated/api/deadletter/service.ts';
import { isRefusedAs, type GrpcClient } from '../../grpc-client.ts';
import { applied } from './applied.ts';
import type { DlqKind } from './dlq-kind.ts';
import { allQueues } from './queues.ts';
import { boundsOf, type Begin } from './parts-left.ts';
import { planDeadLetters } from './service.ts';

export type Part = { readonly plan: Plan; readonly request: PlanDeadLettersRequest };

/** None of them is over nothing. Letters that come while they are made are in none. */
export async function plannedInParts(client: GrpcClient, request: PlanDeadLettersRequest): Promise<readonly Part[]> {
  try {
    const { plan } = await client.call(planDeadLetters, request, { isChange: true });
    return plan === undefined || plan.selected === 0 ? [] : [{ plan, request }];
  } catch (error) {
    const { selection, queue } = request;
    if (!isRefusedAs(error, 'too-many-stretches') || selection === undefined || queue === undefined) throw error;
    const from = selection.minMessageId ?? 0;
    const to = selection.maxMessageId ?? (await nextMessageId(client, queue)) - 1;
    if (from >= to) throw error;
    const middle = from + Math.floor((to - from) / 2);
    const groupId = request.groupId === '' ? randomUUID() : request.groupId;
    const parts: Part[] = [];
    for (const [minMessageId, maxMessageId] of [
      [from, middle],
      [middle + 1, to],
    ]) {
      parts.push(...(await plannedInParts(client, { ...request, groupId, selection: { ...selection, minMessageId, maxMessageId } })));
    }
    return parts;
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
        const { plan: again } = await client.call(planDeadLetters, { ...request, selection }, { isChange: true });
        return again === undefined || again.selected === 0 ? undefined : await applied(kind, client, again);
      }
    },
  };
}

/** Without a source cluster the queue of tasks of this cluster is meant. */
async function nextMessageId(client: GrpcClient, { category, sourceCluster }: QueueName): Promise<number> {
  const queues = await allQueues(client);
  const isMeant = (name: QueueName | undefined, targetCluster: string): boolean =>
    name?.category === category && name.sourceCluster === (sourceCluster === '' ? targetCluster : sourceCluster);
  return queues.find(({ name, targetCluster }) => isMeant(name, targetCluster))?.nextMessageId ?? 0;
}
