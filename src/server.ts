/**
 * The composition root: the one file that knows every part.
 *
 *     log ─▶ what it holds is looked at ─▶ router ─▶ cluster actor, history shards, matching hosts claim ─▶ front (the port opens last)
 *
 * Stopping goes the other way: the port answers NOT_SERVING, polls end empty or with the task that is just being started for them, every
 * actor commits what it accepted and lets go.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import { hostname, networkInterfaces } from 'node:os';
import { isAskFailure } from './actors/asks.ts';
import { Census, type Concern } from './actors/census.ts';
import { ClusterHost } from './actors/cluster-host.ts';
import { CommandBudget } from './actors/command-budget.ts';
import { HISTORY_CACHE_BYTES_MAX } from './actors/history-store.ts';
import { HistoryShard } from './actors/history-shard.ts';
import { LogError } from './actors/log.ts';
import type { Log } from './actors/log.ts';
import { MatchingHost } from './actors/matching-host.ts';
import { ReplayTurns } from './actors/replay-turns.ts';
import { CLUSTER_ACTOR, Router } from './actors/router.ts';
import { systemClock, systemRandom } from './actors/system-ports.ts';
import type { ClusterLayout } from './actors/transfer-queue.ts';
import { indexedValueTypeName, indexedValueTypeNamed } from './cluster/search-attributes.ts';
import type { ClusterCommand } from './cluster/commands.ts';
import type { ClusterReply } from './cluster/replies.ts';
import { AnotherServerError } from './config/another-server.ts';
import type { KafkaOptions } from './config/kafka-options.ts';
import { configuredLimits } from './config/limits.ts';
import type { BrokerProbe, RunningServer, ServerOptions, StartSummary } from './config/server-options.ts';
import { startFrontend } from './grpc/frontend.ts';
import { defaultHistoryLimits } from './history/limits.ts';
import { assert } from './kernel/assert.ts';
import { historyShardOf } from './kernel/shard.ts';
import { matchingPartitionOf } from './matching/task-queue.ts';
import { inspectBeforeClaiming } from './start/before-claiming.ts';
import { anotherServer } from './start/previous-owner.ts';
import { checkFirstStart } from './start/whole-journals.ts';
import { claimsOf, listenerAddresses } from './start/server-contact.ts';
import { clusterTopic, historyTopic, matchingTopic, topicCatalogue } from './topics/catalogue.ts';
import type { TopicSpec } from './topics/catalogue.ts';
import { clusterCodec } from './topics/codec/cluster-codec.ts';
import { historyCodec } from './topics/codec/history-codec.ts';
import { historyWire } from './topics/codec/history-wire.ts';
import { matchingCodec } from './topics/codec/matching-codec.ts';

/** Clients refuse servers that are not 1.x; this is the Temporal release whose behaviour we follow. */
const SERVED_VERSION = '1.32.0';
const EMBEDDED_PREFIX = 'perdure';
const DEFAULT_RETENTION_MS = 72 * 3_600_000;
const SETUP_TIMEOUT_MS = 30_000;
const STOP_GRACE_MS = 2_000;

