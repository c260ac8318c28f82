/** Message ids that a command line names one by one: which queue has them, and what happened to those that no queue has. */
import { emptySelection, type QueueName } from '../../../wire/generated/api/deadletter/service.ts';
import { CliError, failure } from '../../cli-error.ts';
import { exitCodes, type FlagValues } from '../../command.ts';
import { pagesOf, type GrpcClient } from '../../grpc-client.ts';
import { plainText } from '../../plain-text.ts';
import { queueText } from './queue-names.ts';
import type { Selected } from './selected.ts';
import { calls } from './service.ts';

const namedMax = 10;

/** The error if the flags name messages and none matches; undefined for a range, where no match is a success. */
export async function whyNoneFits(flags: FlagValues, { queues, selection }: Selected, client: GrpcClient): Promise<CliError | undefined> {
  const [messageId, ...others] = selection.messageIds;
  if (messageId !== undefined) {
    return others.length === 0
      ? whatBecameOf(messageId, queues, client)
      : failure(`NOT_FOUND: none of the messages ${selection.messageIds.join(', ')} is selected`);
  }
  const taskId = flags.one('task-id');
  return taskId === undefined ? undefined : failure(`NOT_FOUND: no dead letter has task id ${taskId}`);
}

/** Each of the queues may have a message with this id, or may have had one. */
async function whatBecameOf(messageId: number, queues: readonly QueueName[], client: GrpcClient): Promise<CliError> {
  const told: { readonly queue: QueueName; readonly error: CliError }[] = [];
  for (const queue of queues) {
    try {
      await client.call(calls.GetDeadLetter, { queue, messageId });
      const why = `It is in ${queueText(queue)}, but another flag excludes it.`;
      return failure(`NOT_FOUND: message ${messageId} is not selected`, { why });
    } catch (error) {
      if (!(error instanceof CliError) || error.exitCode !== exitCodes.failed) throw error;
      told.push({ queue, error });
    }
  }
  const [first, ...others] = told;
  if (first !== undefined && others.length === 0) return first.error;
  const each = told.map(({ queue, error }) => `  ${queueText(queue)}: ${plainText(error.message)}`);
  return failure(`NOT_FOUND: message ${messageId} is in none of the queues`, { why: each.length === 0 ? undefined : each.join('\n') });
}

type NamedInQueue = { readonly queue: QueueName; readonly messageIds: readonly number[] };

/** Finds the queue of each named message. Throws if one is in none of them. */
export async function namedInQueues({ queues, selection }: Selected, client: GrpcClient): Promise<readonly NamedInQueue[]> {
  const named = { ...emptySelection(), messageIds: selection.messageIds };
  const found: NamedInQueue[] = [];
  for (const queue of queues) {
    const messageIds: number[] = [];
    const request = { queues: [queue], selection: named, pageSize: 0, withPayload: false };
    for await (const { letters } of pagesOf((nextPageToken) => client.call(calls.ListDeadLetters, { ...request, nextPageToken }))) {
      messageIds.push(...letters.map(({ messageId }) => messageId));
    }
    found.push({ queue, messageIds });
  }
  const there = new Set(found.flatMap(({ messageIds }) => messageIds));
  const missing = selection.messageIds.filter((id) => !there.has(id));
  if (missing.length === 0) return found;
  const more = missing.length > namedMax ? ` and ${missing.length - namedMax} more` : '';
  const are = missing.length === 1 ? 'is' : 'are';
  throw failure(
    `NOT_FOUND: ${missing.length === 1 ? 'message' : 'messages'} ${missing.slice(0, namedMax).join(', ')}${more} ${are} in none of the queues`,
  );
}
