/**
 * The composition root: the roles of a process, in the order in which they start.
 *
 *     open log ─▶ what it and the database hold is looked at ─▶ cluster claims ─▶ history and matching claim ─▶ frontend ─▶ dead letters
 *                                                                                                          (the port opens)
 *
 * Stopping goes the other way: the port answers NOT_SERVING, polls end empty or with the task that is just being started for them, every
 * actor commits what it accepted and lets go.
 */
import { randomUUID } from 'node:crypto';
import { hostname, networkInterfaces } from 'node:os';
import { LoopTurns } from './ports/loop-turns.ts';
import { Router } from './actors/asks/router.ts';
import { CheckpointSchedule, defaultCheckpointScheduleLimits } from './projections/checkpoints/checkpoint-schedule.ts';
import type { CheckpointOptions } from './projections/checkpoints/partition-checkpoints.ts';
import { Census, type Concern } from './actors/ownership/census.ts';
import { COMMAND_BYTES_MAX, CommandBudget } from './actors/partition/command-budget.ts';
import { systemClock, systemRandom } from './ports/system-ports.ts';
import { AnotherServerError } from './config/another-server.ts';
import { archivalSettings } from './config/archival-settings.ts';
import { letterSettings } from './config/dead-letter-settings.ts';
import { limitSettings } from './config/limit-settings.ts';
import { memoryShare, memoryThereIs, stateLimitsBeside, whyTheyDoNotFit } from './config/memory.ts';
import type { HeapCondition, RunningServer, ServerOptions, StartSummary, StateLimits } from './config/server-options.ts';
import { openSqlite } from './projections/sqlite/open-sqlite.ts';
import type { Frontend } from './grpc/frontend.ts';
import { defaultHistoryLimits } from './history/run/history-limits.ts';
import { assert } from './kernel/assert.ts';
import type { Logger } from './observability/logger.ts';
import { MetricsRegistry } from './observability/metrics/metrics.ts';
import { ClusterRole } from './roles/cluster-role.ts';
import { startFrontendRole } from './roles/frontend-role.ts';
import { HistoryRole } from './roles/history-role.ts';
import { MatchingRole } from './roles/matching-role.ts';
import type { OwnedPartitions } from './roles/owned-partitions.ts';
import type { ProcessParts } from './roles/process-parts.ts';
import { WorkerRole } from './roles/worker-role.ts';
import { inspectBeforeClaiming } from './start/before-claiming.ts';
import type { ClusterDatabase } from './start/cluster-database.ts';
import { DeadLetters } from './start/dead-letters.ts';
import { dynamicConfigOf, watchDynamicConfig } from './start/dynamic-config.ts';
import type { OpenLog } from './start/open-log.ts';
import type { OpenState } from './start/open-state.ts';
import { anotherServer } from './start/previous-owner.ts';
import { claimsOf, listenerAddresses } from './start/server-contact.ts';
import { checkSetUp, setUpCluster } from './start/set-up-cluster.ts';
import { TakenBack } from './start/taken-back.ts';
import { toldOutages } from './start/told-outages.ts';
import { tryStart } from './start/try-start.ts';
import { checkFirstStart } from './start/whole-journals.ts';
import { clusterTopic, historyTopic, matchingTopic } from './topics/catalogue.ts';

export { checkSetUp, tryStart };

const STOP_GRACE_MS = 2_000;
/** However little memory there is: one actor still takes the largest request. */
const COMMAND_BYTES_MIN = 16 * 1024 * 1024;

export type Opened = {
  readonly log: OpenLog;
  /** undefined: state lives in memory. */
  readonly state: OpenState | undefined;
};

/** Serves on a log that is open; when that comes to nothing the log is closed again, and the database with it. */
export async function compose(options: ServerOptions, opened: Opened, fatal: (error: Error) => void): Promise<RunningServer> {
  const instance = randomUUID();
  const machine = { name: hostname(), interfaces: networkInterfaces() };
  const claims = claimsOf({ instance, addresses: listenerAddresses(options.host, options.port, machine) });
  const inspected = await inspectBeforeClaiming({ ...opened, claims, options }).catch(async (error: unknown) => {
    await opened.state?.database.close();
    await opened.log.log.close();
    throw error;
  });
  const server = new Server({ options, opened, fatal, instance, claims, ...inspected });
  try {
    return await server.start();
  } catch (error) {
    await server.giveUp();
    throw error;
  }
}

type ServerSetting = Awaited<ReturnType<typeof inspectBeforeClaiming>> & {
  readonly options: ServerOptions;
  readonly opened: Opened;
  readonly fatal: (error: Error) => void;
  readonly instance: string;
  readonly claims: ReturnType<typeof claimsOf>;
};

