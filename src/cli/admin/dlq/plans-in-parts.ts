/** A filter may select letters in more stretches of ids than a plan may have: then each half of the ids has a plan of its own, in one group. */
import { randomUUID } from 'node:crypto';
import type { Plan, PlanDeadLettersRequest, QueueName } from '../../../wire/generated/api/deadletter/service.ts';
import { CliError } from '../../cli-error.ts';
import type { GrpcClient } from '../../grpc-client.ts';
import { allQueues } from './queues.ts';
import { planDeadLetters } from './service.ts';

/** None of them is over nothing. Letters that come while they are made are in none. */
export async function plannedInParts(client: GrpcClient, request: PlanDeadLettersRequest): Promise<readonly Plan[]> {
  try {
    const { plan } = await client.call(planDeadLetters, request, { isChange: true });
    return plan === undefined || plan.selected === 0 ? [] : [plan];
  } catch (error) {
    const { selection, queue } = request;
    if (!isOfTooManyStretches(error) || selection === undefined || queue === undefined) throw error;
    const from = selection.minMessageId ?? 0;
    const to = selection.maxMessageId ?? (await nextMessageId(client, queue)) - 1;
    if (from >= to) throw error;
    const middle = from + Math.floor((to - from) / 2);
    const groupId = request.groupId === '' ? randomUUID() : request.groupId;
    const plans: Plan[] = [];
    for (const [minMessageId, maxMessageId] of [
      [from, middle],
      [middle + 1, to],
    ]) {
      plans.push(...(await plannedInParts(client, { ...request, groupId, selection: { ...selection, minMessageId, maxMessageId } })));
    }
    return plans;
  }
}

/** As the server says it: calls are refused with the same code where they come too fast. */
function isOfTooManyStretches(error: unknown): boolean {
  return error instanceof CliError && /^RESOURCE_EXHAUSTED: .*stretches of message ids/.test(error.message);
}

/** Without a source cluster the queue of tasks of this cluster is meant. */
async function nextMessageId(client: GrpcClient, { category, sourceCluster }: QueueName): Promise<number> {
  const queues = await allQueues(client);
  const isMeant = (name: QueueName | undefined, targetCluster: string): boolean =>
    name?.category === category && name.sourceCluster === (sourceCluster === '' ? targetCluster : sourceCluster);
  return queues.find(({ name, targetCluster }) => isMeant(name, targetCluster))?.nextMessageId ?? 0;
}
