/** `… dlq list`: the queues, largest first. */
import type { DeadLetterQueue } from '../../../wire/generated/api/deadletter/service.ts';
import { failure } from '../../cli-error.ts';
import { exitCodes, type ExitCode, type Invocation } from '../../command.ts';
import { pagesOf, withServer, type GrpcClient } from '../../grpc-client.ts';
import type { Io } from '../../io.ts';
import { rfc3339, timeFormat, type TimeFormat } from '../../printed-time.ts';
import { printList } from '../../printed-list.ts';
import { plainText } from '../../plain-text.ts';
import { isOfOtherClusters, replicationCategories } from './queue-names.ts';
import { calls, type DlqKind } from './service.ts';

export async function runList(kind: DlqKind, invocation: Invocation): Promise<ExitCode> {
  const { flags, io } = invocation;
  const time = timeFormat(flags);
  const wanted = wantedQueues(invocation);
  const all = await withServer(invocation, allQueues);
  checkCategory(all, flags.one('category'));
  const queues = all.filter(wanted).toSorted((a, b) => lettersIn(b) - lettersIn(a));
  await printList(invocation, { json: queueJson, titles, cells: (queue) => cells(queue, time), elastic: titles.length - 1 }, queues);
  if (kind === 'admin dlq' && !queues.some((queue) => lettersIn(queue) > 0)) tellOfThose(all, io);
  for (const { name, trouble } of queues) {
    if (trouble !== '') io.err(`perdure: ${name?.category} from ${name?.sourceCluster} is not served: ${plainText(trouble)}\n`);
  }
  return exitCodes.done;
}

export async function allQueues(client: GrpcClient): Promise<readonly DeadLetterQueue[]> {
  const queues: DeadLetterQueue[] = [];
  const pages = pagesOf((nextPageToken) => client.call(calls.ListDeadLetterQueues, { pageSize: 1_000, nextPageToken }));
  for await (const page of pages) queues.push(...page.queues);
  return queues;
}

/** All queues unless flags select some, so that nobody has to know beforehand where to look. */
function wantedQueues({ flags }: Invocation): (queue: DeadLetterQueue) => boolean {
  const cluster = flags.one('cluster');
  const category = flags.one('category');
  const type = flags.one('dlq-type');
  const categories = type === undefined ? undefined : replicationCategories(type);
  return ({ name, categoryId }) =>
    name !== undefined &&
    (cluster === undefined || name.sourceCluster === cluster) &&
    (category === undefined || isOfCategory({ name, categoryId }, category)) &&
    (categories === undefined || categories.includes(name.category));
}

/** A mistyped name must not look like an empty queue. (Queues of other clusters do not exist before their first dead letter.) */
function checkCategory(all: readonly DeadLetterQueue[], given: string | undefined): void {
  if (given === undefined || isOfOtherClusters(given) || all.some((queue) => isOfCategory(queue, given))) return;
  const known = new Set([...all.flatMap(({ name }) => (name === undefined ? [] : [name.category])), ...replicationCategories(undefined)]);
  throw failure(`INVALID_ARGUMENT: Unknown task category: ${given}; known are ${[...known].join(', ')}`);
}

/** `given` is a name or a number; 0 is the number of no category. */
export function isOfCategory({ name, categoryId }: Pick<DeadLetterQueue, 'name' | 'categoryId'>, given: string): boolean {
  return name?.category === given || (categoryId !== 0 && isCategoryId(given) && categoryId === Number(given));
}

export function isCategoryId(given: string): boolean {
  return /^\d+$/.test(given);
}

/** `admin dlq` selects tasks from other clusters: that none matches must not be read as "this cluster's own have none". */
export async function tellOfOwnLetters(kind: DlqKind, { io }: Invocation, client: GrpcClient): Promise<void> {
  if (kind === 'admin dlq') tellOfThose(await allQueues(client), io);
}

function tellOfThose(all: readonly DeadLetterQueue[], io: Io): void {
  const own = all.filter(({ name }) => !isOfOtherClusters(name?.category ?? ''));
  const number = own.reduce((sum, queue) => sum + lettersIn(queue), 0);
  if (number === 0) return;
  const letters = number === 1 ? '1 dead letter of this cluster’s own tasks is' : `${number} dead letters of this cluster’s own tasks are`;
  io.err(`perdure: no dead letter of replication matches, but ${letters} waiting: perdure admin queue dlq list\n`);
}

function lettersIn({ open, quarantined }: DeadLetterQueue): number {
  return open + quarantined;
}

const titles = ['CATEGORY', 'SOURCE', 'TARGET', 'COUNT', 'QUARANTINED', 'OLDEST', 'TOP ERROR'] as const;

function cells(queue: DeadLetterQueue, time: TimeFormat): readonly string[] {
  const { name, targetCluster, quarantined, oldestTimeMs, topErrors } = queue;
  const [top] = topErrors;
  return [
    name?.category ?? '',
    name?.sourceCluster ?? '',
    targetCluster,
    String(lettersIn(queue)),
    String(quarantined),
    time(oldestTimeMs),
    top === undefined ? '-' : `${plainText(top.errorType)} (${top.count})`,
  ];
}

function queueJson(queue: DeadLetterQueue): object {
  const { name, categoryId, targetCluster, topic, open, quarantined, damaged, oldestTimeMs, nextMessageId, topErrors, trouble } = queue;
  return {
    category: name?.category ?? '',
    categoryId,
    sourceCluster: name?.sourceCluster ?? '',
    ...{ targetCluster, topic, count: lettersIn(queue), open, quarantined, damaged },
    ...{ oldestTime: rfc3339(oldestTimeMs), nextMessageId, topErrors, trouble },
  };
}
