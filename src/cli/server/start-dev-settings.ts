import { statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { defaults } from '../../config/defaults.ts';
import { parseDevFault } from '../../config/dev-faults.ts';
import { defaultNaming } from '../../config/metrics-options.ts';
import { findSetting } from '../../config/dynamic-settings.ts';
import { isLimit } from '../../config/limit-settings.ts';
import { searchAttributeType, searchAttributeTypes } from '../../config/search-attributes.ts';
import { portRoles, type PortRole, type RolePort } from '../../config/role-ports.ts';
import type { ServerSettings } from '../../config/settings.ts';
import { sqlitePragmas } from '../../config/sqlite-pragmas.ts';
import { didYouMean, usageError } from '../cli-error.ts';
import { errorMessage } from '../../kernel/error-text.ts';
import type { FlagValues } from '../command.ts';

export function readStartDevSettings(flags: FlagValues): ServerSettings {
  // Nothing is served on these ports yet, but a typo is reported all the same.
  for (const name of ['http-port', 'ui-port']) readPort(name, flags.one(name), 0);
  const pragmas = flags.all('sqlite-pragma').map((pair) => splitPair('sqlite-pragma', pair, 'NAME=VALUE'));
  const host = readHost(flags.one('ip'));
  return {
    host,
    metrics: {
      host,
      port: readPort('metrics-port', flags.one('metrics-port'), 0),
      path: defaults.metricsPath,
      naming: defaultNaming,
      timerBoundsMs: undefined,
    },
    port: readPort('port', flags.one('port'), defaults.grpcPort),
    rolePorts: Object.fromEntries(portRoles.flatMap((role) => readRolePort(role, host, flags))),
    log: { kind: 'embedded', filename: readFilename(flags.one('db-filename')), sqlitePragmas: pragmas.map(checkPragma) },
    historyShards: 4,
    matchingPartitions: 4,
    taskQueuePartitions: 1,
    namespaces: readNamespaces(flags.all('namespace')),
    searchAttributes: readSearchAttributes(flags.all('search-attribute')),
    dynamicConfig: readDynamicConfig(flags.all('dynamic-config-value')),
    ...readDevFaults(flags.all('dev-faults')),
    clusterName: 'active',
  };
}

function readHost(given: string | undefined): string {
  if (given === '') throw usageError('--ip: expected an address such as 127.0.0.1 or 0.0.0.0, got nothing');
  return given === undefined ? 'localhost' : given.replace(/^\[(.*)\]$/, '$1');
}

function readPort(name: string, given: string | undefined, otherwise: number): number {
  if (given === undefined) return otherwise;
  if (/^\d{1,5}$/.test(given) && Number(given) <= 65535) return Number(given);
  throw usageError(`--${name}: expected a port from 0 to 65535, got "${given}"`);
}

function readRolePort(role: PortRole, host: string, flags: FlagValues): readonly (readonly [PortRole, RolePort])[] {
  const name = `${role}-port`;
  const given = flags.one(name);
  if (given === undefined && flags.switched('role-ports') !== true) return [];
  return [[role, { host, port: readPort(name, given, defaults.rolePorts[role]), orFree: given === undefined }]];
}

function readFilename(given: string | undefined): string | undefined {
  if (given === undefined) return undefined;
  if (given === '')
    throw usageError('--db-filename: expected a file name, got nothing', { next: 'Leave the flag out to keep workflows in memory.' });
  if (given === ':memory:') return undefined;
  const folder = dirname(resolve(given));
  if (!isFolder(folder, given)) {
    throw usageError(`can't open database file ${given}`, {
      why: `The folder ${folder} does not exist.`,
      next: `Create it: mkdir -p ${folder}`,
    });
  }
  if (isFolder(given, given)) {
    throw usageError(`can't open database file ${given}`, {
      why: 'It is a folder.',
      next: `Name a file in it: --db-filename ${given.replace(/\/$/, '')}/perdure.db`,
    });
  }
  return given;
}

/** `stat` may fail: the user may not see the folder, or the name is too long for the system. */
function isFolder(path: string, given: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
  } catch (error) {
    throw usageError(`can't open database file ${given}`, { why: errorMessage(error) });
  }
}

function readNamespaces(given: readonly string[]): readonly string[] {
  if (given.includes('')) throw usageError('--namespace: expected a name, got nothing');
  return [...new Set(['default', ...given])];
}

function readSearchAttributes(pairs: readonly string[]): ReadonlyMap<string, string> {
  const attributes = new Map<string, string>();
  for (const pair of pairs) {
    const [name, given] = splitPair('search-attribute', pair, 'NAME=Type');
    const type = searchAttributeType(given);
    if (type === undefined) {
      throw usageError(`--search-attribute ${name}: expected one of ${searchAttributeTypes.join(', ')}, got "${given}"`, {
        why: didYouMean(given, searchAttributeTypes),
      });
    }
    const before = attributes.get(name);
    if (before !== undefined && before !== type) throw usageError(`--search-attribute ${name}: given as ${before} and as ${type}`);
    attributes.set(name, type);
  }
  return attributes;
}

function readDynamicConfig(pairs: readonly string[]): ReadonlyMap<string, unknown> {
  const values = new Map<string, unknown>();
  for (const pair of pairs) {
    const [key, json] = splitPair('dynamic-config-value', pair, 'KEY=JSON');
    try {
      values.set(key, JSON.parse(json));
    } catch {
      throw usageError(`--dynamic-config-value ${key}: expected a JSON value, got ${json === '' ? 'nothing' : json}`, {
        why: 'A string needs quotes, and these must be protected from the shell.',
        next: `Write --dynamic-config-value '${key}=${JSON.stringify(json)}' for the string.`,
      });
    }
    const setting = findSetting(key);
    const read = setting === undefined || !isLimit(setting.key) ? undefined : setting.read(values.get(key));
    if (read !== undefined && 'problem' in read) throw usageError(`--dynamic-config-value ${key}: ${read.problem}`);
  }
  return values;
}

function readDevFaults(given: readonly string[]): Pick<ServerSettings, 'devFaults'> {
  const devFaults = given.map((text) => {
    const read = parseDevFault(text);
    if ('problem' in read) throw usageError(`--dev-faults: ${read.problem}`);
    return read.fault;
  });
  return devFaults.length === 0 ? {} : { devFaults };
}

function checkPragma([name, value]: readonly [string, string]): readonly [string, string] {
  const values = sqlitePragmas.get(name.toLowerCase());
  if (values === undefined) {
    throw usageError(`--sqlite-pragma: unknown pragma "${name}"`, {
      why: didYouMean(name, sqlitePragmas.keys()),
      next: `Accepted are ${[...sqlitePragmas.keys()].join(', ')}.`,
    });
  }
  if (values.test(value)) return [name, value];
  throw usageError(`--sqlite-pragma ${name}: SQLite has no value "${value}" for it`);
}

function splitPair(flag: string, pair: string, form: string): readonly [string, string] {
  const at = pair.indexOf('=');
  if (at > 0) return [pair.slice(0, at), pair.slice(at + 1)];
  throw usageError(`--${flag}: expected ${form}, got "${pair}"`);
}
