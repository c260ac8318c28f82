/**
 * Processes with matching hosts, each in the production loop, over one simulated log and one simulated database. History is a model that
 * stands outside of all of them.
 *
 *     MatchingServer ─┬─ MatchingHost × partitions ─┬─ SimLog ─────── SimBroker
 *                     ├─ Router                     └─ SimDatabase ── SimDisk
 *                     └─ asks of history, and of parent partitions: over the network, to whoever seems to own them
 */
import { ownWork } from '../../../src/actors/asks/asks.ts';
import { CheckpointSchedule } from '../../../src/projections/checkpoints/checkpoint-schedule.ts';
import { type Asker, type HistoryAnswer, type MatchingAnswer, Router } from '../../../src/actors/asks/router.ts';
import { MatchingHost } from '../../../src/actors/matching/matching-host.ts';
import { matchingCodec } from '../../../src/codec/matching-codec.ts';
import { matchingStateCodec } from '../../../src/codec/matching-state-codec.ts';
import { jsonClaims } from '../../actors/ledger.ts';
import { checkpointLimits, busyClock } from '../checkpointed-actors.ts';
import { SimCluster } from '../sim-cluster.ts';
import { simDatabase, type DatabasePlan } from '../sim-database.ts';
import { SimServer } from '../sim-server.ts';
import type { HistoryModel } from './history.ts';
import type { SimBroker } from '../sim-log.ts';
import type { World } from '../world.ts';
import type { Database, JournalId } from '../../../src/projections/database-port.ts';
import type { PartitionId } from '../../../src/ports/log.ts';
import type { HistoryRequest, StartActivityTask, StartWorkflowTask } from '../../../src/history/commands/history-commands.ts';
import type { MatchingRequest } from '../../../src/matching/matching-commands.ts';
import type { MatchingLimits } from '../../../src/matching/matching-limits.ts';
import type { MatchingTask } from '../../../src/matching/matching-tasks.ts';

export type MatchingClusterOptions = {
  readonly servers: number;
  readonly matchingPartitions: number;
  /** Absent: there is none, and every takeover folds the journal from its start. */
  readonly database?: DatabasePlan;
  readonly recordsMax: number;
  /** undefined: journals are never trimmed. */
  readonly journalRetentionMs: number | undefined;
  readonly limits: Partial<MatchingLimits>;
};

/** Of one partition in one process: what its present memory may offer. */
type Offered = { readonly server: MatchingServer; readonly partition: number };

export function matchingPartition(partition: number): PartitionId {
  return { topic: 'sim.matching', partition };
}

export function journalOf(partition: number): JournalId {
  return { kind: 'matching', partition };
}

export class MatchingServer extends SimServer {
  readonly cluster: MatchingCluster;
  hosts: MatchingHost[] = [];
  router: Router;

  constructor(cluster: MatchingCluster, name: string) {
    super(cluster.world, cluster.broker, name);
    this.cluster = cluster;
    this.router = new Router(this.node.clock);
    this.boot();
  }

  get actors(): readonly MatchingHost['actor'][] {
    return this.hosts.map(({ actor }) => actor);
  }

  protected boot(): void {
    const { options, disk, logger } = this.cluster;
    this.router = new Router(this.node.clock);
    const database = disk === undefined ? undefined : simDatabase(disk, this.node);
    const schedule = new CheckpointSchedule({ recordsMax: options.recordsMax * 2, atOnceMax: 1, clock: this.node.clock, logger });
    this.hosts = [];
    for (let partition = 0; partition < options.matchingPartitions; partition++) {
      const host = this.#host(partition, schedule, database);
      this.router.matching.attach(partition, host.actor);
      this.hosts.push(host);
    }
  }

