/**
 * Processes with history shards, each in the production loop, over one simulated log and one simulated database. Tasks are handed to the
 * workers of the simulation at once: matching is a stub that forgets nothing, though it says so of some tasks only, and with a database refuses
 * all for a part of each second.
 *
 *     HistoryServer ─┬─ HistoryShard × shards ─┬─ SimLog ─────── SimBroker
 *                    ├─ Router                 └─ SimDatabase ── SimDisk
 *                    └─ asks to other shards: over the network, to whoever seems to own them
 */
import { ownWork } from '../../../src/actors/asks/asks.ts';
import { CheckpointSchedule } from '../../../src/projections/checkpoints/checkpoint-schedule.ts';
import { ProcessVisibility } from '../../../src/projections/list/process-visibility.ts';
import { journalOf } from '../../../src/actors/history/history-memory.ts';
import { HistoryShard } from '../../../src/actors/history/history-shard.ts';
import { type Asker, type DeadLetterAnswer, type HistoryAnswer, type JobsAnswer, Router } from '../../../src/actors/asks/router.ts';
import { systemSearchAttributes } from '../../../src/cluster/search-attributes.ts';
import { defaultHistoryLimits } from '../../../src/history/run/history-limits.ts';
import { isDispatch } from '../../../src/history/run/tasks.ts';
import { historyCodec } from '../../../src/codec/history-codec.ts';
import { historyWire } from '../../../src/codec/history-wire.ts';
import { stateCodecBesideHistory } from '../../../src/codec/state-codec.ts';
import { jsonClaims } from '../../actors/ledger.ts';
import { tasksLeave } from '../../support/shard-rows.ts';
import { busyClock, checkpointLimits } from '../checkpointed-actors.ts';
import { batchRunner } from '../../../src/actors/history/side-tasks/batch-steps.ts';
import { captureOf, jobsHost, letterPartitions, type LetterPlan, queueHost, queues } from '../deadletters/actors.ts';
import { SimCluster } from '../sim-cluster.ts';
import { simDatabase, type DatabasePlan, type SimDisk } from '../sim-database.ts';
import { type SimActor, SimServer } from '../sim-server.ts';
import type { Database } from '../../../src/projections/database-port.ts';
import { thereIs, withoutLetters } from '../../support/simple-cluster.ts';
import type { BatchesPlan } from './batches.ts';
import type { LivesPlan } from './lives.ts';
import type { Prng } from '../prng.ts';
import type { SimBroker } from '../sim-log.ts';
import type { World } from '../world.ts';
import type { BatchOperations } from '../../../src/ports/batch-operations.ts';
import type { BatchStepTask, SideRunner, SideRunners } from '../../../src/actors/history/side-tasks/side-tasks.ts';
import type { PartitionId } from '../../../src/ports/log.ts';
import type { QueueHost } from '../../../src/actors/deadletters/queue/queue-host.ts';
import type { DeadLetterRequest } from '../../../src/deadletters/letter-commands.ts';
import type { JobsRequest } from '../../../src/deadletters/jobs/job.ts';
import type { HistoryRequest } from '../../../src/history/commands/history-commands.ts';
import type { AddTask } from '../../../src/matching/matching-commands.ts';

/** Hardly any timer is in memory that need not be. */
const tinyWindow = { aheadMsMax: 300, timersMax: 4, timersLeft: 2, timersNearMax: 6, pageRows: 2, overdueMsMax: 100 };
/** Nor any task for a worker. */
const tinyRoom = { tasksMax: 3, tasksLeft: 2, pageRows: 2 };
/** Of each second. */
const REFUSES_MS = 400;
const backlogFull = { kind: 'rejected', rejection: { reason: 'backlog-full', message: 'the backlog is full' } } as const;

