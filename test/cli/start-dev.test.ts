import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parseDevFault } from '../../src/config/dev-faults.ts';
import { defaultNaming } from '../../src/config/metrics-options.ts';
import { banner, hostPort } from '../../src/cli/server/banner.ts';
import type { ServerOptions } from '../../src/config/server-options.ts';
import { sqlitePragmas } from '../../src/config/sqlite-pragmas.ts';
import { freePort } from '../support/server-process.ts';
import { run } from './capture.ts';

const folder = mkdtempSync(join(tmpdir(), 'perdure-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** The options that the flags add up to; port 0, so that no other server is in the way. */
async function optionsOf(
  ...flags: readonly string[]
): Promise<Omit<ServerOptions, 'logger' | 'startMsMax' | 'onProgress' | 'onFatal' | 'heap'>> {
  const { started, err } = await run(['server', 'start-dev', '--port', '0', ...flags]);
  const [options] = started;
  if (options === undefined) throw new Error(`not started: ${err}`);
  const { logger: _logger, startMsMax: _startMsMax, onProgress: _onProgress, onFatal: _onFatal, heap: _heap, ...rest } = options;
  return rest;
}

describe('server start-dev', () => {
  test('needs no flags', async () => {
    expect(await optionsOf()).toEqual({
      host: 'localhost',
      port: 0,
      rolePorts: {},
      metrics: { host: 'localhost', port: 0, path: '/metrics', naming: defaultNaming, timerBoundsMs: undefined },
      log: { kind: 'embedded', filename: undefined, sqlitePragmas: [] },
      historyShards: 4,
      matchingPartitions: 4,
      taskQueuePartitions: 1,
      namespaces: ['default'],
      searchAttributes: new Map(),
      dynamicConfig: new Map(),
      clusterName: 'active',
    });
  });

  test('says which dynamic configuration it does not heed, and is silent where it is so anyway', async () => {
    const flags = [
      '--dynamic-config-value',
      'frontend.enableServerVersionCheck=false',
      '--dynamic-config-value',
      'matching.rps=7',
      '--dynamic-config-value',
      'limit.blobSize.error=2048',
    ];
    const { err } = await run(['server', 'start-dev', '--port', '0', ...flags]);
    expect(err.match(/key=\S+/g)).toEqual(['key=matching.rps']);
  });

  test('says when nobody will answer on a port that was asked for', async () => {
    const { err } = await run(['server', 'start-dev', '--port', '0', '--http-port', '9090', '--ui-port', '8233', '--headless']);
    expect(err).toMatch(/WARN .*the web UI is a separate program.*\n/);
    expect(err).toMatch(/WARN .*nothing is served on --http-port yet.*\n/);
    expect((await run(['server', 'start-dev', '--port', '0', '--headless'])).err).toBe('perdure: the test wants no server\n');
  });

  test('starts as SDK test environments start it', async () => {
    const options = await optionsOf(
      '--namespace',
      'tests',
      '--ip',
      '127.0.0.1',
      '--log-format',
      'pretty',
      '--log-level',
      'warn',
      '--headless',
      '--dynamic-config-value',
      'frontend.enableServerVersionCheck=false',
      '--dynamic-config-value',
      'a.b="text"',
      '--db-filename',
      join(folder, 'sdk.db'),
      '--search-attribute',
      'CustomerId=keyword',
      '--search-attribute',
      'When=DATETIME',
    );
    expect(options.namespaces).toEqual(['default', 'tests']);
    expect(options.log).toEqual({ kind: 'embedded', filename: join(folder, 'sdk.db'), sqlitePragmas: [] });
    expect(options.dynamicConfig).toEqual(
      new Map<string, unknown>([
        ['frontend.enableServerVersionCheck', false],
        ['a.b', 'text'],
      ]),
    );
    expect(options.searchAttributes).toEqual(
      new Map([
        ['CustomerId', 'Keyword'],
        ['When', 'Datetime'],
      ]),
    );
  });

  test('serves metrics where --metrics-port says, on the address of the server', async () => {
    const { metrics } = await optionsOf('--ip', '127.0.0.1', '--metrics-port', '9090');
    expect(metrics).toMatchObject({ host: '127.0.0.1', port: 9090, path: '/metrics' });
  });

  const [history, matching] = [7234, 7235].map((port) => ({ host: '127.0.0.1', port, orFree: true }));
  test.each([
    [[], {}],
    [['--no-role-ports'], {}],
    [['--role-ports'], { history, matching }],
    [['--history-port', '0'], { history: { host: '127.0.0.1', port: 0, orFree: false } }],
    [['--role-ports', '--matching-port', '9'], { history, matching: { host: '127.0.0.1', port: 9, orFree: false } }],
  ])('%j opens ports of roles: %j', async (flags, rolePorts) => {
    expect((await optionsOf('--ip', '127.0.0.1', ...flags)).rolePorts).toEqual(rolePorts);
  });

  test('accepts every flag whose feature is not there yet', async () => {
    const options = await optionsOf(
      '--http-port',
      '7243',
      '--ui-port',
      '8233',
      '--ui-ip',
      '0.0.0.0',
      '--ui-public-path',
      '/x',
      '--ui-asset-path',
      'x',
      '--ui-codec-endpoint',
      'http://x',
      '--ui-disable-news-fetch',
    );
    expect(options).toEqual(await optionsOf());
  });

  test.each([
    [['--ip', 'localhost'], 'localhost'],
    [['--ip', '0.0.0.0'], '0.0.0.0'],
    [['--ip', '[::1]'], '::1'],
  ])('%j listens on %s', async (flags, host) => {
    expect((await optionsOf(...flags)).host).toBe(host);
  });

  test('names each namespace once, and default always', async () => {
    expect((await optionsOf('-n', 'b', '-n', 'default', '-n', 'b')).namespaces).toEqual(['default', 'b']);
  });

  test('hands pragmas on in order', async () => {
    const { log } = await optionsOf('--sqlite-pragma', 'cache_size=-2000', '--sqlite-pragma', 'temp_store=MEMORY');
    expect(log).toMatchObject({
      sqlitePragmas: [
        ['cache_size', '-2000'],
        ['temp_store', 'MEMORY'],
      ],
    });
  });

  test('--log-config prints what it adds up to', async () => {
    const flags = ['--port', '0', '--log-level', 'error', '-n', 'orders', '--dynamic-config-value', 'a=[1]'];
    const { err } = await run(['server', 'start-dev', '--log-config', ...flags]);
    await expect(err.replace(/^perdure: the test wants no server\n/m, '')).toMatchFileSnapshot('fixtures/log-config.yaml');
  });
});

describe('a flag that makes no sense is refused before anything starts', () => {
  test.each([
    { flags: ['--port', '65536'], code: 2, err: 'perdure: --port: expected a port from 0 to 65535, got "65536"\n' },
    { flags: ['--port', '7233x'], code: 2, err: 'perdure: --port: expected a port from 0 to 65535, got "7233x"\n' },
    { flags: ['--ui-port', 'x'], code: 2, err: 'perdure: --ui-port: expected a port from 0 to 65535, got "x"\n' },
    { flags: ['--ip='], code: 2, err: 'perdure: --ip: expected an address such as 127.0.0.1 or 0.0.0.0, got nothing\n' },
    { flags: ['--namespace='], code: 2, err: 'perdure: --namespace: expected a name, got nothing\n' },
    {
      flags: ['--log-level', 'wran'],
      code: 2,
      err: 'perdure: --log-level: expected debug, info, warn, error, never, got "wran"\nDid you mean warn?\n',
    },
    { flags: ['--log-format', 'yaml'], code: 2, err: 'perdure: --log-format: expected text, json, pretty, got "yaml"\n' },
    { flags: ['--search-attribute', 'X'], code: 2, err: 'perdure: --search-attribute: expected NAME=Type, got "X"\n' },
    {
      flags: ['--search-attribute', 'X=Keywrd'],
      code: 2,
      err: 'perdure: --search-attribute X: expected one of Text, Keyword, Int, Double, Bool, Datetime, KeywordList, got "Keywrd"\nDid you mean Keyword?\n',
    },
    {
      flags: ['--search-attribute', 'X=Int', '--search-attribute', 'X=Bool'],
      code: 2,
      err: 'perdure: --search-attribute X: given as Int and as Bool\n',
    },
    {
      flags: ['--dynamic-config-value', 'a=b'],
      code: 2,
      err: 'perdure: --dynamic-config-value a: expected a JSON value, got b\nA string needs quotes, and these must be protected from the shell.\nWrite --dynamic-config-value \'a="b"\' for the string.\n',
    },
    {
      flags: ['--dynamic-config-value', 'limit.blobSize.error="2 MB"'],
      code: 2,
      err: 'perdure: --dynamic-config-value limit.blobSize.error: expected a whole number from 1024 to 2097152, got "2 MB"\n',
    },
    {
      flags: ['--dev-faults', 'kind=sometimes'],
      code: 2,
      err: 'perdure: --dev-faults: kind: expected failed or permanent, got "sometimes"\n',
    },
    { flags: ['--dynamic-config-value', '=1'], code: 2, err: 'perdure: --dynamic-config-value: expected KEY=JSON, got "=1"\n' },
    {
      flags: ['--sqlite-pragma', 'cache_sise=1'],
      code: 2,
      err: `perdure: --sqlite-pragma: unknown pragma "cache_sise"\nDid you mean cache_size?\nAccepted are ${[...sqlitePragmas.keys()].join(', ')}.\n`,
    },
    {
      flags: ['--sqlite-pragma', 'a;b=1'],
      code: 2,
      err: `perdure: --sqlite-pragma: unknown pragma "a;b"\nAccepted are ${[...sqlitePragmas.keys()].join(', ')}.\n`,
    },
    {
      flags: ['--sqlite-pragma', 'synchronous=norml'],
      code: 2,
      err: 'perdure: --sqlite-pragma synchronous: SQLite has no value "norml" for it\n',
    },
    {
      flags: ['--db-filename='],
      code: 2,
      err: 'perdure: --db-filename: expected a file name, got nothing\nLeave the flag out to keep workflows in memory.\n',
    },
    {
      flags: ['-f', join(folder, 'none', 'x.db')],
      code: 2,
      err: `perdure: can't open database file ${join(folder, 'none', 'x.db')}\nThe folder ${join(folder, 'none')} does not exist.\nCreate it: mkdir -p ${join(folder, 'none')}\n`,
    },
    {
      flags: ['-f', join(folder, 'x'.repeat(300), 'x.db')],
      code: 2,
      err: expect.stringMatching(/^perdure: can't open database file .*\nENAMETOOLONG: .*\n$/),
    },
    {
      flags: ['-f', folder],
      code: 2,
      err: `perdure: can't open database file ${folder}\nIt is a folder.\nName a file in it: --db-filename ${folder}/perdure.db\n`,
    },
  ])('$flags', async ({ flags, code, err }) => {
    expect(await run(['server', 'start-dev', ...flags])).toEqual({ code, out: '', err, started: [] });
  });

  test.each([
    { env: {}, flag: '--port N' },
    { env: { npm_lifecycle_event: 'start' }, flag: 'npm start -- --port N' },
  ])('a busy port, before the server is asked to start: $flag', async ({ env, flag }) => {
    const other = createServer();
    await new Promise<void>((resolve) => void other.listen(0, '127.0.0.1', resolve));
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const result = await run(['server', 'start-dev', '-p', String(port)], env);
    await new Promise<void>((resolve) => void other.close(() => resolve()));
    expect(result).toEqual({
      code: 1,
      out: '',
      err: `perdure: can't set frontend port ${port}: listen EADDRINUSE: address already in use 127.0.0.1:${port}\nStop the server that listens there, or choose another port with ${flag}.\n`,
      started: [],
    });
  });

  test('an address that no interface has is not blamed on the port', async () => {
    // Kept for documentation: nobody has it.
    const { code, err, started } = await run(['server', 'start-dev', '--ip', '192.0.2.1']);
    expect({ code, started }).toEqual({ code: 1, started: [] });
    expect(err).toMatch(/^perdure: can't listen on 192\.0\.2\.1: .*EADDRNOTAVAIL.*\n.*with --ip ADDRESS\.\n$/);
  });

  test('a port that two roles have been given is refused before anything is opened', async () => {
    const port = String(await freePort());
    const { code, err, started } = await run(['server', 'start-dev', '--ip', '127.0.0.1', '--port', port, '--matching-port', port]);
    expect({ code, started }).toEqual({ code: 1, started: [] });
    expect(err).toMatch(/^perdure: can't set matching port \d+: .*EADDRINUSE.*\n.*with --matching-port N\.\n$/);
  });
});

describe('the banner', () => {
  const embedded = (filename: string | undefined) => ({ kind: 'embedded', filename, sqlitePragmas: [] }) as const;

  const ports = (port: number) => ({ port, rolePorts: {} });

  test('names the ports of roles that are open', () => {
    const shown = banner({ host: '::1', log: embedded(undefined) }, { port: 1, rolePorts: { history: 2, matching: 3 } });
    expect(shown).toContain('Server:               localhost:1\nHistory:              localhost:2\nMatching:             localhost:3\n');
  });

  test('pads labels to 21 columns and one blank', () => {
    const lines = banner({ host: 'localhost', log: embedded(undefined) }, ports(7233)).split('\n');
    expect(lines[0]).toMatch(/^Perdure \d+\.\d+\.\d+\+sources \(Temporal API 1\.63, Node \d+\.\d+\)$/);
    expect(lines.slice(1)).toEqual([
      '',
      'Server:               localhost:7233',
      'Persistence:          in-memory, gone when the server stops; --db-filename FILE keeps it',
      '',
      'Try it:               npm run hello',
      "With Temporal's CLI:  temporal workflow show --workflow-id ID",
      '',
    ]);
  });

  test('names the two files, which belong together', () => {
    expect(banner({ host: '0.0.0.0', log: embedded('perdure.db') }, ports(1))).toContain(
      '\nServer:               0.0.0.0:1\nPersistence:          perdure.db and perdure.db-state\n',
    );
  });

  test('what it tells to try reaches this server', () => {
    const fault = parseDevFault('task=TASK_TYPE_USER_TIMER,error=planted,share=0.25,namespace=orders,kind=permanent');
    if ('problem' in fault) throw new Error(fault.problem);
    expect(banner({ host: 'localhost', log: embedded(undefined), devFaults: [fault.fault] }, ports(7233))).toContain(
      'FAULTS INJECTED:      TASK_TYPE_USER_TIMER of orders, 25 % of them, fails for good: planted\n',
    );
    const shown = banner({ host: '0.0.0.0', log: embedded('perdure.db') }, ports(7300));
    expect(shown).toContain('TEMPORAL_ADDRESS=localhost:7300 npm run hello');
    expect(banner({ host: '10.0.0.7', log: embedded(undefined) }, ports(7233))).toContain('show --address 10.0.0.7:7233 --workflow-id');
  });

  test.each([
    ['127.0.0.1', 'localhost:1'],
    ['::1', 'localhost:1'],
    ['::', '[::]:1'],
    ['10.0.0.1', '10.0.0.1:1'],
  ])('shows %s as %s', (host, shown) => {
    expect(hostPort(host, 1)).toBe(shown);
  });
});
