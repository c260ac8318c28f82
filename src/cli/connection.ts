/** How a command reaches a running server: flags, then the environment, as with Temporal's own command line. */
import { readFileSync } from 'node:fs';
import { parseDurationMs } from '../config/duration.ts';
import { isHostPort } from '../config/host-port.ts';
import { errorMessage } from '../kernel/error-text.ts';
import { usageError } from './cli-error.ts';
import type { Invocation } from './command.ts';

const addressVariable = 'TEMPORAL_ADDRESS';
const defaultAddress = '127.0.0.1:7233';

export type ConnectionSettings = {
  readonly address: string;
  readonly metadata: readonly (readonly [string, string])[];
  readonly tls: TlsSettings | undefined;
  /** 0 = never. */
  readonly commandTimeoutMs: number;
  readonly connectTimeoutMs: number;
};

export type TlsSettings = {
  readonly ca: Buffer | undefined;
  readonly certificate: Buffer | undefined;
  readonly key: Buffer | undefined;
  readonly serverName: string | undefined;
};

export function connectionSettings({ flags, io }: Invocation): ConnectionSettings {
  const key = flags.one('api-key') ?? io.env['TEMPORAL_API_KEY'] ?? '';
  return {
    address: serverAddress(flags, io),
    metadata: [...flags.all('grpc-meta').map(header), ...(key === '' ? [] : [['authorization', `Bearer ${key}`] as const])],
    tls: tlsSettings(flags, io),
    commandTimeoutMs: duration(flags, 'command-timeout', 0),
    connectTimeoutMs: duration(flags, 'client-connect-timeout', 10_000) || 10_000,
  };
}

export function serverAddress(flags: Invocation['flags'], io: Invocation['io']): string {
  const given = flags.one('address');
  const address = given ?? (io.env[addressVariable] || defaultAddress);
  if (isHostPort(address)) return address;
  throw usageError(`${given === undefined ? addressVariable : '--address'}: expected host:port, IPv6 in brackets, got "${address}"`);
}

function header(text: string): readonly [string, string] {
  const [, name, value] = /^([A-Za-z0-9._-]+)=([\x20-\x7e]*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw usageError(`--grpc-meta: expected NAME=VALUE, got "${text}"`);
  return [name.toLowerCase(), value];
}

/** A file or a name of TLS means TLS, unless --no-tls says otherwise. */
function tlsSettings(flags: Invocation['flags'], io: Invocation['io']): TlsSettings | undefined {
  const file = (flag: string, variable: string) => readPem(flag, flags.one(flag) ?? io.env[variable]);
  const serverName = (flags.one('tls-server-name') ?? io.env['TEMPORAL_TLS_SERVER_NAME']) || undefined;
  const settings = {
    ca: file('tls-ca-path', 'TEMPORAL_TLS_SERVER_CA_CERT_PATH'),
    certificate: file('tls-cert-path', 'TEMPORAL_TLS_CLIENT_CERT_PATH'),
    key: file('tls-key-path', 'TEMPORAL_TLS_CLIENT_KEY_PATH'),
    serverName,
  };
  const isImplied = Object.values(settings).some((value) => value !== undefined);
  const wanted = flags.switched('tls') ?? (isTrue(io.env['TEMPORAL_TLS']) || isImplied);
  if (!wanted) return undefined;
  if ((settings.certificate === undefined) !== (settings.key === undefined)) {
    throw usageError('--tls-cert-path and --tls-key-path go together');
  }
  return settings;
}

function readPem(flag: string, file: string | undefined): Buffer | undefined {
  if (file === undefined || file === '') return undefined;
  try {
    return readFileSync(file);
  } catch (error) {
    throw usageError(`--${flag}: can't read ${file}`, { why: errorMessage(error) });
  }
}

function isTrue(text: string | undefined): boolean {
  return text === '1' || text?.toLowerCase() === 'true';
}

function duration(flags: Invocation['flags'], name: string, otherwiseMs: number): number {
  const given = flags.one(name);
  if (given === undefined) return otherwiseMs;
  const ms = parseDurationMs(given);
  if (ms === undefined) throw usageError(`--${name}: expected a duration such as 30s or 5m, got "${given}"`);
  return ms;
}
