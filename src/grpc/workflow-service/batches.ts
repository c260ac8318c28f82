import { jobKeptAs } from '../../batches/job-id.ts';
import type { Namespace } from '../../cluster/cluster-state.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import { encodeFields } from '../../wire/fields.ts';
import {
  decodeDescribeBatchOperationRequest,
  decodeStartBatchOperationRequest,
  decodeStopBatchOperationRequest,
  type DescribeBatchOperationRequest,
  type DescribeBatchOperationResponse,
  encodeDescribeBatchOperationResponse,
  encodeStartBatchOperationRequest,
  encodeStartBatchOperationResponse,
  encodeStopBatchOperationResponse,
  type StartBatchOperationRequest,
  type StopBatchOperationRequest,
} from '../../wire/generated/lean/batch.ts';
import { jsonPayload } from '../../wire/json-payload.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { type BatchOperation, executionsOf, isForOpenOnes, operationOf, operationTypes } from '../batch/batch-definition.ts';
import { batchQuery } from '../batch/batch-query.ts';
import { BatchStarts } from '../batch/batch-starts.ts';
import { batchState } from '../batch/listed-batches.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { type NamedMethod, unary } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { checkedOperation } from '../batch/checked-operation.ts';
import { checkLength } from '../validation/lengths.ts';

/** Jobs over many workflows, but for their lists (visibility.ts). What they do is done by src/grpc/batch. */
export function batchMethods(context: HandlerContext): readonly NamedMethod[] {
  const starts = new BatchStarts(context);
  return [
    unary('StartBatchOperation', decodeStartBatchOperationRequest, encodeStartBatchOperationResponse, (request, call) =>
      start(context, starts, request, call),
    ),
    unary('StopBatchOperation', decodeStopBatchOperationRequest, encodeStopBatchOperationResponse, (request, call) =>
      stop(context, request, call),
    ),
    unary('DescribeBatchOperation', decodeDescribeBatchOperationRequest, encodeDescribeBatchOperationResponse, (request, call) =>
      describe(context, request, call),
    ),
  ];
}

async function start(
  context: HandlerContext,
  starts: BatchStarts,
  request: StartBatchOperationRequest,
  call: Call,
): Promise<Record<never, never>> {
  const { limits, ports } = context;
  const namespace = await context.openNamespace(call, request.namespace);
  const operation = checkedOperation(request);
  const { identity } = operation.of;
  checkLength(request.reason, 'Reason', limits);
  checkLength(identity, 'Identity', limits);
  const key = checkedKey(context, namespace.id, request.jobId);
  const { jobsMax, executionsMax } = ports.batchSettings(namespace.name);
  const executions = executionsOf(request);
  if (executions.length > executionsMax) {
    throw invalidArgument(`a batch operation takes at most ${executionsMax} executions, and ${executions.length} are listed`);
  }
  if (executions.some(({ businessId }) => businessId === '')) throw invalidArgument('WorkflowId is not set on request.');
  if (request.visibilityQuery !== '') await checkQuery(context, call, namespace, request.visibilityQuery, operation);
  const definition = encodeStartBatchOperationRequest(request);
  if (definition.length > limits.blobBytesMax) throw invalidArgument('Blob data size exceeds limit.');
  await starts.begin(call, namespace.id, jobsMax, {
    kind: 'startBatch',
    key,
    namespace: namespace.name,
    newRunId: ports.newRunId(),
    definition,
    total: executions.length,
    identity,
    memo: memoOf(request, operation),
    searchAttributes: attributesOf(identity),
    retentionMs: namespace.retentionMs,
  });
  return {};
}

async function checkQuery(
  context: HandlerContext,
  call: Call,
  namespace: Namespace,
  text: string,
  operation: BatchOperation,
): Promise<void> {
  if (batchQuery(text, namespace, isForOpenOnes(operation)).kind === 'query') return;
  // Another process may have added an attribute a moment ago.
  await context.cluster(call, { kind: 'syncCluster' }, namespace.name);
  const query = batchQuery(text, await context.namespace(call, namespace.name), isForOpenOnes(operation));
  if (query.kind === 'invalid') throw invalidArgument(`invalid visibility query: ${query.message}`);
}

/** Its prefix counts for nobody. */
function checkedKey({ limits }: HandlerContext, namespaceId: string, jobId: string): RunKey {
  checkLength(jobId, 'JobId', limits);
  return { namespaceId, workflowId: jobKeptAs(jobId), runId: '' };
}

/** By these names Temporal's tools know a job in a list of workflows. */
function memoOf({ reason, visibilityQuery }: StartBatchOperationRequest, { kind }: BatchOperation): Uint8Array {
  const query: [string, Uint8Array][] = visibilityQuery === '' ? [] : [['batch_operation_visibility_query', jsonPayload(visibilityQuery)]];
  return encodeFields(new Map([['batch_operation_type', jsonPayload(kind)], ['batch_operation_reason', jsonPayload(reason)], ...query]));
}

function attributesOf(identity: string): Uint8Array {
  return encodeFields(
    new Map([
      ['BatcherUser', jsonPayload(identity, 'Keyword')],
      ['TemporalNamespaceDivision', jsonPayload('TemporalBatcher', 'Keyword')],
    ]),
  );
}

async function stop(context: HandlerContext, request: StopBatchOperationRequest, call: Call): Promise<Record<never, never>> {
  const { reason, identity, jobId } = request;
  if (jobId === '') throw invalidArgument('JobId is not set on request.');
  if (reason === '') throw invalidArgument('Reason is not set on request.');
  checkLength(reason, 'Reason', context.limits);
  checkLength(identity, 'Identity', context.limits);
  const { id } = await context.namespace(call, request.namespace);
  const key = checkedKey(context, id, jobId);
  await context.history(call, key, { kind: 'stopBatch', key, reason, identity });
  return {};
}

async function describe(
  context: HandlerContext,
  request: DescribeBatchOperationRequest,
  call: Call,
): Promise<DescribeBatchOperationResponse> {
  if (request.jobId === '') throw invalidArgument('JobId is not set on request.');
  const { id } = await context.namespace(call, request.namespace);
  const key = checkedKey(context, id, request.jobId);
  const { definition, progress, status, startTimeMs, closeTimeMs } = await context.history(call, key, { kind: 'describeBatch', key });
  const started = decodeStartBatchOperationRequest(definition, ownLimits);
  const operation = operationOf(started);
  return {
    operationType: operation === undefined ? 0 : operationTypes[operation.kind],
    jobId: request.jobId,
    state: batchState(status),
    startTimeMs,
    closeTimeMs,
    totalOperationCount: progress.total,
    completeOperationCount: progress.completed,
    failureOperationCount: progress.failed,
    identity: operation?.of.identity ?? '',
    reason: started.reason,
    query: started.visibilityQuery,
    executions: executionsOf(started),
  };
}
