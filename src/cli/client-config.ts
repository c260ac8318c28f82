/**
 * Settings of the connection: from a flag, else from the environment, else from a profile in the file that Temporal's command line uses too.
 *
 *     --address prod:7233   >   TEMPORAL_ADDRESS   >   [profile.prod]      address, api_key, grpc_meta
 *                                                      [profile.prod.tls]  disabled, client_cert_path, server_name …
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, TomlDate, TomlError, type TomlTable, type TomlValue } from 'smol-toml';
import { errorCode, errorMessage } from '../kernel/error-text.ts';
import { usageError } from './cli-error.ts';
import type { Invocation } from './command.ts';
import type { ConnectionSetting } from './connection-flags.ts';

const defaultProfile = 'default';
const fileBytesMax = 1024 * 1024;
const noTable = parse('');

export type Said = { readonly text: string; readonly by: string };

export class ClientConfig {
  readonly #flags: Invocation['flags'];
  readonly #env: Invocation['io']['env'];
  readonly #profileName: string;
  readonly #profile: TomlTable;

  constructor({ flags, io }: Pick<Invocation, 'flags' | 'io'>) {
    this.#flags = flags;
    // The file and the profile are still taken from the environment, as with Temporal's command line.
    this.#env = flags.switched('disable-config-env') === true ? {} : io.env;
    const named = flags.one('profile') ?? io.env['TEMPORAL_PROFILE'];
    this.#profileName = named === undefined || named === '' ? defaultProfile : named;
    this.#profile = flags.switched('disable-config-file') === true ? noTable : profileOf(flags, io.env, this.#profileName);
  }

  /** An empty variable counts as not set. */
  text({ name, env }: ConnectionSetting): Said | undefined {
    const given = this.#flags.one(name);
    if (given !== undefined) return { text: given, by: `--${name}` };
    const inherited = this.#env[env];
    if (inherited !== undefined && inherited !== '') return { text: inherited, by: env };
    const key = profileKey(env);
    const kept = this.#inProfile(key);
    if (kept === undefined) return undefined;
    const by = `profile ${this.#profileName}: ${key}`;
    return { text: asText(kept, by), by };
  }

  isOn({ name, env }: ConnectionSetting): boolean | undefined {
    const inherited = this.#env[env]?.toLowerCase();
    const kept = this.#inProfile(profileKey(env));
    return (
      this.#flags.switched(name) ??
      (inherited === '1' || inherited === 'true' ? true : inherited === '0' || inherited === 'false' ? false : undefined) ??
      (typeof kept === 'boolean' ? kept : undefined)
    );
  }

  hasTable(key: string): boolean {
    return asTable(this.#inProfile(key)) !== undefined;
  }

  /** A profile turns TLS off by a key that is neither a flag nor a variable. */
  get disablesTls(): boolean {
    return this.#inProfile('tls.disabled') === true;
  }

  /** Headers of every call, without those from flags; an empty variable removes a header of the profile. */
  get headers(): ReadonlyMap<string, string> {
    const headers = new Map<string, string>();
    for (const [name, value] of Object.entries(asTable(this.#inProfile('grpc_meta')) ?? noTable)) {
      headers.set(headerName(name), asText(value, `profile ${this.#profileName}: grpc_meta.${name}`));
    }
    for (const [variable, value = ''] of Object.entries(this.#env)) {
      const [, name] = /^TEMPORAL_GRPC_META_(.+)$/.exec(variable) ?? [];
      if (name === undefined) continue;
      if (value === '') headers.delete(headerName(name));
      else headers.set(headerName(name), value);
    }
    return headers;
  }

  /** `key` may name a nested value, such as `tls.server_name`. */
  #inProfile(key: string): TomlValue | undefined {
    let at: TomlValue | undefined = this.#profile;
    for (const part of key.split('.')) at = asTable(at)?.[part];
    return at;
  }
}

function profileKey(variable: string): string {
  return variable.slice('TEMPORAL_'.length).toLowerCase().replace(/^tls_/, 'tls.');
}

/** Lists and times are objects too, but not tables. */
function asTable(value: TomlValue | undefined): TomlTable | undefined {
  const isTable = typeof value === 'object' && !Array.isArray(value) && !(value instanceof TomlDate);
  return isTable ? value : undefined;
}

function asText(value: TomlValue, by: string): string {
  if (typeof value !== 'string') throw usageError(`${by} must be a text`);
  return value;
}

/** The header of a variable: `TEMPORAL_GRPC_META_MY_TEAM` is `my-team`. */
function headerName(name: string): string {
  return name.toLowerCase().replaceAll('_', '-');
}

type Env = Invocation['io']['env'];

/** A file or a profile that was named must exist. */
function profileOf(flags: Invocation['flags'], env: Env, profile: string): TomlTable {
  const given = flags.one('config-file') ?? env['TEMPORAL_CONFIG_FILE'];
  const isNamed = given !== undefined && given !== '';
  const file = isNamed ? given : standardFile(env);
  const whole = file === undefined ? undefined : readToml(file, isNamed);
  const profiles = asTable(whole?.['profile']) ?? noTable;
  const found = asTable(profiles[profile]);
  if (found !== undefined) return found;
  if (profile === defaultProfile) return noTable;
  const known = Object.keys(profiles);
  throw usageError(`there is no profile ${profile} in ${file ?? 'any file'}`, {
    why: known.length === 0 ? undefined : `Its profiles are ${known.join(', ')}.`,
    next: 'Name an existing profile (--profile NAME), or another file (--config-file FILE).',
  });
}

function readToml(file: string, mustBe: boolean): TomlTable | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if (!mustBe && errorCode(error) === 'ENOENT') return undefined;
    throw usageError(`can't read ${file}`, { why: errorMessage(error) });
  }
  if (text.length > fileBytesMax) throw usageError(`${file} is not a profiles file: it has more than ${fileBytesMax} bytes`);
  try {
    return parse(text);
  } catch (error) {
    // Only the first line, because the others show the invalid text, which may be a key.
    if (error instanceof TomlError) throw usageError(`${file}:${error.line}:${error.column}: ${error.message.split('\n', 1).join()}`);
    throw error;
  }
}

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
