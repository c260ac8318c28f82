/**
 * The owner of one topic that the server can do without. Nothing waits for it:
 *
 *     serving ─▶ its topic (topic-opener.ts) ─▶ its actor takes it over ─▶ lost, failed ─▶ once more, later (owner-revival.ts)
 */
import { TopicOpener } from '../actors/deadletters/topic-opener.ts';
import type { GrowingLog, TopicSpec } from '../actors/log.ts';
import type { Concern } from '../actors/ownership/census.ts';
import type { PartitionStatus } from '../actors/ownership/partition-owner.ts';
import type { Clock } from '../actors/ports.ts';
import type { Logger } from '../observability/logger.ts';
import { OwnerRevival, type RevivalTiming } from './owner-revival.ts';

type Host = { readonly actor: { start(): void; drain(): Promise<void> } };

export type LateOwnerOptions<Owner extends Host> = {
  readonly log: GrowingLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly topic: TopicSpec;
  /** Told now and then while its topic cannot be opened. */
  readonly unopened: string;
  /** What it means that it is not served, for health: the reason goes behind. */
  readonly unserved: string;
  /** Once its topic is there. */
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

  /** Idempotent. */
  open(): void {
    const { topic, unopened } = this.#options;
    this.#opener.open([{ topic, serve: () => this.#serve(), warning: unopened, logFields: {} }]);
  }

  /** Undefined: its topic is not there yet. */
  get host(): Owner | undefined {
    return this.#host;
  }

  /** For health. */
  get concerns(): readonly Concern[] {
    const { state, reason = '' } = this.#status ?? {};
    const isDown = state === 'failed' || state === 'unassigned';
    const why = isDown ? `it is ${state} (${reason})` : this.#opener.closed.at(0)?.reason;
    if (why === undefined) return [];
    const { topic, unserved } = this.#options;
    return [{ subject: topic.name, severity: 'warning', message: `${unserved}: ${why}` }];
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
