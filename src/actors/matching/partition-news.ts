/**
 * Tells other partitions of queues what operators have said at the root, until they have confirmed it. A few asks at a time: a takeover tells all
 * that the host knows of, and a partition whose host is away waits behind the others.
 */
import { backOffMs } from '../../kernel/back-off.ts';
import { Fifo } from '../../kernel/fifo.ts';
import type { ConfigurePartition } from '../../matching/commands.ts';
import { matchingPartitionOf, taskQueuePartitionKey } from '../../matching/task-queue.ts';
import { isAskFailure } from '../asks/asks.ts';
import type { Asker } from '../asks/router.ts';
import type { Tenure } from '../partition/tenure.ts';
import type { Clock } from '../ports.ts';

export type PartitionNewsOptions = {
  readonly router: Asker;
  readonly clock: Clock;
  readonly tenure: Pick<Tenure<never>, 'active' | 'after'>;
  readonly matchingPartitions: number;
};

const TELL_TIMEOUT_MS = 10_000;
const TELL_RETRY_MS = 250;
const TELL_RETRY_MS_MAX = 30_000;
const UNDER_WAY_MAX = 16;

type News = { readonly key: string; readonly command: ConfigurePartition; attempt: number };

export class PartitionNews {
  readonly #options: PartitionNewsOptions;
  /** The latest of each partition that has not confirmed. */
  readonly #latest = new Map<string, News>();
  readonly #waiting = new Fifo<News>();
  #underWay = 0;

  constructor(options: PartitionNewsOptions) {
    this.#options = options;
  }

  tell(command: ConfigurePartition): void {
    const news: News = { key: taskQueuePartitionKey(command.queue), command, attempt: 0 };
    this.#latest.set(news.key, news);
    this.#enqueue(news);
  }

  forget(namespaceId: string): void {
    for (const [key, { command }] of this.#latest) if (command.queue.namespaceId === namespaceId) this.#latest.delete(key);
  }

  #enqueue(news: News): void {
    this.#waiting.push(news);
    this.#goOn();
  }

  #goOn(): void {
    while (this.#waiting.length > 0 && this.#underWay < UNDER_WAY_MAX && this.#options.tenure.active) {
      const news = this.#waiting.shift();
      if (this.#latest.get(news.key) === news) this.#ask(news);
    }
  }

  #ask(news: News): void {
    const { router, clock, matchingPartitions } = this.#options;
    this.#underWay++;
    const host = matchingPartitionOf(news.command.queue, matchingPartitions);
    router.askMatching(host, news.command, clock.monoMs() + TELL_TIMEOUT_MS, (answer) => {
      this.#underWay--;
      if (isAskFailure(answer) || answer.kind === 'rejected') this.#again(news);
      else if (this.#latest.get(news.key) === news) this.#latest.delete(news.key);
      this.#goOn();
    });
  }

  #again(news: News): void {
    const { tenure } = this.#options;
    if (!tenure.active || this.#latest.get(news.key) !== news) return;
    tenure.after(backOffMs(++news.attempt, TELL_RETRY_MS, TELL_RETRY_MS_MAX), () => this.#enqueue(news));
  }
}
