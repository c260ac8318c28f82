import { connect } from 'node:net';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { Child } from './child.ts';
import { childrenOfEachTest } from './children-of-test.ts';

const main = fileURLToPath(new URL('./stub-main.ts', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'perdure-serve-'));
afterAll(() => rmSync(folder, { recursive: true }));

const children = childrenOfEachTest();

function start(line: readonly string[], how = 'serve', env: Readonly<Record<string, string>> = {}): Child {
  const child = new Child(process.execPath, [main, ...line], { STUB: how, ...env });
  children.push(child);
  return child;
}

const dev = ['server', 'start-dev', '--port', '0', '--headless'];

describe('server start-dev', () => {
  test.each(['SIGTERM', 'SIGINT', 'SIGHUP'] as const)('serves, prints its banner once and stops with 0 at %s', async (signal) => {
    const child = start(dev);
    await child.seen('out', /workflow-id ID\n/);
    const [, port] = /^Server: {15}localhost:(\d+)$/m.exec(child.out) ?? [];
    expect(child.out.split('\n')).toEqual([
      expect.stringMatching(/^Perdure \S+ \(Temporal API 1\.63, Node \S+\)$/),
      '',
      `Server:               localhost:${port}`,
      'Persistence:          in-memory, gone when the server stops; --db-filename FILE keeps it',
      '',
      `Try it:               TEMPORAL_ADDRESS=localhost:${port} npm run hello`,
      `With Temporal's CLI:  temporal workflow show --address localhost:${port} --workflow-id ID`,
      '',
    ]);
    await answers(Number(port));
    child.process.kill(signal);
    expect(await child.exit).toEqual({ code: 0, signal: null });
    // At the default level a clean run says nothing.
    expect(child.err).toBe('');
  });

  test('a signal during the start ends it with 0', async () => {
    const child = start(dev, 'slow-start');
    await child.seen('err', /starting/);
    child.process.kill('SIGTERM');
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(child.out).toBe('');
  });

  test('SIGUSR1, which asks others to open their logs again, opens no debugger to whoever is on this machine', async () => {
    const child = start(dev, 'slow-stop');
    await child.seen('out', /workflow-id ID\n/);
    child.process.kill('SIGUSR1');
    child.process.kill('SIGTERM');
    // Its drain never ends: there is time for everything that the first signal brings.
    await child.exit;
    expect(child.err).not.toContain('Debugger');
  });

  test('a second signal does not wait for the drain', async () => {
    const child = start([...dev, '--log-level', 'info'], 'slow-stop');
    await child.seen('out', /Persistence:/);
    child.process.kill('SIGINT');
    await child.seen('err', /stub stops/);
    child.process.kill('SIGINT');
    expect(await child.exit).toEqual({ code: 1, signal: null });
    expect(child.err).toContain('perdure: program interrupted\n');
  });

  test('a drain that never ends is left after nine seconds', async () => {
    const child = start(dev, 'slow-stop');
    await child.seen('out', /Persistence:/);
    child.process.kill('SIGTERM');
    expect(await child.exit).toEqual({ code: 1, signal: null });
    expect(child.err).toContain('did not stop within 9 s');
  });

  test.each([
    ['a drain that never ends', 'slow-stop', /Persistence:/, 1],
    ['a failure while it serves', 'fatal', undefined, 1],
    ['another server', 'fenced', undefined, 3],
    ['a bug', 'bug', undefined, 1],
    ['a start that fails', 'refuse', undefined, 1],
    ['a signal during the start', 'slow-start', /starting/, 0],
  ])('%s ends it also while a thread is in a statement that never ends', async (_, how, signalled, code) => {
    const child = start(dev, how, { STUCK_THREAD: '1' });
    if (signalled !== undefined) {
      await child.seen(how === 'slow-start' ? 'err' : 'out', signalled);
      child.process.kill('SIGTERM');
      if (how === 'slow-stop') child.process.kill('SIGINT');
    }
    expect(await child.exit).toEqual({ code, signal: null });
  });

  test('a server that fails says why and ends with 1', async () => {
    const child = start(dev, 'fatal');
    expect(await child.exit).toEqual({ code: 1, signal: null });
    expect(child.err).toBe('perdure: the disk is full\n');
  });

  test.each([
    ['at the start', 'taken', 'perdure: another server serves it\n'],
    ['while it serves', 'fenced', 'perdure: another server took it\n'],
  ])('another server serves the log, %s: exit code 3, which a supervisor can be told not to answer', async (_, how, words) => {
    const child = start(dev, how);
    expect(await child.exit).toEqual({ code: 3, signal: null });
    expect(child.err).toBe(words);
  });

  test('a server that cannot start says why and ends with 1', async () => {
    const child = start(dev, 'refuse');
    expect(await child.exit).toEqual({ code: 1, signal: null });
    expect(child.err).toBe('perdure: the log is locked\nBecause: another process has it\n');
    expect(child.out).toBe('');
  });

  test('a port whose listener was just killed can be taken again', async () => {
    const first = start(dev);
    const port = /\d+$/.exec(await first.seen('out', /Server: +localhost:\d+/))?.[0] ?? '';
    const busy = start(['server', 'start-dev', '--port', port]);
    expect(await busy.exit).toEqual({ code: 1, signal: null });
    expect(busy.err).toContain(`perdure: can't set frontend port ${port}: `);
    first.process.kill('SIGKILL');
    await first.exit;
    const second = start(['server', 'start-dev', '--port', port]);
    await second.seen('out', /Persistence:/);
    await answers(Number(port));
  });
});

