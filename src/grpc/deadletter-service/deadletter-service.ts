import type { HandlerContext } from '../handler-context.ts';
import { loadedWhenCalled } from '../method.ts';
import type { Service } from '../transport/call.ts';

export const deadLetterServiceName = 'perdure.api.deadletter.v1.DeadLetterService';

const built = [
  ...['ListDeadLetterQueues', 'ListDeadLetters', 'CountDeadLetters', 'GetDeadLetter', 'GroupDeadLetters'],
  ...['PlanDeadLetters', 'ApplyPlan'],
  ...['DescribeJob', 'ListJobs', 'PauseJob', 'ResumeJob', 'CancelJob', 'UpdateJob'],
  'RestoreDeadLetters',
  'ListAuditEntries',
  'PutDeadLetters',
];

/** For operators, and for the commands `perdure admin … dlq`. No start needs it: all of it is loaded by the first call. */
export function deadLetterService(context: HandlerContext): Service {
  const load = async () => (await import('./deadletter-methods.ts')).deadLetterServiceMethods(context);
  return { name: deadLetterServiceName, methods: new Map(loadedWhenCalled(built, load)) };
}
