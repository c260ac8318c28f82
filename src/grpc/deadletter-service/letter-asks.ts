/** Asking the owners of queues, and the actor of jobs. A rejection is thrown as a StatusError. Whoever goes away while letters are read ends that. */
import { isAskFailure } from '../../actors/asks/asks.ts';
import type { DeadLetterRequest } from '../../deadletters/commands.ts';
import type { DeadLetterRejected, DeadLetterReplyTo } from '../../deadletters/replies.ts';
import type { AuditRejected, AuditReplyTo, AuditRequest } from '../../deadletters/audit/audit-requests.ts';
import type { JobsRejected, JobsReplyTo, JobsRequest } from '../../deadletters/jobs/commands.ts';
import { canceled, unavailable } from '../errors/details.ts';
import { invalidArgument } from '../errors/status-error.ts';
import { askFailure, deadLetterRejection, jobsRejection } from '../errors/rejections.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';

export function askLetters<Request extends DeadLetterRequest>(
  context: HandlerContext,
  call: Call,
  queue: number,
  request: Request,
): Promise<DeadLetterReplyTo[Request['kind']]> {
  const { asker } = context.ports;
  const open = openAsksOf(call);
  return new Promise((resolve, reject) => {
    const askId = asker.askDeadLetters(queue, request, context.askDeadlineMs(call), (answer) => {
      open.delete(askId);
      if (isLetterRejected(answer)) reject(deadLetterRejection(answer.rejection));
      else if (isAskFailure(answer)) reject(askFailure(answer));
      else resolve(answer);
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
  const known = openAsks.get(call);
  if (known !== undefined) return known;
  const open = new Map<number, () => void>();
  openAsks.set(call, open);
  return open;
}

export function askJobs<Request extends JobsRequest>(
  context: HandlerContext,
  call: Call,
  request: Request,
): Promise<JobsReplyTo[Request['kind']]> {
  const { jobs } = context.ports;
  if (jobs === undefined) throw unavailable('jobs over dead letters are not carried out here');
  return new Promise((resolve, reject) => {
    jobs.askJobs(request, context.askDeadlineMs(call), (answer) => {
      if (isJobsRejected(answer)) reject(jobsRejection(answer.rejection));
      else if (isAskFailure(answer)) reject(askFailure(answer));
      else resolve(answer);
    });
  });
}

export function askAudit<Request extends AuditRequest>(
  context: HandlerContext,
  call: Call,
  request: Request,
): Promise<AuditReplyTo[Request['kind']]> {
  const { audit } = context.ports;
  if (audit === undefined) throw unavailable('what happens to dead letters is not audited here');
  return new Promise((resolve, reject) => {
    audit.askAudit(request, context.askDeadlineMs(call), (answer) => {
      if (isAuditRejected(answer)) reject(invalidArgument(answer.rejection.message));
      else if (isAskFailure(answer)) reject(askFailure(answer));
      else resolve(answer);
    });
  });
}

function isLetterRejected(answer: { readonly kind: string }): answer is DeadLetterRejected {
  return answer.kind === 'rejected';
}

function isJobsRejected(answer: { readonly kind: string }): answer is JobsRejected {
  return answer.kind === 'rejected';
}

function isAuditRejected(answer: { readonly kind: string }): answer is AuditRejected {
  return answer.kind === 'rejected';
}
