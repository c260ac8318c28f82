/** Histories that retention has deleted, read from where they were archived. */
import { ArchiveAway, ArchiveDamaged, type ArchivedPage } from '../../ports/archiver.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import type { GetWorkflowExecutionHistoryResponse } from '../../wire/generated/lean/workflow_service.ts';
import { notFound, unavailable } from '../errors/details.ts';
import { hasCode, invalidArgument, statusCode, StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import { asFollowed } from './followed-close.ts';

const archivedBranch = 'archived';
const noToken = new Uint8Array(0);

/** The first page of the file, or the event that closes it, where the run is gone and there is one; else what told that it is gone. */
export async function orArchived(
  context: HandlerContext,
  call: Call,
  key: RunKey,
  { isForClose, eventsMin }: { readonly isForClose: boolean; readonly eventsMin: number },
  error: unknown,
): Promise<GetWorkflowExecutionHistoryResponse> {
  const isGone = hasCode(error, statusCode.notFound);
  if (!isGone || key.runId === '' || context.ports.archival?.isRead !== true) throw error;
  return isForClose ? await archivedCloseEvent(context, call, key) : await archivedPage(context, key, 0, eventsMin);
}

/** Nothing says where in the file it stands: a page after the other is read. */
async function archivedCloseEvent(context: HandlerContext, call: Call, key: RunKey): Promise<GetWorkflowExecutionHistoryResponse> {
  for (let place = 0; ;) {
    const { events, nextPlace } = await readPage(context, key, place, Infinity);
    if (nextPlace === undefined) {
      return { history: { events: asFollowed(call, events.slice(-1)) }, rawHistory: [], nextPageToken: noToken, archived: true };
    }
    place = nextPlace;
  }
}

/** undefined: the token is of no archived history. */
export function archivedPlace(context: HandlerContext, bytes: Uint8Array, asked: RunKey): { key: RunKey; place: number } | undefined {
  if (bytes.length === 0) return undefined;
  const { branchId, namespaceId, workflowId, runId, nextEventId } = context.tokens.historyPage.read(bytes);
  if (branchId !== archivedBranch) return undefined;
  const isItsOwn = namespaceId === asked.namespaceId && workflowId === asked.workflowId && (asked.runId === '' || asked.runId === runId);
  if (!isItsOwn) throw invalidArgument('Invalid NextPageToken.');
  return { key: { namespaceId, workflowId, runId }, place: nextEventId };
}

function unreadable(error: unknown): never {
  if (error instanceof ArchiveDamaged) throw new StatusError(statusCode.dataLoss, error.message);
  if (error instanceof ArchiveAway) throw unavailable(`the archived history cannot be read now: ${error.message}`);
  throw error;
}

async function readPage(context: HandlerContext, key: RunKey, place: number, eventsMin: number): Promise<ArchivedPage> {
  const uri = context.ports.cluster.namespaceById(key.namespaceId)?.archival.uri ?? '';
  if (uri === '') throw invalidArgument('Requested workflow history not found, may have passed retention period.');
  const page = await context.ports.archival?.archiver.read(uri, key, place, eventsMin).catch(unreadable);
  if (page === undefined) throw notFound('requested workflow history does not exist');
  return page;
}

/** `place`: 0 at the beginning of the file. */
export async function archivedPage(
  context: HandlerContext,
  key: RunKey,
  place: number,
  eventsMin: number,
): Promise<GetWorkflowExecutionHistoryResponse> {
  const { events, nextPlace } = await readPage(context, key, place, eventsMin);
  const range = { nextEventId: nextPlace ?? 0, lastEventId: 0, open: false, reverse: false, tailEvents: [] };
  const nextPageToken = nextPlace === undefined ? noToken : context.tokens.historyPage.sign({ ...key, branchId: archivedBranch, ...range });
  return { history: { events }, rawHistory: [], nextPageToken, archived: true };
}
