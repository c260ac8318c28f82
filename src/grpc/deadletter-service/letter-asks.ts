/** Asks about dead letters, and who asks for a change, as the audit tells of him. A rejection is thrown as a StatusError. */
import type { Caller } from '../../deadletters/audit/audit-entry.ts';
import type { DeadLetterRejection, DeadLetterReplyTo, DeadLetterRequest } from '../../deadletters/letter-commands.ts';
import type { AuditRejection, AuditReplyTo, AuditRequest } from '../../deadletters/audit/audit-requests.ts';
import type { JobsRejection, JobsReplyTo, JobsRequest } from '../../deadletters/jobs/job.ts';
import type { codecs } from '../../wire/generated/api/deadletter/service.ts';
import { canceled, unavailable } from '../errors/details.ts';
import { deadLetterRejection, jobsRejection, settle } from '../errors/rejections.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { HandlersOf } from '../method.ts';
import type { Call } from '../transport/call.ts';

export type DeadLetterHandlers = HandlersOf<typeof codecs>;

export function askLetters<Request extends DeadLetterRequest>(context: HandlerContext, call: Call, queue: number, request: Request) {
  const { asker } = context.ports;
  const open = openAsksOf(call);
  return new Promise<DeadLetterReplyTo[Request['kind']]>((resolve, reject) => {
    const askId = asker.askDeadLetters(queue, request, context.askContext(call), (answer) => {
      open.delete(askId);
      settle<DeadLetterReplyTo[Request['kind']], DeadLetterRejection>(answer, deadLetterRejection, resolve, reject);
    });
    open.set(askId, () => {
      asker.cancel(askId);
      reject(canceled());
    });
    call.onCancel(() => {
      for (const end of openAsksOf(call).values()) end();
    });
  });
}

/** Several queues may be asked at once, and a call has one listener. */
const openAsks = new WeakMap<Call, Map<number, () => void>>();

function openAsksOf(call: Call): Map<number, () => void> {
  const open = openAsks.get(call) ?? new Map<number, () => void>();
  openAsks.set(call, open);
  return open;
}

export function askJobs<Request extends JobsRequest>(context: HandlerContext, call: Call, request: Request) {
  const { jobs } = context.ports;
  if (jobs === undefined) throw unavailable('dead letter jobs do not run here');
  return new Promise<JobsReplyTo[Request['kind']]>((resolve, reject) => {
    jobs.askJobs(request, context.askContext(call), (answer) =>
      settle<JobsReplyTo[Request['kind']], JobsRejection>(answer, jobsRejection, resolve, reject),
    );
  });
}

export function askAudit<Request extends AuditRequest>(context: HandlerContext, call: Call, request: Request) {
  const { audit } = context.ports;
  if (audit === undefined) throw unavailable('changes of dead letters are not audited here');
  const refused = ({ message }: AuditRejection) => invalidArgument(message);
  return new Promise<AuditReplyTo[Request['kind']]>((resolve, reject) => {
    audit.askAudit(request, context.askContext(call), (answer) =>
      settle<AuditReplyTo[Request['kind']], AuditRejection>(answer, refused, resolve, reject),
    );
  });
}

/** What a client says of itself is cut to so many characters: headers may be long. */
const TEXT_CHARS_MAX = 200;

export type Who = { readonly actor: string; readonly caller: Caller };

export function whoCalls(call: Call): Who {
  const [clientName, version] = [call.header('client-name'), call.header('client-version')];
  const client = [clientName, version].filter((part) => part !== '').join(' ') || call.header('user-agent');
  const requestId = call.header('x-request-id').slice(0, TEXT_CHARS_MAX);
  const { name: actor, authType } = call.principal ?? { name: 'anonymous', authType: '' };
  return { actor, caller: { authType, peer: call.peer, client: client.slice(0, TEXT_CHARS_MAX), requestId } };
}
