/** `… dlq restore`: returns purged dead letters to their queue, within the undo window. */
import type { QueueName } from '../../../wire/generated/api/deadletter/service.ts';
import { usageError } from '../../cli-error.ts';
import type { ExitCode, FlagValues, Invocation } from '../../command.ts';
import { withServer, type GrpcClient } from '../../grpc-client.ts';
import { reasonOf } from './change-options.ts';
import { queueFlags } from './dlq-flags.ts';
import { carriedOut } from './job-wait.ts';
import { queueText } from './queue-names.ts';
import { namedMessages, queuesOf } from './selected.ts';
import { calls, jobThere, type DlqKind } from './service.ts';

export async function runRestore(kind: DlqKind, invocation: Invocation): Promise<ExitCode> {
  const { flags } = invocation;
  const messageIds = namedMessages(flags);
  const jobId = flags.one('job') ?? '';
  if (messageIds.length > 0 === (jobId !== '')) throw usageError('restore needs --message-id or --job, one of them');
  const reason = reasonOf(flags);
  return withServer(invocation, async (client) => {
    const queue = jobId === '' ? await onlyQueue(kind, flags, client) : await queueOfJob(kind, jobId, flags, client);
    const request = { queue, messageIds, jobId, reason };
    const begin = async () => jobThere((await client.call(calls.RestoreDeadLetters, request, { isChange: true })).job);
    return carriedOut(kind, invocation, client, 'restore', [[{ begin }]]);
  });
}

async function onlyQueue(kind: DlqKind, flags: FlagValues, client: GrpcClient): Promise<QueueName | undefined> {
  const [queue, ...others] = await queuesOf(kind, flags, client);
  if (others.length === 0) return queue;
  throw usageError('restore is of one queue', { next: kind === 'admin dlq' ? 'Say which: --dlq-type.' : 'Say which: --cluster.' });
}

/** The queue of a job; flags that name a queue must name the same one. */
async function queueOfJob(kind: DlqKind, jobId: string, flags: FlagValues, client: GrpcClient): Promise<QueueName | undefined> {
  if (queueFlags(kind).every(({ name }) => flags.one(name) === undefined)) return undefined;
  const named = await queuesOf(kind, flags, client);
  const of = (await client.call(calls.DescribeJob, { jobId, unlessState: '', waitMs: 0 })).job?.queue;
  const queue = named.find(
    ({ category, sourceCluster }) => category === of?.category && (sourceCluster === '' || sourceCluster === of.sourceCluster),
  );
  if (queue !== undefined) return queue;
  throw usageError(`job ${jobId} is of ${queueText(of)}, and another queue is named`, { next: 'Leave one of them out.' });
}
