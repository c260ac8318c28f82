/**
 * The composition root: the one file that knows every part.
 *
 *     open log ─▶ what it and the database hold is looked at ─▶ router ─▶ cluster actor, history shards, matching hosts claim ─▶ frontend
 *                                                                                                                          (the port opens last)
 *
 * Stopping goes the other way: the port answers NOT_SERVING, polls end empty or with the task that is just being started for them, every
 * actor commits what it accepted and lets go.
 */
import { randomUUID } from 'node:crypto';
import { hostname, networkInterfaces } from 'node:os';
import { Census, type Concern } from './actors/ownership/census.ts';
import { CheckpointSchedule, defaultCheckpointScheduleLimits } from './actors/checkpoint/checkpoint-schedule.ts';
import { ClusterHost } from './actors/cluster/cluster-host.ts';
import { NamespacePurge } from './actors/cluster/namespace-purge.ts';
import { SlotPurge } from './actors/cluster/slot-purge.ts';
import { COMMAND_BYTES_MAX, CommandBudget } from './actors/partition/command-budget.ts';
import { ProcessVisibility } from './actors/history/visibility/process-visibility.ts';
import { HotState } from './actors/history/durable/hot-state.ts';
import { batchRunner } from './actors/history/side-tasks/batch-steps.ts';
import { HistoryShard } from './actors/history/history-shard.ts';
import type { CheckpointOptions } from './actors/checkpoint/partition-checkpoints.ts';
import { MatchingHost } from './actors/matching/matching-host.ts';
import { LoopTurns } from './actors/loop-turns.ts';
import { CLUSTER_ACTOR, Router } from './actors/asks/router.ts';
import { systemClock, systemRandom } from './actors/system-ports.ts';
import type { PartitionId } from './actors/log.ts';
import type { ClusterLayout } from './actors/history/transfer/transfer-shard.ts';
import { archivalSettings } from './config/archival-settings.ts';
import { AnotherServerError } from './config/another-server.ts';
import { batchSettings } from './config/batch-settings.ts';
import { adminSettings } from './config/admin-settings.ts';
import { transportSettings } from './config/transport-settings.ts';
import { namespaceDeletionSettings, namespacePurgeSettings } from './config/namespace-deletion-settings.ts';
import { encodeLetterTask } from './topics/codec/redrive-codec.ts';
import { decodeTaskOf } from './topics/codec/task-info-codec.ts';
import { letterSettings } from './config/dead-letter-settings.ts';
import { limitSettings } from './config/limits.ts';
import { namespaceLimits, namespaceLimitSettings } from './config/namespace-limit-settings.ts';
import { memoryShare, memoryThereIs, stateLimitsBeside, usableHeapBytes, whyTheyDoNotFit, type Memory } from './config/memory.ts';
import type { HeapCondition, RunningServer, ServerOptions, StartSummary, StateLimits } from './config/server-options.ts';
import { openSqlite } from './database/sqlite/open-sqlite.ts';
import { startFrontend, type Frontend } from './grpc/frontend.ts';
import { defaultTransportLimits } from './grpc/transport/limits.ts';
import { defaultHistoryLimits } from './history/limits.ts';
import { assert } from './kernel/assert.ts';
import { oneAtATime } from './kernel/one-at-a-time.ts';
import { historyShardOf } from './kernel/shard.ts';
import { uuidAt } from './kernel/uuid.ts';
import { windowLimitsOf } from './matching/limits.ts';
import { matchingPartitionOf } from './matching/task-queue.ts';
import { DeadLetters } from './start/dead-letters.ts';
import { archivalOf } from './start/archival.ts';
import { inspectBeforeClaiming } from './start/before-claiming.ts';
import { anotherServer } from './start/previous-owner.ts';
import { checkFirstStart } from './start/whole-journals.ts';
import { dynamicConfigOf, watchDynamicConfig } from './start/dynamic-config.ts';
import { claimsOf, listenerAddresses } from './start/server-contact.ts';
import { checkSetUp, setUpCluster } from './start/set-up-cluster.ts';
import { tryStart } from './start/try-start.ts';
import { callbacksOf } from './start/callbacks.ts';
import { workersOf } from './start/workers.ts';
import { TakenBack } from './start/taken-back.ts';
import { taskCapture } from './start/task-capture.ts';
import { toldOutages } from './start/told-outages.ts';
import { listenForScrapes, type ScrapeListener } from './start/scrape-listener.ts';
import { MetricsRegistry } from './observability/metrics/metrics.ts';
import type { Logger } from './observability/logger.ts';
import type { ClusterDatabase } from './start/cluster-database.ts';
import type { OpenLog } from './start/open-log.ts';
import type { OpenState } from './start/open-state.ts';
import { clusterTopic, deadLetterTopic, historyTopic, matchingTopic } from './topics/catalogue.ts';
import { clusterCodec } from './topics/codec/cluster-codec.ts';
import { historyCodec } from './topics/codec/history-codec.ts';
import { historyWire } from './topics/codec/history-wire.ts';
import { stateCodecBesideHistory } from './topics/codec/state-codec.ts';
import { matchingCodec } from './topics/codec/matching-codec.ts';
import { matchingStateCodec } from './topics/codec/matching-state-codec.ts';

