/** The queues, each as its owner tells of it. One that is not served is listed with the reason: the others are asked for more often than not. */
import type { KnownDeadLetterQueue } from '../../cluster/cluster-records.ts';
import type { Condition } from '../../filter/condition.ts';
import { emptyDeadLetterQueue, type DeadLetterQueue, type QueueName } from '../../wire/generated/api/deadletter/service.ts';
import { pageSize } from '../admin-service/conventions.ts';
import { StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import { askLetters, type DeadLetterHandlers } from './letter-asks.ts';
import { countOf } from './letters.ts';
import { lastPage, letterLimits, LetterPages } from './letter-pages.ts';
import { categoryId, queuesNotOpen } from './queues.ts';
import { letterColumn } from './selection.ts';

const topErrorsMax = 3;
/** A letter that can be read has a cause. */
const damaged: Condition = { kind: 'isNull', column: letterColumn('Cause'), not: false };

export const queueHandlers: DeadLetterHandlers = {
  ListDeadLetterQueues: async (context, request, call) => {
    const size = pageSize(request.pageSize, letterLimits.pageQueuesMax, letterLimits.pageQueuesMax);
    const pages = new LetterPages(context, 'ListDeadLetterQueues', {});
    const { queue: last } = pages.placeOf(request.nextPageToken);
    const rest = context.ports.cluster.deadLetterQueues.filter(({ number }) => number > last);
    const page = rest.slice(0, size);
    const isLast = rest.length === page.length;
    const queues = await Promise.all(page.map((queue) => described(context, call, queue)));
    // Those that have no number yet are few: they stand behind the others.
    const others = isLast ? queuesNotOpen(context).map((queue) => ({ ...nameOf(context, queue), trouble: queue.trouble })) : [];
    return { queues: [...queues, ...others], nextPageToken: isLast ? lastPage : pages.token({ queue: page.at(-1)?.number ?? 0 }) };
  },
};

async function described(context: HandlerContext, call: Call, queue: KnownDeadLetterQueue): Promise<DeadLetterQueue> {
  const { number } = queue;
  const name = nameOf(context, queue);
  try {
    const { open, quarantined, nextId, lowestOpen } = await askLetters(context, call, number, { kind: 'countLetters' });
    const counts = { ...name, open, quarantined, nextMessageId: nextId };
    if (open + quarantined === 0) return counts;
    const by = { kind: 'groupLetters', condition: undefined, by: 'errorType', max: topErrorsMax } as const;
    const { groups } = await askLetters(context, call, number, by);
    const first = { kind: 'listLetters', condition: undefined, max: 1, bytesMax: 1, withContent: false } as const;
    const { letters } = await askLetters(context, call, number, { ...first, afterMessageId: (lowestOpen ?? 0) - 1 });
    return {
      ...counts,
      oldestTimeMs: letters[0]?.row.deadLetterTimeMs ?? 0,
      topErrors: groups.map(({ key, count }) => ({ errorType: key, count })),
      damaged: await countOf(context, call, { queues: [queue], condition: damaged }),
    };
  } catch (error) {
    if (error instanceof StatusError) return { ...name, trouble: error.message };
    throw error;
  }
}

function nameOf({ ports }: HandlerContext, { category, sourceCluster }: QueueName): DeadLetterQueue {
  return {
    ...emptyDeadLetterQueue(),
    name: { category, sourceCluster },
    targetCluster: ports.server.clusterName,
    topic: ports.deadLetterTopic(category, sourceCluster),
    categoryId: categoryId(category),
  };
}