class Server {
  readonly #setting: ServerSetting;
  readonly #memory = memoryThereIs();
  readonly #parts: ProcessParts;
  readonly #cluster: ClusterRole;
  readonly #history: HistoryRole;
  readonly #matching: MatchingRole;
  readonly #worker: WorkerRole;
  readonly #takenBack: TakenBack;
  readonly #endDynamicConfig: () => void;
  #frontend: Frontend | undefined;
  #deadLetters: DeadLetters | undefined;
  #endWatch: () => void = () => {};
  #stopped: Promise<void> | undefined;

  constructor(setting: ServerSetting) {
    const { options } = setting;
    this.#setting = setting;
    this.#parts = this.#made();
    const { router, dynamicConfig, metrics } = this.#parts;
    this.#cluster = new ClusterRole(this.#parts);
    this.#history = new HistoryRole(this.#parts, this.#cluster, () => this.#frontend?.batchOperations());
    this.#matching = new MatchingRole(this.#parts);
    this.#worker = new WorkerRole(this.#parts, this.#cluster, this.#history);
    this.#cluster.follow(() => this.#frontend?.endWaitsOfDeleted());
    this.#takenBack = new TakenBack({
      asker: router,
      clock: systemClock,
      logger: options.logger,
      start: ({ topic, partition }) => this.#partitionsOf(topic)?.attach(partition),
    });
    this.#endDynamicConfig = watchDynamicConfig(options, dynamicConfig, metrics);
  }

  async start(): Promise<RunningServer> {
    const { options, opened, known, state, instance } = this.#setting;
    const { census, router, metrics } = this.#parts;
    const { registry } = this.#cluster;
    this.#cluster.partitions.attachAll();
    // Whoever holds the cluster's partition decides between two starts, so nothing else is claimed, nor restored, before it is held.
    if (!opened.log.log.exclusive) await census.clusterHeld();
    this.#history.partitions.attachAll();
    this.#matching.partitions.attachAll();
    await census.settled();
    if (known.identity === undefined) checkFirstStart(census);
    await setUpCluster({ asker: router, clock: systemClock, cluster: registry, options });
    const { identity } = registry.view;
    assert(identity !== undefined, 'the cluster has its identity once it is set up');
    if (known.identity === undefined) await state?.bind(identity.clusterId);
    for (const role of roleNames) metrics?.of(role).counter('restarts', { temporal_service_type: role }).add();
    const roles = {
      cluster: this.#cluster,
      history: this.#history,
      matching: this.#matching,
      worker: this.#worker,
      deadLetters: () => this.#deadLetters,
    };
    this.#frontend = await startFrontendRole(this.#parts, roles, { instance, identity, memory: this.#memory });
    const started = this.#summary();
    census.serving();
    this.#deadLetters = this.#openDeadLetters(identity.clusterName);
    this.#endWatch = opened.log.watch(
      (concerns) => census.concerned(concerns),
      ({ topic, partition }) => this.#partitionsOf(topic)?.journalStartMax(partition) ?? this.#deadLetters?.journalStartMax(topic) ?? 0,
    );
    return this.#running(this.#frontend, started);
  }

  async giveUp(): Promise<void> {
    this.#parts.census.stopping();
    await this.#release();
  }

  async #stop(frontend: Frontend): Promise<void> {
    this.#parts.census.stopping();
    this.#endWatch();
    this.#matching.endPolls();
    await frontend.stop(STOP_GRACE_MS);
    await this.#release();
  }

  async #release(): Promise<void> {
    this.#takenBack.stop();
    this.#endDynamicConfig();
    this.#worker.stop();
    await this.#deadLetters?.stop();
    await Promise.all([this.#cluster, this.#history, this.#matching].map(({ partitions }) => partitions.detachAll()));
    const { router, database, common } = this.#parts;
    router.close();
    await database.close();
    await common.log.close();
  }

  #made(): ProcessParts {
    const { options, opened, state, claims } = this.#setting;
    const { logger, historyShards, matchingPartitions, taskQueuePartitions } = options;
    const { log, prefix } = opened.log;
    const node = `${hostname()}:${options.port}`;
    const stateLimits = stateLimitsBeside(options.stateLimits ?? {}, this.#memory);
    const share = memoryShare(this.#memory);
    const dynamicConfig = dynamicConfigOf(options);
    const turns = new LoopTurns(systemClock);
    const budget = new CommandBudget(Math.max(COMMAND_BYTES_MIN, Math.floor(share * COMMAND_BYTES_MAX)));
    const callbackFailed = (error: unknown): void => {
      logger.error('an answer could not be handled', { error: error instanceof Error ? error : String(error) });
    };
    return {
      options,
      common: { owner: `${node} pid ${process.pid}`, log, claims, clock: systemClock, random: systemRandom, logger, budget, turns },
      prefix,
      layout: { historyShards, matchingPartitions, taskQueuePartitions },
      router: new Router(systemClock, callbackFailed, turns),
      census: this.#census(stateLimits),
      dynamicConfig,
      metrics: options.metrics === undefined ? undefined : new MetricsRegistry(options.metrics.timerBoundsMs),
      node,
      share,
      stateLimits,
      historyLimits: { ...defaultHistoryLimits, ...dynamicConfig.values(limitSettings), ...dynamicConfig.values(archivalSettings) },
      database: state?.database ?? toldOutages(openSqlite({ filename: undefined }), logger),
      checkpoints:
        opened.state === undefined || state === undefined ? undefined : checkpointsIn(state, opened.state, stateLimits, share, logger),
    };
  }

  #census(stateLimits: StateLimits): Census {
    const { options, opened, fatal } = this.#setting;
    const { prefix } = opened.log;
    // As long as the server runs: somebody set them.
    const limitsConcern = opened.state && warning('memory', whyTheyDoNotFit(stateLimits, this.#memory));
    return new Census({
      clock: systemClock,
      logger: options.logger,
      clusterTopic: clusterTopic(prefix),
      runsPutAside: () => this.#history.runsAside,
      ownConcerns: () =>
        [
          concernOf(options.heap) ?? limitsConcern,
          warning('unwritten state', this.#parts.checkpoints?.schedule.unwritten.concern),
          ...(this.#deadLetters?.concerns ?? []),
        ].filter((concern) => concern !== undefined),
      stalledMsMax: options.startMsMax / 2,
      onFatal: fatal,
      onMoved: () => options.onProgress?.(),
      takenOver: (partition, { owner: rival, epoch, offset }) =>
        new AnotherServerError(`${anotherServer(rival, prefix)} (it took ${partition} at epoch ${epoch}, offset ${offset})`),
      onTaken: (partition, rival) => this.#takenBack.lost(partition, rival),
    });
  }

  #openDeadLetters(clusterName: string): DeadLetters {
    const { options, common, dynamicConfig, layout } = this.#parts;
    const deadLetters = new DeadLetters({
      ...this.#parts,
      ...common,
      historyShards: layout.historyShards,
      clusterName,
      cluster: this.#cluster.registry,
      startsWithAsks: options.log.kind === 'embedded' && options.log.filename === undefined,
      settings: () => dynamicConfig.values(letterSettings),
      storeKind: options.log.kind,
    });
    deadLetters.open();
    return deadLetters;
  }

  #partitionsOf(topic: string): Pick<OwnedPartitions<never>, 'attach' | 'journalStartMax'> | undefined {
    const { prefix } = this.#parts;
    if (topic === historyTopic(prefix)) return this.#history.partitions;
    if (topic === matchingTopic(prefix)) return this.#matching.partitions;
    return topic === clusterTopic(prefix) ? this.#cluster.partitions : undefined;
  }

  #summary(): StartSummary {
    const { options, prefix, layout, census } = this.#parts;
    return {
      log: this.#setting.opened.log.name,
      topicPrefix: options.log.kind === 'kafka' ? prefix : '',
      historyShards: layout.historyShards,
      records: census.recordsRead,
      bytes: census.bytesRead,
    };
  }

  #running(frontend: Frontend, started: StartSummary): RunningServer {
    return {
      address: `${this.#parts.options.host}:${frontend.port}`,
      port: frontend.port,
      metricsPort: frontend.metricsPort,
      rolePorts: frontend.rolePorts,
      started,
      stop: () => (this.#stopped ??= this.#stop(frontend)),
    };
  }
}

function checkpointsIn(
  { database }: ClusterDatabase,
  { retention }: OpenState,
  { checkpointRecordsMax, unwrittenStateBytesMax }: StateLimits,
  share: number,
  logger: Logger,
): CheckpointOptions {
  const { recordsMax, recordBytesMax } = defaultCheckpointScheduleLimits;
  const bounds = { recordsMax: share * recordsMax, recordBytesMax: share * recordBytesMax, unwrittenStateBytesMax };
  const schedule = new CheckpointSchedule({ ...bounds, clock: systemClock, logger });
  return { database, schedule, limits: { recordsMax: checkpointRecordsMax }, ...retention };
}

/** Everything is served still, but for starts. */
function concernOf(heap: HeapCondition | undefined): Concern | undefined {
  if (heap?.nearlyFull === undefined) return undefined;
  const { usedMiB, limitMiB } = heap.nearlyFull;
  const message = `${usedMiB} MiB of the ${limitMiB} MiB that state may take are in use: no workflow is started until there is room`;
  return warning('memory', message);
}

function warning(subject: string, message: string | undefined): Concern | undefined {
  return message === undefined ? undefined : { subject, severity: 'warning', message };
}

const roleNames = ['frontend', 'history', 'matching', 'worker'] as const;