export async function startServer(options: ServerOptions): Promise<RunningServer> {
  const { logger } = options;
  const owner = `${hostname()}:${options.port} pid ${process.pid}`;
  const prefix = options.log.kind === 'kafka' ? options.log.kafka.topicPrefix : EMBEDDED_PREFIX;
  const layout: ClusterLayout = {
    historyShards: options.historyShards,
    matchingPartitions: options.matchingPartitions,
    taskQueuePartitions: options.taskQueuePartitions,
  };
  const topics = topicCatalogue({ prefix, historyPartitions: layout.historyShards, matchingPartitions: layout.matchingPartitions });
  const fatal = onceFatal(options);
  const instance = randomUUID();
  const machine = { name: hostname(), interfaces: networkInterfaces() };
  const claims = claimsOf({ instance, addresses: listenerAddresses(options.host, options.port, machine) });
  const { log, topics: found, watch } = await openLog(options, topics, fatal);
  const known = await inspectBeforeClaiming({ log, topics: found, prefix, claims, options }).catch(async (error: unknown) => {
    await log.close();
    throw error;
  });
  const router = new Router(systemClock, (error) => {
    logger.error('an answer could not be handled', { error: error instanceof Error ? error : String(error) });
  });
  const census = new Census({
    clock: systemClock,
    logger,
    clusterTopic: clusterTopic(prefix),
    runsPutAside: () => shards.reduce((sum, shard) => sum + shard.runsAside, 0),
    stalledMsMax: options.startMsMax / 2,
    onFatal: fatal,
    onMoved: () => options.onProgress?.(),
    takenOver: (partition, { owner: rival, epoch, offset }) =>
      new AnotherServerError(`${anotherServer(rival, prefix)} (it took ${partition} at epoch ${epoch}, offset ${offset})`),
  });
  const limits = { ...defaultHistoryLimits, ...configuredLimits(options.dynamicConfig) };
  const shared = { budget: new CommandBudget(), turns: new ReplayTurns(systemClock) };
  const common = { owner, log, claims, clock: systemClock, random: systemRandom, logger, ...shared };

  const cluster = new ClusterHost({
    ...common,
    topic: clusterTopic(prefix),
    codec: clusterCodec,
    sink: router.cluster.sink(CLUSTER_ACTOR),
    onStatus: census.register(clusterTopic(prefix), 0),
  });
  router.cluster.attach(CLUSTER_ACTOR, cluster.actor);

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
      cacheBytesMax: HISTORY_CACHE_BYTES_MAX / layout.historyShards,
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
      router,
      sink: router.matching.sink(partition),
      onStatus: census.register(matchingTopic(prefix), partition),
    });
    router.matching.attach(partition, host.actor);
    return host;
  });

  const actors = [cluster, ...shards, ...hosts].map(({ actor }) => actor);
  const release = async (): Promise<void> => {
    await Promise.all(actors.map((actor) => actor.drain()));
    router.close();
    await log.close();
  };
  try {
    for (const actor of actors) actor.start();
    await census.settled();
    if (known.identity === undefined) checkFirstStart(census);
    await setUpCluster(router, cluster, options);
    const { identity } = cluster.view;
    assert(identity !== undefined, 'the cluster has its identity once it is set up');
    const front = await startFrontend({
      host: options.host,
      port: options.port,
      instance,
      ports: {
        clock: systemClock,
        newId: randomUUID,
        random: Math.random,
        logger,
        limits,
        server: {
          version: SERVED_VERSION,
          clusterId: identity.clusterId,
          clusterName: identity.clusterName,
          historyShards: layout.historyShards,
          persistenceStore: options.log.kind,
        },
        asker: router,
        historyShardOf: (namespaceId, workflowId) => historyShardOf(namespaceId, workflowId, layout.historyShards),
        matchingPartitionOf: (queue) => matchingPartitionOf(queue, layout.matchingPartitions),
        taskQueuePartitions: layout.taskQueuePartitions,
        get cluster() {
          return cluster.view;
        },
        tokenKey: () => identity.tokenKey,
        condition: census,
      },
    });
    const endPolls = (): void => {
      for (const host of hosts) host.endPolls();
    };
    const started = summaryOf(options, prefix, census);
    census.serving();
    const endWatch = watch((concerns) => census.concerned(concerns));
    return running({ host: options.host, front, census, started, endWatch, endPolls, release });
  } catch (error) {
    census.stopping();
    await release();
    throw error;
  }
}

/** Whether the brokers let us in; changes nothing there. */
export async function tryBrokers(kafka: KafkaOptions): Promise<readonly BrokerProbe[]> {
  const { probeBrokers } = await import('./topics/kafka/probe.ts');
  return await probeBrokers(kafka);
}

type Parts = {
  readonly host: string;
  readonly front: { readonly port: number; stop(graceMs: number): Promise<void> };
  readonly census: Census;
  readonly started: StartSummary;
  readonly endWatch: () => void;
  readonly endPolls: () => void;
  readonly release: () => Promise<void>;
};

function running({ host, front, census, started, endWatch, endPolls, release }: Parts): RunningServer {
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    census.stopping();
    endWatch();
    endPolls();
    await front.stop(STOP_GRACE_MS);
    await release();
  };
  return { address: `${host}:${front.port}`, port: front.port, started, stop: () => (stopped ??= stop()) };
}

