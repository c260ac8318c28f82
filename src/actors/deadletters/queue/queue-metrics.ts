/**
 * What is counted of one queue, and the gauges of how it is.
 *
 *     records as they are committed ─▶ letters written, tombstones, what was resolved       persistence_*, perdure_dlq_resolved
 *     every 10 s, and at a scrape ───▶ letters by state, the age of the oldest one           perdure_dlq_messages, perdure_dlq_oldest_age_seconds
 *     every 5 min ───────────────────▶ whether a queue of replication has letters            replication_dlq_non_empty
 */
import type { DeadLetterQueue } from '../../../deadletters/letter.ts';
import type { QueueCore } from '../../../deadletters/queue-core.ts';
import type { MergeOutcome } from '../../../deadletters/letter-commands.ts';
import type { DeadLetterRecord, LetterRecord, LetterRow } from '../../../deadletters/letter-records.ts';
import type { Metrics } from '../../../observability/metrics/metrics.ts';
import type { Clock } from '../../../ports/machine.ts';
import type { LetterIds } from '../../../deadletters/letter-ids.ts';

export type QueueMetricsOptions = {
  readonly metrics: Metrics;
  readonly queue: DeadLetterQueue;
  /** What the topic stands on: `kafka`, `embedded`. */
  readonly storeKind: string;
  readonly clock: Clock;
  /** As `history.ReplicationEnableDLQMetrics` says now. */
  readonly emitsReplicationMetrics: () => boolean;
};

export type Operation =
  | 'PersistenceEnqueueMessageToDLQ'
  | 'PersistenceReadMessagesFromDLQ'
  | 'PersistenceDeleteMessageFromDLQ'
  | 'PersistenceRangeDeleteMessagesFromDLQ';

type Gauged = { readonly state: QueueCore['state']; readonly rowOf: (messageId: number) => Promise<LetterRow | undefined> };

/** How often the gauges are refreshed; they may be 15 s old. */
export const GAUGES_EVERY_MS = 10_000;
const CHECKED_EVERY_MS = 300_000;

const gaugedStates = ['open', 'quarantined'] as const;

export class QueueMetrics {
  readonly #options: QueueMetricsOptions;
  readonly #replication: ReplicationMetrics;
  #checkedAtMs = -Infinity;
  #gauged: Gauged | undefined;
  #oldest: { readonly messageId: number; readonly timeMs: number } | undefined;
  /** Letters from here on are new, and not written again. */
  #nextId = 0;
  /** Tombstones of a command, whose last record is a head. */
  readonly #gone: string[] = [];

