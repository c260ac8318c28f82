/**
 * What the jobs of a run do to workflows, in place of the edge: pages of List or of ids that were given, and operations that are asked of shards over
 * the network. It remembers each page, and what came of its executions in that attempt at a step.
 */
import { ownWork } from '../../../src/actors/asks/asks.ts';
import { DatabaseError } from '../../../src/projections/database-port.ts';
import {
  type BatchJob,
  type BatchOperations,
  type BatchOutcome,
  type BatchPage,
  type BatchTarget,
  BatchTrouble,
  type BatchWork,
} from '../../../src/ports/batch-operations.ts';
import type { HistoryAnswer } from '../../../src/actors/asks/router.ts';
import type { BatchPosition } from '../../../src/batches/batch.ts';
import type { Condition, Operand } from '../../../src/filter/condition.ts';
import { status } from '../../../src/history/generated/enums.ts';
import type { RunKey } from '../../../src/kernel/run-key.ts';
import type { HistoryRequest } from '../../../src/history/commands/history-commands.ts';
import { historyShardOf } from '../../../src/kernel/shard.ts';
import { systemColumns } from '../../../src/projections/visibility/columns.ts';
import { OPEN_SORT_MS } from '../../../src/projections/visibility/row.ts';
import { signalAttributes, terminateWorkflow } from '../../history/shard-under-test.ts';
import type { HistoryServer } from './cluster.ts';
import { namespaceId } from './load.ts';

export type BatchProgram = {
  /** Ids of workflows; none: whatever is open in List. */
  readonly executions: readonly string[];
  readonly operation: 'signal' | 'terminate';
  readonly perSecondMax: number;
  readonly concurrencyMax: number;
};

/** What one attempt at a step was given, and did. */
export type Attempt = BatchPage & {
  /** Of the job. */
  readonly runId: string;
  readonly behind: BatchPosition;
  readonly outcomes: Map<BatchTarget, BatchOutcome>;
};

export type BatchWatch = {
  readonly attempts: Attempt[];
  /** Before each operation. */
  readonly begins: (server: HistoryServer, job: BatchJob) => void;
  readonly signaled: (runId: string, requestId: string) => void;
};

/** No attempt at its operation ever succeeds. */
export const refusedPrefix = 'refused-';
const ASK_MS = 500;
/** Its answer leaves it open what has come of it. */
const undecided: ReadonlySet<string> = new Set(['unavailable', 'notHere', 'deadline', 'busy', 'dataLoss', 'internal', 'tooLarge']);

export function encodedProgram(program: BatchProgram): Uint8Array {
  return new TextEncoder().encode(JSON.stringify(program));
}

export function decodedProgram(definition: Uint8Array): BatchProgram {
  return JSON.parse(new TextDecoder().decode(definition)) as BatchProgram;
}

export class SimBatchOperations implements BatchOperations {
  readonly #server: HistoryServer;
  readonly #watch: BatchWatch;

  constructor(server: HistoryServer, watch: BatchWatch) {
    this.#server = server;
    this.#watch = watch;
  }

  open(job: BatchJob): BatchWork {
    return new SimBatchWork(this.#server, this.#watch, job);
  }
}

class SimBatchWork implements BatchWork {
  readonly perSecondMax: number;
  readonly concurrencyMax: number;
  readonly #server: HistoryServer;
  readonly #watch: BatchWatch;
  readonly #job: BatchJob;
  readonly #program: BatchProgram;
  readonly #outcomes = new Map<BatchTarget, BatchOutcome>();

  constructor(server: HistoryServer, watch: BatchWatch, job: BatchJob) {
    this.#server = server;
    this.#watch = watch;
    this.#job = job;
    this.#program = decodedProgram(job.definition);
    this.perSecondMax = this.#program.perSecondMax;
    this.concurrencyMax = this.#program.concurrencyMax;
  }

