/** The audit of dead letters in this server. Nothing waits for it but changes of letters. */
import { AUDIT_ACTOR, type Router } from '../actors/asks/router.ts';
import { AuditHost, type AuditHostOptions } from '../actors/deadletters/audit/audit-host.ts';
import type { GrowingLog } from '../actors/log.ts';
import type { Concern } from '../actors/ownership/census.ts';
import type { PartitionStatus } from '../actors/ownership/partition-owner.ts';
import { auditTopic } from '../topics/catalogue.ts';
import { auditCodec } from '../topics/codec/audit-codec.ts';
import { LateOwner } from './late-owner.ts';
import type { RevivalTiming } from './owner-revival.ts';

type OfEveryActor = Pick<AuditHostOptions, 'owner' | 'claims' | 'clock' | 'random' | 'logger' | 'budget' | 'turns'>;

export type DeadLetterAuditOptions = OfEveryActor & {
  readonly log: GrowingLog;
  readonly prefix: string;
  readonly router: Router;
  readonly revival?: Partial<RevivalTiming>;
};

export class DeadLetterAudit {
  readonly #options: DeadLetterAuditOptions;
  readonly #topic: string;
  readonly #owner: LateOwner<AuditHost>;

  constructor(options: DeadLetterAuditOptions) {
    this.#options = options;
    const topic = auditTopic(options.prefix);
    this.#topic = topic.name;
    this.#owner = new LateOwner({
      ...options,
      topic,
      unopened: 'what happens to dead letters is not audited yet: the topic cannot be opened',
      unserved: 'what happens to dead letters is not audited, and changes of them are refused until it is; all else goes on',
      make: (onStatus) => this.#make(onStatus),
    });
  }

  /** Idempotent. */
  open(): void {
    this.#owner.open();
  }

  /** For health. */
  get concerns(): readonly Concern[] {
    return this.#owner.concerns;
  }

  /** Where its journal may begin; undefined: it is another topic. */
  journalStartMax(topic: string): number | undefined {
    return topic === this.#topic ? (this.#owner.host?.journalStartMax ?? Infinity) : undefined;
  }

  async stop(): Promise<void> {
    await this.#owner.stop();
  }

  #make(onStatus: (status: PartitionStatus) => void): AuditHost {
    const { router } = this.#options;
    const sink = router.audit.sink(AUDIT_ACTOR);
    const host = new AuditHost({ ...this.#options, topic: this.#topic, codec: auditCodec, sink, onStatus });
    router.audit.attach(AUDIT_ACTOR, host.actor);
    return host;
  }
}