describe('server start', () => {
  function file(name: string, text: string): string {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  }

  const log = 'persistence: {datastores: {default: {sql: {pluginName: sqlite, databaseName: perdure.db}}}}\n';

  test('a start may take as long as it moves, and no longer', async () => {
    const short = `global: {membership: {maxJoinDuration: 400ms}}\nservices: {frontend: {rpc: {grpcPort: 0}}}\n${log}`;
    const config = file('short.yaml', short);
    const moving = start(['server', 'start', '--config', config], 'long-replay');
    await moving.seen('err', /"serving"/);
    const stuck = start(['server', 'start', '--config', config], 'slow-start');
    expect(await stuck.exit).toEqual({ code: 1, signal: null });
    expect(stuck.err).toContain('there was no progress for 0.4 s');
  });

  test('serves as the file says and logs JSON', async () => {
    const config = file('a.yaml', `services: {frontend: {whatever: 1, rpc: {grpcPort: 0}}}\notel: {}\n${log}`);
    const child = start(['server', 'start', '--config', config]);
    const line = await child.seen('err', /^.*"serving".*$/m);
    expect(JSON.parse(line)).toMatchObject({ level: 'info', msg: 'serving', address: expect.stringMatching(/^localhost:\d+$/) });
    const warnings = child.err.split('\n').filter((text) => text.includes('"warn"'));
    expect(warnings.map((text): unknown => JSON.parse(text))).toMatchObject([
      { msg: 'unknown key', key: 'services.frontend.whatever', file: `${config}:1:23` },
      { msg: 'traces are not exported yet', key: 'otel', file: `${config}:2:1` },
    ]);
    child.process.kill('SIGTERM');
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(child.out).toBe('');
  });

  test.each([
    { name: 'a warning', line: [], env: {}, warned: true },
    { name: 'none with --allow-no-auth', line: ['--allow-no-auth'], env: {}, warned: false },
    { name: 'none with TEMPORAL_ALLOW_NO_AUTH', line: [], env: { TEMPORAL_ALLOW_NO_AUTH: 'true' }, warned: false },
  ])('beyond loopback without authorization: $name', async ({ line, env, warned }) => {
    const config = file('open.yaml', `services: {frontend: {rpc: {grpcPort: 0, bindOnIP: 0.0.0.0}}}\n${log}`);
    const child = start(['server', 'start', ...line], 'serve', { TEMPORAL_SERVER_CONFIG_FILE_PATH: config, ...env });
    await child.seen('err', /"serving"/);
    expect(child.err.includes('there is no authorization')).toBe(warned);
  });

  test('logs to a file beside the server file, and to a new one after SIGUSR1', async () => {
    const config = file('b.yaml', `log: {outputFile: perdure.log, format: console}\nservices: {frontend: {rpc: {grpcPort: 0}}}\n${log}`);
    const written = join(folder, 'perdure.log');
    const child = start(['server', 'start', '--config', config, '--allow-no-auth']);
    await grows(written, /INFO {2}serving {2}address=localhost:\d+ .*\n$/);
    renameSync(written, `${written}.1`);
    child.process.kill('SIGUSR1');
    await grows(written, /^$/);
    child.process.kill('SIGTERM');
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(readFileSync(written, 'utf8')).toContain('stopping  signal=SIGTERM');
    expect(readFileSync(`${written}.1`, 'utf8')).not.toContain('stopping');
    expect(child.err).toBe('');
  });

  test('goes on when SIGUSR1 comes and its log cannot be opened again', async () => {
    const logs = join(folder, 'logs');
    mkdirSync(logs);
    const config = file('gone.yaml', `log: {outputFile: logs/perdure.log}\nservices: {frontend: {rpc: {grpcPort: 0}}}\n${log}`);
    const child = start(['server', 'start', '--config', config]);
    await grows(join(logs, 'perdure.log'), /"serving"/);
    renameSync(logs, `${logs}.1`);
    child.process.kill('SIGUSR1');
    await child.seen('err', /perdure: the log file \S+perdure\.log cannot be reopened; lines go to the old one \(ENOENT/);
    child.process.kill('SIGTERM');
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(readFileSync(join(`${logs}.1`, 'perdure.log'), 'utf8')).toContain('"stopping"');
  });

  test.skipIf(!existsSync('/dev/full'))('goes on when the disk under its log is full', async () => {
    const config = file('full.yaml', `log: {outputFile: /dev/full}\nservices: {frontend: {rpc: {grpcPort: 0}}}\n${log}`);
    const child = start(['server', 'start', '--config', config]);
    await child.seen('err', /cannot be written/);
    child.process.kill('SIGTERM');
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(child.err).toMatch(/^perdure: the log file \/dev\/full cannot be written; lines are lost until it can \(ENOSPC.*\)\n$/);
  });

  test.each([
    { line: [], err: /no configuration file\nNeither --config nor TEMPORAL_SERVER_CONFIG_FILE_PATH names one\./ },
    { line: ['--config', '/none/x.yaml'], err: /can't read \/none\/x\.yaml\nENOENT/ },
    { line: ['--config', folder], err: /is a folder\nName the file in it/ },
    { line: ['--config', 'x', '--role', 'frontend'], err: /can't run frontend alone/ },
    {
      line: ['--config', 'x', '--role', 'histroy'],
      err: /expected frontend, history, matching or worker, got "histroy"\nDid you mean history\?/,
    },
  ])('$line ends with 2', async ({ line, err }) => {
    const child = start(['server', 'start', ...line]);
    expect(await child.exit).toEqual({ code: 2, signal: null });
    expect(child.err).toMatch(err);
  });

  test('a busy port names the key that says another one', async () => {
    const first = start(dev);
    const port = /\d+$/.exec(await first.seen('out', /Server: +localhost:\d+/))?.[0] ?? '';
    const config = file('busy.yaml', `log: {encoding: console}\nservices: {frontend: {rpc: {grpcPort: ${port}}}}\n${log}`);
    const busy = start(['server', 'start', '--config', config]);
    expect(await busy.exit).toEqual({ code: 1, signal: null });
    expect(busy.err).toContain('Stop the server that listens there, or choose another port with services.frontend.rpc.grpcPort.\n');
  });

  test('a bad file ends with 2 and all its problems', async () => {
    const config = file('bad.yaml', 'perdure: {kafka: {brokers: [b], replicas: 1}}\n');
    const child = start(['server', 'start', '--config', config]);
    expect(await child.exit).toEqual({ code: 2, signal: null });
    expect(child.err).toBe(
      `${config}:1:29: perdure.kafka.brokers[0]: expected host:port, IPv6 in brackets, got "b"\n${config}:1:33: perdure.kafka.replicas: unknown key\n`,
    );
  });

  test.each([
    ['broken', 'a: [\n', /broken\.yaml:2:1: /],
    [
      'missing',
      undefined,
      /server-missing\.yaml:1:33: dynamicConfigClient\.filepath: ENOENT: no such file or directory, stat '.*missing\.yaml'/,
    ],
  ])('a file of dynamic configuration that is %s refuses the start', async (what, text, problem) => {
    if (text !== undefined) file(`${what}.yaml`, text);
    const config = file(`server-${what}.yaml`, `dynamicConfigClient: {filepath: ${what}.yaml, pollInterval: 5s}\n${log}`);
    const child = start(['server', 'start', '--config', config]);
    expect(await child.exit).toEqual({ code: 2, signal: null });
    expect(child.err).toMatch(problem);
  });

  test('--strict-config refuses what would only be warned about', async () => {
    const config = file('strict.yaml', `log: {whatever: 1}\n${log}`);
    const child = start(['server', 'start', '--strict-config', '--config', config]);
    expect(await child.exit).toEqual({ code: 2, signal: null });
    expect(child.err).toBe(`${config}:1:7: log.whatever: unknown key\n`);
  });

  const jsonLines = (child: Child): unknown[] =>
    child.err
      .split('\n')
      .filter((line) => line !== '')
      .map((line): unknown => JSON.parse(line));

  test.each([
    { how: 'refuse', code: 1, last: { level: 'error', msg: 'the log is locked', why: 'Because: another process has it' } },
    { how: 'taken', code: 3, last: { level: 'error', msg: 'another server serves it' } },
    { how: 'fatal', code: 1, last: { level: 'error', msg: 'the disk is full' } },
    { how: 'bug', code: 1, last: { level: 'error', error: 'oops', stacktrace: expect.stringContaining('stub-main.ts') } },
  ])('its last words are a record of its log, once: $how', async ({ how, code, last }) => {
    const config = file('last.yaml', `services: {frontend: {rpc: {grpcPort: 0}}}\n${log}`);
    const child = start(['server', 'start', '--config', config], how);
    expect(await child.exit).toEqual({ code, signal: null });
    const lines = jsonLines(child);
    expect(lines.at(-1)).toMatchObject(last);
    expect(lines.filter((line) => typeof line === 'object' && line !== null && 'level' in line && line.level === 'error')).toHaveLength(1);
  });

  test('with a log file its last words stand there and on stderr', async () => {
    const config = file('last-file.yaml', `log: {outputFile: last.log}\nservices: {frontend: {rpc: {grpcPort: 0}}}\n${log}`);
    const child = start(['server', 'start', '--config', config], 'refuse');
    expect(await child.exit).toEqual({ code: 1, signal: null });
    expect(child.err).toBe('perdure: the log is locked\nBecause: another process has it\n');
    expect(readFileSync(join(folder, 'last.log'), 'utf8')).toMatch(/^\{.*"msg":"the log is locked".*\}\n$/);
  });

  test('--log-level goes before the file', async () => {
    const config = file('level.yaml', `log: {level: info}\nservices: {frontend: {rpc: {grpcPort: 0}}}\n${log}`);
    const child = start(['server', 'start', '--config', config, '--log-level', 'never'], 'refuse');
    expect(await child.exit).toEqual({ code: 1, signal: null });
    expect(child.err).toBe('perdure: the log is locked\nBecause: another process has it\n');
    const verbose = start(['server', 'start', '--config', config, '--log-level', 'debug'], 'fatal');
    await verbose.seen('err', /"level":"debug"/);
  });

  const noLog = '1:1: no log: set perdure.kafka.brokers, or persistence.datastores.default.sql with pluginName: sqlite and databaseName';

  test.each([
    {
      name: 'an empty file',
      text: '',
      errors: ['1:1: the file says nothing; it must name a log to write to, such as perdure.kafka.brokers'],
    },
    {
      name: 'a misspelt group',
      text: 'perdur: {kafka: {brokers: [a:1]}}\n',
      errors: ['1:1: perdur: unknown key; did you mean perdure?', noLog],
    },
    { name: 'a file without a log', text: 'services: {frontend: {rpc: {grpcPort: 0}}}\n', errors: [noLog] },
  ])('$name serves nothing from memory: it ends with 2', async ({ text, errors }) => {
    const config = file('nothing.yaml', text);
    const child = start(['server', 'start', '--config', config]);
    expect(await child.exit).toEqual({ code: 2, signal: null });
    expect(child.err).toBe(errors.map((error) => `${config}:${error}\n`).join(''));
  });
});

describe('config', () => {
  test('validate says ok, or what is wrong', async () => {
    const good = join(folder, 'good.yaml');
    writeFileSync(good, 'perdure: {kafka: {brokers: ["${KAFKA:-kafka:9092}"]}}\n');
    const ok = start(['config', 'validate', good]);
    expect(await ok.exit).toEqual({ code: 0, signal: null });
    expect([ok.out, ok.err]).toEqual([`${good}: ok\n`, '']);
    const bad = join(folder, 'unknown.yaml');
    writeFileSync(bad, 'log: {whatever: 1}\nperdure: {kafka: {brokers: [a:1]}}\n');
    const refused = start(['config', 'validate', bad]);
    expect(await refused.exit).toEqual({ code: 2, signal: null });
    expect([refused.out, refused.err]).toEqual(['', `${bad}:1:7: log.whatever: unknown key\n`]);
  });

  test('validate --dynamic says what is wrong with a file of dynamic configuration, and what has no effect', async () => {
    const good = join(folder, 'dynamic-good.yaml');
    writeFileSync(good, 'history.TaskDLQEnabled: [{value: false}]\nfrontend.rps: [{value: 1}]\n');
    const ok = start(['config', 'validate', '--dynamic', good]);
    expect(await ok.exit).toEqual({ code: 0, signal: null });
    expect([ok.out, ok.err]).toEqual([
      `${good}: ok\n`,
      `${good}:1:1: warning: keys that have no effect in this server: frontend.rps (line 2)\n`,
    ]);
    const bad = join(folder, 'dynamic-bad.yaml');
    writeFileSync(bad, 'history.TaskDLQEnabled:\n  - valeu: false\n');
    const refused = start(['config', 'validate', '--dynamic', bad]);
    expect(await refused.exit).toEqual({ code: 2, signal: null });
    expect([refused.out, refused.err]).toEqual([
      '',
      [
        `${bad}:2:5: history.TaskDLQEnabled[0]: value is missing\n`,
        `${bad}:2:12: history.TaskDLQEnabled[0].valeu: unknown key; an entry has value and constraints\n`,
      ].join(''),
    ]);
  });

  test('validate and print know the file of dynamic configuration that a server file names', async () => {
    const dynamic = join(folder, 'named.yaml');
    writeFileSync(dynamic, 'limit.maxIDLength:\n  - value: none\n');
    const config = join(folder, 'names-dynamic.yaml');
    writeFileSync(config, 'dynamicConfigClient: {filepath: named.yaml}\nperdure: {kafka: {brokers: [a:1]}}\n');
    const validate = start(['config', 'validate', config]);
    const print = start(['config', 'print', config, '-o', 'json']);
    expect([(await validate.exit).code, (await print.exit).code]).toEqual([0, 0]);
    expect(validate.err).toBe(
      `${dynamic}:2:12: limit.maxIDLength[0].value: warning: this value is not used: expected a whole number from 36 to 1000, got "none"\n`,
    );
    expect(JSON.parse(print.out)).toMatchObject({ dynamicConfigClient: { filepath: dynamic, pollInterval: '1m' } });
  });

  test('print is YAML, or JSON on demand', async () => {
    const config = join(folder, 'print.yaml');
    writeFileSync(config, 'perdure: {kafka: {brokers: [kafka:9092], sasl: {mechanism: plain, username: u, password: secret}}}\n');
    const yaml = start(['config', 'print', config]);
    const json = start(['config', 'print', config, '-o', 'json']);
    expect([await yaml.exit, await json.exit]).toEqual([
      { code: 0, signal: null },
      { code: 0, signal: null },
    ]);
    expect(yaml.out).toContain('numHistoryShards: 16');
    expect(JSON.parse(json.out)).toMatchObject({ perdure: { kafka: { brokers: ['kafka:9092'], sasl: { password: '***' } } } });
    expect(yaml.out + json.out).not.toContain('secret');
  });

  test('schema is JSON', async () => {
    const child = start(['config', 'schema']);
    expect(await child.exit).toEqual({ code: 0, signal: null });
    expect(JSON.parse(child.out)).toMatchObject({ title: 'Perdure server file', type: 'object' });
  });
});

async function answers(port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve();
    });
    socket.once('error', reject);
  });
}

/** Waits until the file has that content; the test's own limit ends a wait in vain. */
async function grows(path: string, pattern: RegExp): Promise<void> {
  const { setTimeout: sleep } = await import('node:timers/promises');
  for (;;) {
    try {
      if (pattern.test(readFileSync(path, 'utf8'))) return;
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
    }
    await sleep(5);
  }
}