export { checkSetUp, tryStart };

/** Clients refuse servers that are not 1.x; this is the Temporal release whose behaviour we follow. */
const SERVED_VERSION = '1.32.0';
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
  const { logger } = options;
  const owner = `${hostname()}:${options.port} pid ${process.pid}`;
  const layout: ClusterLayout = {
    historyShards: options.historyShards,
    matchingPartitions: options.matchingPartitions,
    taskQueuePartitions: options.taskQueuePartitions,
  };
  const memory = memoryThereIs();
  const stateLimits = stateLimitsBeside(options.stateLimits ?? {}, memory);
  const limitsConcern = opened.state === undefined ? undefined : concernOfLimits(stateLimits, memory);
  const instance = randomUUID();
  const machine = { name: hostname(), interfaces: networkInterfaces() };
  const claims = claimsOf({ instance, addresses: listenerAddresses(options.host, options.port, machine) });
  const { log, name, prefix, watch } = opened.log;
  const { known, state } = await inspectBeforeClaiming({ ...opened, claims, options }).catch(async (error: unknown) => {
    await opened.state?.database.close();
    await log.close();
    throw error;
  });
  const turns = new LoopTurns(systemClock);
  const callbackFailed = (error: unknown): void => {
    logger.error('an answer could not be handled', { error: error instanceof Error ? error : String(error) });
  };
  const router = new Router(systemClock, callbackFailed, turns);
  const census = new Census({
    clock: systemClock,
    logger,
    clusterTopic: clusterTopic(prefix),
    runsPutAside: () => shards.reduce((sum, shard) => sum + shard.runsAside, 0),
    ownConcerns: () => [
      ...[concernOf(options.heap) ?? limitsConcern, concernOfUnwritten(checkpoints?.schedule)].filter(isSaid),
      ...(deadLetters?.concerns ?? []),
    ],
    stalledMsMax: options.startMsMax / 2,
    onFatal: fatal,
    onMoved: () => options.onProgress?.(),
    takenOver: (partition, { owner: rival, epoch, offset }) =>
      new AnotherServerError(`${anotherServer(rival, prefix)} (it took ${partition} at epoch ${epoch}, offset ${offset})`),
    onTaken: (partition, rival) => takenBack.lost(partition, rival),
  });
  const dynamicConfig = dynamicConfigOf(options);
  const limits = { ...defaultHistoryLimits, ...dynamicConfig.values(limitSettings), ...dynamicConfig.values(archivalSettings) };
  const share = memoryShare(memory);
  const commandBytesMax = Math.max(COMMAND_BYTES_MIN, Math.floor(share * COMMAND_BYTES_MAX));
  const shared = { budget: new CommandBudget(commandBytesMax), turns };
  const common = { owner, log, claims, clock: systemClock, random: systemRandom, logger, ...shared };

  let frontend: Frontend | undefined;
  const cluster = new ClusterHost(
    {
      ...common,
      topic: clusterTopic(prefix),
      codec: clusterCodec,
      sink: router.cluster.sink(CLUSTER_ACTOR),
      onStatus: census.register(clusterTopic(prefix), 0),
    },
    () => {
      slotPurge.look();
      namespacePurge.look();
      frontend?.endWaitsOfDeleted();
    },
  );
  router.cluster.attach(CLUSTER_ACTOR, cluster.actor);

  // Rows of List stand beside state; where there is none, in memory: that thread begins when there is something to write, or somebody lists.
  const database = state?.database ?? toldOutages(openSqlite({ filename: undefined }), logger);
  const visibility = new ProcessVisibility({ database, clock: systemClock, logger });
  const slotPurge = new SlotPurge({
    cluster,
    clear: (left) => visibility.clearSlots(left, layout.historyShards),
    asker: router,
    clock: systemClock,
    logger,
  });
  const checkpoints =
    opened.state === undefined || state === undefined ? undefined : checkpointsIn(state, opened.state, stateLimits, share, logger);
  const { historyCacheBytesMax, hotStateBytesMax, unwrittenStateBytesMax } = stateLimits;
  const ofState = checkpoints === undefined ? {} : { hotStateBytesMax, unwrittenStateBytesMax };
  const memoryReport = { stateBytes: usableHeapBytes(memory), limits: { ...ofState, historyCacheBytesMax } };
  const hotState = new HotState(systemClock, hotStateBytesMax);
  const backgroundReads = oneAtATime();
  const metrics = options.metrics === undefined ? undefined : new MetricsRegistry(options.metrics.timerBoundsMs);
  const node = `${hostname()}:${options.port}`;
  const callbacks = callbacksOf(dynamicConfig, metrics?.of('history'));
  const capture = taskCapture({ cluster, dynamicConfig, prefix, node, metrics, devFaults: options.devFaults ?? [] });
  const archival = archivalOf({ options: options.archival, cluster, router, historyShards: layout.historyShards, capture });
  const batchSteps = batchRunner({
    router,
    historyShards: layout.historyShards,
    operations: () => frontend?.batchOperations(),
    clock: systemClock,
  });
  const shards = Array.from({ length: layout.historyShards }, (_, index) => {
    const shard = index + 1;
    const host = new HistoryShard({
      ...common,
      shard,
      topic: historyTopic(prefix),
      codec: historyCodec,
      wire: historyWire,
      limits,
      registry: cluster,
      visibility,
      capture,
      isArchiving: archival.isArchiving,
      sideRunners: { ...archival.runners, batchStep: batchSteps },
      callbacks: callbacks.ofShards,
      ...(checkpoints === undefined
        ? {}
        : { checkpoints: { ...checkpoints, stateWire: stateCodecBesideHistory, hotState, backgroundReads } }),
      ...(options.heap === undefined ? {} : { heap: options.heap }),
      cacheBytesMax: historyCacheBytesMax / layout.historyShards,
      layout,
      router,
      sink: router.history.sink(shard),
      onStatus: census.register(historyTopic(prefix), index),
    });
    router.history.attach(shard, host);
    return host;
  });

  const hosts = Array.from({ length: layout.matchingPartitions }, (_, partition) => {
    const host = new MatchingHost({
      ...common,
      partition,
      topic: matchingTopic(prefix),
      codec: matchingCodec,
      matchingPartitions: layout.matchingPartitions,
      taskQueuePartitions: layout.taskQueuePartitions,
      limits: windowLimitsOf(share),
      ...(checkpoints === undefined ? {} : { checkpoints: { ...checkpoints, stateWire: matchingStateCodec } }),
      router,
      sink: router.matching.sink(partition),
      onStatus: census.register(matchingTopic(prefix), partition),
    });
    router.matching.attach(partition, host.actor);
    return host;
  });

  const namespacePurge = new NamespacePurge({
    cluster,
    shards: shards.map((host, index) => ({ shard: index + 1, runsOf: (isWanted) => host.runsOf(isWanted) })),
    hosts: hosts.map((host, partition) => ({ partition, queuesOf: (isWanted) => host.queuesOf(isWanted) })),
    hostOf: (queue) => matchingPartitionOf(queue, layout.matchingPartitions),
    settings: () => dynamicConfig.values(namespacePurgeSettings),
    asker: router,
    newId: randomUUID,
    clock: systemClock,
    logger,
  });
  const others = [...shards, ...hosts].map(({ actor }) => actor);
  const actors = [cluster.actor, ...others];
  const actorOf = ({ topic, partition }: PartitionId): { start(): void } | undefined =>
    (topic === historyTopic(prefix) ? shards : hosts)[partition]?.actor;
  const takenBack = new TakenBack({ asker: router, clock: systemClock, logger, start: (partition) => actorOf(partition)?.start() });
  const endDynamicConfig = watchDynamicConfig(options, dynamicConfig, metrics);
  let scraped: ScrapeListener | undefined;
  let deadLetters: DeadLetters | undefined;
  const release = async (): Promise<void> => {
    takenBack.stop();
    endDynamicConfig();
    await scraped?.stop();
    slotPurge.close();
    namespacePurge.close();
    await deadLetters?.stop();
    await Promise.all(actors.map((actor) => actor.drain()));
    router.close();
    await database.close();
    await log.close();
  };
  try {
    cluster.actor.start();
    // Whoever holds the cluster's partition decides between two starts, so nothing else is claimed, nor restored, before it is held.
    if (!log.exclusive) await census.clusterHeld();
    for (const actor of others) actor.start();
    await census.settled();
    if (known.identity === undefined) checkFirstStart(census);
    await setUpCluster({ asker: router, clock: systemClock, cluster, options });
    const { identity } = cluster.view;
    assert(identity !== undefined, 'the cluster has its identity once it is set up');
    if (known.identity === undefined) await state?.bind(identity.clusterId);
    scraped = await listenForScrapes(options, metrics);
    if (metrics !== undefined) countRestart(metrics);
    frontend = await startFrontend({
      host: options.host,
      port: options.port,
      instance,
      limits: { ...defaultTransportLimits, ...dynamicConfig.values(transportSettings) },
      ports: {
        clock: systemClock,
        turns,
        newId: randomUUID,
        newRunId: () => uuidAt(systemClock.wallMs(), randomUUID()),
        random: Math.random,
        logger,
        ...(metrics === undefined ? {} : { metrics: metrics.of('frontend') }),
        limits,
        server: {
          version: SERVED_VERSION,
          clusterId: identity.clusterId,
          clusterName: identity.clusterName,
          historyShards: layout.historyShards,
          hostName: node,
          persistenceStore: options.log.kind,
          visibilityStore: options.log.kind === 'kafka' && state !== undefined ? 'postgres' : 'sqlite',
        },
        asker: router,
        jobs: router,
        audit: router,
        visibility,
        ...(archival.port === undefined ? {} : { archival: archival.port }),
        historyShardOf: (namespaceId, workflowId) => historyShardOf(namespaceId, workflowId, layout.historyShards),
        matchingPartitionOf: (queue) => matchingPartitionOf(queue, layout.matchingPartitions),
        taskQueuePartitions: layout.taskQueuePartitions,
        get cluster() {
          return cluster.view;
        },
        deadLetterTopic: (category, sourceCluster) => deadLetterTopic(prefix, category, sourceCluster),
        whyNoQueue: (category, sourceCluster) => deadLetters?.whyNoQueue(category, sourceCluster),
        batchSettings: (namespace) => dynamicConfig.values(batchSettings, { namespace }),
        deletionSettings: () => dynamicConfig.values(namespaceDeletionSettings),
        adminSettings: () => dynamicConfig.values(adminSettings),
        taskToAdd: (category, info) => {
          const task = decodeTaskOf(category, info);
          return { key: task.key, task: encodeLetterTask(task) };
        },
        openDeadLetterQueue: (queue) => deadLetters?.openForeign(queue) ?? false,
        letterSettings: () => dynamicConfig.values(letterSettings),
        callbacks: callbacks.ofFrontend,
        workers: workersOf(dynamicConfig, share),
        limitsOfNamespace: (namespace) => namespaceLimits(dynamicConfig.values(namespaceLimitSettings, { namespace })),
        tokenKey: () => identity.tokenKey,
        condition: census,
        rebuildList: () => Promise.all(shards.map((shard) => shard.rebuildList())),
        state: () => ({
          memory: memoryReport,
          shards: shards.map((shard) => shard.report()),
          matching: hosts.map((host) => host.report()),
          purges: namespacePurge.report(),
        }),
      },
    });
    const endPolls = (): void => {
      for (const host of hosts) host.endPolls();
    };
    const started: StartSummary = {
      log: name,
      topicPrefix: options.log.kind === 'kafka' ? prefix : '',
      historyShards: layout.historyShards,
      records: census.recordsRead,
      bytes: census.bytesRead,
    };
    census.serving();
    deadLetters = new DeadLetters({
      ...common,
      historyShards: layout.historyShards,
      node,
      log,
      prefix,
      clusterName: identity.clusterName,
      cluster,
      router,
      database,
      checkpoints,
      startsWithAsks: options.log.kind === 'embedded' && options.log.filename === undefined,
      settings: () => dynamicConfig.values(letterSettings),
      metrics,
      storeKind: options.log.kind,
    });
    deadLetters.open();
    const endWatch = watch(
      (concerns) => census.concerned(concerns),
      ({ topic, partition }) => {
        if (topic === historyTopic(prefix)) return shards[partition]?.journalStartMax ?? 0;
        if (topic === matchingTopic(prefix)) return hosts[partition]?.journalStartMax ?? 0;
        if (topic === clusterTopic(prefix)) return cluster.journalStartMax;
        return deadLetters?.journalStartMax(topic) ?? 0;
      },
    );
    return running({ host: options.host, metricsPort: scraped?.port, frontend, census, started, endWatch, endPolls, release });
  } catch (error) {
    census.stopping();
    await release();
    throw error;
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
  const schedule = new CheckpointSchedule({
    recordsMax: share * recordsMax,
    recordBytesMax: share * recordBytesMax,
    unwrittenStateBytesMax,
    clock: systemClock,
    logger,
  });
  return { database, schedule, limits: { recordsMax: checkpointRecordsMax }, ...retention };
}

