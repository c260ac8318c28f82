import { unavailable } from '../errors/details.ts';
import type { Health } from '../health/health-service.ts';
import { operatorServiceName } from '../operator-service/operator-service.ts';
import type { Interceptor } from '../transport/call.ts';
import { workflowServiceName } from '../workflow-service/workflow-service.ts';

/**
 * Until the server serves, and from when it stops, clients are told to try again; health and administration stay open. Partitions that are
 * not served close nothing here: their calls are refused by name, all others go through.
 */
export function servingGate(health: Health): Interceptor {
  return {
    before: (call) => {
      if (health.admitting) return;
      if (call.service === workflowServiceName || call.service === operatorServiceName) throw unavailable('Frontend is not healthy yet');
    },
  };
}
