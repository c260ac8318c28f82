/** Asking the owners of queues, and the actor of jobs. A rejection is thrown as a StatusError. */
import { isAskFailure } from '../../actors/asks/asks.ts';
import type { DeadLetterRejected } from '../../deadletters/replies.ts';
import type { JobsRejected, JobsReplyTo, JobsRequest } from '../../deadletters/jobs/commands.ts';
import { unavailable } from '../errors/details.ts';
import { askFailure, deadLetterRejection, jobsRejection } from '../errors/rejections.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { LetterAsker, LetterQuestion, LetterReplyTo } from '../ports.ts';
import type { Call } from '../transport/call.ts';

export function askLetters<Request extends LetterQuestion>(
  context: HandlerContext,
  call: Call,
  queue: number,
  request: Request,
): Promise<LetterReplyTo[Request['kind']]> {
  return new Promise((resolve, reject) => {
    letterAsker(context).askDeadLetters(queue, request, context.askDeadlineMs(call), (answer) => {
      if (isLetterRejected(answer)) reject(deadLetterRejection(answer.rejection));
      else if (isAskFailure(answer)) reject(askFailure(answer));
      else resolve(answer);
    });
  });
}

export function askJobs<Request extends JobsRequest>(
  context: HandlerContext,
  call: Call,
  request: Request,
): Promise<JobsReplyTo[Request['kind']]> {
  return new Promise((resolve, reject) => {
    letterAsker(context).askJobs(request, context.askDeadlineMs(call), (answer) => {
      if (isJobsRejected(answer)) reject(jobsRejection(answer.rejection));
      else if (isAskFailure(answer)) reject(askFailure(answer));
      else resolve(answer);
    });
  });
}

function letterAsker({ ports }: HandlerContext): LetterAsker {
  if (ports.letters === undefined) throw unavailable('dead letters are not served here');
  return ports.letters;
}

function isLetterRejected(answer: { readonly kind: string }): answer is DeadLetterRejected {
  return answer.kind === 'rejected';
}

function isJobsRejected(answer: { readonly kind: string }): answer is JobsRejected {
  return answer.kind === 'rejected';
}
