/** Queues by category (its name, or its number on the wire) and source cluster; without one, this cluster's own tasks are meant. */
import { shownId } from '../../kernel/shown-id.ts';
import type { KnownDeadLetterQueue } from '../../cluster/cluster-records.ts';
import type { QueueName } from '../../wire/generated/api/deadletter/service.ts';
import { notFound, unavailable } from '../errors/details.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';

/** Queues of other categories are listed, read, counted and purged all the same. 0: it has no number. */
const categoryIds: ReadonlyMap<string, number> = new Map([
  ['transfer', 1],
  ['timer', 2],
  ['replication', 3],
  ['visibility', 4],
  ['archival', 5],
  ['outbound', 7],
  ['namespace-replication', 0],
]);
const categoriesOfOthers: ReadonlySet<string> = new Set(['replication', 'namespace-replication']);

export function categoryId(category: string): number {
  return categoryIds.get(category) ?? 0;
}

export function categoryOfId(id: number): string | undefined {
  return [...categoryIds].find(([, each]) => each === id && id !== 0)?.[0];
}

type WantedQueue = { readonly category: string; readonly sourceCluster: string };

/** Undefined: nothing has become a dead letter there, so it is as an empty one. */
export async function queueNamed(context: HandlerContext, call: Call, name: QueueName): Promise<KnownDeadLetterQueue | undefined> {
  return (await queuesThatAreThere(context, call, [name]))[0];
}

/** The named queues that are there, each once, in their order. Throws UNAVAILABLE for one that cannot be opened: it is no empty one. */
export async function queuesNamed(context: HandlerContext, call: Call, names: readonly QueueName[]) {
  const queues = await queuesThatAreThere(context, call, names);
  for (const name of names) checkIsOpen(context, wantedQueue(context, name));
  return queues;
}

/** Tasks that fail for good wait in their shards where a queue cannot be opened: nobody shall take it for an empty one. */
export function checkIsOpen(context: HandlerContext, queue: WantedQueue): void {
  if (find(context, queue) !== undefined) return;
  const trouble = context.ports.whyNoQueue(queue.category, queue.sourceCluster);
  if (trouble !== undefined) throw unavailable(trouble);
}

export function queuesNotOpen({ ports }: HandlerContext): readonly (WantedQueue & { readonly trouble: string })[] {
  const sourceCluster = ports.server.clusterName;
  return [...categoryIds.keys()].flatMap((category) => {
    const trouble = ports.whyNoQueue(category, sourceCluster);
    return trouble === undefined || find({ ports }, { category, sourceCluster }) !== undefined
      ? []
      : [{ category, sourceCluster, trouble }];
  });
}

async function queuesThatAreThere(context: HandlerContext, call: Call, names: readonly QueueName[]) {
  if (names.length === 0) throw invalidArgument('queues is not set');
  const each = new Map(names.map((name) => [`${name.category} ${name.sourceCluster}`, name]));
  const wanted = [...each.values()].map((name) => wantedQueue(context, name));
  const isMissing = (queue: WantedQueue): boolean => find(context, queue) === undefined;
  // Once for all of them: a request may name many.
  if (wanted.some(isMissing)) await context.cluster(call, '', { kind: 'syncCluster' });
  for (const { sourceCluster } of wanted.filter(isMissing)) checkCluster(context, sourceCluster);
  return [...new Set(wanted.flatMap((queue) => find(context, queue) ?? []))];
}

export async function queueThatIsThere(context: HandlerContext, call: Call, name: QueueName | undefined): Promise<KnownDeadLetterQueue> {
  if (name === undefined) throw invalidArgument('queue is not set');
  const queue = await queueNamed(context, call, name);
  if (queue === undefined) {
    const wanted = wantedQueue(context, name);
    checkIsOpen(context, wanted);
    const { category, sourceCluster } = wanted;
    throw notFound(`queue not found: ${category} of ${shownId(sourceCluster)}`);
  }
  return queue;
}

export function checkCluster({ ports: { cluster, server } }: HandlerContext, name: string): void {
  const known = new Set([server.clusterName, ...cluster.deadLetterQueues.map(({ sourceCluster }) => sourceCluster)]);
  if (known.has(name)) return;
  const named = [...known].join(', ');
  throw notFound(`cluster ${shownId(name)} is not found: there ${known.size === 1 ? 'is' : 'are'} ${named}`);
}

function wantedQueue(context: HandlerContext, name: QueueName): WantedQueue {
  const category = knownCategory(context, name.category);
  if (name.sourceCluster !== '') return { category, sourceCluster: name.sourceCluster };
  if (categoriesOfOthers.has(category)) throw invalidArgument('SourceCluster is not set on request.');
  return { category, sourceCluster: context.ports.server.clusterName };
}

function knownCategory({ ports }: HandlerContext, given: string): string {
  if (/^-?\d+$/.test(given)) {
    const category = categoryOfId(Number(given));
    if (category === undefined) throw invalidArgument(`Invalid task category id: ${shownId(given)}`);
    return category;
  }
  const known = new Set([...categoryIds.keys(), ...ports.cluster.deadLetterQueues.map(({ category }) => category)]);
  if (known.has(given)) return given;
  throw invalidArgument(`Unknown task category: ${shownId(given)}; known are ${[...known].join(', ')}`);
}

function find({ ports }: Pick<HandlerContext, 'ports'>, { category, sourceCluster }: WantedQueue): KnownDeadLetterQueue | undefined {
  return ports.cluster.deadLetterQueues.find((queue) => queue.category === category && queue.sourceCluster === sourceCluster);
}
