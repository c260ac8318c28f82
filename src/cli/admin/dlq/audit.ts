/** `… dlq audit`: who did what to which letters, the newest first. */
import type { AuditEntry, QueueName } from '../../../wire/generated/api/deadletter/service.ts';
import { usageError } from '../../cli-error.ts';
import type { FlagValues, Invocation } from '../../command.ts';
import type { ExitCode } from '../../exit-codes.ts';
import { withServer, type GrpcClient } from '../../grpc-client.ts';
import { listFormat } from '../../output.ts';
import { PrintedList, printWhole } from '../../printed-list.ts';
import { rfc3339, timeFormat, type TimeFormat } from '../../printed-time.ts';
import { plainText } from '../../plain-text.ts';
import type { DlqKind } from './dlq-kind.ts';
import { count } from './read.ts';
import { messageId, queuesOf } from './selected.ts';
import { listAuditEntries } from './service.ts';

const pageEntries = 1_000;
const limitDefault = 100;

type Wanted = { readonly queue: QueueName | undefined; readonly jobId: string; readonly messageId: number | undefined };

export async function runAudit(kind: DlqKind, invocation: Invocation): Promise<ExitCode> {
  const { flags, io } = invocation;
  const time = timeFormat(flags);
  const forms = {
    json: entryJson,
    titles,
    cells: (entry: AuditEntry) => cells(entry, time),
    elastic: titles.length - 1,
    none: 'No audit entries to show.',
  };
  const list = new PrintedList<AuditEntry>(io, listFormat(flags.one('output'), 'text'), forms);
  const given = flags.one('message-id');
  const ofLetter = given === undefined ? undefined : messageId('--message-id', given);
  if (ofLetter !== undefined && kind === 'admin queue dlq' && flags.one('category') === undefined) {
    throw usageError('--message-id needs --category: ids are of one queue');
  }
  let missing = count(flags, 'limit', limitDefault) || Infinity;
  return printWhole(io, list, () =>
    withServer(invocation, async (client) => {
      for (const queue of await queuesAsked(kind, flags, client)) {
        for await (const page of pages(client, { queue, jobId: flags.one('job') ?? '', messageId: ofLetter }, missing)) {
          const entries = page.slice(0, missing);
          missing -= entries.length;
          if (!(await list.add(entries)) || missing <= 0) return;
        }
      }
    }),
  );
}

/** Undefined: of all queues. */
async function queuesAsked(kind: DlqKind, flags: FlagValues, client: GrpcClient): Promise<readonly (QueueName | undefined)[]> {
  const isOfAll = kind === 'admin queue dlq' && flags.one('category') === undefined && flags.one('cluster') === undefined;
  return isOfAll ? [undefined] : await queuesOf(kind, flags, client);
}

async function* pages(client: GrpcClient, wanted: Wanted, max: number) {
  let nextPageToken: Uint8Array = new Uint8Array(0);
  do {
    const page = await client.call(listAuditEntries, { ...wanted, pageSize: Math.min(pageEntries, max), nextPageToken });
    yield page.entries;
    nextPageToken = page.nextPageToken;
  } while (nextPageToken.length > 0);
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

/** `41`; `0, 3, 4 …` of many. */
function lettersText({ messageIds, letters }: AuditEntry): string {
  const shown = 3;
  if (letters === 0) return '-';
  if (messageIds.length === 0) return String(letters);
  const first = messageIds.slice(0, shown).join(', ');
  return letters > shown ? `${first} … (${letters})` : first;
}

/** As it stands in the audit topic. */
function entryJson(entry: AuditEntry): object {
  const { timeMs, subject, authType, peer, client, requestId, queue, action, source, offset, ...what } = entry;
  const { reason, jobId, planHash, filter, messageIds, messageIdRanges, letters, outcome, errorType, generation } = what;
  return {
    ...{ time: rfc3339(timeMs), queue, action, source, offset, actor: { subject, authType, peer }, client, requestId },
    ...{ reason, jobId, planHash, filter, messageIds, messageIdRanges, letters, outcome, errorType, generation },
  };
}
