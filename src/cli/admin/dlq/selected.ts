import { int64Max } from '../../../kernel/int64.ts';
import type { DeadLetter, QueueName, Selection } from '../../../wire/generated/api/deadletter/service.ts';
import { CliError, usageError } from '../../cli-error.ts';
import { exitCodes, type FlagValues } from '../../command.ts';
import type { GrpcClient } from '../../grpc-client.ts';
import { plainText } from '../../plain-text.ts';
import { cut } from '../../table.ts';
import { workflowCharsMax } from './letter-forms.ts';
import { isOfOtherClusters, queueText, replicationCategories } from './queue-names.ts';
import { allQueues, isCategoryId, isOfCategory } from './queues.ts';
import { calls, type DlqKind } from './service.ts';

export type Selected = { readonly queues: readonly QueueName[]; readonly selection: Selection };

const candidatesMax = 20;

/** Reads the flags. If they name one task or message, and several have that id, it throws an error that lists them. */
export async function selected(kind: DlqKind, flags: FlagValues, client: GrpcClient): Promise<Selected> {
  const selection = selectionOf(kind, flags);
  const queues = await queuesOf(kind, flags, client);
  const named = flags.one('task-id') === undefined ? undefined : '--task-id';
  const byMessage = selection.messageIds.length > 0 && queues.length > 1 ? '--message-id' : undefined;
  const flag = named ?? byMessage;
  if (flag !== undefined) await checkUnambiguous(kind, flag, { queues, selection }, client);
  return { queues, selection };
}

/** Whether the selection is everything in its queues, namespaces and shards. */
export function isOfAll(selection: Selection): boolean {
  const { messageIds, minMessageId, maxMessageId, taskId, workflowId, runId, query } = selection;
  const bounds = [minMessageId, maxMessageId];
  return (
    messageIds.length === 0 && bounds.every((id) => id === undefined) && [taskId, workflowId, runId, query].every((text) => text === '')
  );
}

export async function queuesOf(kind: DlqKind, flags: FlagValues, client: GrpcClient): Promise<readonly QueueName[]> {
  const sourceCluster = flags.one('cluster') ?? '';
  if (kind === 'admin dlq') {
    if (sourceCluster === '') throw missing(kind, '--cluster', 'the source cluster', '--cluster cluster-b');
    return replicationCategories(flags.one('dlq-type')).map((category) => ({ category, sourceCluster }));
  }
  const given = flags.one('category') ?? '';
  if (given === '') throw missing(kind, '--category', 'the category of tasks', '--category transfer');
  const isId = isCategoryId(given);
  if (!isId && (sourceCluster !== '' || !isOfOtherClusters(given))) return [{ category: given, sourceCluster }];
  // Only the server knows which category a number means, and which source clusters exist.
  const known = (await allQueues(client)).filter((queue) => isOfCategory(queue, given));
  const names = known.flatMap(({ name }) => (name === undefined ? [] : [name]));
  const wanted = names.filter((name) => sourceCluster === '' || name.sourceCluster === sourceCluster);
  if (wanted.length > 0) return wanted;
  return isId ? [{ category: names[0]?.category ?? given, sourceCluster }] : [];
}

function missing(kind: DlqKind, flag: string, what: string, example: string): CliError {
  return usageError(`${flag} is missing: ${what}`, { next: `Such as ${example}; perdure ${kind} list shows the queues that there are.` });
}

function selectionOf(kind: DlqKind, flags: FlagValues): Selection {
  const text = (name: string): string => flags.one(name) ?? '';
  const [minMessageId, maxMessageId] = [bound(flags, 'min-message-id'), bound(flags, 'max-message-id')];
  if (minMessageId !== undefined && maxMessageId !== undefined && minMessageId > maxMessageId) {
    throw usageError(`--min-message-id ${minMessageId} is above --max-message-id ${maxMessageId}`);
  }
  const messageIds = namedMessages(flags);
  const given = flags.one('task-id');
  const task = given === undefined ? undefined : wholeNumber('--task-id', given);
  return {
    messageIds: kind === 'admin dlq' && given !== undefined ? onlyOne(messageIds, messageId('--task-id', given)) : messageIds,
    minMessageId,
    maxMessageId,
    taskId: kind === 'admin queue dlq' && task !== undefined ? String(task) : '',
    workflowId: text('workflow-id'),
    runId: text('run-id'),
    namespace: text('namespace'),
    shardId: shardId(flags.one('shard-id')),
    query: text('query'),
  };
}

/** On `admin dlq` a task id is a message id, and flags are combined with AND. */
function onlyOne(messageIds: readonly number[], id: number): readonly number[] {
  if (messageIds.length === 0 || messageIds.includes(id)) return [id];
  throw usageError('--task-id and --message-id name different dead letters', { next: 'Leave one of them out.' });
}

export function shardId(given: string | undefined): number {
  if (given === undefined) return 0;
  const number = Number(given);
  if (/^\d+$/.test(given) && number >= 1 && number < 2 ** 31) return number;
  throw usageError(`Invalid ShardID: ${given}`, { why: 'Shards are numbered from 1.' });
}

function bound(flags: FlagValues, name: string): number | undefined {
  const given = flags.one(name);
  if (given === undefined) return undefined;
  // No id is that high, so as a bound it means the same.
  const id = wholeNumber(`--${name}`, given);
  return id > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(id);
}

export function namedMessages(flags: FlagValues): readonly number[] {
  return [...new Set(flags.all('message-id').map((given) => messageId('--message-id', given)))];
}

export function messageId(flag: string, given: string): number {
  const id = wholeNumber(flag, given);
  if (id <= BigInt(Number.MAX_SAFE_INTEGER)) return Number(id);
  throw usageError(`${flag}: no dead letter has an id as high as ${given}`);
}

function wholeNumber(flag: string, given: string): bigint {
  if (/^\d{1,19}$/.test(given) && BigInt(given) <= int64Max) return BigInt(given);
  throw usageError(`${flag}: expected a whole number from 0, got "${given}"`);
}

async function checkUnambiguous(kind: DlqKind, flag: string, { queues, selection }: Selected, client: GrpcClient): Promise<void> {
  if (queues.length === 0) return;
  const request = { queues, selection, pageSize: candidatesMax, nextPageToken: new Uint8Array(0), withPayload: false };
  const { letters } = await client.call(calls.ListDeadLetters, request);
  const nth = (letter: DeadLetter): number => letters.filter((other) => other.messageId === letter.messageId).length;
  const rivals = flag === '--task-id' ? (letters.length > 1 ? letters : []) : letters.filter((letter) => nth(letter) > 1);
  if (rivals.length === 0) return;
  const way = kind === 'admin dlq' ? '--dlq-type' : '--shard-id or --message-id';
  throw new CliError(exitCodes.usage, `${flag} matches ${rivals.length === candidatesMax ? 'many' : rivals.length} dead letters`, {
    why: rivals.map(candidate).join('\n'),
    next: `Nothing was done. Select one of them with ${way}.`,
  });
}

function candidate({ queue, messageId, taskId, taskType, shardId, workflowId, runId }: DeadLetter): string {
  const run = plainText([cut(workflowId, workflowCharsMax), runId].filter((part) => part !== '').join('/'));
  return `  message ${messageId} of ${queueText(queue)}: task ${taskId}, ${plainText(taskType)}, shard ${shardId}${run === '' ? '' : `, ${run}`}`;
}