/** Everything is served still, but for starts. */
function concernOf(heap: HeapCondition | undefined): Concern | undefined {
  if (heap?.nearlyFull === undefined) return undefined;
  const { usedMiB, limitMiB } = heap.nearlyFull;
  const message = `${usedMiB} MiB of the ${limitMiB} MiB that state may take are in use: no workflow is started until there is room`;
  return { subject: 'memory', severity: 'warning', message };
}

function concernOfUnwritten(schedule: CheckpointSchedule | undefined): Concern | undefined {
  const message = schedule?.unwritten.concern;
  return message === undefined ? undefined : { subject: 'unwritten state', severity: 'warning', message };
}

const roles = ['frontend', 'history', 'matching', 'worker'] as const;

/** One process runs all roles. */
function countRestart(metrics: MetricsRegistry): void {
  for (const role of roles) metrics.of(role).counter('restarts', { temporal_service_type: role }).add();
}

function isSaid(concern: Concern | undefined): concern is Concern {
  return concern !== undefined;
}

/** As long as the server runs: somebody set them. */
function concernOfLimits(limits: StateLimits, memory: Memory): Concern | undefined {
  const message = whyTheyDoNotFit(limits, memory);
  return message === undefined ? undefined : { subject: 'memory', severity: 'warning', message };
}

type Parts = {
  readonly host: string;
  readonly metricsPort: number | undefined;
  readonly frontend: Frontend;
  readonly census: Census;
  readonly started: StartSummary;
  readonly endWatch: () => void;
  readonly endPolls: () => void;
  readonly release: () => Promise<void>;
};

function running({ host, metricsPort, frontend, census, started, endWatch, endPolls, release }: Parts): RunningServer {
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    census.stopping();
    endWatch();
    endPolls();
    await frontend.stop(STOP_GRACE_MS);
    await release();
  };
  const ports = { port: frontend.port, ...(metricsPort === undefined ? {} : { metricsPort }) };
  return { address: `${host}:${frontend.port}`, ...ports, started, stop: () => (stopped ??= stop()) };
}
