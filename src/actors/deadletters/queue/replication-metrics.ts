/**
 * What Temporal's dashboards ask of queues whose letters come from another cluster: of `replication` how far it reaches and how much of it is
 * dealt with, of `namespace-replication` what came.
 *
 *     ids   0 1 2 3 4 5 6 7        max_level 7
 *           ✓ ✓ ✓ · ✓ · · ·        ack_level 2: nothing up to it is left
 */
import type { DeadLetterQueue } from '../../../deadletters/letter.ts';
import type { LetterIds } from '../../../deadletters/letter-ids.ts';
import type { LetterRecord } from '../../../deadletters/records.ts';
import type { Metrics } from '../../../observability/metrics/metrics.ts';

export type ReplicationMetricsOptions = {
  readonly metrics: Metrics;
  readonly queue: Pick<DeadLetterQueue, 'category' | 'sourceCluster' | 'targetCluster'>;
  /** As of now; `history.ReplicationEnableDLQMetrics`. */
  readonly isEmitting: () => boolean;
};

type Ids = Pick<LetterIds, 'nextId' | 'firstLetter'>;

export class ReplicationMetrics {
  readonly #options: ReplicationMetricsOptions;
  readonly #tags: { readonly source_cluster: string; readonly target_cluster: string };

  constructor(options: ReplicationMetricsOptions) {
    this.#options = options;
    const { sourceCluster, targetCluster } = options.queue;
    this.#tags = { source_cluster: sourceCluster, target_cluster: targetCluster };
  }

  gauge(ids: Ids): void {
    if (!this.#isReplication) return;
    if (!this.#options.isEmitting()) return this.end();
    const { metrics } = this.#options;
    metrics.gauge('replication_dlq_max_level', this.#tags).value = ids.nextId - 1;
    metrics.gauge('replication_dlq_ack_level', this.#tags).value = (ids.firstLetter() ?? ids.nextId) - 1;
  }

  /** Whoever has the queue now tells of it. */
  end(): void {
    this.#options.metrics.endGauge('replication_dlq_max_level', this.#tags);
    this.#options.metrics.endGauge('replication_dlq_ack_level', this.#tags);
  }

  /** Now and then. */
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
    if (this.#isReplication && this.#options.isEmitting()) this.#options.metrics.counter(name, { operation: 'ReplicationDLQStats' }).add();
  }

  get #isReplication(): boolean {
    return this.#options.queue.category === 'replication';
  }
}
