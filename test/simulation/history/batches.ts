/**
 * Clients that begin batch jobs, look at them and stop some, one after the other:
 *
 *     start ─▶ describe … ─▶ it has ended
 *                      └───▶ stop ─▶ nobody who may begins another operation
 *
 * Some are about workflows that are listed by their ids, others about whatever List has.
 */
import type { BatchJob } from '../../../src/ports/batch-operations.ts';
import { jobKeptAs } from '../../../src/batches/job-id.ts';
import { historyShardOf } from '../../../src/kernel/shard.ts';
import { status } from '../../../src/history/generated/enums.ts';
import type { RunKey } from '../../../src/kernel/run-key.ts';
import type { HistoryRecord } from '../../../src/history/run/record.ts';
import { jsonClaims } from '../../actors/ledger.ts';
import { startBatch } from '../../history/batch-commands.ts';
import type { Prng } from '../prng.ts';
import type { World } from '../world.ts';
import { checkBatches, type ToldProgress } from './batch-oracle.ts';
import { type Attempt, type BatchProgram, encodedProgram, refusedPrefix, SimBatchOperations } from './batch-work.ts';
import { type HistoryCluster, historyPartition, type HistoryServer, uuid } from './cluster.ts';
import { type Load, namespaceId, WORKFLOW_IDS } from './load.ts';

export type BatchesPlan = { readonly clients: number; readonly everyMs: number; readonly stopShare: number };

const LOOKS_AGAIN_MS = 400;
/** Of ended jobs: longer than any run. */
const RETENTION_MS = 3_600_000;

export function batchesPlan(random: Prng): BatchesPlan {
  return { clients: random.int(1, 2), everyMs: random.pick([50, 300, 1_000]), stopShare: random.pick([0, 0.3, 0.6]) };
}

export class Batches {
  readonly #load: Load;
  readonly #cluster: HistoryCluster;
  readonly #world: World;
  readonly #random: Prng;
  readonly #plan: BatchesPlan;
  readonly #attempts: Attempt[] = [];
  readonly #told: ToldProgress[] = [];
  /** Runs of jobs that were stopped, as somebody was told, with their shards. */
  readonly #stopped = new Map<string, number>();
  #working: number;
  #begun = 0;

  constructor(load: Load, cluster: HistoryCluster, plan: BatchesPlan) {
    this.#load = load;
    this.#cluster = cluster;
    this.#world = cluster.world;
    this.#random = cluster.world.random;
    this.#plan = plan;
    this.#working = plan.clients;
    const watch = {
      attempts: this.#attempts,
      begins: (server: HistoryServer, job: BatchJob): void => this.#begins(server, job),
      signaled: (runId: string, requestId: string): void =>
        void load.told.push(runId === '' ? { kind: 'signaledCurrent', requestId } : { kind: 'signaled', runId, requestId }),
    };
    cluster.batchOperations = (server) => new SimBatchOperations(server, watch);
    for (let client = 0; client < plan.clients; client++) this.#next(client);
  }

  /** Every job that was begun has ended. */
  get areOver(): boolean {
    return this.#working === 0;
  }

  /** I26, of all journals. Answers how many jobs have completed. */
  check(records: readonly HistoryRecord[]): number {
    return checkBatches(records, this.#attempts, this.#told);
  }

  #next(client: number): void {
    this.#world.at(this.#random.int(1, this.#plan.everyMs * 2), () => {
      if (this.#load.isOver) return void (this.#working -= 1);
      this.#begun += 1;
      const key = { namespaceId, workflowId: jobKeptAs(`job-${this.#begun}`), runId: '' };
      const program = this.#program();
      const stopsInMs = this.#random.chance(this.#plan.stopShare) ? this.#random.int(1, 3_000) : undefined;
      const start = startBatch({
        ...{ key, definition: encodedProgram(program), total: program.executions.length },
        ...{ newRunId: uuid(this.#random), retentionMs: RETENTION_MS },
      });
      this.#load.untilAnswered(key, start, (answer) => {
        // Asked again after an answer that was lost, it is there already.
        const isThere = answer.kind === 'done' || (answer.kind === 'rejected' && answer.rejection.reason === 'already-started');
        if (!isThere) return this.#next(client);
        if (stopsInMs !== undefined) this.#world.at(stopsInMs, () => this.#stop(key));
        this.#look(key, () => this.#next(client));
      });
    });
  }

  #program(): BatchProgram {
    const random = this.#random;
    const named = (): string => {
      if (random.chance(0.15)) return `${refusedPrefix}${random.int(1, 3)}`;
      return random.chance(0.1) ? 'nobody' : `wf-${random.int(1, WORKFLOW_IDS)}`;
    };
    const isListed = this.#cluster.disk === undefined || random.chance(0.5);
    return {
      executions: isListed ? Array.from({ length: random.int(1, 15) }, named) : [],
      operation: random.pick(['signal', 'signal', 'terminate']),
      perSecondMax: random.pick([1, 3, 10]),
      concurrencyMax: random.int(1, 3),
    };
  }

  #look(key: RunKey, ended: () => void): void {
    this.#load.untilAnswered(key, { kind: 'describeBatch', key }, (answer) => {
      if (answer.kind !== 'batchDescription') return this.#cluster.onBug('I5 acknowledged and lost', key.workflowId);
      this.#told.push({ runId: answer.key.runId, progress: answer.progress });
      if (answer.status !== status.running) return ended();
      this.#world.at(this.#random.int(1, LOOKS_AGAIN_MS), () => this.#look(key, ended));
    });
  }

  #stop(key: RunKey): void {
    this.#load.untilAnswered(key, { kind: 'describeBatch', key }, (described) => {
      if (described.kind !== 'batchDescription') return this.#cluster.onBug('I5 acknowledged and lost', key.workflowId);
      this.#load.untilAnswered(key, { kind: 'stopBatch', key, reason: 'enough', identity: 'client' }, () => {
        // Be it that it had ended by itself.
        this.#cluster.said('a batch job was stopped');
        this.#stopped.set(described.key.runId, historyShardOf(namespaceId, key.workflowId, this.#cluster.options.shards));
      });
    });
  }

  /** I26: whoever owns the job's shard knows that it was stopped. One who was fenced, and has not heard of it, does not. */
  #begins(server: HistoryServer, { runId }: BatchJob): void {
    const shard = this.#stopped.get(runId);
    if (shard === undefined || server.state(shard - 1) !== 'active' || this.#ownerOf(shard) !== server.node.name) return;
    this.#cluster.onBug('I26 a stopped job goes on', runId);
  }

  /** As the log has it. */
  #ownerOf(shard: number): string {
    let [epoch, owner] = [-1, ''];
    for (const record of this.#cluster.broker.records(historyPartition(shard))) {
      if (record.key !== '@claim' || record.epoch <= epoch) continue;
      epoch = record.epoch;
      owner = jsonClaims.decode(record.value).owner;
    }
    return owner;
  }
}
