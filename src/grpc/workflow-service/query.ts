import { codecs, emptyQueryWorkflowResponse } from '../../wire/generated/lean/workflow_service.ts';
import { encodeWorkflowQuery } from '../../wire/generated/lean/taskqueue.ts';
import { deadlineExceeded, unavailable } from '../errors/details.ts';
import { hasCode, invalidArgument, statusCode } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { HeldBytes } from '../held-bytes.ts';
import { inNamespace, methodsOf, type NamedMethod } from '../method.ts';
import { runKey } from '../validation/names.ts';
import { checkBound } from '../validation/bounds.ts';
import { checkBlob } from '../validation/opaque.ts';

const queryWaitMsMax = 20_000;
/** The query ends this long before the client's deadline, so that the client gets the query's own error text. */
const queryTailMs = 200;
const queryTimedOut = 'query timed out before a worker could process it';

export function queryMethods(context: HandlerContext): readonly NamedMethod[] {
  const waiting = new HeldBytes('queries');
  const methods = methodsOf(codecs, {
    QueryWorkflow: inNamespace(async (_, request, call, { id }) => {
      const key = runKey(id, request.execution);
      if (request.query === undefined) throw invalidArgument('WorkflowQuery is not set on request.');
      if (request.query.queryType === '') throw invalidArgument('QueryType is not set on request.');
      checkBlob(request.query.queryArgs, 'payloads', context.limits);
      checkBlob(request.query.header, 'fields', context.limits);
      checkBound('QueryWorkflowRequest.query_reject_condition', request.queryRejectCondition);
      const deadlineMs = Math.min(context.monoMs() + queryWaitMsMax, call.deadlineMs - queryTailMs);
      const encoded = encodeWorkflowQuery(request.query);
      const held = waiting.hold(id);
      held.grow(encoded.length);
      const asked = {
        kind: 'queryWorkflow',
        key,
        queryId: context.ports.newId(),
        query: encoded,
        rejectCondition: request.queryRejectCondition,
        deadlineMs: context.nowMs() + Math.floor(deadlineMs - context.monoMs()),
      } as const;
      const reply = await context
        .waitHistory(call, key, asked, deadlineMs)
        .catch((error: unknown) => Promise.reject(hasCode(error, statusCode.deadlineExceeded) ? deadlineExceeded(queryTimedOut) : error))
        .finally(() => {
          // A caller that gives up does not take the query out of the task queue: it waits there until its deadline.
          if (call.cancelled) setTimeout(held.release, deadlineMs - context.monoMs()).unref();
          else held.release();
        });
      if (reply === 'ended') throw unavailable('the server is shutting down');
      if (reply.kind === 'queryRejected') return { ...emptyQueryWorkflowResponse(), queryRejected: { status: reply.status } };
      return { ...emptyQueryWorkflowResponse(), queryResult: reply.answer };
    }),
  });
  return methods(context);
}
