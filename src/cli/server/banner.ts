import type { ServerSettings } from '../../config/settings.ts';
import { versionLine } from '../version.ts';

/**
 * Printed once, when everything answers. A line stands here only for what is really served: programs that wait for `Metrics:` or
 * `UI:` should not find it and then nobody behind it.
 *
 *     Perdure 0.1.0 (Temporal API 1.63, Node 24.21)
 *
 *     Server:               localhost:7233
 *     Persistence:          in-memory
 */
export function banner(settings: Pick<ServerSettings, 'host' | 'log'>, port: number): string {
  const lines = [
    ['Server:', hostPort(settings.host, port)],
    ['Persistence:', persistence(settings.log)],
  ] as const;
  return `${versionLine()}\n\n${lines.map(([label, value]) => `${label.padEnd(21)} ${value}\n`).join('')}`;
}

/** `localhost:7233`; a loopback address by its name, another IPv6 address in brackets. */
export function hostPort(host: string, port: number): string {
  if (host === 'localhost' || host === '127.0.0.1' || host === '::1') return `localhost:${port}`;
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function persistence(log: ServerSettings['log']): string {
  if (log.kind === 'kafka') return `kafka ${log.kafka.brokers.join(',')}`;
  return log.filename ?? 'in-memory';
}
