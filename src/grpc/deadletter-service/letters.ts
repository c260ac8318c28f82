import type { KnownDeadLetterQueue } from '../../cluster/cluster-records.ts';
import type { ListedLetter } from '../../deadletters/letter-commands.ts';
import { utf8Bytes } from '../../kernel/utf8.ts';
import type { Condition } from '../../filter/condition.ts';
import type { QueueName, Selection } from '../../wire/generated/api/deadletter/service.ts';
import { pageSize } from '../admin-service/conventions.ts';
import { notFound } from '../errors/details.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import { askLetters, type DeadLetterHandlers } from './letter-asks.ts';
import { letterMessage, loadPayloads } from './letter-message.ts';
import { lastPage, letterLimits, LetterPages, type PagePlace } from './letter-pages.ts';
import { queuesNamed, queueThatIsThere } from './queues.ts';
import { asCondition, chosenLetters, letterColumn } from './selection.ts';

export const letterHandlers: DeadLetterHandlers = {
  ListDeadLetters: async (context, request, call) => {
    const { withPayload, nextPageToken, selection } = request;
    const max = pageSize(request.pageSize, letterLimits.pageLettersMax, letterLimits.pageLettersMax);
    const { queues, condition } = await chosen(context, call, request);
    const pages = new LetterPages(context, 'ListDeadLetters', { queues: request.queues, selection, withPayload });
    const place = pages.placeOf(nextPageToken);
    const payloads = withPayload ? await loadPayloads() : undefined;
    const wanted = { queues, condition, place, max, withContent: withPayload };
    const { letters, next } = await lettersFrom(context, call, wanted, (queue, { row, content }) => {
      const shown = letterMessage(queue, context.ports.server.clusterName, { row, content }, payloads);
      const payloadBytes = shown.payload === undefined ? 0 : shown.payload.value.byteLength + utf8Bytes(shown.payload.json);
      const texts = [row.namespace, row.workflowId, row.workflowType, row.errorMessage, row.errorType];
      return { shown, bytes: payloadBytes + bytesOf(texts) };
    });
    return { letters, nextPageToken: next === undefined ? lastPage : pages.token(next) };
  },
  CountDeadLetters: async (context, request, call) => {
    return { count: await countOf(context, call, await chosen(context, call, request)) };
  },
  GetDeadLetter: async (context, { messageId, queue: name }, call) => {
    if (messageId < 0) throw invalidArgument(`Invalid message id: ${messageId}`);
    const queue = await queueThatIsThere(context, call, name);
    const { letter } = await askLetters(context, call, queue.number, { kind: 'readLetter', messageId });
    const known = letter.content?.letter;
    return {
      letter: letterMessage(queue, context.ports.server.clusterName, letter, await loadPayloads()),
      errorStack: known?.failure.errorStack ?? '',
      errorChain: known?.failure.errorChain ?? [],
      history: known?.history ?? [],
      jobId: known?.jobId ?? '',
      headers: letter.content?.headers ?? [],
    };
  },
};

export type Chosen = { readonly queues: readonly KnownDeadLetterQueue[]; readonly condition: Condition | undefined };
type ChoosingRequest = { readonly queues: readonly QueueName[]; readonly selection: Selection | undefined };

export async function chosen(context: HandlerContext, call: Call, { queues: names, selection }: ChoosingRequest): Promise<Chosen> {
  const condition = asCondition(chosenLetters(selection));
  const queues = await queuesNamed(context, call, names);
  await shardThatIsThere(context, call, queues, selection?.shardId ?? 0);
  return { queues, condition };
}

/**
 * A cluster may have been larger once: then its letters tell of shards that are no more. Those of any queue: a shard that a command over several
 * queues finds in one of them is there for the others.
 */
export async function shardThatIsThere(context: HandlerContext, call: Call, queues: readonly KnownDeadLetterQueue[], shardId: number) {
  const { historyShards } = context.ports.server;
  if (shardId <= historyShards) return;
  const condition: Condition = { kind: 'compare', column: letterColumn('ShardId'), operator: '>=', operand: shardId };
  for (const queue of new Set([...queues, ...context.ports.cluster.deadLetterQueues])) {
    if ((await countOf(context, call, { queues: [queue], condition })) > 0) return;
  }
  throw notFound(`shard ${shardId} is not found: there are shards 1 to ${historyShards}`);
}

export async function countOf(context: HandlerContext, call: Call, { queues, condition }: Chosen): Promise<number> {
  const replies = queues.map(({ number }) => askLetters(context, call, number, { kind: 'countMatching', condition }));
  return (await Promise.all(replies)).reduce((sum, { count }) => sum + count, 0);
}

type Wanted = Chosen & { readonly place: PagePlace; readonly max: number; readonly withContent: boolean };

/** Letters from a place on, through the queues: as many as fit into an answer, and one at least. `next`: where the rest begins; undefined: there is none. */
export async function lettersFrom<Shown>(
  context: HandlerContext,
  call: Call,
  { queues, condition, place, max, withContent }: Wanted,
  show: (queue: KnownDeadLetterQueue, letter: ListedLetter) => { readonly shown: Shown; readonly bytes: number },
): Promise<{ readonly letters: readonly Shown[]; readonly next: Partial<PagePlace> | undefined }> {
  const { pageBytesMax } = letterLimits;
  const turns = context.computing.turnsOf(call, '');
  const letters: Shown[] = [];
  let bytes = 0;
  let after = place.afterMessageId;
  for (const queue of fromPlace(queues, place)) {
    const upToHere = () => ({ letters, next: { queue: queue.number, afterMessageId: after } });
    if (letters.length === max || bytes >= pageBytesMax) return upToHere();
    const room = { max: max - letters.length, bytesMax: pageBytesMax - bytes };
    const question = { kind: 'listLetters', condition, afterMessageId: after, ...room, withContent } as const;
    const page = await askLetters(context, call, queue.number, question);
    for (const letter of page.letters) {
      await turns.next();
      const next = show(queue, letter);
      bytes += next.bytes;
      if (bytes > pageBytesMax && letters.length > 0) return upToHere();
      letters.push(next.shown);
      after = letter.row.messageId;
    }
    if (!page.isLast) return upToHere();
    after = -1;
  }
  return { letters, next: undefined };
}

/** A queue that comes into being between two pages may stand in front of the one whose turn it is: so that is known by its number, 0 = the first. */
function fromPlace(queues: readonly KnownDeadLetterQueue[], { queue }: PagePlace): readonly KnownDeadLetterQueue[] {
  if (queue === 0) return queues;
  const at = queues.findIndex(({ number }) => number === queue);
  if (at < 0) throw invalidArgument('NextPageToken was given for another request.');
  return queues.slice(at);
}

/** Tags, lengths, times and numbers of one letter. */
const FRAME_BYTES = 512;

export function bytesOf(texts: readonly string[]): number {
  return texts.reduce((sum, text) => sum + utf8Bytes(text), FRAME_BYTES);
}
