/**
 * Sees to it that the queues of dead letters are there and served.
 *
 *     wanted ─▶ its topic (topic-opener.ts) ─▶ its number, in the cluster's journal ─▶ its owner starts
 *
 * Whatever does not work is tried again, from its topic on.
 */
import type { ClusterSnapshot, KnownDeadLetterQueue } from '../../cluster/cluster-state.ts';
import type { DeadLetterQueue } from '../../deadletters/letter.ts';
import type { QueueHome } from '../../deadletters/queue-state.ts';
import type { Asker } from '../asks/router.ts';
import { isAskFailure } from '../asks/asks.ts';
import type { GrowingLog, TopicSpec } from '../log.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock } from '../ports.ts';
import { TopicOpener, type WantedTopic } from './topic-opener.ts';

/** Of tasks of one kind that come from one cluster. */
export type WantedQueue = Pick<DeadLetterQueue, 'category' | 'categoryId' | 'sourceCluster' | 'targetCluster'>;

export type DeadLetterOfficeOptions = {
  readonly log: Pick<GrowingLog, 'addTopic' | 'end' | 'exclusive'>;
  /** As of now. */
  readonly cluster: { readonly view: Pick<ClusterSnapshot, 'deadLetterQueues' | 'unnamingQueues' | 'identity'> };
  readonly asker: Pick<Asker, 'askCluster'>;
  readonly topicOf: (queue: WantedQueue) => TopicSpec;
  /** Its topic is there: its owner is made, and starts. */
  readonly serve: (queue: DeadLetterQueue, topic: TopicSpec, home: QueueHome) => void;
  readonly clock: Clock;
  readonly logger: Logger;
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

  /** What is wanted and could not be opened so far. */
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
      warning: 'a dead letter queue cannot be opened: tasks that fail for good wait where they are',
      logFields: { 'task-category': queue.category, 'xdc-source-cluster': queue.sourceCluster },
    };
  }

  async #serve(queue: WantedQueue, topic: TopicSpec): Promise<void> {
    const { log, serve, logger, cluster } = this.#options;
    const before = this.#known(queue);
    const isEmpty = (await log.end({ topic: topic.name, partition: 0 })) === 0;
    if (before === undefined && !isEmpty) {
      const foreign =
        'a dead letter queue was there before this cluster: its letters are kept, and can be listed, merged and purged like those that come';
      logger.warn(foreign, { topic: topic.name });
    }
    // A log of ours alone loses no topic: there it is one that no owner came to before its server ended.
    if (before !== undefined && !log.exclusive && isEmpty) {
      const lost =
        'a dead letter queue that was there is empty: its topic was deleted, or lost its records, and its letters are gone; or its first server ended before it was served';
      logger.error(lost, { topic: topic.name });
    }
    const known = before ?? (await this.#add(queue));
    const { identity, unnamingQueues } = cluster.view;
    const home = { clusterId: identity?.clusterId ?? '', ownsUnnamed: unnamingQueues.has(known.number) };
    if (!this.#isClosed) serve({ ...queue, number: known.number }, topic, home);
  }

  #known({ category, sourceCluster }: WantedQueue): KnownDeadLetterQueue | undefined {
    const { deadLetterQueues } = this.#options.cluster.view;
    return deadLetterQueues.find((queue) => queue.category === category && queue.sourceCluster === sourceCluster);
  }

  /** What the cluster's journal calls it. */
  async #add(queue: WantedQueue): Promise<KnownDeadLetterQueue> {
    const { asker, clock } = this.#options;
    const { category, sourceCluster } = queue;
    await new Promise<void>((resolve, reject) => {
      asker.askCluster({ kind: 'addDeadLetterQueue', category, sourceCluster }, clock.monoMs() + ANSWER_TIMEOUT_MS, (answer) => {
        if (isAskFailure(answer)) reject(new Error(answer.message));
        else if (answer.kind === 'rejected') reject(new Error(answer.rejection.message));
        else resolve();
      });
    });
    const known = this.#known(queue);
    if (known === undefined) throw new Error('it is not in the journal of the cluster yet');
    return known;
  }
}
