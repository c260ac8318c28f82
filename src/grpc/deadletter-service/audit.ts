import { pageSize } from '../admin-service/conventions.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { askAudit, type DeadLetterHandlers } from './letter-asks.ts';
import { lastPage, letterLimits, LetterPages } from './letter-pages.ts';
import { queueNamed } from './queues.ts';

export const auditHandlers: DeadLetterHandlers = {
  ListAuditEntries: async (context, { pageSize: asked, queue: name, jobId, messageId, nextPageToken }, call) => {
    const max = pageSize(asked, letterLimits.pageEntriesMax, letterLimits.pageEntriesMax);
    if (messageId !== undefined && messageId < 0) throw invalidArgument(`Invalid message id: ${messageId}`);
    if (messageId !== undefined && name === undefined) throw invalidArgument('queue is not set: message ids are of one queue');
    const queue = name === undefined ? undefined : await queueNamed(context, call, name);
    const pages = new LetterPages(context, 'ListAuditEntries', { queue: name ?? null, jobId, messageId: messageId ?? null });
    const { toMessageId: before } = pages.placeOf(nextPageToken);
    // A queue that is not there has had no letters.
    if (name !== undefined && queue === undefined) return { entries: [], nextPageToken: lastPage };
    const topic = queue === undefined ? undefined : context.ports.deadLetterTopic(queue.category, queue.sourceCluster);
    const filter = { queue: topic, jobId: jobId === '' ? undefined : jobId, messageId };
    const page = await askAudit(context, call, { kind: 'readAudit', filter, before: before === 0 ? undefined : before, max });
    return {
      entries: page.entries.map(({ caller, ...entry }) => ({ ...entry, ...caller })),
      nextPageToken: page.before === undefined ? lastPage : pages.token({ toMessageId: page.before }),
    };
  },
};