function summaryOf(options: ServerOptions, prefix: string, { recordsRead: records, bytesRead: bytes }: Census): StartSummary {
  const { log, historyShards } = options;
  if (log.kind === 'kafka') return { log: `kafka ${log.kafka.brokers.join(',')}`, topicPrefix: prefix, historyShards, records, bytes };
  return { log: log.filename ?? 'memory', topicPrefix: '', historyShards, records, bytes };
}

type OpenLog = {
  readonly log: Log;
  /** With the partitions that they have. */
  readonly topics: readonly TopicSpec[];
  /** Looks now and then whether the log is as it should be; answers what ends that. */
  readonly watch: (onLook: (concerns: readonly Concern[]) => void) => () => void;
};

async function openLog(options: ServerOptions, topics: readonly TopicSpec[], onFailure: (error: LogError) => void): Promise<OpenLog> {
  if (options.log.kind === 'kafka') {
    const { openKafkaLog } = await import('./topics/kafka/kafka-log.ts');
    const { kafka } = options.log;
    const log = await openKafkaLog({ kafka, topics, logger: options.logger });
    const { watchTopics } = await import('./topics/kafka/topic-watch.ts');
    const { logger, topicWatchIntervalMs: intervalMs } = options;
    const watch: OpenLog['watch'] = (onLook) =>
      watchTopics({ kafka, topics, logger, onLook, ...(intervalMs === undefined ? {} : { intervalMs }) });
    return { log, topics: log.topics, watch };
  }
  const { openEmbeddedLog } = await import('./topics/embedded/embedded-log.ts');
  const { filename, sqlitePragmas } = options.log;
  const log = await openEmbeddedLog({ filename, topics, pragmas: sqlitePragmas, onFailure }).catch((error: unknown) => {
    if (!(error instanceof LogError) || error.code !== 'locked') throw error;
    throw new AnotherServerError(`another server serves ${filename}, or a tool has it open: stop one of them, or name another file`, {
      cause: error,
    });
  });
  return { log, topics, watch: () => () => {} };
}

/** First things first: identity and token key, then the namespaces and search attributes that the options name. Idempotent. */
async function setUpCluster(router: Router, cluster: ClusterHost, options: ServerOptions): Promise<void> {
  const ask = (command: ClusterCommand): Promise<ClusterReply> =>
    new Promise((resolve, reject) => {
      router.askCluster(command, systemClock.monoMs() + SETUP_TIMEOUT_MS, (answer) =>
        isAskFailure(answer) ? reject(new Error(`the cluster actor could not be set up: ${answer.message}`)) : resolve(answer),
      );
    });
  const { clusterName, historyShards } = options;
  await ask({ kind: 'initializeCluster', clusterId: randomUUID(), clusterName, tokenKey: randomBytes(32), historyShards });
  for (const name of options.namespaces) {
    if (cluster.view.namespaceByName(name) !== undefined) continue;
    const reply = await ask({
      kind: 'registerNamespace',
      id: randomUUID(),
      name,
      description: '',
      ownerEmail: '',
      data: new Map(),
      retentionMs: DEFAULT_RETENTION_MS,
    });
    if (reply.kind === 'rejected') throw new Error(`namespace ${name}: ${reply.rejection.message}`);
  }
  if (options.searchAttributes.size === 0) return;
  const attributes = new Map<string, number>();
  for (const [name, typeName] of options.searchAttributes) {
    const type = indexedValueTypeNamed(typeName);
    if (type === undefined) throw new Error(`search attribute ${name}: unknown type ${typeName}`);
    const known = cluster.view.clusterSearchAttributes.get(name);
    if (known !== undefined && known !== type) {
      throw new Error(
        `search attribute ${name} exists with type ${indexedValueTypeName(known)}, asked for is ${typeName}: a type never changes; choose another name`,
      );
    }
    attributes.set(name, type);
  }
  const reply = await ask({ kind: 'addSearchAttributes', namespaceId: '', attributes });
  if (reply.kind === 'rejected') throw new Error(reply.rejection.message);
}

function onceFatal(options: ServerOptions): (error: Error) => void {
  let told = false;
  return (error) => {
    if (told) return;
    told = true;
    options.onFatal(error);
  };
}
