/**
 * The owner of a topic that the server can work without. Nothing waits for it:
 *
 *     serving ─▶ its topic (topic-opener.ts) ─▶ its actor takes it over ─▶ lost, failed ─▶ started again later (owner-revival.ts)
 */
import { TopicOpener } from '../actors/deadletters/topic-opener.ts';
import type { GrowingLog, TopicSpec } from '../ports/log.ts';
import type { Concern } from '../actors/ownership/census.ts';
import type { PartitionStatus } from '../actors/ownership/partition-owner.ts';
import type { Clock } from '../ports/machine.ts';
import type { Logger } from '../observability/logger.ts';
import { OwnerRevival, type RevivalTiming } from './owner-revival.ts';

type Host = { readonly actor: { start(): void; drain(): Promise<void> }; readonly journalStartMax: number };

export type LateOwnerOptions<Owner extends Host> = {
  readonly log: GrowingLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly topic: TopicSpec;
  /** The message that is logged from time to time while its topic cannot be opened. */
  readonly unopened: string;
  /** What it means that the topic is not served, for health; the reason is appended. */
  readonly unserved: string;
  /** Called once its topic exists. */
  readonly make: (onStatus: (status: PartitionStatus) => void) => Owner;
  readonly revival?: Partial<RevivalTiming> | undefined;
};

export class LateOwner<Owner extends Host> {
  readonly #options: LateOwnerOptions<Owner>;
  readonly #opener: TopicOpener;
  readonly #revival: OwnerRevival;
  #host: Owner | undefined;
  #status: PartitionStatus | undefined;

  constructor(options: LateOwnerOptions<Owner>) {
    this.#options = options;
    this.#opener = new TopicOpener(options);
    const start = (): void => this.#host?.actor.start();
    this.#revival = new OwnerRevival({ clock: options.clock, start, timing: options.revival ?? {} });
  }

  /** Opens the topic and starts the owner. Idempotent. */
  open(): void {
    const { topic, unopened } = this.#options;
    this.#opener.open([{ topic, serve: () => this.#serve(), warning: unopened, logFields: {} }]);
  }

  /** Undefined while its topic does not exist yet. */
  get host(): Owner | undefined {
    return this.#host;
  }

  get concerns(): readonly Concern[] {
    const { state, reason = '' } = this.#status ?? {};
    const isDown = state === 'failed' || state === 'unassigned';
    const why = isDown ? `it is ${state} (${reason})` : this.#opener.closed.at(0)?.reason;
    if (why === undefined) return [];
    const { topic, unserved } = this.#options;
    return [{ subject: topic.name, severity: 'warning', message: `${unserved}: ${why}` }];
  }

  journalStartMax(topic: string): number | undefined {
    return topic === this.#options.topic.name ? (this.#host?.journalStartMax ?? Infinity) : undefined;
  }

  async stop(): Promise<void> {
    this.#opener.close();
    this.#revival.stop();
    await this.#host?.actor.drain();
  }

  #serve(): void {
    this.#host = this.#options.make((status) => {
      this.#status = status;
      this.#revival.told(status);
    });
    this.#host.actor.start();
  }
}
