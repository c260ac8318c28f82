import type { HandlerContext } from '../handler-context.ts';
import { loadedWhenCalled, service } from '../method.ts';
import { adminRpcs } from '../rpcs/admin-rpcs.ts';
import type { Service } from '../transport/call.ts';
import type { Host } from './admin-context.ts';

/** For operators, and for Temporal's `tdbg`. Its messages are megabytes of code that no worker needs: all of it is loaded by the first call. */
export function adminService(context: HandlerContext, host: () => Host): Service {
  const load = async () => (await import('./admin-methods.ts')).adminMethods(context, host);
  return service(adminRpcs, loadedWhenCalled(adminRpcs, 'admin', load));
}
