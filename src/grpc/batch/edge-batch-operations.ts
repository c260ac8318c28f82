/**
 * Batch jobs at the edge: pages of their queries, and their operations, each as the call that a client would make, with all its checks.
 *
 *     BatchSteps (src/actors/history/side-tasks) ─▶ page ─▶ rows of List, in its order, behind the last one
 *                                                ─▶ perform ─▶ operationRequest ─▶ the method of WorkflowService ─▶ the workflow's shard
 */
import { createHash } from 'node:crypto';
import * as port from '../../ports/batch-operations.ts';
import type { BatchPosition } from '../../batches/batch.ts';
import type { Namespace } from '../../cluster/cluster-state.ts';
import { PAGE_EVENTS_MAX } from '../../actors/history/events/history-store.ts';
import { assert, unreachable } from '../../kernel/assert.ts';
import { errorText } from '../../kernel/error-text.ts';
import type { RunKey } from '../../kernel/run-key.ts';
import { OPEN_SORT_MS, servedBytes } from '../../projections/visibility/row.ts';
import { decodeStartBatchOperationRequest, type Execution, type StartBatchOperationRequest } from '../../wire/generated/lean/batch.ts';
import { EventType } from '../../wire/generated/lean/enums.ts';
import { decodeHistoryEvent } from '../../wire/generated/lean/history.ts';
import * as requests from '../../wire/generated/lean/workflow_service.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { hasCode, invalidArgument, statusCode, type StatusCode, StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call, Service } from '../transport/call.ts';
import type { Gate } from '../transport/gate.ts';
import type { RpcNameOf } from '../rpcs/rpc.ts';
import type { workflowRpcs } from '../rpcs/workflow-rpcs.ts';
import { runKey } from '../validation/names.ts';
import { positionNow, storedEvents } from '../pages/history-pages.ts';
import { PAGE_BYTES_MAX } from '../pages/listed-page.ts';
import * as jobs from './batch-definition.ts';

const operationMsMax = 30_000;

export function edgeBatchOperations(context: HandlerContext, service: Service, gate: Gate): port.BatchOperations {
  return {
    open: (job) => {
      const namespace = context.ports.cluster.namespaceById(job.namespaceId);
      if (namespace === undefined || namespace.state === 'deleted')
        throw new port.BatchTrouble(`namespace ${job.namespaceId} is not there now`, 'passes');
      return new EdgeBatchWork({ context, service, gate, namespace, job });
    },
  };
}

type Parts = {
  readonly context: HandlerContext;
  readonly service: Service;
  readonly gate: Gate;
  readonly namespace: Namespace;
  readonly job: port.BatchJob;
};

class EdgeBatchWork implements port.BatchWork {
  readonly perSecondMax: number;
  readonly concurrencyMax: number;
  readonly #parts: Parts;
  readonly #request: StartBatchOperationRequest;
  readonly #toPerform: JobToPerform;
  /** The workflows that the job lists; none: it has a query. */
  readonly #listed: readonly Execution[];