  async count(): Promise<number> {
    const { executions } = this.#program;
    if (executions.length > 0) return executions.length;
    const [counted] = await this.#listed((database) => database.count({ namespaceId, condition: openWorkflows, byStatus: false }));
    return counted?.count ?? 0;
  }

  async page(behind: BatchPosition, max: number): Promise<BatchPage> {
    const page = this.#program.executions.length > 0 ? this.#given(behind, max) : await this.#queried(behind, max);
    this.#watch.attempts.push({ ...page, runId: this.#job.runId, behind, outcomes: this.#outcomes });
    return page;
  }

  #given({ listed }: BatchPosition, max: number): BatchPage {
    const { executions } = this.#program;
    const targets = executions.slice(listed, listed + max).map((workflowId, index) => ({
      target: { workflowId, runId: '' },
      position: { listed: listed + index + 1, after: undefined },
    }));
    return { targets, isLast: listed + max >= executions.length };
  }

  async #queried({ after }: BatchPosition, max: number): Promise<BatchPage> {
    const { rows } = await this.#listed((database) => database.list({ namespaceId, condition: openWorkflows, after, max }));
    const targets = rows.map(({ workflowId, runId, startTimeMs, closeTimeMs: sortMs = OPEN_SORT_MS }) => ({
      target: { workflowId, runId },
      position: { listed: 0, after: { sortMs, startTimeMs, runId } },
    }));
    return { targets, isLast: rows.length < max };
  }

  async #listed<Answer>(ask: (database: NonNullable<HistoryServer['database']>) => Promise<Answer>): Promise<Answer> {
    const { database } = this.#server;
    if (database === undefined) throw new BatchTrouble('there is no List', 'passes');
    try {
      return await ask(database);
    } catch (error) {
      if (error instanceof DatabaseError) throw new BatchTrouble(error.message, 'passes');
      throw error;
    }
  }

  async perform(target: BatchTarget): Promise<BatchOutcome> {
    this.#watch.begins(this.#server, this.#job);
    const outcome = target.workflowId.startsWith(refusedPrefix) ? 'failed' : await this.#operate(target);
    this.#outcomes.set(target, outcome);
    return outcome;
  }

  async #operate(target: BatchTarget): Promise<BatchOutcome> {
    const key = { namespaceId, ...target };
    if (this.#program.operation === 'terminate') {
      const { kind } = await this.#ask(key, { ...terminateWorkflow(), key });
      return undecided.has(kind) ? 'again' : 'done';
    }
    const requestId = `${this.#job.runId} ${target.workflowId} ${target.runId}`;
    const { kind } = await this.#ask(key, { kind: 'signalWorkflow', key, signal: signalAttributes({ requestId }), childOf: undefined });
    if (kind === 'signaled') this.#watch.signaled(target.runId, requestId);
    return undecided.has(kind) ? 'again' : 'done';
  }

  #ask(key: RunKey, request: OperationRequest): Promise<HistoryAnswer<OperationRequest>> {
    const { asker, cluster, node } = this.#server;
    const shard = historyShardOf(key.namespaceId, key.workflowId, cluster.options.shards);
    return new Promise((resolve) => {
      asker.askHistory(shard, request, ownWork(node.clock.monoMs() + ASK_MS), (answer) => {
        cluster.world.promiseSettled();
        resolve(answer);
      });
    });
  }
}

type OperationRequest = Extract<HistoryRequest, { readonly kind: 'signalWorkflow' | 'terminateWorkflow' }>;

function compares(name: string, operand: Operand): Condition {
  const column = systemColumns.get(name);
  if (column === undefined) throw new Error(`there is no column ${name}`);
  return { kind: 'compare', column, operator: '=', operand };
}

/** As the edge asks for those that are open: schedules and jobs are none. */
const openWorkflows: Condition = {
  kind: 'and',
  conditions: [
    { kind: 'or', conditions: ['Type', 'ChildType'].map((type) => compares('WorkflowType', type)) },
    { kind: 'or', conditions: [status.running, status.paused].map((operand) => compares('ExecutionStatus', operand)) },
  ],
};
