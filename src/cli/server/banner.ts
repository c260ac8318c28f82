import { existsSync } from 'node:fs';
import { faultText } from '../../config/dev-faults.ts';
import type { RunningServer } from '../../config/server-options.ts';
import type { ServerSettings } from '../../config/settings.ts';
import { home } from '../../kernel/home.ts';
import { versionLine } from '../version.ts';

/**
 * Printed once, when everything answers. It has a line only for what is really served, because programs wait for `Metrics:` or
 * `UI:` and then connect.
 *
 *     Perdure 0.1.0+3f0c6a8e (Temporal API 1.63, Node 24.21)
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
  { port, metricsPort, rolePorts }: Pick<RunningServer, 'port' | 'metricsPort' | 'rolePorts'>,
): string {
  const address = reachable(settings.host, port);
  const elsewhere = address !== 'localhost:7233';
  const lines = [
    ['Server:', hostPort(settings.host, port)],
    ...roleLine('History:', settings.host, rolePorts.history),
    ...roleLine('Matching:', settings.host, rolePorts.matching),
    ['Persistence:', persistence(settings.log)],
    ...(metricsPort === undefined
      ? []
      : [['Metrics:', `http://${reachable(settings.host, metricsPort)}${settings.metrics?.path ?? ''}`] as const]),
    ...(settings.devFaults ?? []).map((fault) => ['FAULTS INJECTED:', faultText(fault)] as const),
    ['', ''],
    // An installed package and an image have no examples.
    ...(existsSync(new URL('examples/hello', home))
      ? [['Try it:', `${elsewhere ? `TEMPORAL_ADDRESS=${address} ` : ''}npm run hello`] as const]
      : []),
    ["With Temporal's CLI:", `temporal workflow show${elsewhere ? ` --address ${address}` : ''} --workflow-id ID`],
  ] as const;
  return `${versionLine()}\n\n${lines.map(([label, value]) => (label === '' ? '\n' : line(label, value))).join('')}`;
}

function roleLine(label: string, host: string, port: number | undefined): readonly (readonly [string, string])[] {
  return port === undefined ? [] : [[label, hostPort(host, port)]];
}

/** Printed after the banner, once Temporal's web UI listens on this port. */
export function webUiLine(port: number): string {
  return line('Web UI:', `http://localhost:${port}`);
}

function line(label: string, value: string): string {
  return `${label.padEnd(21)} ${value}\n`;
}

/** The address for a client on this machine: not every system can connect to a wildcard address. */
function reachable(host: string, port: number): string {
  return hostPort(host === '0.0.0.0' || host === '::' ? 'localhost' : host, port);
}

/** `localhost:7233`: loopback addresses become `localhost`, other IPv6 addresses get brackets. */
export function hostPort(host: string, port: number): string {
  if (host === 'localhost' || host === '127.0.0.1' || host === '::1') return `localhost:${port}`;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function persistence(log: ServerSettings['log']): string {
  if (log.kind === 'kafka') return `kafka ${log.kafka.brokers.join(',')}`;
  if (log.filename === undefined) return 'in-memory, gone when the server stops; --db-filename FILE keeps it';
  // `src/start/open-state.ts` gives the state this name.
  return `${log.filename} and ${log.filename}-state`;
}