  constructor(parts: Parts) {
    const { context, namespace, job } = parts;
    this.#parts = parts;
    this.#request = decodeStartBatchOperationRequest(job.definition, ownLimits);
    const operation = jobs.operationOf(this.#request);
    assert(operation !== undefined, 'a job has an operation');
    this.#listed = jobs.executionsOf(this.#request);
    this.#toPerform = { operation, namespace: namespace.name, runId: job.runId, reason: this.#request.reason };
    const { perSecondMax, concurrencyMax } = context.ports.batchSettings(namespace.name);
    const asked = this.#request.maxOperationsPerSecond;
    this.perSecondMax = asked > 0 ? Math.min(asked, perSecondMax) : perSecondMax;
    this.concurrencyMax = concurrencyMax;
  }

  async count(): Promise<number> {
    if (this.#listed.length > 0) return this.#listed.length;
    const { namespace, context } = this.#parts;
    const condition = this.#condition();
    const counting = async (): Promise<number> => {
      const counts = await this.#queried('CountWorkflowExecutions', (asked) =>
        context.ports.visibility.count({ namespaceId: namespace.id, condition, byStatus: false, asked }),
      );
      return counts.reduce((sum, { count }) => sum + count, 0);
    };
    return this.#asked(() => counting().catch(unknownWhereTooLong));
  }

  async page(behind: BatchPosition, max: number): Promise<port.BatchPage> {
    const listed = this.#listed;
    if (listed.length > 0) {
      const targets = listed.slice(behind.listed, behind.listed + max).map(({ businessId: workflowId, runId }, index) => ({
        target: { workflowId, runId },
        position: { listed: behind.listed + index + 1, after: undefined },
      }));
      return { targets, isLast: behind.listed + max >= listed.length };
    }
    const { namespace, context } = this.#parts;
    const query = { namespaceId: namespace.id, condition: this.#condition(), after: behind.after, max, bytesMax: PAGE_BYTES_MAX };
    const { rows } = await this.#asked(() =>
      this.#queried('ListWorkflowExecutions', (asked) => context.ports.visibility.list({ ...query, asked })),
    );
    const targets = rows.map(({ workflowId, runId, startTimeMs, closeTimeMs: sortMs = OPEN_SORT_MS }) => ({
      target: { workflowId, runId },
      position: { listed: 0, after: { sortMs, startTimeMs, runId } },
    }));
    // Memos come along: a page may be full before it has as many.
    const bytes = rows.reduce((sum, row) => sum + servedBytes(row), 0);
    return { targets, isLast: rows.length < max && bytes < PAGE_BYTES_MAX };
  }

  async perform(target: port.BatchTarget): Promise<port.BatchOutcome> {
    const { context, gate, job } = this.#parts;
    const { kind } = this.#toPerform.operation;
    // A step that is taken once more repeats what it has done: that must not undo what others did since.
    const call = this.#call(jobs.operations[kind].method, requestIdOf(this.#toPerform, target));
    try {
      await gate.run(call, () => this.#performed(call, target));
      return 'done';
    } catch (error) {
      if (error instanceof StatusError) return outcomeOf(error.code);
      const { workflowId, runId } = target;
      const fields = { namespaceId: job.namespaceId, workflowId, runId, error: error instanceof Error ? error : String(error) };
      context.ports.logger.error('an operation of a batch job failed because of a bug', fields);
      return 'failed';
    }
  }

  async #performed(call: Call, target: port.BatchTarget): Promise<void> {
    const { context, service, job } = this.#parts;
    const { operation } = this.#toPerform;
    if (operation.kind === 'reset' && (await this.#wasReset(target, call))) return;
    const resetsTo = operation.kind === 'reset' ? jobs.resetTarget(operation.of) : undefined;
    const resetTo = resetsTo && (await resetPoint(context, call, runKey(job.namespaceId, target), resetsTo));
    const { method } = call.rpc;
    const found = service.methods.get(method);
    assert(found?.kind === 'unary', `${method} is a method of WorkflowService`);
    await found.handle(operationRequest(this.#toPerform, target, resetTo), call);
  }

  /**
   * Whether the run goes on from another by a reset since the job began, by one of its own as a rule. The query of a job finds a reset run as it found its
   * base, by a step that is taken once more, or once it has closed.
   */
  async #wasReset(target: port.BatchTarget, call: Call): Promise<boolean> {
    const { context, job } = this.#parts;
    if (this.#listed.length > 0) return false;
    const key = runKey(job.namespaceId, target);
    const { lastResetTimeMs } = await context.history(call, key, { kind: 'describeWorkflow', key });
    return lastResetTimeMs >= job.startTimeMs;
  }

  #condition() {
    const { namespace } = this.#parts;
    const query = jobs.batchQuery(this.#request.visibilityQuery, namespace, jobs.isForOpenOnes(this.#toPerform.operation));
    // An attribute was removed since the start.
    if (query.kind === 'invalid') throw this.#trouble(`invalid visibility query: ${query.message}`, 'stays');
    return query.condition;
  }

  async #asked<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    try {
      return await ask();
    } catch (error) {
      if (error instanceof StatusError) throw this.#trouble(errorText(error), troubleOf(error.code));
      throw error;
    }
  }

  /** What is described of a job has no place for why it has failed, as in Temporal. */
  #trouble(reason: string, kind: port.BatchTroubleKind): port.BatchTrouble {
    const { context, job, namespace } = this.#parts;
    const { visibilityQuery: query } = this.#request;
    if (kind === 'stays')
      context.ports.logger.warn('a batch job has failed', { namespace: namespace.name, runId: job.runId, query, reason });
    return new port.BatchTrouble(reason, kind);
  }

  #queried<Answer>(method: RpcNameOf<typeof workflowRpcs>, query: (asked: number) => Promise<Answer>): Promise<Answer> {
    const { context, gate, namespace } = this.#parts;
    const call = this.#call(method);
    return gate.run(call, async () => {
      await call.admit({ namespace: namespace.name });
      return context.queries.run(call, namespace.id, query);
    });
  }

  #call(method: RpcNameOf<typeof workflowRpcs>, requestId = ''): Call {
    const { context, service, gate } = this.#parts;
    const rpc = service.rpcs.get(method);
    assert(rpc !== undefined, `${method} has a row`);
    return gate.call({ rpc, peer: '', deadlineMs: context.monoMs() + operationMsMax, own: { requestId }, header: () => '' });
  }
}

