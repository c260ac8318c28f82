/**
 * Batch jobs at the edge: pages of their queries, and their operations, each as the call that a client would make, with all its checks.
 *
 *     BatchSteps (src/actors/history/side-tasks) ─▶ page ─▶ rows of List, in its order, behind the last one
 *                                                ─▶ perform ─▶ operationRequest ─▶ the method of WorkflowService ─▶ the workflow's shard
 */
import {
  type BatchJob,
  type BatchOperations,
  type BatchOutcome,
  type BatchPage,
  type BatchTarget,
  BatchTrouble,
  type BatchTroubleKind,
  type BatchWork,
} from '../../actors/batch-operations.ts';
import type { BatchPosition } from '../../batches/batch.ts';
import type { Namespace } from '../../cluster/cluster-state.ts';
import { assert } from '../../kernel/assert.ts';
import { errorText } from '../../kernel/error-text.ts';
import { OPEN_SORT_MS, servedBytes } from '../../visibility/row.ts';
import { decodeStartBatchOperationRequest, type Execution, type StartBatchOperationRequest } from '../../wire/generated/lean/batch.ts';
import { ownLimits } from '../../wire/wire-limits.ts';
import { statusCode, type StatusCode } from '../errors/status-code.ts';
import { hasCode, StatusError } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call, OwnLicence, Service } from '../transport/call.ts';
import { runKey } from '../validation/execution.ts';
import { PAGE_BYTES_MAX } from '../pages/listed-page.ts';
import { executionsOf, isForOpenOnes, operationOf } from './batch-definition.ts';
import { batchQuery } from './batch-query.ts';
import { type JobToPerform, operationRequest, requestIdOf } from './batch-requests.ts';
import { resetPoint, resetTarget } from './reset-point.ts';

/** As which a batch job calls the methods of clients, in logs. */
const batchServiceName = 'perdure.batch';
const operationMsMax = 30_000;
/** To the first or last workflow task: that may be one that no worker has begun. */
const ownLicence: OwnLicence = { resetsToWaitingTask: true };

export class EdgeBatchOperations implements BatchOperations {
  readonly #context: HandlerContext;
  readonly #service: Service;

  constructor(context: HandlerContext, service: Service) {
    this.#context = context;
    this.#service = service;
  }