export type HistoryClusterOptions = {
  readonly servers: number;
  readonly shards: number;
  readonly cacheBytesMax: number;
  /** Of closed runs. */
  readonly retentionMs: number;
  /** Absent: there is none, and every takeover folds the journal from its start. */
  readonly database?: DatabasePlan;
  readonly recordsMax: number;
  /** undefined: journals are never trimmed. */
  readonly journalRetentionMs: number | undefined;
  /** Tasks fail, and become dead letters; with a database alone. Absent: what fails is tried for ever. */
  readonly letters?: LetterPlan;
  /** Workflows are reset and paused, and starts take their first task along. Absent: never. */
  readonly lives?: LivesPlan;
  /** Absent: there are no batch jobs. */
  readonly batches?: BatchesPlan;
};

export function historyPartition(shard: number): PartitionId {
  return { topic: 'sim.history', partition: shard - 1 };
}

/** 128 bits that look like a UUID: a database takes no others for ids of runs. */
export function uuid(random: Prng): string {
  const hex = (): string => random.u32().toString(16).padStart(8, '0');
  const text = `${hex()}${hex()}${hex()}${hex()}`;
  return `${text.slice(0, 8)}-${text.slice(8, 12)}-4${text.slice(13, 16)}-8${text.slice(17, 20)}-${text.slice(20)}`;
}

export class HistoryServer extends SimServer {
  readonly cluster: HistoryCluster;
  shards: HistoryShard[] = [];
  /** By their numbers, from 0 on. */
  queues: QueueHost[] = [];
  #others: readonly SimActor[] = [];
  router: Router;
  database: Database | undefined;

  constructor(cluster: HistoryCluster, name: string) {
    super(cluster.world, cluster.broker, name);
    this.cluster = cluster;
    this.router = new Router(this.node.clock);
    this.boot();
  }

  get actors(): readonly SimActor[] {
    return [...this.shards.map(({ actor }) => actor), ...this.#others];
  }

  protected boot(): void {
    const { options, disk } = this.cluster;
    this.router = new Router(this.node.clock);
    this.database = disk === undefined ? undefined : simDatabase(disk, this.node);
    this.#seatMatching();
    this.shards = [];
    const { logger } = this.cluster;
    const visibility =
      this.database === undefined ? undefined : new ProcessVisibility({ database: this.database, clock: this.node.clock, logger });
    const schedule = new CheckpointSchedule({ recordsMax: options.recordsMax * 2, atOnceMax: 1, clock: this.node.clock, logger });
    const sideRunners = options.batches === undefined ? {} : { batchStep: this.#batchRunner(options) };
    for (let shard = 1; shard <= options.shards; shard++) {
      const actor = this.#shard(shard, schedule, visibility, sideRunners);
      this.router.history.attach(shard, actor);
      this.shards.push(actor);
    }
    this.#seatLetters(schedule);
    if (disk !== undefined) this.#evictNowAndThen(disk);
  }

  #seatLetters(schedule: CheckpointSchedule): void {
    const { database, cluster } = this;
    if (cluster.options.letters === undefined || database === undefined) return;
    this.queues = queues.map((queue) => queueHost(this, queue, schedule, database));
    this.#others = [...this.queues.map(({ actor }) => actor), jobsHost(this).actor];
  }

  /** As if memory were small: whatever may leave it leaves it. */
  #evictNowAndThen(disk: SimDisk): void {
    const { random } = this.cluster.world;
    this.node.at(random.int(1, 200), () => {
      for (const [index, { actor }] of this.shards.entries()) {
        const { memory } = actor;
        if (memory?.active !== true) continue;
        const { core } = memory;
        for (const runId of [...core.shard.runs.keys()]) if (core.evict(runId)) this.cluster.said('a run left memory');
        tasksLeave(core, this.node.clock.wallMs());
        const rows = disk.tables.journal(journalOf(index + 1)).timers;
        if (rows.size > core.shard.timers.size) this.cluster.said('timers were in the table alone');
        if (core.transferWindow?.othersWait === true) this.cluster.said('tasks for workers stood in line');
        const { transferTasks } = disk.tables.journal(journalOf(index + 1));
        if ([...transferTasks.values()].some(({ atMatching }) => atMatching))
          this.cluster.said('tasks for workers were stored by matching');
      }
      this.#evictNowAndThen(disk);
    });
  }

