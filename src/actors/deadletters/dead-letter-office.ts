/**
 * Sees to it that the queues of dead letters are there and served.
 *
 *     wanted ─▶ its topic (topic-opener.ts) ─▶ its number, in the cluster's journal ─▶ its owner starts
 *
 * Whatever does not work is tried again, from its topic on.
 */
import type { KnownDeadLetterQueue } from '../../cluster/cluster-records.ts';
import type { ClusterSnapshot } from '../../cluster/cluster-state.ts';
import type { DeadLetterQueue } from '../../deadletters/letter.ts';
import type { Asker } from '../asks/router.ts';
import { isAskFailure, ownWork, refusalMessage } from '../asks/asks.ts';
import type { GrowingLog, TopicSpec } from '../../ports/log.ts';
import type { ClockAndLogger, Timer } from '../../ports/machine.ts';
import { TopicOpener, type WantedTopic } from './topic-opener.ts';
import { errorMessage } from '../../kernel/error-text.ts';
import type { Metrics } from '../../observability/metrics/metrics.ts';

export type WantedQueue = Pick<DeadLetterQueue, 'category' | 'categoryId' | 'sourceCluster' | 'targetCluster'>;

export type DeadLetterOfficeOptions = ClockAndLogger & {
  readonly log: Pick<GrowingLog, 'addTopic' | 'end' | 'exclusive'>;
  readonly cluster: { readonly view: Pick<ClusterSnapshot, 'deadLetterQueues' | 'identity'> };
  readonly asker: Pick<Asker, 'askCluster'>;
  readonly topicOf: (queue: WantedQueue) => TopicSpec;
  /** Its topic is there: its owner is made, and starts. */
  readonly serve: (queue: DeadLetterQueue, topic: TopicSpec, clusterId: string) => void;
};

const ANSWER_TIMEOUT_MS = 30_000;

export class DeadLetterOffice {
  readonly #options: DeadLetterOfficeOptions;
  readonly #opener: TopicOpener;
  #isClosed = false;

  constructor(options: DeadLetterOfficeOptions) {
    this.#options = options;
    this.#opener = new TopicOpener(options);
  }

  /** Idempotent: a queue is served once. They get their numbers in that order. */
  open(wanted: readonly WantedQueue[]): void {
    this.#opener.open(wanted.map((queue) => this.#topicOf(queue)));
  }

  get closed(): TopicOpener['closed'] {
    return this.#opener.closed;
  }

  close(): void {
    this.#isClosed = true;
    this.#opener.close();
  }

  #topicOf(queue: WantedQueue): WantedTopic {
    const topic = this.#options.topicOf(queue);
    return {
      topic,
      serve: () => this.#serve(queue, topic),
      warning: 'a dead letter queue cannot be opened: tasks that fail for good wait in their shards',
      logFields: { 'task-category': queue.category, 'xdc-source-cluster': queue.sourceCluster },
    };
  }

  async #serve(queue: WantedQueue, topic: TopicSpec): Promise<void> {
    const { log, serve, logger, cluster } = this.#options;
    const before = this.#known(queue);
    const isEmpty = (await log.end({ topic: topic.name, partition: 0 })) === 0;
    if (before === undefined && !isEmpty) {
      const foreign =
        'a dead letter queue is older than this cluster: its dead letters are kept, and can be listed, merged and purged like new ones';
      logger.warn(foreign, { topic: topic.name });
    }
    // A log of ours alone loses no topic: there it is one that no owner came to before its server ended.
    if (before !== undefined && !log.exclusive && isEmpty) {
      const lost =
        'a known dead letter queue is empty: its topic was deleted, or lost its records, and its dead letters are gone; or its first server ended before it served the queue';
      logger.error(lost, { topic: topic.name });
    }
    const known = before ?? (await this.#add(queue));
    const clusterId = cluster.view.identity?.clusterId ?? '';
    if (!this.#isClosed) serve({ ...queue, number: known.number }, topic, clusterId);
  }

  #known({ category, sourceCluster }: WantedQueue): KnownDeadLetterQueue | undefined {
    const { deadLetterQueues } = this.#options.cluster.view;
    return deadLetterQueues.find((queue) => queue.category === category && queue.sourceCluster === sourceCluster);
  }

  async #add(queue: WantedQueue): Promise<KnownDeadLetterQueue> {
    const { asker, clock } = this.#options;
    const { category, sourceCluster } = queue;
    await new Promise<void>((resolve, reject) => {
      asker.askCluster({ kind: 'addDeadLetterQueue', category, sourceCluster }, ownWork(clock.monoMs() + ANSWER_TIMEOUT_MS), (answer) => {
        if (isAskFailure(answer) || answer.kind === 'rejected') reject(new Error(refusalMessage(answer)));
        else resolve();
      });
    });
    const known = this.#known(queue);
    if (known === undefined) throw new Error('it is not in the journal of the cluster yet');
    return known;
  }
}

/**
 * What generic tools for Kafka send back to be tried again. Letters name this topic as the one that they came from, for no foreign record may
 * enter a journal; and nothing is executed because of what anybody has written into a topic. So whoever redrives with such a tool is told:
 *
 *     <prefix>.dlq-redrive ── longer than it was ──▶ perdure_dlq_redrive_ignored, WARN: merge the letters instead
 */

type RedriveIntakeOptions = ClockAndLogger & {
  readonly log: Pick<GrowingLog, 'addTopic' | 'bounds'>;
  readonly topic: TopicSpec;
  readonly metrics?: Metrics | undefined;
  readonly lookIntervalMs?: number;
};

const LOOK_INTERVAL_MS = 15_000;

export class RedriveIntake {
  readonly #options: RedriveIntakeOptions;
  readonly #opener: TopicOpener;
  #timer: Timer | undefined;
  /** Undefined: nobody has looked yet. What stood there before this process is told, and not counted again. */
  #seen: number | undefined;
  #isStopped = false;

  constructor(options: RedriveIntakeOptions) {
    this.#options = options;
    this.#opener = new TopicOpener(options);
  }

  /** Idempotent. Nobody waits for it. */
  open(): void {
    const { topic } = this.#options;
    const warning = 'the topic to which Kafka tools send dead letters back cannot be opened, so records in it are not reported';
    this.#opener.open([{ topic, serve: () => void this.#look(), warning, logFields: {} }]);
  }

  stop(): void {
    this.#isStopped = true;
    this.#opener.close();
    this.#timer?.cancel();
  }

  async #look(): Promise<void> {
    const { log, clock, logger, lookIntervalMs = LOOK_INTERVAL_MS } = this.#options;
    const topic = this.#options.topic.name;
    try {
      const { start, end } = await log.bounds({ topic, partition: 0 });
      if (this.#isStopped) return;
      this.#told(start, end);
    } catch (error) {
      // The journals on the same brokers have told of it.
      logger.debug('the redrive topic cannot be read now', { topic, reason: errorMessage(error) });
    }
    if (!this.#isStopped) this.#timer = clock.after(lookIntervalMs, () => void this.#look());
  }

  #told(start: number, end: number): void {
    const { logger, metrics } = this.#options;
    const topic = this.#options.topic.name;
    const more = end - Math.max(start, this.#seen ?? start);
    if (this.#seen !== undefined && more > 0) metrics?.counter('perdure_dlq_redrive_ignored', {}).add(more);
    // Where the topic was made anew, it begins again.
    this.#seen = end;
    if (more > 0) logger.warn(notExecuted, { topic, records: more });
  }
}

const notExecuted = 'records that Kafka tools sent back are not executed: merge the dead letters instead (perdure admin queue dlq merge)';
