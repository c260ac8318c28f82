/** How a command reaches its server: flags, then the environment, then a profile, whose file is that of Temporal's command line. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { usageError } from '../../src/cli/cli-error.ts';
import { rootCommand } from '../../src/cli/root-command.ts';
import { connectionSettings, type ConnectionSettings } from '../../src/cli/connection.ts';
import { parseCommandLine } from '../../src/cli/parse.ts';

const profiles = `
[profile.default]
address = "plain:7233"
namespace = "orders"

[profile.prod]
address = "prod:7233"
api_key = "secret"
[profile.prod.grpc_meta]
My_Team = "payments"
[profile.prod.tls]
server_name = "prod.example.com"
server_ca_cert_data = """
-----BEGIN CERTIFICATE-----
"""

[profile.inside]
address = "inside:7233"
api_key = "secret"
tls = { disabled = true }

[profile.broken]
address = ["a"]
`;

let home: string;
let file: string;
beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), 'perdure-profiles-'));
  file = join(home, '.config', 'temporalio', 'temporal.toml');
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, profiles);
});
afterAll(() => rmSync(home, { recursive: true }));

function settings(line = '', env: Readonly<Record<string, string>> = {}): ConnectionSettings {
  const words = line.split(' ').filter((word) => word !== '');
  const { flags, args } = parseCommandLine(rootCommand, ['cluster', 'health', ...words]);
  const io = { env: { HOME: home, ...env } } as unknown as Parameters<typeof connectionSettings>[0]['io'];
  return connectionSettings({ flags, args, io, format: 'none' });
}

describe('the address', () => {
  test('is that of the flag, else of the environment, else of the profile, else of this machine', () => {
    const env = { TEMPORAL_ADDRESS: 'env:1' };
    expect(settings('--address flag:1 --profile prod', env).address).toBe('flag:1');
    expect(settings('--profile prod', env).address).toBe('env:1');
    expect(settings('--profile prod', { TEMPORAL_ADDRESS: '' }).address).toBe('prod:7233');
    expect(settings('', { TEMPORAL_PROFILE: 'prod' }).address).toBe('prod:7233');
    expect(settings().address).toBe('plain:7233');
    expect(settings('--disable-config-file').address).toBe('127.0.0.1:7233');
    expect(settings('--disable-config-env --profile prod', env).address).toBe('prod:7233');
  });

  test('that is none is refused with the name of whoever says it', () => {
    const bad = join(home, 'bad.toml');
    writeFileSync(bad, '[profile.default]\naddress = "nowhere"');
    expect(() => settings(`--config-file ${bad}`)).toThrow('profile default: address: expected host:port');
    expect(() => settings('', { TEMPORAL_ADDRESS: 'nowhere' })).toThrow('TEMPORAL_ADDRESS: expected host:port');
  });
});

describe('a profile', () => {
  test('brings its key, its headers and TLS', () => {
    const { metadata, tls } = settings('--profile prod --grpc-meta Trace=1');
    expect(Object.fromEntries(metadata)).toEqual({ 'my-team': 'payments', trace: '1', authorization: 'Bearer secret' });
    expect(tls).toMatchObject({ serverName: 'prod.example.com', trustsAnyone: false });
    expect(tls?.ca?.toString()).toBe('-----BEGIN CERTIFICATE-----\n');
  });

  test('is another one by TEMPORAL_CONFIG_FILE', () => {
    const other = join(home, 'other.toml');
    writeFileSync(other, '[profile.default]\naddress = "other:1"');
    expect(settings('', { TEMPORAL_CONFIG_FILE: other }).address).toBe('other:1');
  });

  test.each([
    ['--profile nobody', 'there is no profile nobody in'],
    ['--config-file /nowhere/x.toml', "can't read /nowhere/x.toml"],
    ['--profile broken', 'profile broken: address must be a text'],
  ])('%s is refused', (line, text) => {
    expect(() => settings(line)).toThrow(text);
  });

  // A text may be a key: the place alone is told, not what stands there.
  test.each([
    ['address = ', '2:11: Invalid TOML document: invalid value'],
    ['a = "x"\napi_key = "secret', '3:11: Invalid TOML document: unfinished string'],
    ['a = "x"\n\na = "y"', '4:1: Invalid TOML document: trying to redefine an already defined table or value'],
    [`a = ${'['.repeat(1_001)}`, '2:1005: Invalid TOML document: document contains excessively nested structures. aborting.'],
  ])('a broken file is refused with its place, case %#', (text, problem) => {
    const broken = join(home, 'broken.toml');
    writeFileSync(broken, `[profile.default]\n${text}`);
    expect(() => settings(`--config-file ${broken}`)).toThrow(usageError(`${broken}:${problem}`));
  });

  test.each([
    ['address = 7233', 'address'],
    ['grpc_meta = { team = 7 }', 'grpc_meta.team'],
    ['address = 1979-05-27 07:32:00Z', 'address'],
  ])('%s is refused: it is no text', (text, key) => {
    const wrong = join(home, 'wrong.toml');
    writeFileSync(wrong, `[profile.default]\n${text}`);
    expect(() => settings(`--config-file ${wrong}`)).toThrow(`profile default: ${key} must be a text`);
  });

  test.each(['__proto__', 'constructor'])('may have the name %s', (name) => {
    const named = join(home, 'named.toml');
    expect(() => settings(`--profile ${name}`)).toThrow(`there is no profile ${name}`);
    writeFileSync(named, `[profile."${name}"] # of Europe\r\naddress = 'prod:7233'\r\ntls = { server_name = "eu" }\r\n`);
    expect(settings(`--profile ${name} --config-file ${named}`)).toMatchObject({ address: 'prod:7233', tls: { serverName: 'eu' } });
  });
});

describe('TLS', () => {
  test.each<[string, Readonly<Record<string, string>>, boolean]>([
    ['--disable-config-file', {}, false],
    ['--disable-config-file --api-key x', {}, true],
    ['--disable-config-file --api-key x --no-tls', {}, false],
    ['--disable-config-file --api-key x --tls=false', {}, false],
    ['--disable-config-file', { TEMPORAL_API_KEY: 'x' }, true],
    ['--disable-config-file', { TEMPORAL_API_KEY: 'x', TEMPORAL_TLS: 'false' }, false],
    ['--disable-config-file', { TEMPORAL_TLS: '1' }, true],
    ['--disable-config-file --tls-disable-host-verification', {}, true],
    ['--profile inside', {}, false],
    ['--profile inside --tls', {}, true],
  ])('of %j with %j', (line, env, isTls) => {
    expect(settings(line, env).tls !== undefined).toBe(isTls);
  });

  test('takes no half of a certificate, and not two for one', () => {
    expect(() => settings('--tls-cert-data x')).toThrow('needs its key');
    expect(() => settings(`--tls-ca-data x --tls-ca-path ${file}`)).toThrow('cannot be combined');
  });
});

test('a header that cannot be sent is refused, whoever says it', () => {
  expect(() => settings('', { TEMPORAL_API_KEY: 'secret\n' })).toThrow("the header authorization can't be sent");
  expect(() => settings('', { TEMPORAL_GRPC_META_TEAM: 'a\u0007' })).toThrow("the header team can't be sent");
  expect(settings('', { TEMPORAL_GRPC_META_MY_TEAM: 'a' }).metadata).toEqual([['my-team', 'a']]);
});
