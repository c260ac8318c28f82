/** How a command connects to a running server: flags come first, then the environment, then a profile, as with Temporal's command line. */
import { readFileSync } from 'node:fs';
import { parseDurationMs } from '../config/duration.ts';
import { isHostPort } from '../config/host-port.ts';
import { errorMessage } from '../kernel/error-text.ts';
import { usageError } from './cli-error.ts';
import { ClientConfig } from './client-config.ts';
import type { Invocation } from './command.ts';
import { connection, type ConnectionSetting } from './connection-flags.ts';

export type ConnectionSettings = {
  readonly address: string;
  readonly metadata: readonly (readonly [string, string])[];
  readonly tls: TlsSettings | undefined;
  /** 0 means no limit. */
  readonly commandTimeoutMs: number;
  readonly connectTimeoutMs: number;
};

export type TlsSettings = {
  readonly ca: Buffer | undefined;
  readonly certificate: Buffer | undefined;
  readonly key: Buffer | undefined;
  readonly serverName: string | undefined;
  readonly trustsAnyone: boolean;
};

export function connectionSettings(invocation: Invocation): ConnectionSettings {
  const { flags } = invocation;
  const config = new ClientConfig(invocation);
  const key = config.text(connection.apiKey)?.text ?? '';
  const headers = new Map([...config.headers, ...flags.all('grpc-meta').map(header)]);
  return {
    address: addressOf(config),
    metadata: [...headers, ...(key === '' ? [] : [['authorization', `Bearer ${key}`] as const])].map(sendable),
    tls: tlsSettings(config, key !== ''),
    commandTimeoutMs: duration(flags, 'command-timeout', 0),
    connectTimeoutMs: duration(flags, 'client-connect-timeout', 10_000) || 10_000,
  };
}

function addressOf(config: ClientConfig): string {
  const { text, by } = config.text(connection.address) ?? { text: connection.address.defaultText, by: '' };
  if (isHostPort(text)) return text;
  throw usageError(`${by}: expected host:port, IPv6 in brackets, got "${text}"`);
}

function header(text: string): readonly [string, string] {
  const [, name, value] = /^([A-Za-z0-9._-]+)=([\x20-\x7e]*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw usageError(`--grpc-meta: expected NAME=VALUE, got "${text}"`);
  return [name.toLowerCase(), value];
}

/** Variables and profiles may have characters that cannot be sent in a header. */
function sendable([name, value]: readonly [string, string]): readonly [string, string] {
  if (/^[a-z0-9._-]+$/.test(name) && /^[\x20-\x7e]*$/.test(value)) return [name, value];
  throw usageError(`the header ${name} can't be sent`, { why: 'It must be printable ASCII on one line.' });
}

/** Any TLS setting turns TLS on, and so does an API key, which must not be sent in the clear; an explicit setting overrides both. */
function tlsSettings(config: ClientConfig, hasKey: boolean): TlsSettings | undefined {
  const settings = {
    ca: pem(config, connection.ca, connection.caData),
    certificate: pem(config, connection.certificate, connection.certificateData),
    key: pem(config, connection.key, connection.keyData),
    serverName: config.text(connection.serverName)?.text || undefined,
  };
  const trustsAnyone = config.isOn(connection.trustsAnyone) === true;
  const isImplied = hasKey || trustsAnyone || config.hasTable('tls') || Object.values(settings).some((value) => value !== undefined);
  if (!(config.isOn(connection.tls) ?? (isImplied && !config.disablesTls))) return undefined;
  if ((settings.certificate === undefined) !== (settings.key === undefined)) {
    throw usageError('a client certificate needs its key, and the other way round: --tls-cert-path and --tls-key-path');
  }
  return { ...settings, trustsAnyone };
}

function pem(config: ClientConfig, path: ConnectionSetting, data: ConnectionSetting): Buffer | undefined {
  const file = config.text(path);
  const given = config.text(data);
  if (given !== undefined && given.text !== '') {
    if (file !== undefined && file.text !== '') throw usageError(`${file.by} and ${given.by} cannot be combined`);
    return Buffer.from(given.text);
  }
  if (file === undefined || file.text === '') return undefined;
  try {
    return readFileSync(file.text);
  } catch (error) {
    throw usageError(`${file.by}: can't read ${file.text}`, { why: errorMessage(error) });
  }
}

function duration(flags: Invocation['flags'], name: string, otherwiseMs: number): number {
  const given = flags.one(name);
  if (given === undefined) return otherwiseMs;
  const ms = parseDurationMs(given);
  if (ms === undefined) throw usageError(`--${name}: expected a duration such as 30s or 5m, got "${given}"`);
  return ms;
}
