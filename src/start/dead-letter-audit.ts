/** The audit of dead letters in this server. Only changes of dead letters wait for it. */
import { AUDIT_ACTOR, type Router } from '../actors/asks/router.ts';
import { AuditHost, type AuditHostOptions } from '../actors/deadletters/audit/audit-host.ts';
import type { GrowingLog } from '../ports/log.ts';
import { auditTopic } from '../topics/catalogue.ts';
import { auditCodec } from '../codec/audit-codec.ts';
import { LateOwner } from './late-owner.ts';
import type { RevivalTiming } from './owner-revival.ts';

/** Jobs and queues need as much. */
export type DeadLetterAuditOptions = Pick<AuditHostOptions, 'owner' | 'claims' | 'clock' | 'random' | 'logger' | 'budget' | 'turns'> & {
  readonly log: GrowingLog;
  readonly prefix: string;
  readonly router: Router;
  readonly revival?: Partial<RevivalTiming>;
};

export function deadLetterAudit(options: DeadLetterAuditOptions): LateOwner<AuditHost> {
  const { prefix, router } = options;
  const topic = auditTopic(prefix);
  return new LateOwner({
    ...options,
    topic,
    unopened: 'changes of dead letters are not audited yet: the topic cannot be opened',
    unserved: 'changes of dead letters cannot be audited, and are refused until they can; everything else continues',
    make: (onStatus) => {
      const host = new AuditHost({ ...options, topic: topic.name, codec: auditCodec, sink: router.audit.sink(AUDIT_ACTOR), onStatus });
      router.audit.attach(AUDIT_ACTOR, host.actor);
      return host;
    },
  });
}