  constructor(options: QueueMetricsOptions) {
    this.#options = options;
    this.#replication = new ReplicationMetrics(options);
    options.metrics.beforeScrape(() => this.#gauge());
  }

  activated(gauged: Gauged): void {
    this.#gauged = gauged;
    this.#gone.length = 0;
    void this.refresh();
  }

  /** Whoever has the queue now tells of it. */
  deactivated(): void {
    this.#gauged = undefined;
    this.#oldest = undefined;
    const { metrics, queue } = this.#options;
    const tags = { task_category: queue.category, source_cluster: queue.sourceCluster };
    for (const state of gaugedStates) metrics.endGauge('perdure_dlq_messages', { ...tags, state });
    metrics.endGauge('perdure_dlq_oldest_age_seconds', tags);
    this.#replication.end();
  }

  committed(record: DeadLetterRecord, replayed: boolean): void {
    if ((record.kind === 'letter' || record.kind === 'damaged') && record.messageId >= this.#nextId) {
      this.#nextId = record.messageId + 1;
      if (!replayed && record.kind === 'letter') {
        this.#persisted('PersistenceEnqueueMessageToDLQ', record.letter.task.namespace, this.#sinceMs(record.timeMs));
        this.#replication.came(record);
      }
    }
    if (replayed) return;
    if (record.kind === 'resolved') {
      this.#gone.push(record.how);
      this.#options.metrics.counter('perdure_dlq_resolved', { task_category: this.#options.queue.category, how: record.how }).add();
    } else if (record.kind === 'head' && this.#gone.length > 0) {
      const operation = this.#gone.length === 1 ? 'PersistenceDeleteMessageFromDLQ' : 'PersistenceRangeDeleteMessagesFromDLQ';
      this.#gone.length = 0;
      this.#persisted(operation, '', this.#sinceMs(record.timeMs));
    }
  }

  merged(outcome: MergeOutcome, tookMs: number): void {
    if (outcome.kind === 'notBegun') return;
    const { metrics, queue } = this.#options;
    // Nothing is written of one that is unsettled, and it counts as failed everywhere.
    const name = outcome.kind === 'merged' ? outcome.how : outcome.kind === 'unsettled' ? 'failed' : outcome.kind;
    const tags = { task_category: queue.category, outcome: name };
    metrics.counter('perdure_dlq_merge_outcomes', tags).add();
    metrics.timer('perdure_dlq_merge_latency', tags).record(tookMs);
  }

  async timed<Result>(operation: Operation, work: () => Promise<Result>): Promise<Result> {
    const beganMs = this.#options.clock.monoMs();
    try {
      return await work();
    } catch (error) {
      this.failed(operation);
      throw error;
    } finally {
      this.#persisted(operation, '', this.#options.clock.monoMs() - beganMs);
    }
  }

  failed(operation: Operation): void {
    this.#options.metrics.counter('persistence_errors', this.#tagsOf(operation, '')).add();
    if (operation === 'PersistenceEnqueueMessageToDLQ') this.#replication.enqueueFailed();
  }

  /** Looks up since when the oldest letter waits. Never rejects. */
  async refresh(): Promise<void> {
    const gauged = this.#gauged;
    this.#check();
    const messageId = gauged?.state.ids.firstLetter();
    if (gauged === undefined || messageId === undefined || messageId === this.#oldest?.messageId) return;
    const row = await gauged.rowOf(messageId).catch(() => undefined);
    if (row?.messageId === messageId) this.#oldest = { messageId, timeMs: row.deadLetterTimeMs };
  }

  #check(): void {
    const nowMs = this.#options.clock.monoMs();
    if (this.#gauged === undefined || nowMs < this.#checkedAtMs + CHECKED_EVERY_MS) return;
    this.#checkedAtMs = nowMs;
    this.#replication.check(this.#gauged.state.ids);
  }

  #gauge(): void {
    const { metrics, queue, clock } = this.#options;
    if (this.#gauged === undefined) return;
    const { ids } = this.#gauged.state;
    const tags = { task_category: queue.category, source_cluster: queue.sourceCluster };
    for (const state of gaugedStates) metrics.gauge('perdure_dlq_messages', { ...tags, state }).value = ids.count(state);
    const oldestMs = ids.firstLetter() === undefined ? undefined : this.#oldest?.timeMs;
    const ageMs = oldestMs === undefined ? 0 : Math.max(0, clock.wallMs() - oldestMs);
    metrics.gauge('perdure_dlq_oldest_age_seconds', tags).value = ageMs / 1_000;
    this.#replication.gauge(ids);
  }

  #sinceMs(timeMs: number): number {
    return Math.max(0, this.#options.clock.wallMs() - timeMs);
  }

  #persisted(operation: Operation, namespace: string, durationMs: number): void {
    const { metrics } = this.#options;
    const tags = this.#tagsOf(operation, namespace);
    metrics.counter('persistence_requests', tags).add();
    metrics.timer('persistence_latency', tags).record(durationMs);
  }

  #tagsOf(operation: Operation, namespace: string) {
    return { operation, db_kind: this.#options.storeKind, namespace: namespace === '' ? '_unknown_' : namespace };
  }
}

/**
 * What Temporal's dashboards ask of queues whose letters come from another cluster: of `replication` how far it reaches and how much of it is
 * dealt with, of `namespace-replication` what came.
 *
 *     ids   0 1 2 3 4 5 6 7        max_level 7
 *           ✓ ✓ ✓ · ✓ · · ·        ack_level 2: nothing up to it is left
 */

type Ids = Pick<LetterIds, 'nextId' | 'firstLetter'>;

class ReplicationMetrics {
  readonly #options: QueueMetricsOptions;
  readonly #tags: { readonly source_cluster: string; readonly target_cluster: string };

  constructor(options: QueueMetricsOptions) {
    this.#options = options;
    const { sourceCluster, targetCluster } = options.queue;
    this.#tags = { source_cluster: sourceCluster, target_cluster: targetCluster };
  }

  gauge(ids: Ids): void {
    if (!this.#isReplication) return;
    if (!this.#options.emitsReplicationMetrics()) return this.end();
    const { metrics } = this.#options;
    metrics.gauge('replication_dlq_max_level', this.#tags).value = ids.nextId - 1;
    metrics.gauge('replication_dlq_ack_level', this.#tags).value = (ids.firstLetter() ?? ids.nextId) - 1;
  }

  /** Whoever has the queue now tells of it. */
  end(): void {
    this.#options.metrics.endGauge('replication_dlq_max_level', this.#tags);
    this.#options.metrics.endGauge('replication_dlq_ack_level', this.#tags);
  }

  check(ids: Ids): void {
    if (ids.firstLetter() !== undefined) this.#count('replication_dlq_non_empty');
  }

  enqueueFailed(): void {
    this.#count('replication_dlq_enqueue_failed');
  }

  came({ letter: { task } }: LetterRecord): void {
    if (this.#options.queue.category !== 'namespace-replication') return;
    const namespace = task.namespace === '' ? '_unknown_' : task.namespace;
    this.#options.metrics.counter('namespace_replication_dlq_enqueue_requests', { namespace, replicationTaskType: task.taskType }).add();
  }

  #count(name: 'replication_dlq_non_empty' | 'replication_dlq_enqueue_failed'): void {
    if (this.#isReplication && this.#options.emitsReplicationMetrics())
      this.#options.metrics.counter(name, { operation: 'ReplicationDLQStats' }).add();
  }

  get #isReplication(): boolean {
    return this.#options.queue.category === 'replication';
  }
}
