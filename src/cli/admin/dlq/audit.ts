/** `… dlq audit`: who did what to which dead letters, newest first. */
import type { AuditEntry, QueueName } from '../../../wire/generated/api/deadletter/service.ts';
import { usageError } from '../../cli-error.ts';
import type { ExitCode, FlagValues, Invocation } from '../../command.ts';
import { pagesOf, withServer, type GrpcClient } from '../../grpc-client.ts';
import { PrintedList } from '../../printed-list.ts';
import { rfc3339, timeFormat, type TimeFormat } from '../../printed-time.ts';
import { plainText } from '../../plain-text.ts';
import { count } from './read.ts';
import { messageId, queuesOf } from './selected.ts';
import { calls, type DlqKind } from './service.ts';

const pageEntries = 1_000;
const limitDefault = 100;

export async function runAudit(kind: DlqKind, invocation: Invocation): Promise<ExitCode> {
  const { flags } = invocation;
  const time = timeFormat(flags);
  const forms = { json: entryJson, titles, cells: (entry: AuditEntry) => cells(entry, time), elastic: titles.length - 1 };
  const list = new PrintedList<AuditEntry>(invocation, { ...forms, none: 'No audit entries to show.' });
  const given = flags.one('message-id');
  const ofLetter = given === undefined ? undefined : messageId('--message-id', given);
  if (ofLetter !== undefined && kind === 'admin queue dlq' && flags.one('category') === undefined) {
    throw usageError('--message-id needs --category: ids are of one queue');
  }
  let missing = count(flags, 'limit', limitDefault) || Infinity;
  return list.whole(() =>
    withServer(invocation, async (client) => {
      for (const queue of await queuesAsked(kind, flags, client)) {
        const wanted = { queue, jobId: flags.one('job') ?? '', messageId: ofLetter, pageSize: Math.min(pageEntries, missing) };
        const pages = pagesOf((nextPageToken) => client.call(calls.ListAuditEntries, { ...wanted, nextPageToken }));
        for await (const page of pages) {
          const entries = page.entries.slice(0, missing);
          missing -= entries.length;
          if (!(await list.add(entries)) || missing <= 0) return;
        }
      }
    }),
  );
}

async function queuesAsked(kind: DlqKind, flags: FlagValues, client: GrpcClient): Promise<readonly (QueueName | undefined)[]> {
  const isOfAll = kind === 'admin queue dlq' && flags.one('category') === undefined && flags.one('cluster') === undefined;
  return isOfAll ? [undefined] : await queuesOf(kind, flags, client);
}

const titles = ['TIME', 'ACTION', 'QUEUE', 'MESSAGES', 'OUTCOME', 'JOB', 'WHO', 'REASON'] as const;

function cells(entry: AuditEntry, time: TimeFormat): readonly string[] {
  const { timeMs, action, queue, outcome, errorType, jobId, subject, peer, reason } = entry;
  return [
    time(timeMs),
    plainText(action),
    queue,
    lettersText(entry),
    plainText([outcome, errorType].filter((part) => part !== '').join(' ')) || '-',
    jobId || '-',
    plainText(peer === '' ? subject : `${subject} (${peer})`),
    plainText(reason) || '-',
  ];
}

/** `41`, or `0, 3, 4 …` for many. */
function lettersText({ messageIds, letters }: AuditEntry): string {
  const shown = 3;
  if (letters === 0) return '-';
  if (messageIds.length === 0) return String(letters);
  const first = messageIds.slice(0, shown).join(', ');
  return letters > shown ? `${first} … (${letters})` : first;
}

/** The same JSON as in the audit topic. */
function entryJson(entry: AuditEntry): object {
  const { timeMs, subject, authType, peer, client, requestId, queue, action, source, offset, ...what } = entry;
  const { reason, jobId, planHash, filter, messageIds, messageIdRanges, letters, outcome, errorType, generation } = what;
  return {
    ...{ time: rfc3339(timeMs), queue, action, source, offset, actor: { subject, authType, peer }, client, requestId },
    ...{ reason, jobId, planHash, filter, messageIds, messageIdRanges, letters, outcome, errorType, generation },
  };
}
