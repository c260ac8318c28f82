/** Queues of history tasks as Temporal's tools name them: a category's number, a source and a target cluster. */
import { shownId } from '../../kernel/shown-id.ts';
import type { KnownDeadLetterQueue } from '../../cluster/cluster-state.ts';
import type { ServiceMessages } from '../../wire/services.ts';
import { categoryOfId, checkIsOpen } from '../deadletter-service/queues.ts';
import { notFound } from '../errors/details.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { required } from './conventions.ts';
import { deadLetterQueueName } from './dead-letter-queue-name.ts';

/** Value of `queue_type`: dead letters of history tasks. */
export const historyDeadLetters = 2;

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
