import { faultText } from '../../config/dev-faults.ts';
import type { ServerSettings } from '../../config/settings.ts';
import { versionLine } from '../version.ts';

/**
 * Printed once, when everything answers. A line stands here only for what is really served: programs that wait for `Metrics:` or
 * `UI:` should not find it and then nobody behind it.
 *
 *     Perdure 0.1.0 (Temporal API 1.63, Node 24.21)
 *
 *     Server:               localhost:7233
 *     Persistence:          in-memory, gone when the server stops; --db-filename FILE keeps it
 *     Metrics:              http://localhost:54321/metrics
 *
 *     Try it:               npm run hello
 *     With Temporal's CLI:  temporal workflow show --workflow-id ID
 *     Web UI:               http://localhost:8233          a moment later, once Temporal's web UI is seen there
 */
export function banner(
  settings: Pick<ServerSettings, 'host' | 'log' | 'metrics' | 'devFaults'>,
  port: number,
  metricsPort?: number,
): string {
  const address = reachable(settings.host, port);
  const elsewhere = address !== 'localhost:7233';
  const lines = [
    ['Server:', hostPort(settings.host, port)],
    ['Persistence:', persistence(settings.log)],
    ...(metricsPort === undefined
      ? []
      : [['Metrics:', `http://${reachable(settings.host, metricsPort)}${settings.metrics?.path ?? ''}`] as const]),
    ...(settings.devFaults ?? []).map((fault) => ['FAULTS INJECTED:', faultText(fault)] as const),
    ['', ''],
    ['Try it:', `${elsewhere ? `TEMPORAL_ADDRESS=${address} ` : ''}npm run hello`],
    ["With Temporal's CLI:", `temporal workflow show${elsewhere ? ` --address ${address}` : ''} --workflow-id ID`],
  ] as const;
  return `${versionLine()}\n\n${lines.map(([label, value]) => (label === '' ? '\n' : line(label, value))).join('')}`;
}

/** Behind the banner: Temporal's web UI listens there. */
export function webUiLine(port: number): string {
  return line('Web UI:', `http://localhost:${port}`);
}

function line(label: string, value: string): string {
  return `${label.padEnd(21)} ${value}\n`;
}

/** Where a client on this machine finds the server: an address that stands for all cannot be dialled everywhere. */
function reachable(host: string, port: number): string {
  return hostPort(host === '0.0.0.0' || host === '::' ? 'localhost' : host, port);
}

/** `localhost:7233`; a loopback address by its name, another IPv6 address in brackets. */
export function hostPort(host: string, port: number): string {
  if (host === 'localhost' || host === '127.0.0.1' || host === '::1') return `localhost:${port}`;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function persistence(log: ServerSettings['log']): string {
  if (log.kind === 'kafka') return `kafka ${log.kafka.brokers.join(',')}`;
  if (log.filename === undefined) return 'in-memory, gone when the server stops; --db-filename FILE keeps it';
  // As `src/start/open-state.ts` calls it.
  return `${log.filename} and ${log.filename}-state`;
}