/** A count of so many would take too long each time. The job gets on by pages, and sees on the way how many there are. */
function unknownWhereTooLong(error: unknown): number {
  if (hasCode(error, statusCode.deadlineExceeded)) return 0;
  throw error;
}

/** The trouble of a list or a count. A query that takes too long may always do; what the database refuses it refuses again. */
function troubleOf(code: StatusCode): port.BatchTroubleKind {
  switch (code) {
    case statusCode.unavailable:
    case statusCode.resourceExhausted:
    case statusCode.aborted:
    case statusCode.cancelled:
      return 'passes';
    case statusCode.deadlineExceeded:
      return 'mayPass';
    default:
      return 'stays';
  }
}

/** What another attempt may mend is tried again; a workflow that is closed or gone wants nothing done. */
function outcomeOf(code: StatusCode): port.BatchOutcome {
  switch (code) {
    case statusCode.notFound:
      return 'done';
    case statusCode.unavailable:
    case statusCode.resourceExhausted:
    case statusCode.deadlineExceeded:
    case statusCode.aborted:
    case statusCode.cancelled:
      return 'again';
    default:
      return 'failed';
  }
}

// ── An operation on one workflow, as the request that a client would send ──────────────────────────────────────────────────────
//
// Requests have ids that are made of the job's run and the workflow's: what is sent again after a crash lands once.

type JobToPerform = {
  readonly operation: jobs.BatchOperation;
  readonly namespace: string;
  /** The run of the job. */
  readonly runId: string;
  readonly reason: string;
};

