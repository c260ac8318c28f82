/** `… dlq restore`: letters that were purged get back into their queue, while their undo window lasts. */
import type { QueueName } from '../../../wire/generated/api/deadletter/service.ts';
import { usageError } from '../../cli-error.ts';
import type { FlagValues, Invocation } from '../../command.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { withServer, type GrpcClient } from '../../grpc-client.ts';
import { listFormat } from '../../output.ts';
import { reasonOf } from './change-options.ts';
import { queueFlags } from './dlq-flags.ts';
import type { DlqKind } from './dlq-kind.ts';
import { carriedOut } from './job-wait.ts';
import { queueText } from './queue-names.ts';
import { namedMessages, queuesOf } from './selected.ts';
import { describeJob, jobThere, restoreDeadLetters } from './service.ts';

export async function runRestore(kind: DlqKind, invocation: Invocation): Promise<ExitCode> {
  const { flags } = invocation;
  listFormat(flags.one('output'), 'text');
  const messageIds = namedMessages(flags);
  const jobId = flags.one('job') ?? '';
  if (messageIds.length > 0 === (jobId !== '')) throw usageError('restore needs --message-id or --job, one of them');
  const reason = reasonOf(flags);
  return withServer(invocation, async (client) => {
    const queue = jobId === '' ? await onlyQueue(kind, flags, client) : await queueOfJob(kind, jobId, flags, client);
    const request = { queue, messageIds, jobId, reason };
    const begin = async () => jobThere((await client.call(restoreDeadLetters, request, { isChange: true })).job);
    return carriedOut(kind, invocation, client, 'restore', [[{ begin }]]);
  });
}

async function onlyQueue(kind: DlqKind, flags: FlagValues, client: GrpcClient): Promise<QueueName | undefined> {
  const [queue, ...others] = await queuesOf(kind, flags, client);
  if (others.length === 0) return queue;
  throw usageError('restore is of one queue', { next: kind === 'admin dlq' ? 'Say which: --dlq-type.' : 'Say which: --cluster.' });
}

/** A job tells its queue itself: whoever names one beside it means that one or none. */
async function queueOfJob(kind: DlqKind, jobId: string, flags: FlagValues, client: GrpcClient): Promise<QueueName | undefined> {
  if (queueFlags(kind).every(({ name }) => flags.one(name) === undefined)) return undefined;
  const named = await queuesOf(kind, flags, client);
  const of = (await client.call(describeJob, { jobId, unlessState: '', waitMs: 0 })).job?.queue;
  const queue = named.find(
    ({ category, sourceCluster }) => category === of?.category && (sourceCluster === '' || sourceCluster === of.sourceCluster),
  );
  if (queue !== undefined) return queue;
  throw usageError(`job ${jobId} is of ${queueText(of)}, and another queue is named`, { next: 'Leave one of them out.' });
}
