/** How a command reaches a running server: flags, then the environment, then a profile, as with Temporal's own command line. */
import { readFileSync } from 'node:fs';
import { parseDurationMs } from '../config/duration.ts';
import { isHostPort } from '../config/host-port.ts';
import { errorMessage } from '../kernel/error-text.ts';
import { usageError } from './cli-error.ts';
import { ClientConfig, type Named } from './client-config.ts';
import type { Invocation } from './command.ts';

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
  /** The certificate of the server is not looked at. */
  readonly trustsAnyone: boolean;
};

const names = {
  address: { flag: 'address', variable: 'TEMPORAL_ADDRESS', key: 'address' },
  apiKey: { flag: 'api-key', variable: 'TEMPORAL_API_KEY', key: 'api_key' },
  // A profile says the opposite: `tls.disabled`.
  tls: { flag: 'tls', variable: 'TEMPORAL_TLS', key: '' },
  tlsDisabled: { flag: '', variable: '', key: 'tls.disabled' },
  ca: { flag: 'tls-ca-path', variable: 'TEMPORAL_TLS_SERVER_CA_CERT_PATH', key: 'tls.server_ca_cert_path' },
  caData: { flag: 'tls-ca-data', variable: 'TEMPORAL_TLS_SERVER_CA_CERT_DATA', key: 'tls.server_ca_cert_data' },
  certificate: { flag: 'tls-cert-path', variable: 'TEMPORAL_TLS_CLIENT_CERT_PATH', key: 'tls.client_cert_path' },
  certificateData: { flag: 'tls-cert-data', variable: 'TEMPORAL_TLS_CLIENT_CERT_DATA', key: 'tls.client_cert_data' },
  key: { flag: 'tls-key-path', variable: 'TEMPORAL_TLS_CLIENT_KEY_PATH', key: 'tls.client_key_path' },
  keyData: { flag: 'tls-key-data', variable: 'TEMPORAL_TLS_CLIENT_KEY_DATA', key: 'tls.client_key_data' },
  serverName: { flag: 'tls-server-name', variable: 'TEMPORAL_TLS_SERVER_NAME', key: 'tls.server_name' },
  trustsAnyone: {
    flag: 'tls-disable-host-verification',
    variable: 'TEMPORAL_TLS_DISABLE_HOST_VERIFICATION',
    key: 'tls.disable_host_verification',
  },
} satisfies Readonly<Record<string, Named>>;

export function connectionSettings(invocation: Invocation): ConnectionSettings {
  const { flags } = invocation;
  const config = new ClientConfig(invocation);
  const key = config.text(names.apiKey)?.text ?? '';
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
  const { text, by } = config.text(names.address) ?? { text: defaultAddress, by: '' };
  if (isHostPort(text)) return text;
  throw usageError(`${by}: expected host:port, IPv6 in brackets, got "${text}"`);
}

function header(text: string): readonly [string, string] {
  const [, name, value] = /^([A-Za-z0-9._-]+)=([\x20-\x7e]*)$/.exec(text) ?? [];
  if (name === undefined || value === undefined) throw usageError(`--grpc-meta: expected NAME=VALUE, got "${text}"`);
  return [name.toLowerCase(), value];
}

/** A variable or a profile may hold anything. */
function sendable([name, value]: readonly [string, string]): readonly [string, string] {
  if (/^[a-z0-9._-]+$/.test(name) && /^[\x20-\x7e]*$/.test(value)) return [name, value];
  throw usageError(`the header ${name} can't be sent`, { why: 'It is to be printable ASCII, on one line.' });
}

/** Whatever is said of TLS means TLS, and so does a key, which is not for everybody on the way; unless somebody says otherwise. */
function tlsSettings(config: ClientConfig, hasKey: boolean): TlsSettings | undefined {
  const settings = {
    ca: pem(config, names.ca, names.caData),
    certificate: pem(config, names.certificate, names.certificateData),
    key: pem(config, names.key, names.keyData),
    serverName: config.text(names.serverName)?.text || undefined,
  };
  const trustsAnyone = config.isOn(names.trustsAnyone) === true;
  const isImplied = hasKey || trustsAnyone || config.hasTable('tls') || Object.values(settings).some((value) => value !== undefined);
  const isDisabled = config.isOn(names.tlsDisabled) === true;
  if (!(config.isOn(names.tls) ?? (isImplied && !isDisabled))) return undefined;
  if ((settings.certificate === undefined) !== (settings.key === undefined)) {
    throw usageError('a certificate of the client and its key go together: --tls-cert-path and --tls-key-path');
  }
  return { ...settings, trustsAnyone };
}

/** From a file, or as it is. */
function pem(config: ClientConfig, path: Named, data: Named): Buffer | undefined {
  const file = config.text(path);
  const given = config.text(data);
  if (given !== undefined && given.text !== '') {
    if (file !== undefined && file.text !== '') throw usageError(`${file.by} and ${given.by} are two for one thing`);
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
