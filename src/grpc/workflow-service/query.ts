import {
  decodeQueryWorkflowRequest,
  emptyQueryWorkflowResponse,
  encodeQueryWorkflowResponse,
  type QueryWorkflowRequest,
  type QueryWorkflowResponse,
} from '../../wire/generated/lean/workflow_service.ts';
import { encodeWorkflowQuery } from '../../wire/generated/lean/taskqueue.ts';
import { deadlineExceeded, unavailable } from '../errors/details.ts';
import { hasCode, invalidArgument } from '../errors/status-error.ts';
import { statusCode } from '../errors/status-code.ts';
import type { HandlerContext } from '../handler-context.ts';
import { HeldBytes } from '../held-bytes.ts';
import { unary, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { runKey } from '../validation/execution.ts';
import { checkBound } from '../validation/bounds.ts';
import { checkBlob } from '../validation/lengths.ts';

const queryWaitMsMax = 20_000;
/** The query ends this long before the client's deadline, so that the client gets the query's own error text. */
const queryTailMs = 200;

export function queryMethods(context: HandlerContext): readonly NamedMethod[] {
  const waiting = new HeldBytes('queries');
  return [
    unary('QueryWorkflow', decodeQueryWorkflowRequest, encodeQueryWorkflowResponse, (request, call) =>
      query(context, waiting, request, call),
    ),
  ];
}

async function query(
  context: HandlerContext,
  waiting: HeldBytes,
  request: QueryWorkflowRequest,
  call: Call,
): Promise<QueryWorkflowResponse> {
  const namespace = await context.namespace(call, request.namespace);
  const key = runKey(namespace.id, request.execution);
  if (request.query === undefined) throw invalidArgument('WorkflowQuery is not set on request.');
  if (request.query.queryType === '') throw invalidArgument('QueryType is not set on request.');
  checkBlob(request.query.queryArgs, 'payloads', context.limits);
  checkBlob(request.query.header, 'fields', context.limits);
  checkBound('QueryWorkflowRequest.query_reject_condition', request.queryRejectCondition);
  const deadlineMs = Math.min(context.monoMs() + queryWaitMsMax, call.deadlineMs - queryTailMs);
  const encoded = encodeWorkflowQuery(request.query);
  const held = waiting.hold(namespace.id);
  held.grow(encoded.length);
  const reply = await context
    .waitHistory(
      call,
      key,
      {
        kind: 'queryWorkflow',
        key,
        queryId: context.ports.newId(),
        query: encoded,
        rejectCondition: request.queryRejectCondition,
        deadlineMs: context.nowMs() + Math.floor(deadlineMs - context.monoMs()),
      },
      deadlineMs,
    )
    .catch((error: unknown) => Promise.reject(inWordsOfQueries(error)))
    .finally(() => {
      // A caller that gives up does not take the query out of the task queue: it waits there until its deadline.
      if (call.cancelled) setTimeout(held.release, deadlineMs - context.monoMs()).unref();
      else held.release();
    });
  if (reply === 'ended') throw unavailable('the server is shutting down');
  if (reply.kind === 'queryRejected') return { ...emptyQueryWorkflowResponse(), queryRejected: { status: reply.status } };
  return { ...emptyQueryWorkflowResponse(), queryResult: reply.answer };
}

function inWordsOfQueries(error: unknown): unknown {
  const timedOut = hasCode(error, statusCode.deadlineExceeded);
  return timedOut ? deadlineExceeded('query timed out before a worker could process it') : error;
}
