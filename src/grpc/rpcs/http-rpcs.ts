/** What is asked over HTTP/1, each with a row as RPCs have. Metrics count none of it: probes and scrapes are no calls of clients. */
import { rpcService } from './rpc.ts';

const open = { scope: 'none', access: 'none' } as const;

export const httpRpcs = rpcService(
  'HTTP',
  {
    'GET /health': open,
    'GET /health/live': open,
    'GET /health/state': { scope: 'cluster', access: 'read' },
    'POST /visibility/rebuild': { scope: 'cluster', access: 'admin' },
    'GET /metrics': { scope: 'none', access: 'read' },
  },
  { isCounted: false },
);
