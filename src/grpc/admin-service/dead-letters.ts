/**
 * Dead letters as Temporal's tools ask for them. Of the two kinds of queues those of history tasks have a key and a name, those of replication a
 * type and a source cluster.
 */
import type { KnownDeadLetterQueue } from '../../cluster/cluster-state.ts';
import { int64 } from '../../wire/services.ts';
import { askLetters } from '../deadletter-service/letter-asks.ts';
import { letterLimits } from '../deadletter-service/letter-limits.ts';
import { lastPage, LetterPages } from '../deadletter-service/letter-pages.ts';
import { categoryId, queuesNotOpen } from '../deadletter-service/queues.ts';
import { invalidArgument, StatusError } from '../errors/status-error.ts';
import type { NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { operation, type AdminContext } from './admin-context.ts';
import { pageSize } from './conventions.ts';
import { deadLetterJobMethods } from './dead-letter-jobs.ts';
import { historyDeadLetters, queueOfKey, thatIsThere } from './dead-letter-keys.ts';
import { deadLetterQueueName } from './dead-letter-queue-name.ts';
import { replicationDeadLetterMethods } from './replication-dead-letters.ts';

const queuesPageStandard = 100;
const tasksPageStandard = 100;

export function deadLetterMethods(admin: AdminContext): readonly NamedMethod[] {
  return [...queueMethods(admin), ...deadLetterJobMethods(admin), ...replicationDeadLetterMethods(admin)];
}

function queueMethods({ api, context, publicMessages }: AdminContext): readonly NamedMethod[] {
  const { ENCODING_TYPE_PROTO3 } = publicMessages.enums.v1.EncodingType;
  return [
    operation('ListQueues', api.ListQueuesRequest, api.ListQueuesResponse, async (request, call) => {
      if (request.queueType !== historyDeadLetters) {
        throw invalidArgument(`Invalid queue type: ${request.queueType}; dead letters of history tasks have ${historyDeadLetters}`);
      }
      const size = pageSize(request.pageSize, queuesPageStandard);
      const pages = new LetterPages(context, 'ListQueues', {});
      const { queue: last } = pages.placeOf(request.nextPageToken);
      // The others have no name that these tools could build.
      const rest = context.ports.cluster.deadLetterQueues.filter(({ number, category }) => number > last && categoryId(category) !== 0);
      const page = rest.slice(0, size);
      const isLast = rest.length === page.length;
      const queues = await Promise.all(page.map((queue) => queueInfo(call, queue)));
      return {
        // Those that have no number yet are few: they stand behind the others.
        queues: isLast ? [...queues, ...queuesNotOpen(context).map((queue) => notServed(queue, queue.trouble))] : queues,
        nextPageToken: isLast ? lastPage : pages.token({ queue: page.at(-1)?.number ?? 0 }),
      };
    }),
    operation('GetDLQTasks', api.GetDLQTasksRequest, api.GetDLQTasksResponse, async (request, call) => {
      const size = pageSize(request.pageSize, tasksPageStandard);
      const named = queueOfKey(context, request.dlqKey);
      const pages = new LetterPages(context, 'GetDLQTasks', { name: named.name });
      const { afterMessageId } = pages.placeOf(request.nextPageToken);
      const queue = thatIsThere(named);
      const room = { max: size, bytesMax: letterLimits.pageBytesMax };
      const question = { kind: 'listLetters', condition: undefined, afterMessageId, ...room, withContent: true } as const;
      const { letters } = await askLetters(context, call, queue.number, question);
      const last = letters.at(-1);
      return {
        dlqTasks: letters.map(({ row, content }) => ({
          metadata: { messageId: int64(row.messageId) },
          payload: {
            shardId: (queue.category === 'replication' ? content?.letter?.task.sourceShardId : row.shardId) ?? 0,
            blob: { encodingType: ENCODING_TYPE_PROTO3, data: content?.value ?? new Uint8Array(0) },
          },
        })),
        // More may have come when it is asked for: the end is an empty page.
        nextPageToken: last === undefined ? lastPage : pages.token({ afterMessageId: last.row.messageId }),
      };
    }),
  ];

  /** One that is not served is listed all the same: the others are asked for more often than not. */
  async function queueInfo(call: Call, queue: KnownDeadLetterQueue) {
    try {
      const { open, quarantined, nextId } = await askLetters(context, call, queue.number, { kind: 'countLetters' });
      return { queueName: nameOf(queue), messageCount: int64(open + quarantined), lastMessageId: int64(nextId - 1) };
    } catch (error) {
      if (error instanceof StatusError) return notServed(queue, error.message);
      throw error;
    }
  }

  /** How many letters it has is not known: an empty queue would look the same with 0. */
  function notServed(queue: Omit<KnownDeadLetterQueue, 'number'>, trouble: string) {
    return { queueName: nameOf(queue), messageCount: int64(-1), lastMessageId: int64(-1), trouble };
  }

  function nameOf({ category, sourceCluster }: Omit<KnownDeadLetterQueue, 'number'>): string {
    return deadLetterQueueName(categoryId(category), sourceCluster, context.ports.server.clusterName);
  }
}
