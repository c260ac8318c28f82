/**
 * Sees to it that topics of dead letters are there and served, beside everything else: no start waits for them, and no workflow.
 *
 *     wanted ─▶ its topic is there ─▶ serve: its owner starts
 *        ▲                 │
 *        └── a pause ◀─────┘ whatever does not work; people are told now and then
 *
 * A cluster that was made before there were any gets them so, with its next start.
 */
import { backOffMs } from '../../kernel/back-off.ts';
import { errorMessage } from '../../kernel/error-text.ts';
import type { LogFields } from '../../observability/logger.ts';
import type { GrowingLog, TopicSpec } from '../../ports/log.ts';
import { NowAndThen } from '../../ports/now-and-then.ts';
import type { ClockAndLogger, Timer } from '../../ports/machine.ts';

export type WantedTopic = {
  readonly topic: TopicSpec;
  /** If it rejects, all of it is tried again. */
  readonly serve: () => void | Promise<void>;
  /** The log line, written now and then, that says that the topic is not open, and what that means. */
  readonly warning: string;
  readonly logFields: LogFields;
};

export type TopicOpenerOptions = ClockAndLogger & { readonly log: Pick<GrowingLog, 'addTopic'> };

const RETRY_DELAY_MS = 500;
const RETRY_DELAY_MS_MAX = 60_000;
const WARN_INTERVAL_MS = 60_000;

export class TopicOpener {
  readonly #options: TopicOpenerOptions;
  readonly #warnings: NowAndThen;
  readonly #timers = new Set<Timer>();
  /** The names of all wanted topics: two owners of one topic would take it from each other for ever. */
  readonly #wanted = new Set<string>();
  readonly #troubles = new Map<string, string>();
  #isClosed = false;

  constructor(options: TopicOpenerOptions) {
    this.#options = options;
    this.#warnings = new NowAndThen(options.clock, WARN_INTERVAL_MS);
  }

  /** Idempotent: a topic is served once. */
  open(wanted: readonly WantedTopic[]): void {
    const missing = wanted.filter(({ topic }) => !this.#wanted.has(topic.name));
    for (const { topic } of missing) this.#wanted.add(topic.name);
    void this.#openAll(missing, 0);
  }

  get closed(): readonly { readonly topic: string; readonly reason: string }[] {
    return [...this.#troubles].map(([topic, reason]) => ({ topic, reason }));
  }

  /** Nothing new is served from now on. What is served already stays so. */
  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) timer.cancel();
  }

  /** One behind the other, in that order, and none hurries. */
  async #openAll(wanted: readonly WantedTopic[], failures: number): Promise<void> {
    const missing: WantedTopic[] = [];
    for (const each of wanted) {
      if (this.#isClosed) return;
      try {
        await this.#open(each);
        this.#troubles.delete(each.topic.name);
      } catch (error) {
        missing.push(each);
        this.#failed(each, errorMessage(error));
      }
    }
    if (missing.length === 0 || this.#isClosed) return;
    const timer = this.#options.clock.after(backOffMs(failures + 1, RETRY_DELAY_MS, RETRY_DELAY_MS_MAX), () => {
      this.#timers.delete(timer);
      void this.#openAll(missing, failures + 1);
    });
    this.#timers.add(timer);
  }

  async #open({ topic, serve }: WantedTopic): Promise<void> {
    await this.#options.log.addTopic(topic);
    if (!this.#isClosed) await serve();
  }

  #failed({ topic, warning, logFields }: WantedTopic, reason: string): void {
    this.#troubles.set(topic.name, reason);
    if (this.#isClosed || !this.#warnings.now()) return;
    this.#options.logger.warn(warning, { ...logFields, topic: topic.name, reason });
  }
}
