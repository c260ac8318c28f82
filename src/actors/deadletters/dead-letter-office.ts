/**
 * Sees to it that the queues of dead letters are there and served, beside everything else: no start waits for them, and no workflow.
 *
 *     wanted ─▶ its topic ─▶ its number, in the cluster's journal ─▶ its owner starts
 *        ▲                 │
 *        └── a pause ◀─────┘ whatever does not work; people are told now and then
 *
 * A cluster that was made before there were any gets them so, with its next start.
 */
import { backOffMs } from '../../kernel/back-off.ts';
import { errorMessage } from '../../kernel/error-text.ts';
import type { ClusterSnapshot, KnownDeadLetterQueue } from '../../cluster/cluster-state.ts';
import type { DeadLetterQueue } from '../../deadletters/letter.ts';
import type { Asker } from '../asks/router.ts';
import { isAskFailure } from '../asks/asks.ts';
import type { GrowingLog, TopicSpec } from '../log.ts';
import { NowAndThen } from '../now-and-then.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Clock, Timer } from '../ports.ts';

/** Of tasks of one kind that come from one cluster. */
export type WantedQueue = Pick<DeadLetterQueue, 'category' | 'categoryId' | 'sourceCluster' | 'targetCluster'>;

export type DeadLetterOfficeOptions = {
  readonly log: Pick<GrowingLog, 'addTopic' | 'end' | 'exclusive'>;
  /** As of now. */
  readonly cluster: { readonly view: Pick<ClusterSnapshot, 'deadLetterQueues'> };
  readonly asker: Pick<Asker, 'askCluster'>;
  readonly topicOf: (queue: WantedQueue) => TopicSpec;
  /** Its topic is there: its owner is made, and starts. */
  readonly serve: (queue: DeadLetterQueue, topic: TopicSpec) => void;
  readonly clock: Clock;
  readonly logger: Logger;
};

const ANSWER_TIMEOUT_MS = 30_000;
const RETRY_DELAY_MS = 500;
const RETRY_DELAY_MS_MAX = 60_000;
const WARN_INTERVAL_MS = 60_000;

export class DeadLetterOffice {
  readonly #options: DeadLetterOfficeOptions;
  readonly #warnings: NowAndThen;
  readonly #timers = new Set<Timer>();
  /** By their topics: two owners of one queue would take it from each other for ever. */
  readonly #opened = new Set<string>();
  /** Of those that were tried and are not served: topic and reason. */
  readonly #troubles = new Map<string, string>();
  #isClosed = false;

  constructor(options: DeadLetterOfficeOptions) {
    this.#options = options;
    this.#warnings = new NowAndThen(options.clock, WARN_INTERVAL_MS);
  }

  /** Idempotent: a queue is served once. */
  open(wanted: readonly WantedQueue[]): void {
    const missing: WantedQueue[] = [];
    for (const queue of wanted) {
      const { name } = this.#options.topicOf(queue);
      if (!this.#opened.has(name)) missing.push(queue);
      this.#opened.add(name);
    }
    void this.#openAll(missing, 0);
  }

  /** What is wanted and could not be opened so far. */
  get closed(): readonly { readonly topic: string; readonly reason: string }[] {
    return [...this.#troubles].map(([topic, reason]) => ({ topic, reason }));
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) timer.cancel();
  }

  /** One behind the other: they get their numbers in that order, and none hurries. */
  async #openAll(wanted: readonly WantedQueue[], failures: number): Promise<void> {
    const missing: WantedQueue[] = [];
    for (const queue of wanted) {
      if (this.#isClosed) return;
      try {
        await this.#open(queue);
        this.#troubles.delete(this.#options.topicOf(queue).name);
      } catch (error) {
        missing.push(queue);
        this.#troubles.set(this.#options.topicOf(queue).name, errorMessage(error));
        this.#tell(queue, error);
      }
    }
    if (missing.length === 0 || this.#isClosed) return;
    const timer = this.#options.clock.after(backOffMs(failures + 1, RETRY_DELAY_MS, RETRY_DELAY_MS_MAX), () => {
      this.#timers.delete(timer);
      void this.#openAll(missing, failures + 1);
    });
    this.#timers.add(timer);
  }

  async #open(queue: WantedQueue): Promise<void> {
    const { log, topicOf, serve, logger } = this.#options;
    const topic = topicOf(queue);
    const before = this.#known(queue);
    await log.addTopic(topic);
    // A log of ours alone loses no topic: there it is one that no owner came to before its server ended.
    if (before !== undefined && !log.exclusive && (await log.end({ topic: topic.name, partition: 0 })) === 0) {
      const lost =
        'a dead letter queue that was there is empty: its topic was deleted, or lost its records, and its letters are gone; or its first server ended before it was served';
      logger.error(lost, { topic: topic.name });
    }
    const known = before ?? (await this.#add(queue));
    if (!this.#isClosed) serve({ ...queue, number: known.number }, topic);
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

  #tell({ category, sourceCluster }: WantedQueue, error: unknown): void {
    if (this.#isClosed || !this.#warnings.now()) return;
    const what = 'a dead letter queue cannot be opened: tasks that fail for good wait where they are';
    this.#options.logger.warn(what, { 'task-category': category, 'xdc-source-cluster': sourceCluster, reason: errorMessage(error) });
  }
}
