/**
 * The dead letter queues of this server: opened once it serves, drained before its log is closed.
 *
 *     serving ─▶ office: topic, number ─▶ QueueHost ─▶ router.deadLetters, under its number
 *
 * Nothing waits for them, and nothing fails with them: tasks that fail for good wait in their shards, and health says so. A queue that was
 * lost or has failed is started again after a pause (owner-revival.ts).
 */
import type { ClusterHost } from '../actors/cluster/cluster-host.ts';
import type { KnownDeadLetterQueue } from '../cluster/cluster-records.ts';
import type { ClusterSnapshot } from '../cluster/cluster-state.ts';
import { CheckpointSchedule } from '../projections/checkpoints/checkpoint-schedule.ts';
import type { CheckpointOptions } from '../projections/checkpoints/partition-checkpoints.ts';
import type { Database } from '../projections/database-port.ts';
import { DeadLetterOffice, RedriveIntake, type WantedQueue } from '../actors/deadletters/dead-letter-office.ts';
import { QueueHost, type QueueHostOptions } from '../actors/deadletters/queue/queue-host.ts';
import { QueueMetrics } from '../actors/deadletters/queue/queue-metrics.ts';
import type { Metrics } from '../observability/metrics/metrics.ts';
import type { TopicSpec } from '../ports/log.ts';
import type { Concern } from '../actors/ownership/census.ts';
import type { PartitionStatus } from '../actors/ownership/partition-owner.ts';
import type { DeadLetterAuditOptions } from './dead-letter-audit.ts';
import { StartedByAsk } from './started-by-ask.ts';
import { OwnerRevival } from './owner-revival.ts';
import { deadLetterTopicSpec, redriveTopic } from '../topics/catalogue.ts';
import { deadLetterCodec } from '../codec/dead-letter-codec.ts';
import { encodeLetterTask } from '../codec/letter-task-codec.ts';
import { decodeTaskInfo } from '../codec/task-info-codec.ts';
import { perdureBuild } from '../config/version.ts';
import { deadLetterStateCodec } from '../codec/dead-letter-state-codec.ts';

export type DeadLetterQueuesOptions = DeadLetterAuditOptions & {
  readonly historyShards: number;
  readonly node: string;
  readonly clusterName: string;
  readonly cluster: Pick<ClusterHost, 'view'>;
  /** The database of their indexes: the server's, or one in memory. */
  readonly database: Database;
  readonly settings: () => {
    readonly emitsMetrics: boolean;
    readonly emitsReplicationMetrics: boolean;
    readonly maxGeneration: number;
    readonly compactionMaxCarry: number;
    readonly undoWindowMs: number;
  };
  /** Absent if no metrics are served. `storeKind` says what topics are stored in. */
  readonly metrics?: Metrics | undefined;
  readonly storeKind: string;
  /** Checkpoints in the server's database; absent if it has none. */
  readonly checkpoints: Pick<CheckpointOptions, 'schedule' | 'limits'> | undefined;
  /** If the log is in memory its queues are empty, so an owner, and the thread of its index, starts only with the first ask. */
  readonly startsWithAsks?: boolean;
};

export function ownQueues(clusterName: string): readonly WantedQueue[] {
  const own = { sourceCluster: clusterName, targetCluster: clusterName };
  return [
    { category: 'transfer', categoryId: 1, ...own },
    { category: 'timer', categoryId: 2, ...own },
    { category: 'visibility', categoryId: 4, ...own },
    { category: 'archival', categoryId: 5, ...own },
    { category: 'outbound', categoryId: 7, ...own },
  ];
}

export function foreignQueues(
  clusterName: string,
  { deadLetterQueues }: Pick<ClusterSnapshot, 'deadLetterQueues'>,
): readonly WantedQueue[] {
  return deadLetterQueues.filter(({ sourceCluster }) => sourceCluster !== clusterName).map((queue) => foreignQueue(clusterName, queue));
}

export type QueueName = Pick<KnownDeadLetterQueue, 'category' | 'sourceCluster'>;

