import type { HandlerContext } from '../handler-context.ts';
import { loadedWhenCalled, service } from '../method.ts';
import { deadLetterRpcs } from '../rpcs/dead-letter-rpcs.ts';
import type { Service } from '../transport/call.ts';

/** For operators, and for the commands `perdure admin … dlq`. No start needs it: all of it is loaded by the first call. */
export function deadLetterService(context: HandlerContext): Service {
  const load = async () => (await import('./deadletter-methods.ts')).deadLetterServiceMethods(context);
  return service(deadLetterRpcs, loadedWhenCalled(deadLetterRpcs, 'deadletters', load));
}
