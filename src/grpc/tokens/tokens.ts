import {
  decodeActivityTaskToken,
  decodeDeadLetterPageToken,
  decodeHistoryPageToken,
  decodeNamespacePageToken,
  decodeQueryTaskToken,
  decodeShardTaskPageToken,
  decodeVisibilityPageToken,
  decodeWorkflowTaskToken,
  encodeActivityTaskToken,
  encodeDeadLetterPageToken,
  encodeHistoryPageToken,
  encodeNamespacePageToken,
  encodeQueryTaskToken,
  encodeShardTaskPageToken,
  encodeVisibilityPageToken,
  encodeWorkflowTaskToken,
  type ActivityTaskToken,
  type DeadLetterPageToken,
  type HistoryPageToken,
  type NamespacePageToken,
  type QueryTaskToken,
  type ShardTaskPageToken,
  type VisibilityPageToken,
  type WorkflowTaskToken,
} from '../../wire/generated/token/token.ts';
import { notFound } from '../errors/details.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { runOfTemporalToken } from './temporal-token.ts';
import { tokenKind, type TokenKind, type TokenSigner } from './token-signer.ts';

export type { ActivityTaskToken, HistoryPageToken, NamespacePageToken, QueryTaskToken, VisibilityPageToken, WorkflowTaskToken };

/**
 * Every token that leaves the frontend and comes back to it. Reading throws INVALID_ARGUMENT for a token that is not ours, NOT_FOUND for a task of
 * the Temporal server that workers spoke to before.
 */
export class Tokens {
  readonly #signer: TokenSigner;

  constructor(signer: TokenSigner) {
    this.#signer = signer;
  }

  workflowTask(token: WorkflowTaskToken): Uint8Array {
    return this.#signer.sign(tokenKind.workflowTask, encodeWorkflowTaskToken(token));
  }

  readWorkflowTask(token: Uint8Array): WorkflowTaskToken {
    return decodeWorkflowTaskToken(this.#taskBody(tokenKind.workflowTask, token));
  }

  activityTask(token: ActivityTaskToken): Uint8Array {
    return this.#signer.sign(tokenKind.activityTask, encodeActivityTaskToken(token));
  }

  readActivityTask(token: Uint8Array): ActivityTaskToken {
    return decodeActivityTaskToken(this.#taskBody(tokenKind.activityTask, token));
  }

  queryTask(token: QueryTaskToken): Uint8Array {
    return this.#signer.sign(tokenKind.queryTask, encodeQueryTaskToken(token));
  }

  readQueryTask(token: Uint8Array): QueryTaskToken {
    return decodeQueryTaskToken(this.#taskBody(tokenKind.queryTask, token));
  }

  historyPage(token: HistoryPageToken): Uint8Array {
    return this.#signer.sign(tokenKind.historyPage, encodeHistoryPageToken(token));
  }

  readHistoryPage(token: Uint8Array): HistoryPageToken {
    return decodeHistoryPageToken(this.#pageBody(tokenKind.historyPage, token));
  }

  namespacePage(token: NamespacePageToken): Uint8Array {
    return this.#signer.sign(tokenKind.namespacePage, encodeNamespacePageToken(token));
  }

  readNamespacePage(token: Uint8Array): NamespacePageToken {
    return decodeNamespacePageToken(this.#pageBody(tokenKind.namespacePage, token));
  }

  /** Behind which worker the next page begins: as with namespaces. */
  workerPage(token: NamespacePageToken): Uint8Array {
    return this.#signer.sign(tokenKind.workerPage, encodeNamespacePageToken(token));
  }

  readWorkerPage(token: Uint8Array): NamespacePageToken {
    return decodeNamespacePageToken(this.#pageBody(tokenKind.workerPage, token));
  }

  visibilityPage(token: VisibilityPageToken): Uint8Array {
    return this.#signer.sign(tokenKind.visibilityPage, encodeVisibilityPageToken(token));
  }

  readVisibilityPage(token: Uint8Array): VisibilityPageToken {
    return decodeVisibilityPageToken(this.#pageBody(tokenKind.visibilityPage, token));
  }

  deadLetterPage(token: DeadLetterPageToken): Uint8Array {
    return this.#signer.sign(tokenKind.deadLetterPage, encodeDeadLetterPageToken(token));
  }

  readDeadLetterPage(token: Uint8Array): DeadLetterPageToken {
    return decodeDeadLetterPageToken(this.#pageBody(tokenKind.deadLetterPage, token));
  }

  shardTaskPage(token: ShardTaskPageToken): Uint8Array {
    return this.#signer.sign(tokenKind.shardTaskPage, encodeShardTaskPageToken(token));
  }

  readShardTaskPage(token: Uint8Array): ShardTaskPageToken {
    return decodeShardTaskPageToken(this.#pageBody(tokenKind.shardTaskPage, token));
  }

  #taskBody(kind: TokenKind, token: Uint8Array): Uint8Array {
    if (token.length === 0) throw invalidArgument('Task token not set on request.');
    const body = this.#signer.verify(kind, token);
    if (body !== undefined) return body;
    const run = kind === tokenKind.queryTask ? undefined : runOfTemporalToken(token);
    if (run === undefined) throw invalidArgument('Error deserializing task token.');
    throw notFound(`workflow execution not found for workflow ID "${run.workflowId}" and run ID "${run.runId}"`);
  }

  #pageBody(kind: TokenKind, token: Uint8Array): Uint8Array {
    const body = this.#signer.verify(kind, token);
    if (body === undefined) throw invalidArgument('Invalid NextPageToken.');
    return body;
  }
}
