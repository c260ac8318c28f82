/** The audit: who did what to which letters. */
import type { AuditEntry } from '../../deadletters/audit/audit-entry.ts';
import {
  type AuditEntry as WireEntry,
  decodeListAuditEntriesRequest,
  encodeListAuditEntriesResponse,
  type ListAuditEntriesRequest,
  type ListAuditEntriesResponse,
} from '../../wire/generated/api/deadletter/service.ts';
import { pageSize } from '../admin-service/conventions.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { askAudit } from './letter-asks.ts';
import { letterLimits } from './letter-limits.ts';
import { letterMethod } from './letter-method.ts';
import { lastPage, LetterPages } from './letter-pages.ts';
import { queueNamed } from './queues.ts';

export function auditMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    letterMethod('ListAuditEntries', decodeListAuditEntriesRequest, encodeListAuditEntriesResponse, (request, call) =>
      listed(context, call, request),
    ),
  ];
}

async function listed(context: HandlerContext, call: Call, request: ListAuditEntriesRequest): Promise<ListAuditEntriesResponse> {
  const { jobId, messageId, nextPageToken } = request;
  const { pageEntriesMax } = letterLimits;
  const max = pageSize(request.pageSize, pageEntriesMax, pageEntriesMax);
  if (messageId !== undefined && messageId < 0) throw invalidArgument(`Invalid message id: ${messageId}`);
  if (messageId !== undefined && request.queue === undefined) throw invalidArgument('queue is not set: message ids are of one queue');
  const queue = request.queue === undefined ? undefined : await queueNamed(context, call, request.queue);
  const pages = new LetterPages(context, 'ListAuditEntries', { queue: request.queue ?? null, jobId, messageId: messageId ?? null });
  const { toMessageId: before } = pages.placeOf(nextPageToken);
  // A queue that is not there has had no letters.
  if (request.queue !== undefined && queue === undefined) return { entries: [], nextPageToken: lastPage };
  const topic = queue === undefined ? undefined : context.ports.deadLetterTopic(queue.category, queue.sourceCluster);
  const filter = { queue: topic, jobId: jobId === '' ? undefined : jobId, messageId };
  const page = await askAudit(context, call, { kind: 'readAudit', filter, before: before === 0 ? undefined : before, max });
  const token = page.before === undefined ? lastPage : pages.token({ toMessageId: page.before });
  return { entries: page.entries.map(entryMessage), nextPageToken: token };
}

function entryMessage({ caller, ...entry }: AuditEntry): WireEntry {
  return { ...entry, ...caller };
}
