/**
 * What of a connection is not said by a flag: by the environment, then by a profile of the file that Temporal's command line has too.
 *
 *     --address prod:7233   >   TEMPORAL_ADDRESS   >   [profile.prod]      address, api_key, grpc_meta
 *                                                      [profile.prod.tls]  disabled, client_cert_path, server_name …
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseToml, TomlError, type TomlTable, type TomlValue } from '../config/toml.ts';
import { errorMessage } from '../kernel/error-text.ts';
import { usageError } from './cli-error.ts';
import type { Invocation } from './command.ts';

const defaultProfile = 'default';
const fileBytesMax = 1024 * 1024;
const noTable: TomlTable = new Map();

/** One thing by its three names. */
export type Named = { readonly flag: string; readonly variable: string; readonly key: string };

/** A value, and who says it, for whoever finds it wrong. */
export type Said = { readonly text: string; readonly by: string };

export class ClientConfig {
  readonly #flags: Invocation['flags'];
  readonly #env: Invocation['io']['env'];
  readonly #profileName: string;
  readonly #profile: TomlTable;

  constructor({ flags, io }: Pick<Invocation, 'flags' | 'io'>) {
    this.#flags = flags;
    // Which file and which profile are meant the environment says all the same, as with Temporal's command line.
    this.#env = flags.switched('disable-config-env') === true ? {} : io.env;
    const named = flags.one('profile') ?? io.env['TEMPORAL_PROFILE'];
    this.#profileName = named === undefined || named === '' ? defaultProfile : named;
    this.#profile = flags.switched('disable-config-file') === true ? noTable : profileOf(flags, io.env, this.#profileName);
  }

  /** An empty variable says nothing. */
  text({ flag, variable, key }: Named): Said | undefined {
    const given = this.#flags.one(flag);
    if (given !== undefined) return { text: given, by: `--${flag}` };
    const inherited = this.#env[variable];
    if (inherited !== undefined && inherited !== '') return { text: inherited, by: variable };
    const kept = this.#inProfile(key);
    if (kept === undefined) return undefined;
    if (typeof kept !== 'string') throw usageError(`profile ${this.#profileName}: ${key} is to be a text`);
    return { text: kept, by: `profile ${this.#profileName}: ${key}` };
  }

  /** Undefined: nobody says. */
  isOn({ flag, variable, key }: Named): boolean | undefined {
    const inherited = this.#env[variable]?.toLowerCase();
    const kept = this.#inProfile(key);
    return (
      this.#flags.switched(flag) ??
      (inherited === '1' || inherited === 'true' ? true : inherited === '0' || inherited === 'false' ? false : undefined) ??
      (typeof kept === 'boolean' ? kept : undefined)
    );
  }

  /** Whether the profile has this table, whatever stands in it. */
  hasTable(key: string): boolean {
    return this.#inProfile(key) instanceof Map;
  }

  /** Headers of every call but those of flags; an empty variable takes one away. */
  get headers(): ReadonlyMap<string, string> {
    const headers = new Map<string, string>();
    const kept = this.#inProfile('grpc_meta');
    for (const [name, value] of kept instanceof Map ? (kept as TomlTable) : noTable) {
      if (typeof value === 'string') headers.set(headerName(name), value);
    }
    for (const [variable, value = ''] of Object.entries(this.#env)) {
      const [, name] = /^TEMPORAL_GRPC_META_(.+)$/.exec(variable) ?? [];
      if (name === undefined) continue;
      if (value === '') headers.delete(headerName(name));
      else headers.set(headerName(name), value);
    }
    return headers;
  }

  /** `tls.server_name` */
  #inProfile(key: string): TomlValue | undefined {
    let at: TomlValue | undefined = this.#profile;
    for (const part of key.split('.')) at = at instanceof Map ? (at as TomlTable).get(part) : undefined;
    return at;
  }
}

/** As Temporal writes them in variables: `TEMPORAL_GRPC_META_MY_TEAM` is `my-team`. */
function headerName(name: string): string {
  return name.toLowerCase().replaceAll('_', '-');
}

type Env = Invocation['io']['env'];

/** A file that was named has to be there, and so has a profile. */
function profileOf(flags: Invocation['flags'], env: Env, profile: string): TomlTable {
  const given = flags.one('config-file') ?? env['TEMPORAL_CONFIG_FILE'];
  const isNamed = given !== undefined && given !== '';
  const file = isNamed ? given : standardFile(env);
  const whole = file === undefined ? undefined : readToml(file, isNamed);
  const profiles = whole?.get('profile');
  const found = profiles instanceof Map ? (profiles as TomlTable).get(profile) : undefined;
  if (found instanceof Map) return found as TomlTable;
  if (profile === defaultProfile) return noTable;
  const known = profiles instanceof Map ? [...(profiles as TomlTable).keys()] : [];
  throw usageError(`there is no profile ${profile} in ${file ?? 'any file'}`, {
    why: known.length === 0 ? undefined : `It has ${known.join(', ')}.`,
    next: 'Name one: --profile NAME; or another file: --config-file FILE.',
  });
}

function readToml(file: string, mustBe: boolean): TomlTable | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (!mustBe && (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw usageError(`can't read ${file}`, { why: errorMessage(error) });
  }
  if (text.length > fileBytesMax) throw usageError(`${file} is no file of profiles: it has more than ${fileBytesMax} bytes`);
  try {
    return parseToml(text);
  } catch (error) {
    if (error instanceof TomlError) throw usageError(`${file}:${error.line}: ${error.message}`);
    throw error;
  }
}

/** Where Temporal's command line has it. */
function standardFile(env: Env): string | undefined {
  const home = env['HOME'] ?? env['USERPROFILE'];
  const folders: Readonly<Record<string, string | undefined>> = {
    darwin: home === undefined ? undefined : join(home, 'Library', 'Application Support'),
    win32: env['APPDATA'],
  };
  const ordinary = env['XDG_CONFIG_HOME'] || (home === undefined ? undefined : join(home, '.config'));
  const folder = Object.hasOwn(folders, process.platform) ? folders[process.platform] : ordinary;
  return folder === undefined ? undefined : join(folder, 'temporalio', 'temporal.toml');
}
