/** `… dlq restore`: letters that were purged get back into their queue, while their undo window lasts. */
import { usageError } from '../../cli-error.ts';
import type { Invocation } from '../../command.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { withServer } from '../../grpc-client.ts';
import { listFormat } from '../../output.ts';
import { reasonOf } from './change-options.ts';
import type { DlqKind } from './dlq-kind.ts';
import { carriedOut } from './job-wait.ts';
import { queuesOf, messageId } from './selected.ts';
import { restoreDeadLetters } from './service.ts';

export async function runRestore(kind: DlqKind, invocation: Invocation): Promise<ExitCode> {
  const { flags } = invocation;
  listFormat(flags.one('output'), 'text');
  const messageIds = flags.all('message-id').map((given) => messageId('--message-id', given));
  const jobId = flags.one('job') ?? '';
  if (messageIds.length > 0 === (jobId !== '')) throw usageError('restore needs --message-id or --job, one of them');
  const reason = reasonOf(flags);
  return withServer(invocation, async (client) => {
    const [queue, ...others] = jobId === '' ? await queuesOf(kind, flags, client) : [];
    if (others.length > 0) {
      throw usageError('restore is of one queue', { next: kind === 'admin dlq' ? 'Say which: --dlq-type.' : 'Say which: --cluster.' });
    }
    const request = { queue, messageIds, jobId, reason };
    const begin = async () => (await client.call(restoreDeadLetters, request, { isChange: true })).job;
    return carriedOut(kind, invocation, client, 'restore', [begin]);
  });
}