function operationRequest(job: JobToPerform, target: port.BatchTarget, resetTo: ResetPoint | undefined): Uint8Array {
  const { operation, namespace, reason } = job;
  const requestId = requestIdOf(job, target);
  const workflow = { namespace, workflowExecution: target };
  const activities = { namespace, execution: target, id: undefined };
  switch (operation.kind) {
    case 'terminate': {
      const { details, identity } = operation.of;
      const request = { ...workflow, reason, details, identity, firstExecutionRunId: '', links: [] };
      return requests.encodeTerminateWorkflowExecutionRequest(request);
    }
    case 'signal': {
      const { signal: signalName, input, header, identity } = operation.of;
      const request = { ...workflow, signalName, input, header, identity, requestId, control: '', links: [] };
      return requests.encodeSignalWorkflowExecutionRequest(request);
    }
    case 'cancel': {
      const request = { ...workflow, identity: operation.of.identity, requestId, firstExecutionRunId: '', reason: '', links: [] };
      return requests.encodeRequestCancelWorkflowExecutionRequest(request);
    }
    case 'delete':
      return requests.encodeDeleteWorkflowExecutionRequest(workflow);
    case 'reset': {
      const { identity, postResetOperations, options, resetReapplyType } = operation.of;
      const request = {
        namespace,
        // Its events were looked at: by now another run may be the current one.
        workflowExecution: { ...target, runId: resetTo?.runId ?? target.runId },
        reason,
        requestId,
        workflowTaskFinishEventId: resetTo?.eventId ?? 0,
        resetReapplyType: options?.resetReapplyType ?? resetReapplyType,
        resetReapplyExcludeTypes: options?.resetReapplyExcludeTypes ?? [],
        postResetOperations,
        identity,
      };
      return requests.encodeResetWorkflowExecutionRequest(request);
    }
    case 'update_options':
      return requests.encodeUpdateWorkflowExecutionOptionsRequest({ ...operation.of, ...workflow });
    case 'unpause_activities': {
      const { matchAll: unpauseAll, ...request } = operation.of;
      return requests.encodeUnpauseActivityRequest({ ...request, ...activities, unpauseAll });
    }
    case 'reset_activities':
      return requests.encodeResetActivityRequest({ ...operation.of, ...activities });
    case 'update_activity_options':
      return requests.encodeUpdateActivityOptionsRequest({ ...operation.of, ...activities });
    default:
      return unreachable(operation);
  }
}

/** The job's run, not its id: a later job of that id asks anew. */
function requestIdOf({ runId }: JobToPerform, target: port.BatchTarget): string {
  const hex = createHash('sha256').update(`${runId}\n${target.runId}\n${target.workflowId}`).digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join('-');
}

// ── Where a reset goes to ──────────────────────────────────────────────────────────────────────────────────────────────────────

/** The event that ends the workflow task to which a workflow is reset, of that run. Where it waits for its worker, that is one behind the last. */
type ResetPoint = { readonly runId: string; readonly eventId: number };

/** A run without a workflow task that was completed is reset to the one that is, or was, scheduled. */
async function resetPoint(context: HandlerContext, call: Call, key: RunKey, target: jobs.ResetTarget): Promise<ResetPoint> {
  if (target.kind === 'event') return { runId: key.runId, eventId: target.eventId };
  const position = await positionNow(context, call, key);
  const find = target.kind === 'first' ? first : last;
  const eventId = await find(context, call, position.key, position.lastEventId);
  if (eventId === 0) throw invalidArgument('unable to find any scheduled or completed task');
  return { runId: position.key.runId, eventId };
}

async function first(context: HandlerContext, call: Call, key: RunKey, lastEventId: number): Promise<number> {
  let scheduled = 0;
  for (let from = 1; from <= lastEventId;) {
    const events = await storedEvents(context, call, key, from, lastEventId, PAGE_EVENTS_MAX);
    for (const bytes of events) {
      const { eventId, eventType } = decodeHistoryEvent(bytes, ownLimits);
      if (eventType === EventType.WORKFLOW_TASK_COMPLETED) return eventId;
      if (eventType === EventType.WORKFLOW_TASK_SCHEDULED && scheduled === 0) scheduled = eventId + 1;
    }
    from += events.length;
  }
  return scheduled;
}

/** Reads from the end: what was completed last is there. */
async function last(context: HandlerContext, call: Call, key: RunKey, lastEventId: number): Promise<number> {
  for (let to = lastEventId; to >= 1; to -= PAGE_EVENTS_MAX) {
    const from = Math.max(1, to - PAGE_EVENTS_MAX + 1);
    let [completed, scheduled] = [0, 0];
    for (let next = from; next <= to;) {
      const events = await storedEvents(context, call, key, next, to, PAGE_EVENTS_MAX);
      for (const bytes of events) {
        const { eventId, eventType } = decodeHistoryEvent(bytes, ownLimits);
        if (eventType === EventType.WORKFLOW_TASK_COMPLETED) completed = eventId;
        if (eventType === EventType.WORKFLOW_TASK_SCHEDULED && scheduled === 0) scheduled = eventId + 1;
      }
      next += events.length;
    }
    if (completed > 0) return completed;
    if (from === 1) return scheduled;
  }
  return 0;
}
