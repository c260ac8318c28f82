/**
 * `perdure.postgres` of the server file: as single keys, or as the URL that hosting providers hand out. What stands in both is refused, but
 * for the password, which may come from elsewhere than the URL.
 */
import { defaults } from './defaults.ts';
import { readTlsFiles } from './tls-files.ts';
import type { FileConfig } from './file-schema.ts';
import type { KafkaTls } from './kafka-options.ts';
import type { PostgresOptions } from './postgres-options.ts';
import type { Report } from './problem.ts';

type PostgresConfig = NonNullable<NonNullable<FileConfig['perdure']>['postgres']>;
type Address = Pick<PostgresOptions, 'host' | 'port' | 'database' | 'user' | 'password' | 'tls'>;

export type PostgresSettingsOptions = {
  /** File names count from it. */
  readonly folder: string;
  readonly topicPrefix: string;
  /** False: whatever the file says, nothing is made there. */
  readonly mayMigrate: boolean;
};

const path = ['perdure', 'postgres'];

export function postgresOptions(postgres: PostgresConfig, options: PostgresSettingsOptions, report: Report): PostgresOptions {
  const { folder, topicPrefix, mayMigrate } = options;
  const tls = readTlsFiles(postgres.tls, { path: [...path, 'tls'], folder }, report);
  const address = postgres.url === undefined ? fromKeys(postgres, tls, report) : fromUrl(postgres.url, postgres, tls, report);
  return {
    ...address,
    topicPrefix,
    connectionsMax: postgres.pool ?? defaults.postgres.pool,
    timeoutMs: defaults.postgres.timeoutMs,
    migrate: mayMigrate && (postgres.migrate ?? true),
  };
}

function fromKeys({ host, port, database, user, password }: PostgresConfig, tls: KafkaTls | undefined, report: Report): Address {
  if (host === undefined) report(path, 'host is missing: where PostgreSQL listens; or write url: postgres://user@host/database');
  const { postgres } = defaults;
  return {
    host: host ?? '',
    port: port ?? postgres.port,
    database: database ?? postgres.database,
    user: user ?? postgres.user,
    password,
    tls,
  };
}

function fromUrl(text: string, config: PostgresConfig, tls: KafkaTls | undefined, report: Report): Address {
  for (const key of ['host', 'port', 'database', 'user'] as const) {
    if (config[key] !== undefined) report([...path, key], 'url is set too; keep one of them');
  }
  const { port, database, user } = defaults.postgres;
  const url = URL.parse(text);
  const none: Address = { host: '', port, database, user, password: undefined, tls };
  // Neither the text nor a part of it is shown: a password may stand anywhere in it.
  const wrong = (what: string): Address => {
    report([...path, 'url'], `${what}; expected postgres://user:password@host:port/database (what it is instead is not shown)`);
    return none;
  };
  if (url === null || !['postgres:', 'postgresql:'].includes(url.protocol)) return wrong('is no URL of PostgreSQL');
  const [userPart, password, name] = [url.username, url.password, url.pathname.slice(1)].map(decoded);
  if (userPart === undefined || password === undefined || name === undefined) return wrong('has a % that is not a valid escape');
  if (url.hostname === '') return wrong('names no host');
  if (password !== '' && config.password !== undefined) report([...path, 'password'], 'is also in url; keep one of them');
  return {
    host: url.hostname.replace(/^\[(.*)\]$/, '$1'),
    port: url.port === '' ? port : Number(url.port),
    database: name === '' ? database : name,
    user: userPart === '' ? user : userPart,
    password: password === '' ? config.password : password,
    tls: tlsOf(url.searchParams, config, tls, report),
  };
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}

const trusted: KafkaTls = { ca: undefined, cert: undefined, key: undefined, serverName: undefined, verifyServer: true };

/** `sslmode` as libpq means it; whatever else a URL may say, keys of ours say. */
function tlsOf(parameters: URLSearchParams, config: PostgresConfig, tls: KafkaTls | undefined, report: Report): KafkaTls | undefined {
  for (const name of parameters.keys()) {
    if (name !== 'sslmode') report([...path, 'url'], `has the parameter ${name}, which is not read; only sslmode is`);
  }
  const mode = parameters.get('sslmode');
  if (mode === null) return tls;
  if (config.tls !== undefined) report([...path, 'tls'], 'url has an sslmode; keep one of them');
  switch (mode) {
    case 'disable':
      return undefined;
    case 'require':
      return { ...trusted, verifyServer: false };
    case 'verify-full':
      return trusted;
    default:
      report([...path, 'url'], 'has another sslmode than disable, require and verify-full; for more, use perdure.postgres.tls');
      return tls;
  }
}
