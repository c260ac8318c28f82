/** The audit of dead letters in this server: its topic is added once it serves, then its actor takes it over. Nothing waits for it but changes of letters. */
import { AUDIT_ACTOR, type Router } from '../actors/asks/router.ts';
import { AuditHost, type AuditHostOptions } from '../actors/deadletters/audit-host.ts';
import { TopicOpener } from '../actors/deadletters/topic-opener.ts';
import type { GrowingLog } from '../actors/log.ts';
import type { Concern } from '../actors/ownership/census.ts';
import type { PartitionStatus } from '../actors/ownership/partition-owner.ts';
import { auditTopic } from '../topics/catalogue.ts';
import { auditCodec } from '../topics/codec/audit-codec.ts';

type OfEveryActor = Pick<AuditHostOptions, 'owner' | 'claims' | 'clock' | 'random' | 'logger' | 'budget' | 'turns'>;

export type DeadLetterAuditOptions = OfEveryActor & {
  readonly log: GrowingLog;
  readonly prefix: string;
  readonly router: Router;
};

export class DeadLetterAudit {
  readonly #options: DeadLetterAuditOptions;
  readonly #topic: string;
  readonly #opener: TopicOpener;
  #host: AuditHost | undefined;
  #status: PartitionStatus | undefined;

  constructor(options: DeadLetterAuditOptions) {
    this.#options = options;
    this.#topic = auditTopic(options.prefix);
    this.#opener = new TopicOpener(options);
  }

  /** Idempotent. */
  open(): void {
    const topic = { name: this.#topic, partitions: 1, purpose: 'audit of dead letters: who did what to which, when and why' };
    const warning = 'what happens to dead letters is not audited yet: the topic cannot be opened';
    this.#opener.open([{ topic, serve: () => this.#serve(), warning, logFields: {} }]);
  }

  /** For health. */
  get concerns(): readonly Concern[] {
    const { state, reason = '' } = this.#status ?? {};
    const isDown = state === 'failed' || state === 'unassigned';
    const why = isDown ? `it is ${state} (${reason})` : this.#opener.closed.at(0)?.reason;
    if (why === undefined) return [];
    const message = `what happens to dead letters is not audited, and changes of them are refused until it is; all else goes on: ${why}`;
    return [{ subject: this.#topic, severity: 'warning', message }];
  }

  async stop(): Promise<void> {
    this.#opener.close();
    await this.#host?.actor.drain();
  }

  #serve(): void {
    const { router } = this.#options;
    this.#host = new AuditHost({
      ...this.#options,
      topic: this.#topic,
      codec: auditCodec,
      sink: router.audit.sink(AUDIT_ACTOR),
      onStatus: (status) => (this.#status = status),
    });
    router.audit.attach(AUDIT_ACTOR, this.#host.actor);
    this.#host.actor.start();
  }
}
