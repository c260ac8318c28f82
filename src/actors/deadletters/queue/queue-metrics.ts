/**
 * What is counted of one queue, and the gauges of how it is.
 *
 *     records as they are committed ─▶ letters written, tombstones, what was resolved       persistence_*, perdure_dlq_resolved
 *     every 10 s, and at a scrape ───▶ letters by state, the age of the oldest one           perdure_dlq_letters, perdure_dlq_oldest_age_seconds
 *     every 5 min ───────────────────▶ whether a queue of replication has letters            replication_dlq_non_empty
 */
import type { DeadLetterQueue } from '../../../deadletters/letter.ts';
import type { LetterRow } from '../../../deadletters/letter-row.ts';
import type { QueueCore } from '../../../deadletters/queue-core.ts';
import type { MergeOutcome } from '../../../deadletters/commands.ts';
import type { DeadLetterRecord } from '../../../deadletters/records.ts';
import type { Metrics } from '../../../observability/metrics/metrics.ts';
import type { Clock } from '../../ports.ts';
import { ReplicationMetrics } from './replication-metrics.ts';

export type QueueMetricsOptions = {
  readonly metrics: Metrics;
  readonly queue: DeadLetterQueue;
  /** What the topic stands on: `kafka`, `embedded`. */
  readonly storeKind: string;
  readonly clock: Clock;
  /** As of now; `history.ReplicationEnableDLQMetrics`. */
  readonly emitsReplicationMetrics: () => boolean;
};

export type Operation =
  | 'PersistenceEnqueueMessageToDLQ'
  | 'PersistenceReadMessagesFromDLQ'
  | 'PersistenceDeleteMessageFromDLQ'
  | 'PersistenceRangeDeleteMessagesFromDLQ';

/** One memory's part of it. */
type Gauged = {
  readonly state: QueueCore['state'];
  /** undefined: it is not known now. */
  readonly rowOf: (messageId: number) => Promise<LetterRow | undefined>;
};

/** Of the gauges; they may be 15 s old. */
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
    this.#replication = new ReplicationMetrics({ ...options, isEmitting: options.emitsReplicationMetrics });
    options.metrics.beforeScrape(() => this.#gauge());
  }

  /** From now on this memory is the queue's. */
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
    for (const state of gaugedStates) metrics.endGauge('perdure_dlq_letters', { ...tags, state });
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

  /** What came of a letter that was tried again. */
  merged(outcome: MergeOutcome, tookMs: number): void {
    if (outcome.kind === 'notBegun') return;
    const { metrics, queue } = this.#options;
    // Nothing is written of one that is unsettled, and it counts as failed everywhere.
    const name = outcome.kind === 'merged' ? outcome.how : outcome.kind === 'unsettled' ? 'failed' : outcome.kind;
    const tags = { task_category: queue.category, outcome: name };
    metrics.counter('perdure_dlq_merge_outcomes', tags).add();
    metrics.timer('perdure_dlq_merge_latency', tags).record(tookMs);
  }

  /** Counts what is done, how long it takes, and whether it fails. */
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

  /** Since when the oldest waits. Never rejects. */
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
    for (const state of gaugedStates) metrics.gauge('perdure_dlq_letters', { ...tags, state }).value = ids.count(state);
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