  #batchRunner({ shards }: HistoryClusterOptions): SideRunner<BatchStepTask> {
    const { cluster, asker } = this;
    const settled = <Answer>(answer: Answer): Answer => {
      cluster.world.promiseSettled();
      return answer;
    };
    return batchRunner({
      router: {
        askHistory: (shard, request, context, onReply) => asker.askHistory(shard, request, context, (answer) => onReply(settled(answer))),
      },
      historyShards: shards,
      operations: () => settled(Promise.resolve(cluster.batchOperations(this))),
      clock: this.node.clock,
    });
  }

  #shard(shard: number, schedule: CheckpointSchedule, visibility: ProcessVisibility | undefined, sideRunners: SideRunners): HistoryShard {
    const { world, options, logger } = this.cluster;
    const { database } = this;
    const { recordsMax, journalRetentionMs } = options;
    const limits = { ...checkpointLimits, recordsMax };
    return new HistoryShard({
      shard,
      topic: historyPartition(shard).topic,
      owner: this.node.name,
      log: this.log,
      codec: historyCodec,
      claims: jsonClaims,
      wire: historyWire,
      limits: { ...defaultHistoryLimits, retentionMsDefault: options.retentionMs, retentionRecheckMs: 200 },
      registry: {
        isFolded: true,
        view: {
          position: 0,
          registeredNameOf: () => undefined,
          namespaceById: thereIs,
          systemSearchAttributes,
        },
      },
      capture: options.letters === undefined ? withoutLetters : captureOf(this),
      isArchiving: false,
      cacheBytesMax: options.cacheBytesMax,
      layout: { historyShards: options.shards, matchingPartitions: 1, taskQueuePartitions: 1 },
      router: this.asker,
      sink: this.router.history.sink(shard),
      clock: busyClock(this.node.clock),
      random: { nonce: () => uuid(world.random), fraction: () => world.random.fraction() },
      logger,
      onStatus: (status) => {
        const { state, epoch, sequence, offset, reason } = status;
        world.trace(`${this.node.name}/${shard} ${state} ${epoch}.${sequence}@${offset} ${reason}`);
        this.cluster.onStatus(this, shard - 1, status);
      },
      ...(visibility === undefined ? {} : { visibility }),
      sideRunners,
      ...(database === undefined
        ? {}
        : {
            checkpoints: {
              database,
              stateWire: stateCodecBesideHistory,
              timerWindow: tinyWindow,
              transferWindow: tinyRoom,
              limits,
              schedule,
              ...(journalRetentionMs === undefined ? {} : { journalRetentionMs }),
            },
          }),
    });
  }

  #seatMatching(): void {
    const sink = this.router.matching.sink(0);
    this.router.matching.attach(0, {
      submit: (askId, request) => {
        const isAccepted = this.database === undefined || this.node.clock.wallMs() % 1_000 >= REFUSES_MS;
        const isTask = request.kind === 'addWorkflowTask' || request.kind === 'addActivityTask';
        if (isTask) this.#checkOffer(request);
        if (isAccepted && isTask) this.cluster.onOffer(request);
        const accepted = { kind: this.cluster.world.random.chance(0.7) ? 'stored' : 'done' } as const;
        this.node.clock.soon(() => void sink.answer(askId, isAccepted ? accepted : backlogFull));
        return undefined;
      },
      cancel: () => {},
    });
  }

  /** What is noted as stored is never offered again, whoever owns the shard by now. */
  #checkOffer({ task: { taskId, historyShard } }: AddTask): void {
    const task = this.shards[historyShard - 1]?.actor.memory?.core.shard.transfers.get(taskId);
    const isNoted = task !== undefined && isDispatch(task) && task.atMatching === true;
    if (isNoted) this.cluster.onBug('I7 stored twice', `task ${taskId} of shard ${historyShard} is noted as stored, and offered again`);
  }

  /** Another shard may be owned elsewhere. */
  get asker(): Asker {
    const { router } = this;
    return {
      askHistory: (shard, request, { deadlineMs }, onReply) => {
        const reply = this.node.replyTo();
        const waitMs = Math.max(1, deadlineMs - this.node.clock.monoMs());
        this.cluster.ask(shard, request, waitMs, (answer) => reply(this.cluster.broker.delayMs(), () => onReply(answer)));
        return 0;
      },
      askMatching: (partition, request, context, onReply) => router.askMatching(partition, request, context, onReply),
      askCluster: (request, context, onReply) => router.askCluster(request, context, onReply),
      askDeadLetters: (queue, request, { deadlineMs }, onReply) => {
        const reply = this.node.replyTo();
        const waitMs = Math.max(1, deadlineMs - this.node.clock.monoMs());
        this.cluster.askQueue(queue, request, waitMs, (answer) => reply(this.cluster.broker.delayMs(), () => onReply(answer)));
        return 0;
      },
      cancel: (askId) => router.cancel(askId),
    };
  }
}

