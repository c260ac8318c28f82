/** Letters: pages of them over several queues, how many there are, and one with all that is known of it. */
import type { KnownDeadLetterQueue } from '../../cluster/cluster-state.ts';
import type { ListedLetter } from '../../deadletters/replies.ts';
import { utf8Bytes } from '../../kernel/utf8.ts';
import type { Condition } from '../../filter/condition.ts';
import {
  decodeCountDeadLettersRequest,
  decodeGetDeadLetterRequest,
  decodeListDeadLettersRequest,
  encodeCountDeadLettersResponse,
  encodeGetDeadLetterResponse,
  encodeListDeadLettersResponse,
  type DeadLetter,
  type GetDeadLetterRequest,
  type GetDeadLetterResponse,
  type ListDeadLettersRequest,
  type ListDeadLettersResponse,
  type QueueName,
  type Selection,
} from '../../wire/generated/api/deadletter/service.ts';
import { pageSize } from '../admin-service/conventions.ts';
import { notFound } from '../errors/details.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { askLetters } from './letter-asks.ts';
import { letterLimits } from './letter-limits.ts';
import { letterMessage } from './letter-message.ts';
import { letterMethod } from './letter-method.ts';
import { LetterPages, lastPage, type PagePlace } from './letter-pages.ts';
import { loadPayloads } from './payload-json.ts';
import { queuesNamed, queueThatIsThere } from './queues.ts';
import { asCondition, chosenLetters, letterColumn } from './selection.ts';

export function letterMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    letterMethod('ListDeadLetters', decodeListDeadLettersRequest, encodeListDeadLettersResponse, (request, call) =>
      listed(context, call, request),
    ),
    letterMethod('CountDeadLetters', decodeCountDeadLettersRequest, encodeCountDeadLettersResponse, async (request, call) => {
      const { queues, condition } = await chosen(context, call, request);
      const counts = await Promise.all(queues.map((queue) => countOf(context, call, queue.number, condition)));
      return { count: counts.reduce((all, each) => all + each, 0) };
    }),
    letterMethod('GetDeadLetter', decodeGetDeadLetterRequest, encodeGetDeadLetterResponse, (request, call) => read(context, call, request)),
  ];
}

type Chosen = { readonly queues: readonly KnownDeadLetterQueue[]; readonly condition: Condition | undefined };
type ChoosingRequest = { readonly queues: readonly QueueName[]; readonly selection: Selection | undefined };

/** What a request over several queues is about. Throws for what is asked wrongly. */
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
export async function shardThatIsThere(
  context: HandlerContext,
  call: Call,
  queues: readonly KnownDeadLetterQueue[],
  shardId: number,
): Promise<void> {
  const { historyShards } = context.ports.server;
  if (shardId <= historyShards) return;
  const beyond: Condition = { kind: 'compare', column: letterColumn('ShardId'), operator: '>=', operand: shardId };
  for (const { number } of new Set([...queues, ...context.ports.cluster.deadLetterQueues])) {
    if ((await countOf(context, call, number, beyond)) > 0) return;
  }
  throw notFound(`shard ${shardId} is not found: there are shards 1 to ${historyShards}`);
}

export async function countOf(context: HandlerContext, call: Call, queue: number, condition: Condition | undefined): Promise<number> {
  return (await askLetters(context, call, queue, { kind: 'countMatching', condition })).count;
}

async function listed(context: HandlerContext, call: Call, request: ListDeadLettersRequest): Promise<ListDeadLettersResponse> {
  const { withPayload, nextPageToken, selection } = request;
  const { pageLettersMax, pageBytesMax } = letterLimits;
  const max = pageSize(request.pageSize, pageLettersMax, pageLettersMax);
  const { queues, condition } = await chosen(context, call, request);
  const pages = new LetterPages(context, 'ListDeadLetters', { queues: request.queues, selection, withPayload });
  const place = pages.placeOf(nextPageToken);
  const payloads = withPayload ? await loadPayloads() : undefined;

  const letters: DeadLetter[] = [];
  const turns = context.computing.turnsOf(call, '');
  let bytes = 0;
  let after = place.afterMessageId;
  for (const queue of fromPlace(queues, place)) {
    const next = (): ListDeadLettersResponse => ({ letters, nextPageToken: pages.token({ queue: queue.number, afterMessageId: after }) });
    if (letters.length === max || bytes >= pageBytesMax) return next();
    const room = { max: max - letters.length, bytesMax: pageBytesMax - bytes };
    const question = { kind: 'listLetters', condition, afterMessageId: after, ...room, withContent: withPayload } as const;
    const page = await askLetters(context, call, queue.number, question);
    for (const each of page.letters) {
      await turns.next();
      const letter = letterMessage(queue, context.ports.server.clusterName, each, payloads);
      bytes += letterBytes(each, letter);
      if (bytes > pageBytesMax && letters.length > 0) return next();
      letters.push(letter);
      after = letter.messageId;
    }
    if (!page.isLast) return next();
    after = -1;
  }
  return { letters, nextPageToken: lastPage };
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

function letterBytes({ row }: ListedLetter, { payload }: DeadLetter): number {
  const texts = [row.namespace, row.workflowId, row.workflowType, row.errorMessage, row.errorType].reduce(
    (sum, text) => sum + utf8Bytes(text),
    0,
  );
  return FRAME_BYTES + texts + (payload === undefined ? 0 : payload.value.byteLength + utf8Bytes(payload.json));
}

async function read(context: HandlerContext, call: Call, request: GetDeadLetterRequest): Promise<GetDeadLetterResponse> {
  const { messageId } = request;
  if (messageId < 0) throw invalidArgument(`Invalid message id: ${messageId}`);
  const queue = await queueThatIsThere(context, call, request.queue);
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
}
