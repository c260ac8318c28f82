/** Dead letters of history tasks, whose queues have a key and a name; those of replication are in replication-dead-letters.ts. */
import { createHash } from 'node:crypto';
import type { KnownDeadLetterQueue } from '../../cluster/cluster-records.ts';
import { shownId } from '../../kernel/shown-id.ts';
import { int64, type ServiceMessages } from '../../wire/services.ts';
import { askLetters } from '../deadletter-service/letter-asks.ts';
import { lastPage, letterLimits, LetterPages } from '../deadletter-service/letter-pages.ts';
import { categoryId, categoryOfId, checkIsOpen, queuesNotOpen } from '../deadletter-service/queues.ts';
import { notFound } from '../errors/details.ts';
import { invalidArgument, StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import type { AdminHandlers } from './admin-context.ts';
import { pageSize, required } from './conventions.ts';

const pageStandard = 100;

export const deadLetterHandlers: AdminHandlers = {
  ListQueues: async ({ context }, request, call) => {
    if (request.queueType !== historyDeadLetters) {
      throw invalidArgument(`Invalid queue type: ${request.queueType}; dead letters of history tasks have ${historyDeadLetters}`);
    }
    const size = pageSize(request.pageSize, pageStandard);
    const pages = new LetterPages(context, 'ListQueues', {});
    const { queue: last } = pages.placeOf(request.nextPageToken);
    // The others have no name that these tools could build.
    const rest = context.ports.cluster.deadLetterQueues.filter(({ number, category }) => number > last && categoryId(category) !== 0);
    const page = rest.slice(0, size);
    const isLast = rest.length === page.length;
    const queues = await Promise.all(page.map((queue) => queueInfo(context, call, queue)));
    // Those that have no number yet are few: they stand behind the others.
    const others = isLast ? queuesNotOpen(context).map((queue) => notServed(context, queue, queue.trouble)) : [];
    return { queues: [...queues, ...others], nextPageToken: isLast ? lastPage : pages.token({ queue: page.at(-1)?.number ?? 0 }) };
  },
  GetDLQTasks: async ({ context, publicMessages }, request, call) => {
    const size = pageSize(request.pageSize, pageStandard);
    const named = queueOfKey(context, request.dlqKey);
    const pages = new LetterPages(context, 'GetDLQTasks', { name: named.name });
    const { afterMessageId } = pages.placeOf(request.nextPageToken);
    const queue = thatIsThere(named);
    const room = { max: size, bytesMax: letterLimits.pageBytesMax };
    const question = { kind: 'listLetters', condition: undefined, afterMessageId, ...room, withContent: true } as const;
    const { letters } = await askLetters(context, call, queue.number, question);
    const last = letters.at(-1);
    const encodingType = publicMessages.enums.v1.EncodingType.ENCODING_TYPE_PROTO3;
    return {
      dlqTasks: letters.map(({ row, content }) => ({
        metadata: { messageId: int64(row.messageId) },
        payload: {
          shardId: (queue.category === 'replication' ? content?.letter?.task.sourceShardId : row.shardId) ?? 0,
          blob: { encodingType, data: content?.value ?? new Uint8Array(0) },
        },
      })),
      // More may have come when it is asked for: the end is an empty page.
      nextPageToken: last === undefined ? lastPage : pages.token({ afterMessageId: last.row.messageId }),
    };
  },
};

type QueueNamed = Omit<KnownDeadLetterQueue, 'number'>;

/** One that is not served is listed all the same: the others are asked for more often than not. */
async function queueInfo(context: HandlerContext, call: Call, queue: KnownDeadLetterQueue) {
  try {
    const { open, quarantined, nextId } = await askLetters(context, call, queue.number, { kind: 'countLetters' });
    return { queueName: nameOf(context, queue), messageCount: int64(open + quarantined), lastMessageId: int64(nextId - 1) };
  } catch (error) {
    if (error instanceof StatusError) return notServed(context, queue, error.message);
    throw error;
  }
}

/** How many letters it has is not known: an empty queue would look the same with 0. */
function notServed(context: HandlerContext, queue: QueueNamed, trouble: string) {
  return { queueName: nameOf(context, queue), messageCount: int64(-1), lastMessageId: int64(-1), trouble };
}

function nameOf({ ports }: HandlerContext, { category, sourceCluster }: QueueNamed): string {
  return deadLetterQueueName(categoryId(category), sourceCluster, ports.server.clusterName);
}

// ── Keys and names: a category's number, a source and a target cluster ─────────────────────────────────────────────────────────

const historyDeadLetters = 2;

type Key = ServiceMessages['adminservice']['v1']['GetDLQTasksRequest']['prototype']['dlqKey'];

/** `queue` undefined: it is not there. */
export type NamedQueue = { readonly name: string; readonly queue: KnownDeadLetterQueue | undefined };

/** A key without a target means this cluster; the operations guide knows no target. */
export function queueOfKey(context: HandlerContext, given: Key): NamedQueue {
  const { ports } = context;
  const key = required(given, 'dlq_key');
  const id = key.taskCategory ?? 0;
  const category = categoryOfId(id);
  if (category === undefined) throw invalidArgument(`Invalid task category id: ${id}`);
  const source = key.sourceCluster ?? '';
  if (source === '') throw invalidArgument('SourceCluster is not set on request.');
  const own = ports.server.clusterName;
  const target = key.targetCluster === undefined || key.targetCluster === null || key.targetCluster === '' ? own : key.targetCluster;
  const found = ports.cluster.deadLetterQueues.find((each) => each.category === category && each.sourceCluster === source);
  if (target === own) checkIsOpen(context, { category, sourceCluster: source });
  return { name: deadLetterQueueName(id, source, target), queue: target === own ? found : undefined };
}

/** `tdbg` looks for the first three words of the text, and takes such a queue for an empty one. */
export function thatIsThere({ name, queue }: NamedQueue): KnownDeadLetterQueue {
  if (queue === undefined) throw notFound(`queue not found: type = ${historyDeadLetters} and name = ${shownId(name)}`);
  return queue;
}

/** `<category>_<source>_<target>_<h>`: `h` tells queues apart whose clusters have an underscore in their names. */
export function deadLetterQueueName(categoryId: number, sourceCluster: string, targetCluster: string): string {
  const hash = sha256(Buffer.concat([sha256(sourceCluster), sha256(targetCluster)])).toString('base64');
  return `${categoryId}_${sourceCluster}_${targetCluster}_${hash.slice(0, 8)}`;
}

function sha256(data: string | Buffer): Buffer {
  return createHash('sha256').update(data).digest();
}
