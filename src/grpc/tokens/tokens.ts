import { isUuid } from '../../kernel/uuid.ts';
import * as token from '../../wire/generated/token/token.ts';
import { unlessMalformed } from '../../wire/wire-error.ts';
import { notFound } from '../errors/details.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { tokenKind, type TokenKind, type TokenSigner } from './token-signer.ts';

/** Reading throws INVALID_ARGUMENT for a token that is not ours, NOT_FOUND for a task of the Temporal server that workers spoke to before. */
export type Tokens = ReturnType<typeof tokensOf>;

export function tokensOf(signer: TokenSigner) {
  const tokenOf = <Content>(
    kind: TokenKind,
    encode: (content: Content) => Uint8Array,
    decode: (body: Uint8Array) => Content,
    bodyOf: typeof taskBody,
  ) => ({
    sign: (content: Content) => signer.sign(kind, encode(content)),
    read: (given: Uint8Array) => decode(bodyOf(signer, kind, given)),
  });
  return {
    workflowTask: tokenOf(tokenKind.workflowTask, token.encodeWorkflowTaskToken, token.decodeWorkflowTaskToken, taskBody),
    activityTask: tokenOf(tokenKind.activityTask, token.encodeActivityTaskToken, token.decodeActivityTaskToken, taskBody),
    queryTask: tokenOf(tokenKind.queryTask, token.encodeQueryTaskToken, token.decodeQueryTaskToken, taskBody),
    historyPage: tokenOf(tokenKind.historyPage, token.encodeHistoryPageToken, token.decodeHistoryPageToken, pageBody),
    namespacePage: tokenOf(tokenKind.namespacePage, token.encodeNamespacePageToken, token.decodeNamespacePageToken, pageBody),
    /** Says behind which worker the next page begins, as that of namespaces does. */
    workerPage: tokenOf(tokenKind.workerPage, token.encodeNamespacePageToken, token.decodeNamespacePageToken, pageBody),
    visibilityPage: tokenOf(tokenKind.visibilityPage, token.encodeVisibilityPageToken, token.decodeVisibilityPageToken, pageBody),
    deadLetterPage: tokenOf(tokenKind.deadLetterPage, token.encodeDeadLetterPageToken, token.decodeDeadLetterPageToken, pageBody),
    shardTaskPage: tokenOf(tokenKind.shardTaskPage, token.encodeShardTaskPageToken, token.decodeShardTaskPageToken, pageBody),
  };
}

function taskBody(signer: TokenSigner, kind: TokenKind, given: Uint8Array): Uint8Array {
  if (given.length === 0) throw invalidArgument('Task token not set on request.');
  const body = signer.verify(kind, given);
  if (body !== undefined) return body;
  const run = kind === tokenKind.queryTask ? undefined : runOfTemporalToken(given);
  if (run === undefined) throw invalidArgument('Error deserializing task token.');
  throw notFound(`workflow execution not found for workflow ID "${run.workflowId}" and run ID "${run.runId}"`);
}

/**
 * Whoever moves workers here from Temporal, or asynchronous activities that others complete, still holds its tokens: their tasks are no mistake of
 * the caller, they are not here. Nothing is looked up for one, it is not signed. Ours begin with no field of protobuf, so none is taken for one.
 */
function runOfTemporalToken(bytes: Uint8Array): token.TemporalTaskToken | undefined {
  const run = unlessMalformed(() => token.decodeTemporalTaskToken(bytes));
  if (run === undefined || run.workflowId === '') return undefined;
  return isUuid(run.namespaceId) && isUuid(run.runId) ? run : undefined;
}

function pageBody(signer: TokenSigner, kind: TokenKind, given: Uint8Array): Uint8Array {
  const body = signer.verify(kind, given);
  if (body === undefined) throw invalidArgument('Invalid NextPageToken.');
  return body;
}
