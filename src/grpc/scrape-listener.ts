import type { MetricsOptions } from '../config/metrics-options.ts';
import { exposition, expositionType } from '../observability/metrics/exposition.ts';
import type { MetricsRegistry } from '../observability/metrics/metrics.ts';
import type { Listener } from './transport/listener.ts';
import { page } from './transport/plain-http.ts';
import { defaultTransportLimits } from './transport/transport-limits.ts';

/** Scrapes are few: more connections than these are somebody's mistake. */
const connectionsMax = 100;
const scrapeMsMax = 30_000;

export function scrapeListener({ host, port, path, naming }: MetricsOptions, registry: MetricsRegistry): Listener {
  const scraped = async () => ({ status: 200, type: expositionType, body: await exposition(registry, naming) });
  return {
    role: 'metrics',
    host,
    port,
    services: [],
    pages: [page('GET /metrics', scraped, path)],
    limits: {
      ...defaultTransportLimits,
      undecidedConnectionsMax: connectionsMax,
      plainConnectionsMax: connectionsMax,
      plainRequestTimeoutMs: scrapeMsMax,
    },
  };
}
