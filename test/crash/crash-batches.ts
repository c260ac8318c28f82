/**
 * Batch jobs beside the load of crash runs, by a list of workflows of their own that nobody plays:
 *
 *     started ─▶ signalled by one job ─▶ terminated by another
 *
 * I26: each job comes to its end, whoever owns it by then, and has done what it counts, to each of them once.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import * as batches from '../../src/wire/generated/lean/batch.ts';
import { BatchOperationState, TaskQueueKind } from '../../src/wire/generated/lean/enums.ts';
import * as messages from '../../src/wire/generated/lean/workflow_service.ts';
import type { Method } from '../support/service-client.ts';
import { CrashCalls, methods, RETRY_PAUSE_MS } from './crash-calls.ts';
import { violation, type Violation } from './judged.ts';

const WORKFLOWS = 30;
/** A job takes steps of two seconds, and such a step again if its owner is frozen meanwhile: so each outlives an owner, and no campaign waits for them. */
const OPERATIONS_PER_SECOND = 10;
const ALREADY_EXISTS = 6;
const RESOURCE_EXHAUSTED = 8;

const startBatch = {
  name: 'StartBatchOperation',
  encode: batches.encodeStartBatchOperationRequest,
  decode: batches.decodeStartBatchOperationResponse,
} as const;
const describeBatch = {
  name: 'DescribeBatchOperation',
  encode: batches.encodeDescribeBatchOperationRequest,
  decode: batches.decodeDescribeBatchOperationResponse,
} as const;

const jobs = [
  { signalOperation: { signal: 'go', input: undefined, header: undefined, identity: 'crash-operator' } },
  { terminationOperation: { details: undefined, identity: 'crash-operator' } },
] as const;

export class CrashBatches {
  readonly #calls: CrashCalls;
  readonly #workflowIds = Array.from({ length: WORKFLOWS }, () => `batch-${randomUUID()}`);
  readonly #found: Violation[] = [];
  readonly #working: Promise<void>;
  #patientUntilMs = Infinity;

  constructor(addresses: readonly string[], namespace: string) {
    this.#calls = new CrashCalls(addresses, namespace, 0);
    this.#working = this.#work();
  }

  /** Behind the last round: what was wrong. */
  async finish(patienceMs: number): Promise<readonly Violation[]> {
    this.#patientUntilMs = Date.now() + patienceMs;
    await this.#working;
    this.#calls.close();
    return this.#found;
  }

  async #work(): Promise<void> {
    for (const workflowId of this.#workflowIds) await this.#start(workflowId);
    for (const job of jobs) await this.#run(job);
    for (const workflowId of this.#workflowIds) await this.#judge(workflowId);
  }

  async #start(workflowId: string): Promise<void> {
    const request = {
      ...messages.emptyStartWorkflowExecutionRequest(),
      ...{ namespace: this.#calls.namespace, workflowId, workflowType: { name: 'batch' }, requestId: randomUUID() },
      taskQueue: { name: 'nobody', kind: TaskQueueKind.NORMAL, normalName: '' },
    };
    await this.#answered(methods.start, request);
  }

  async #run(job: Partial<batches.StartBatchOperationRequest>): Promise<void> {
    const jobId = randomUUID();
    await this.#answered(startBatch, {
      ...batches.emptyStartBatchOperationRequest(),
      ...{ namespace: this.#calls.namespace, jobId, reason: 'crash', maxOperationsPerSecond: OPERATIONS_PER_SECOND },
      executions: this.#workflowIds.map((workflowId) => ({ workflowId, runId: '' })),
      ...job,
    });
    const name = `batch job ${jobId} (${Object.keys(job).join()})`;
    for (;;) {
      const described = await this.#answered(describeBatch, { namespace: this.#calls.namespace, jobId });
      if (described === undefined) return;
      const { state, totalOperationCount, completeOperationCount, failureOperationCount } = described;
      if (state === BatchOperationState.RUNNING) {
        await delay(RETRY_PAUSE_MS);
        continue;
      }
      const counted = [state, totalOperationCount, completeOperationCount, failureOperationCount].join();
      if (counted !== [BatchOperationState.COMPLETED, WORKFLOWS, WORKFLOWS, 0].join())
        this.#found.push(violation('I26', `${name} has ended as (state, total, complete, failed) ${counted}`));
      return;
    }
  }

  async #judge(workflowId: string): Promise<void> {
    const history = await this.#calls.readHistory(workflowId, '');
    if (history.kind === 'unknown' && Date.now() < this.#patientUntilMs) return await this.#judge(workflowId);
    const told =
      history.kind === 'ok'
        ? history.response
            .map(({ type }) => type)
            .slice(1)
            .filter((type) => !type.startsWith('WorkflowTask'))
        : [];
    if (told.join() !== 'WorkflowExecutionSignaled,WorkflowExecutionTerminated')
      this.#found.push(violation('I26', `${workflowId} was told ${told.join(', ') || history.kind} by two batch jobs`));
  }

  /** As often as it takes: a job and a start that were asked for are known by their ids. undefined: refused, or there is no answer. */
  async #answered<Request, Response>(method: Method<Request, Response>, request: Request): Promise<Response | undefined> {
    while (Date.now() < this.#patientUntilMs) {
      const outcome = await this.#calls.call(method, request);
      if (outcome.kind === 'ok') return outcome.response;
      if (outcome.kind === 'unknown') continue;
      if (outcome.code === RESOURCE_EXHAUSTED) {
        // Jobs are counted by List: while its database is frozen, one that has ended counts still.
        await delay(RETRY_PAUSE_MS);
        continue;
      }
      if (outcome.code !== ALREADY_EXISTS) this.#found.push(violation('I26', `${method.name} is refused: ${outcome.message}`));
      return undefined;
    }
    this.#found.push(violation('I7', `${method.name} of a batch job is not answered, or does not end`));
    return undefined;
  }
}