export class HistoryCluster extends SimCluster<HistoryServer> {
  readonly options: HistoryClusterOptions;
  readonly servers: readonly HistoryServer[];
  readonly partitionIds: readonly PartitionId[];
  /** Now and then, as the plan says. */
  tasksFail = true;
  onOffer: (request: AddTask) => void = () => {};
  onBug: (invariant: string, message: string) => void = () => {};
  /** Of a plan with batch jobs: set before any begins. */
  batchOperations: (server: HistoryServer) => BatchOperations = () => {
    throw new Error('there are no batch jobs');
  };

  constructor(world: World, broker: SimBroker, options: HistoryClusterOptions) {
    super(world, broker, options.database);
    this.options = options;
    const shards = Array.from({ length: options.shards }, (_, index) => historyPartition(index + 1));
    this.partitionIds = options.letters === undefined ? shards : [...shards, ...letterPartitions];
    this.servers = Array.from({ length: options.servers }, (_, index) => new HistoryServer(this, `node${index}`));
  }

  ask<Request extends HistoryRequest>(
    shard: number,
    request: Request,
    waitMs: number,
    onAnswer: (answer: HistoryAnswer<Request>) => void,
  ): void {
    this.askOwner<HistoryAnswer<Request>>(
      shard - 1,
      `${request.kind} of shard ${shard}`,
      waitMs,
      (server, deadlineMs, answered) => void server.router.askHistory(shard, request, ownWork(deadlineMs), answered),
      onAnswer,
    );
  }

  /** By its number. */
  askQueue<Request extends DeadLetterRequest>(
    queue: number,
    request: Request,
    waitMs: number,
    onAnswer: (answer: DeadLetterAnswer<Request>) => void,
  ): void {
    this.askOwner<DeadLetterAnswer<Request>>(
      this.options.shards + queue - 1,
      `${request.kind} of queue ${queue}`,
      waitMs,
      (server, deadlineMs, answered) => void server.router.askDeadLetters(queue, request, ownWork(deadlineMs), answered),
      onAnswer,
    );
  }

  askJobs<Request extends JobsRequest>(request: Request, waitMs: number, onAnswer: (answer: JobsAnswer<Request>) => void): void {
    this.askOwner<JobsAnswer<Request>>(
      this.options.shards + queues.length,
      request.kind,
      waitMs,
      (server, deadlineMs, answered) => void server.router.askJobs(request, ownWork(deadlineMs), answered),
      onAnswer,
    );
  }
}