function foreignQueue(targetCluster: string, { category, sourceCluster }: QueueName): WantedQueue {
  return { category, categoryId: category === 'replication' ? 3 : undefined, sourceCluster, targetCluster };
}

/** A queue that is not served for this long is reported; a takeover is shorter. */
const TOLD_AFTER_MS = 5_000;

/** Dashboards expect these categories, even without such queues. */
const toldCategories = ['transfer', 'timer', 'visibility', 'archival'];

type Served = {
  readonly host: QueueHost;
  readonly topic: string;
  readonly category: string;
  readonly sourceCluster: string;
  readonly number: number;
  readonly revival: OwnerRevival;
  readonly hasStarted: () => boolean;
  status: PartitionStatus | undefined;
  servedMs: number;
};

export class DeadLetterQueues {
  readonly #options: DeadLetterQueuesOptions;
  readonly #checkpoints: QueueHostOptions['checkpoints'];
  readonly #office: DeadLetterOffice;
  readonly #served: Served[] = [];
  readonly #execution: QueueHostOptions['execution'];
  /** Absent if only this server can write the log. */
  readonly #intake: RedriveIntake | undefined;

  constructor(options: DeadLetterQueuesOptions) {
    const { log, prefix, cluster, router, database, checkpoints, clock, logger } = options;
    this.#options = options;
    const { schedule = new CheckpointSchedule({ clock, logger }), limits = {} } = checkpoints ?? {};
    this.#execution = {
      registry: cluster,
      router,
      historyShards: options.historyShards,
      tasks: { decode: decodeTaskInfo, encode: encodeLetterTask },
      maxGeneration: () => options.settings().maxGeneration,
      node: options.node,
      build: perdureBuild(),
    };
    this.#checkpoints = { database, schedule, limits, stateWire: deadLetterStateCodec };
    this.#office = new DeadLetterOffice({
      log,
      cluster,
      asker: router,
      topicOf: ({ category, sourceCluster }) => deadLetterTopicSpec(prefix, category, sourceCluster),
      serve: (...given) => this.#serve(...given),
      clock,
      logger,
    });
    this.#intake = log.exclusive ? undefined : new RedriveIntake({ ...options, topic: redriveTopic(prefix) });
    options.metrics?.beforeScrape(() => this.#tellCounts());
  }

  /** Opens queues as soon as possible. Idempotent. */
  open(wanted: readonly WantedQueue[]): void {
    this.#office.open(wanted);
    this.#intake?.open();
  }

  /** Opens the queue of another cluster's tasks, for its first dead letter. Returns false while it is not served yet. */
  openForeign(queue: QueueName): boolean {
    const isServed = this.#served.some(
      ({ category, sourceCluster }) => category === queue.category && sourceCluster === queue.sourceCluster,
    );
    if (!isServed) this.open([foreignQueue(this.#options.clusterName, queue)]);
    return isServed;
  }

  get concerns(): readonly Concern[] {
    const nowMs = this.#options.clock.monoMs();
    const closed = this.#office.closed.map(({ topic, reason }) => concernOf(topic, `it cannot be opened: ${reason}`));
    const unserved = this.#served.filter(({ status, servedMs, hasStarted }) => {
      if (!hasStarted()) return false;
      return isDown(status) || (status?.state !== 'active' && nowMs - servedMs >= TOLD_AFTER_MS);
    });
    return [
      ...closed,
      ...unserved.map(({ topic, status, number }) => {
        const concern = concernOf(topic, whyUnserved(status));
        return status?.state === 'failed' && this.#hasDatabase ? { ...concern, repair: forgetIndex(number) } : concern;
      }),
    ];
  }

  /** Without a database the rows are in memory, and each start rebuilds them. */
  get #hasDatabase(): boolean {
    return this.#options.checkpoints !== undefined;
  }

  /** Why a wanted queue could not be opened so far; undefined if nothing went wrong. */
  whyNotOpen(topic: string): string | undefined {
    return this.concerns.find(({ subject }) => subject === topic)?.message;
  }

  /** The highest offset at which the journal of a queue may begin; undefined for other topics. */
  journalStartMax(topic: string): number | undefined {
    // Records of that topic are only counted.
    if (topic === redriveTopic(this.#options.prefix).name) return Infinity;
    return this.#served.find((served) => served.topic === topic)?.host.journalStartMax;
  }

  async stop(): Promise<void> {
    this.#office.close();
    this.#intake?.stop();
    for (const { revival } of this.#served) revival.stop();
    await Promise.all(this.#served.filter(({ hasStarted }) => hasStarted()).map(({ host }) => host.actor.drain()));
  }

  /** For a category that is not served now, the last value stays. */
  #tellCounts(): void {
    const { metrics, settings } = this.#options;
    if (metrics === undefined || !settings().emitsMetrics) return;
    for (const category of new Set([...toldCategories, ...this.#served.map((served) => served.category)])) {
      const ofCategory = this.#served.filter((served) => served.category === category);
      const counts = ofCategory.map(({ host, hasStarted }) => (hasStarted() ? host.letters : 0));
      if (counts.includes(undefined)) continue;
      metrics.gauge('dlq_message_count', { task_category: category }).value = counts.reduce<number>(
        (sum, letters) => sum + (letters ?? 0),
        0,
      );
    }
  }

  #serve(queue: QueueHostOptions['queue'], { name: topic }: TopicSpec, clusterId: string): void {
    const { metrics, ...given } = this.#options;
    const { prefix, router, clock, storeKind, settings } = given;
    const emitsReplicationMetrics = (): boolean => settings().emitsReplicationMetrics;
    const revival = new OwnerRevival({ clock, start: () => host.actor.start(), timing: given.revival ?? {} });
    const host = new QueueHost({
      ...given,
      ...(metrics === undefined ? {} : { metrics: new QueueMetrics({ metrics, queue, storeKind, clock, emitsReplicationMetrics }) }),
      carryAtOnceMax: () => settings().compactionMaxCarry,
      undoWindowMs: () => settings().undoWindowMs,
      queue,
      clusterId,
      topic,
      codec: deadLetterCodec(queue, prefix),
      sink: router.deadLetters.sink(queue.number),
      checkpoints: this.#checkpoints,
      execution: this.#execution,
      audit: router,
      onStatus: (status) => {
        if (status.state === 'active' || served.status?.state === 'active') served.servedMs = clock.monoMs();
        served.status = status;
        firstAsk?.told(status);
        revival.told(status);
      },
    });
    const start = (): void => {
      served.servedMs = clock.monoMs();
      host.actor.start();
    };
    const sink = router.deadLetters.sink(queue.number);
    const firstAsk = given.startsWithAsks === true ? new StartedByAsk({ endpoint: host, sink, start }) : undefined;
    const hasStarted = (): boolean => firstAsk?.hasStarted ?? true;
    const served: Served = {
      host,
      topic,
      category: queue.category,
      sourceCluster: queue.sourceCluster,
      number: queue.number,
      revival,
      hasStarted,
      status: undefined,
      servedMs: clock.monoMs(),
    };
    this.#served.push(served);
    router.deadLetters.attach(queue.number, firstAsk ?? host);
    if (firstAsk === undefined) start();
  }
}

/** The statements that delete the index of a queue, which is then rebuilt from its topic; docs/operations/dead-letters.md says when. */
function forgetIndex(number: number): string {
  return `DELETE FROM dead_letters WHERE partition = ${number}; DELETE FROM journals WHERE kind = 'deadLetters' AND partition = ${number};`;
}

function isDown(status: PartitionStatus | undefined): boolean {
  return status?.state === 'failed' || status?.state === 'unassigned';
}

function whyUnserved(status: PartitionStatus | undefined): string {
  return status === undefined ? 'it has not started' : `it is ${status.state}${status.reason === '' ? '' : ` (${status.reason})`}`;
}

function concernOf(topic: string, why: string): Concern {
  // The repair comes last, so that people can copy it.
  const message = `the dead letters of ${topic} are not served; tasks that fail for good wait in their shards, everything else continues: ${why}`;
  return { subject: topic, severity: 'warning', message };
}