  #host(partition: number, schedule: CheckpointSchedule, database: Database | undefined): MatchingHost {
    const { world, options, logger } = this.cluster;
    const { recordsMax, journalRetentionMs } = options;
    return new MatchingHost({
      partition,
      topic: matchingPartition(partition).topic,
      owner: this.node.name,
      log: this.log,
      codec: matchingCodec,
      claims: jsonClaims,
      matchingPartitions: options.matchingPartitions,
      taskQueuePartitions: 1,
      router: this.#asker(partition),
      sink: this.router.matching.sink(partition),
      clock: busyClock(this.node.clock),
      random: this.node.random,
      logger,
      limits: options.limits,
      onStatus: (status) => {
        const { state, epoch, sequence, offset, reason } = status;
        world.trace(`${this.node.name}/${partition} ${state} ${epoch}.${sequence}@${offset} ${reason}`);
        this.cluster.onStatus(this, partition, status);
      },
      ...(database === undefined
        ? {}
        : {
            checkpoints: {
              database,
              stateWire: matchingStateCodec,
              limits: { ...checkpointLimits, recordsMax },
              schedule,
              ...(journalRetentionMs === undefined ? {} : { journalRetentionMs }),
            },
          }),
    });
  }

  #asker(partition: number): Asker {
    const { router, cluster } = this;
    const cancels: (() => void)[] = [];
    return {
      askHistory: (_shard, request, _context, onReply) => {
        if (request.kind === 'startActivityTask' || request.kind === 'startWorkflowTask') {
          cluster.onStart({ server: this, partition }, request);
        }
        cluster.askHistory(this, request, onReply);
        return 0;
      },
      askMatching: (other, request, { deadlineMs }, onReply) => {
        const reply = this.node.replyTo();
        const waitMs = Math.max(1, deadlineMs - this.node.clock.monoMs());
        const cancel = cluster.ask(other, request, waitMs, (answer) => reply(cluster.broker.delayMs(), () => onReply(answer)));
        cancels.push(cancel);
        return cancels.length;
      },
      askCluster: (request, context, onReply) => router.askCluster(request, context, onReply),
      askDeadLetters: (queue, request, context, onReply) => router.askDeadLetters(queue, request, context, onReply),
      cancel: (askId) => cancels[askId - 1]?.(),
    };
  }
}

export class MatchingCluster extends SimCluster<MatchingServer> {
  readonly options: MatchingClusterOptions;
  readonly history: HistoryModel;
  readonly servers: readonly MatchingServer[];
  readonly partitionIds: readonly PartitionId[];
  /** A host has got a task to offer; it asks for the start of one. */
  onAdd: (at: Offered, task: MatchingTask) => void = () => {};
  onStart: (at: Offered, request: StartActivityTask | StartWorkflowTask) => void = () => {};

  constructor(world: World, broker: SimBroker, history: HistoryModel, options: MatchingClusterOptions) {
    super(world, broker, options.database);
    this.options = options;
    this.history = history;
    this.partitionIds = Array.from({ length: options.matchingPartitions }, (_, partition) => matchingPartition(partition));
    this.servers = Array.from({ length: options.servers }, (_, index) => new MatchingServer(this, `node${index}`));
  }

  /** What is answered to calls off: the caller goes away, and hears nothing any more. */
  ask<Request extends MatchingRequest>(
    partition: number,
    given: Request | ((server: MatchingServer) => Request),
    waitMs: number,
    onAnswer: (answer: MatchingAnswer<Request>) => void,
  ): () => void {
    let isCanceled = false;
    let cancelThere = (): void => {};
    const ask = (server: MatchingServer, deadlineMs: number, answered: (answer: MatchingAnswer<Request>) => void): void => {
      const request = typeof given === 'function' ? given(server) : given;
      if (request.kind === 'addWorkflowTask' || request.kind === 'addActivityTask') this.onAdd({ server, partition }, request.task);
      const { router } = server;
      const askId = router.askMatching(partition, request, ownWork(deadlineMs), answered);
      cancelThere = () => void server.node.at(this.broker.delayMs(), () => router.cancel(askId));
    };
    this.askOwner<MatchingAnswer<Request>>(partition, 'an ask of matching', waitMs, ask, (answer) => {
      if (!isCanceled) onAnswer(answer);
    });
    return () => {
      isCanceled = true;
      cancelThere();
    };
  }

  /** Over the network as well; whoever asked may have died before it hears the answer. */
  askHistory<Request extends HistoryRequest>(
    { node }: MatchingServer,
    request: Request,
    onReply: (answer: HistoryAnswer<Request>) => void,
  ): void {
    const reply = node.replyTo();
    this.world.at(this.broker.delayMs(), () => {
      this.history.ask(request, (answer) => {
        this.world.trace(`${request.kind} ${'key' in request ? request.key.workflowId : ''} of ${node.name}: ${answer.kind}`);
        reply(this.broker.delayMs(), () => onReply(answer));
      });
    });
  }
}