  open(job: BatchJob): BatchWork {
    const namespace = this.#context.ports.cluster.namespaceById(job.namespaceId);
    if (namespace === undefined || namespace.state === 'deleted')
      throw new BatchTrouble(`namespace ${job.namespaceId} is not there now`, 'passes');
    return new EdgeBatchWork({ context: this.#context, service: this.#service, namespace, job });
  }
}

type Parts = {
  readonly context: HandlerContext;
  readonly service: Service;
  readonly namespace: Namespace;
  readonly job: BatchJob;
};

class EdgeBatchWork implements BatchWork {
  readonly perSecondMax: number;
  readonly concurrencyMax: number;
  readonly #parts: Parts;
  readonly #request: StartBatchOperationRequest;
  readonly #toPerform: JobToPerform;
  /** Of a list; empty: the job has a query. */
  readonly #listed: readonly Execution[];

  constructor(parts: Parts) {
    const { context, namespace, job } = parts;
    this.#parts = parts;
    this.#request = decodeStartBatchOperationRequest(job.definition, ownLimits);
    const operation = operationOf(this.#request);
    assert(operation !== undefined, 'a job has an operation');
    this.#listed = executionsOf(this.#request);
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
      const counts = await context.queries.run(this.#call('count'), namespace.id, (asked) =>
        context.ports.visibility.count({ namespaceId: namespace.id, condition, byStatus: false, asked }),
      );
      return counts.reduce((sum, { count }) => sum + count, 0);
    };
    return this.#asked(() => counting().catch(unknownWhereTooLong));
  }

  async page(behind: BatchPosition, max: number): Promise<BatchPage> {
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
      context.queries.run(this.#call('list'), namespace.id, (asked) => context.ports.visibility.list({ ...query, asked })),
    );
    const targets = rows.map(({ workflowId, runId, startTimeMs, closeTimeMs: sortMs = OPEN_SORT_MS }) => ({
      target: { workflowId, runId },
      position: { listed: 0, after: { sortMs, startTimeMs, runId } },
    }));
    // Memos come along: a page may be full before it has as many.
    const bytes = rows.reduce((sum, row) => sum + servedBytes(row), 0);
    return { targets, isLast: rows.length < max && bytes < PAGE_BYTES_MAX };
  }

  async perform(target: BatchTarget): Promise<BatchOutcome> {
    const { context, service, job } = this.#parts;
    try {
      const { operation } = this.#toPerform;
      const call = this.#call(operation.kind);
      if (operation.kind === 'reset' && (await this.#wasReset(target, call))) return 'done';
      const resetsTo = operation.kind === 'reset' ? resetTarget(operation.of) : undefined;
      const resetTo = resetsTo && (await resetPoint(context, call, runKey(job.namespaceId, target), resetsTo));
      const { method, bytes } = operationRequest(this.#toPerform, target, resetTo);
      const found = service.methods.get(method);
      assert(found?.kind === 'unary', `${method} is a method of WorkflowService`);
      // A step that is taken once more repeats what it has done: that must not undo what others did since.
      await found.handle(bytes, { ...call, ownRequestId: requestIdOf(this.#toPerform, target) });
      return 'done';
    } catch (error) {
      if (error instanceof StatusError) return outcomeOf(error.code);
      const { workflowId, runId } = target;
      const fields = { namespaceId: job.namespaceId, workflowId, runId, error: error instanceof Error ? error : String(error) };
      context.ports.logger.error('an operation of a batch job has failed by a bug', fields);
      return 'failed';
    }
  }

  /**
   * Of a query: the run goes on from another by a reset since the job began, by one of its own as a rule. A reset run is found by the query as its base
   * was, by a step that is taken once more, or once it has closed.
   */
  async #wasReset(target: BatchTarget, call: Call): Promise<boolean> {
    const { context, job } = this.#parts;
    if (this.#listed.length > 0) return false;
    const key = runKey(job.namespaceId, target);
    const { lastResetTimeMs } = await context.history(call, key, { kind: 'describeWorkflow', key });
    return lastResetTimeMs >= job.startTimeMs;
  }

  #condition() {
    const { namespace } = this.#parts;
    const query = batchQuery(this.#request.visibilityQuery, namespace, isForOpenOnes(this.#toPerform.operation));
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
  #trouble(reason: string, kind: BatchTroubleKind): BatchTrouble {
    const { context, job, namespace } = this.#parts;
    const { visibilityQuery: query } = this.#request;
    if (kind === 'stays')
      context.ports.logger.warn('a batch job has failed', { namespace: namespace.name, runId: job.runId, query, reason });
    return new BatchTrouble(reason, kind);
  }

  /** Nobody waits at its other end. */
  #call(method: string): Call {
    return {
      path: `/${batchServiceName}/${method}`,
      service: batchServiceName,
      method,
      peer: '',
      deadlineMs: this.#parts.context.monoMs() + operationMsMax,
      cancelled: false,
      ownLicence,
      notes: { namespace: '', taskQueue: '', oversized: '', waitsForEvents: false },
      header: () => '',
      onCancel: () => {},
    };
  }
}

/** Of so many a count would take too long each time. The job gets on by pages, and sees on the way how many there are. */
function unknownWhereTooLong(error: unknown): number {
  if (hasCode(error, statusCode.deadlineExceeded)) return 0;
  throw error;
}

/** Of a list or a count. A query that takes too long may always do; what the database refuses it refuses again. */
function troubleOf(code: StatusCode): BatchTroubleKind {
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
function outcomeOf(code: StatusCode): BatchOutcome {
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
