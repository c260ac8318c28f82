import { jobKeptAs } from '../../batches/job-id.ts';
import type { Namespace } from '../../cluster/cluster-state.ts';
import type { StartBatch } from '../../history/commands/batch-commands.ts';
import { unreachable } from '../../kernel/assert.ts';
import { oneAtATime, type OneAtATime } from '../../kernel/one-at-a-time.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import { encodeFields } from '../../wire/fields.ts';
import * as batch from '../../wire/generated/lean/batch.ts';
import { jsonPayload } from '../../wire/json-payload.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import * as jobs from '../batch/batch-definition.ts';
import { batchState, openBatches } from '../batch/listed-batches.ts';
import { canceled, exhaustedCause, exhaustedScope, resourceExhausted } from '../errors/details.ts';
import { invalidArgument, notBuilt, type StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { inOpenNamespace, methodsOf, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { bounds, checkBound } from '../validation/bounds.ts';
import { checkLength, checkLengths } from '../validation/names.ts';
import { checkOpaque } from '../validation/opaque.ts';
import { pascalCase } from '../../kernel/pascal-case.ts';
import { checkPriority, optionFields, priorityChangesOf } from '../validation/options.ts';

/** The starts of jobs of one namespace that may wait; a start takes some milliseconds. */
const waitingStartsMax = 100;

/** Jobs over many workflows, but for their lists (visibility.ts). What they do is done by src/grpc/batch. */
export function batchMethods(context: HandlerContext): readonly NamedMethod[] {
  const starts = new BatchStarts(context);
  const methods = methodsOf(batch.codecs, {
    StartBatchOperation: inOpenNamespace(async (_, request, call, namespace) => {
      const { limits, ports } = context;
      const operation = checkedOperation(request);
      const { identity } = operation.of;
      checkLengths({ Reason: request.reason, Identity: identity }, limits);
      const key = checkedKey(context, namespace.id, request.jobId);
      const { jobsMax, executionsMax } = ports.batchSettings(namespace.name);
      const executions = jobs.executionsOf(request);
      if (executions.length > executionsMax) {
        throw invalidArgument(`a batch operation takes at most ${executionsMax} executions, and ${executions.length} are listed`);
      }
      if (executions.some(({ businessId }) => businessId === '')) throw invalidArgument('WorkflowId is not set on request.');
      if (request.visibilityQuery !== '') await checkQuery(context, call, namespace, request.visibilityQuery, operation);
      const definition = batch.encodeStartBatchOperationRequest(request);
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
    }),
    StopBatchOperation: async (_, { namespace, reason, identity, jobId }, call) => {
      if (jobId === '') throw invalidArgument('JobId is not set on request.');
      if (reason === '') throw invalidArgument('Reason is not set on request.');
      checkLengths({ Reason: reason, Identity: identity }, context.limits);
      const { id } = await context.namespace(call, namespace);
      const key = checkedKey(context, id, jobId);
      await context.history(call, key, { kind: 'stopBatch', key, reason, identity });
      return {};
    },
    DescribeBatchOperation: async (_, { namespace, jobId }, call) => {
      if (jobId === '') throw invalidArgument('JobId is not set on request.');
      const { id } = await context.namespace(call, namespace);
      const key = checkedKey(context, id, jobId);
      const { definition, progress, status, startTimeMs, closeTimeMs } = await context.history(call, key, { kind: 'describeBatch', key });
      const started = batch.decodeStartBatchOperationRequest(definition, ownLimits);
      const operation = jobs.operationOf(started);
      return {
        operationType: operation === undefined ? 0 : jobs.operations[operation.kind].type,
        jobId,
        state: batchState(status),
        startTimeMs,
        closeTimeMs,
        totalOperationCount: progress.total,
        completeOperationCount: progress.completed,
        failureOperationCount: progress.failed,
        identity: operation?.of.identity ?? '',
        reason: started.reason,
        query: started.visibilityQuery,
        executions: jobs.executionsOf(started),
      };
    },
  });
  return methods(context);
}

async function checkQuery(context: HandlerContext, call: Call, namespace: Namespace, text: string, operation: jobs.BatchOperation) {
  if (jobs.batchQuery(text, namespace, jobs.isForOpenOnes(operation)).kind === 'query') return;
  // Another process may have added an attribute a moment ago.
  await context.cluster(call, namespace.name, { kind: 'syncCluster' });
  const query = jobs.batchQuery(text, await context.namespace(call, namespace.name), jobs.isForOpenOnes(operation));
  if (query.kind === 'invalid') throw invalidArgument(`invalid visibility query: ${query.message}`);
}

/** The prefix of a job's workflow id does not count for its length. */
function checkedKey({ limits }: HandlerContext, namespaceId: string, jobId: string): RunKey {
  checkLength(jobId, 'JobId', limits);
  return { namespaceId, workflowId: jobKeptAs(jobId), runId: '' };
}

/** Temporal's tools know a job in a list of workflows by these names. */
function memoOf({ reason, visibilityQuery }: batch.StartBatchOperationRequest, { kind }: jobs.BatchOperation): Uint8Array {
  const query: [string, Uint8Array][] = visibilityQuery === '' ? [] : [['batch_operation_visibility_query', jsonPayload(visibilityQuery)]];
  return encodeFields(new Map([['batch_operation_type', jsonPayload(kind)], ['batch_operation_reason', jsonPayload(reason)], ...query]));
}

function attributesOf(identity: string): Uint8Array {
  const division = jsonPayload('TemporalBatcher', 'Keyword');
  return encodeFields(
    new Map([
      ['BatcherUser', jsonPayload(identity, 'Keyword')],
      ['TemporalNamespaceDivision', division],
    ]),
  );
}

type Turns = { readonly take: OneAtATime; waiting: number };

/** The starts of a namespace have turns: two that count its jobs at once would both find room for one. Other processes have theirs. */
class BatchStarts {
  readonly #context: HandlerContext;
  readonly #turns = new Map<string, Turns>();

  constructor(context: HandlerContext) {
    this.#context = context;
  }

  async begin(call: Call, namespaceId: string, jobsMax: number, command: StartBatch): Promise<void> {
    const turns = this.#turns.get(namespaceId) ?? { take: oneAtATime(), waiting: 0 };
    if (turns.waiting >= waitingStartsMax) throw tooMany('too many starts of batch operations of this namespace wait');
    this.#turns.set(namespaceId, turns);
    turns.waiting++;
    try {
      await turns.take(() => this.#start(call, namespaceId, jobsMax, command));
    } finally {
      turns.waiting--;
      if (turns.waiting === 0) this.#turns.delete(namespaceId);
    }
  }

  async #start(call: Call, namespaceId: string, jobsMax: number, command: StartBatch): Promise<void> {
    const { ports, queries } = this.#context;
    // Others may have had all of its time.
    if (call.cancelled || this.#context.monoMs() >= call.deadlineMs) throw canceled();
    const counts = await queries.run(call, namespaceId, (asked) =>
      ports.visibility.count({ namespaceId, condition: openBatches, byStatus: false, asked }),
    );
    if (counts.reduce((sum, { count }) => sum + count, 0) >= jobsMax) throw tooMany('Max concurrent batch operations is reached');
    await this.#context.history(call, command.key, command);
  }
}

function tooMany(message: string): StatusError {
  return resourceExhausted(message, exhaustedCause.concurrentLimit, exhaustedScope.namespace);
}

// ── What a job may be, in Temporal's order and words ───────────────────────────────────────────────────────────────────────────

const requestType = '*workflowservice.StartBatchOperationRequest_';

function checkedOperation(request: batch.StartBatchOperationRequest): jobs.BatchOperation {
  checkNotOfActivities(request);
  const operation = jobs.operationOf(request);
  const { visibilityQuery, executions, targetExecutions, reason, jobId } = request;
  const selectors = [visibilityQuery, executions, targetExecutions].filter(({ length }) => length > 0).length;
  if (operation === undefined || reason === '' || selectors === 0) {
    throw invalidArgument(
      'must provide required parameters: BatchType,Reason,Namespace, AND one of (Query OR Executions OR TargetExecutions)',
    );
  }
  if (jobId === '') throw invalidArgument('JobId is not set on request.');
  if (selectors > 1) throw invalidArgument('visibility query, executions, and target executions are mutually exclusive');
  for (const [nth, { type }] of targetExecutions.entries()) {
    const problem = bounds['Execution.type'].problem(type);
    if (problem === undefined) continue;
    throw invalidArgument(
      `target_executions[${nth}] ${problem}, but operation ${requestType}${pascalCase(jobs.operations[operation.kind].field)} requires Workflow`,
    );
  }
  checkBound('StartBatchOperationRequest.max_operations_per_second', request.maxOperationsPerSecond);
  checkOperation(operation);
  return operation;
}

/** Throws for an operation on activities that stand alone, which this server does not have. */
function checkNotOfActivities(request: batch.StartBatchOperationRequest): void {
  const { cancelActivitiesOperation, terminateActivitiesOperation, deleteActivitiesOperation } = request;
  const name =
    (terminateActivitiesOperation && 'TerminateActivitiesOperation') ??
    (deleteActivitiesOperation && 'DeleteActivitiesOperation') ??
    (cancelActivitiesOperation && 'CancelActivitiesOperation');
  if (name !== undefined) throw invalidArgument(`The operation type ${requestType}${name} is not supported for this namespace`);
}

function checkOperation(operation: jobs.BatchOperation): void {
  switch (operation.kind) {
    case 'terminate':
      return checkOpaque(operation.of.details, 'payloads');
    case 'cancel':
    case 'delete':
      return;
    case 'signal':
      if (operation.of.signal === '') throw invalidArgument('must provide signal name');
      checkOpaque(operation.of.input, 'payloads');
      return checkOpaque(operation.of.header, 'fields');
    case 'reset':
      return checkReset(operation.of);
    case 'update_options':
      return checkOptions(operation.of);
    case 'unpause_activities':
      checkBound('BatchOperationUnpauseActivities.jitter', operation.of.jitterMs);
      return checkActivities(operation.of, 'activity filter must be set');
    case 'reset_activities':
      checkBound('BatchOperationResetActivities.jitter', operation.of.jitterMs);
      return checkActivities(operation.of, 'must provide ActivityType or MatchAll');
    case 'update_activity_options':
      return checkActivityOptions(operation.of);
    default:
      return unreachable(operation);
  }
}

/** What no workflow would take is told at once to who made the mistake. */
function checkOptions({ workflowExecutionOptions: options, updateMask }: batch.BatchOperationUpdateWorkflowExecutionOptions): void {
  if (options === undefined) throw invalidArgument('must provide UpdateOptions');
  if (updateMask === undefined) throw invalidArgument('must provide UpdateMask');
  optionFields(updateMask.paths);
  checkPriority(options.priority);
}

function checkReset(reset: batch.BatchOperationReset): void {
  const { options, resetType, postResetOperations } = reset;
  priorityChangesOf(postResetOperations);
  if (options === undefined) {
    checkBound('BatchOperationReset.reset_type', resetType);
    checkBound('BatchOperationReset.reset_reapply_type', reset.resetReapplyType);
    return;
  }
  if (options.buildId !== undefined) throw notBuilt('build_id of ResetOptions');
  if (jobs.resetTarget(reset) === undefined) throw invalidArgument('batch reset missing target');
  if (options.workflowTaskId !== undefined) checkBound('ResetOptions.workflow_task_id', options.workflowTaskId);
  checkBound('ResetOptions.reset_reapply_type', options.resetReapplyType);
  for (const type of options.resetReapplyExcludeTypes) checkBound('ResetOptions.reset_reapply_exclude_types', type);
}

type OfActivities = batch.BatchOperationUnpauseActivities | batch.BatchOperationResetActivities | batch.BatchOperationUpdateActivityOptions;

const neither = 'Either activity type must be set, or match all should be set to true';

function checkActivities({ type, matchAll }: OfActivities, unset: string): void {
  if (type === undefined && matchAll === undefined) throw invalidArgument(unset);
  if (type === '' || matchAll === false) throw invalidArgument(neither);
}

function checkActivityOptions(operation: batch.BatchOperationUpdateActivityOptions): void {
  const { activityOptions, restoreOriginal } = operation;
  if (activityOptions !== undefined && restoreOriginal) throw invalidArgument('cannot set both activity options and restore original');
  if (activityOptions === undefined && !restoreOriginal)
    throw invalidArgument('Either activity type must be set, or restore original should be set to true');
  checkActivities(operation, neither);
}
