import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { effectiveConfig, toYaml } from '../../src/config/effective.ts';
import { fileJsonSchema, type JsonSchema } from '../../src/config/json-schema.ts';
import { renderProblems } from '../../src/config/problem.ts';
import { readConfigFile, type ReadOptions } from '../../src/config/read-file.ts';
import { settingsOf, type FileSettings } from '../../src/config/settings.ts';

const lenient: ReadOptions = { env: {}, strict: false };

function problemsOf(source: string, options: Partial<ReadOptions> = {}): string[] {
  const { problems } = resolve(source, options);
  return renderProblems('server.yaml', problems).split('\n').slice(0, -1);
}

const someLog = 'persistence: {datastores: {default: {sql: {pluginName: sqlite, databaseName: perdure.db}}}}\n';

/** With a log, unless the source is about that: every server needs one. */
function resolve(source: string, options: Partial<ReadOptions> = {}) {
  const aboutLogs = /persistence|perdure/.test(source) || !/^[a-z]\w*:/.test(source);
  return resolveAsIs(aboutLogs ? source : `${source.trimEnd()}\n${someLog}`, options);
}

function resolveAsIs(source: string, options: Partial<ReadOptions> = {}) {
  const read = readConfigFile(source, { ...lenient, ...options });
  if (read.config === undefined) return { settings: undefined, problems: read.problems };
  const { settings, problems } = settingsOf(read.config, {
    autoCreateTopics: true,
    locate: read.locate,
    folder: '/etc/perdure',
    memory: { heapBytes: 2 ** 40, machineBytes: 2 ** 40 },
  });
  return { settings, problems: [...read.problems, ...problems] };
}

function settingsFrom(source: string, options: Partial<ReadOptions> = {}): FileSettings {
  const { settings, problems } = resolve(source, options);
  if (settings === undefined) throw new Error(renderProblems('server.yaml', problems));
  return settings;
}

describe('what a file means', () => {
  test('a file that names a log and nothing else', () => {
    expect(settingsFrom(someLog)).toEqual({
      server: {
        host: 'localhost',
        port: 7233,
        rolePorts: {
          history: { host: 'localhost', port: 7234, orFree: true },
          matching: { host: 'localhost', port: 7235, orFree: true },
        },
        log: { kind: 'embedded', filename: '/etc/perdure/perdure.db', sqlitePragmas: [] },
        historyShards: 4,
        matchingPartitions: 4,
        taskQueuePartitions: 1,
        namespaces: ['default'],
        searchAttributes: new Map(),
        dynamicConfig: new Map(),
        clusterName: 'active',
        stateLimits: {
          hotStateBytesMax: 268_435_456,
          historyCacheBytesMax: 67_108_864,
          unwrittenStateBytesMax: 536_870_912,
          checkpointRecordsMax: 10_000,
        },
      },
      log: { level: 'info', format: 'json', target: { kind: 'stderr' } },
      startMsMax: 30_000,
    });
  });

  test('one more line puts the journals on Kafka', () => {
    const { server } = settingsFrom('perdure: {kafka: {brokers: [kafka:9092]}}');
    expect(server.log).toEqual({
      kind: 'kafka',
      kafka: {
        brokers: ['kafka:9092'],
        topicPrefix: 'perdure',
        replicationFactor: 1,
        tls: undefined,
        sasl: undefined,
        autoCreateTopics: true,
      },
    });
    expect([server.historyShards, server.matchingPartitions, server.taskQueuePartitions]).toEqual([16, 16, 4]);
  });

  test('everything that can be said', () => {
    const { server, log, startMsMax } = settingsFrom(
      `
log: {level: DEBUG, format: console, outputFile: /var/log/perdure.log}
global: {membership: {maxJoinDuration: 1m30s}}
services: {frontend: {rpc: {grpcPort: 7300, bindOnIP: 10.0.0.7}}}
persistence: {numHistoryShards: 64}
clusterMetadata: {currentClusterName: east}
perdure:
  kafka:
    brokers: \${BROKERS}
    topicPrefix: orders
    replicationFactor: "\${RF:-3}"
    tls: {serverName: kafka.internal, disableHostVerification: true}
    sasl: {mechanism: SCRAM-SHA-512, username: perdure, password: "\${PASSWORD}"}
`,
      { env: { BROKERS: 'a:9092, [::1]:9093', PASSWORD: '12345' } },
    );
    expect(server).toMatchObject({ host: '10.0.0.7', port: 7300, historyShards: 64, clusterName: 'east' });
    expect(server.log).toEqual({
      kind: 'kafka',
      kafka: {
        brokers: ['a:9092', '[::1]:9093'],
        topicPrefix: 'orders',
        replicationFactor: 3,
        tls: { ca: undefined, cert: undefined, key: undefined, serverName: 'kafka.internal', verifyServer: false },
        sasl: { mechanism: 'scram-sha-512', username: 'perdure', password: '12345' },
        autoCreateTopics: true,
      },
    });
    expect(log).toEqual({ level: 'debug', format: 'text', target: { kind: 'file', filename: '/var/log/perdure.log' } });
    expect(startMsMax).toBe(90_000);
  });

  test.each([
    ['services: {frontend: {rpc: {bindOnLocalHost: true}}}', 'localhost'],
    ['services: {frontend: {rpc: {bindOnLocalHost: false, bindOnIP: 0.0.0.0}}}', '0.0.0.0'],
    ['services: {frontend: {rpc: {grpcPort: 1}}}', 'localhost'],
    ['services: {frontend: {rpc: {bindOnIP: "::1"}}}', '::1'],
  ])('%s listens on %s', (source, host) => {
    expect(settingsFrom(source).server.host).toBe(host);
  });

  test('a port of a role that is named, and where it listens', () => {
    const named = 'services: {history: {rpc: {grpcPort: 7234, bindOnIP: 10.0.0.7}}, matching: {rpc: {grpcPort: 0}}}';
    expect(settingsFrom(named).server.rolePorts).toEqual({
      history: { host: '10.0.0.7', port: 7234, orFree: false },
      matching: { host: 'localhost', port: 0, orFree: false },
    });
  });

  test.each([
    [
      'perdure: {kafka: {brokers: [a:1], tls: true}}',
      { ca: undefined, cert: undefined, key: undefined, serverName: undefined, verifyServer: true },
    ],
    ['perdure: {kafka: {brokers: [a:1], tls: false}}', undefined],
    ['perdure: {kafka: {brokers: [a:1], tls: {enabled: false, serverName: x}}}', undefined],
  ])('%s', (source, tls) => {
    expect(settingsFrom(source).server.log).toMatchObject({ kafka: { tls } });
  });

  test.each([
    ['{sql: {pluginName: sqlite, databaseName: /data/perdure.db}}', '/data/perdure.db'],
    ['{sql: {pluginName: sqlite, databaseName: data/perdure.db}}', '/etc/perdure/data/perdure.db'],
    ['{sql: {pluginName: sqlite, databaseName: x, connectAttributes: {mode: memory}}}', undefined],
  ])('the datastore %s keeps journals in %s', (datastore, filename) => {
    expect(settingsFrom(`persistence: {defaultStore: main, datastores: {main: ${datastore}}}`).server.log).toMatchObject({
      kind: 'embedded',
      filename,
    });
  });

  test.each([
    ['fatal', 'error'],
    ['dpanic', 'error'],
    ['Warn', 'warn'],
    ['loud', 'info'],
  ])('log level %s is %s', (given, level) => {
    expect(settingsFrom(`log: {level: ${given}}`).log.level).toBe(level);
  });
});

describe('what is wrong, and where', () => {
  test.each([
    {
      name: 'a key two edits away',
      source: 'services:\n  frontend:\n    rpc:\n      grpcPrt: 1\n',
      problems: ['server.yaml:4:7: services.frontend.rpc.grpcPrt: warning: unknown key; did you mean grpcPort?'],
    },
    {
      name: 'a key that nothing resembles',
      source: 'log: {whatever: 1}\n',
      problems: ['server.yaml:1:7: log.whatever: warning: unknown key'],
    },
    {
      name: 'a group that nobody knows',
      source: 'perdur:\n  kafka: {brokers: [a:1]}\n',
      problems: ['server.yaml:1:1: perdur: unknown key; did you mean perdure?'],
    },
    {
      name: 'no log',
      source: 'log: {}\npersistence: {numHistoryShards: 4}\n',
      problems: [
        'server.yaml:1:1: no log: set perdure.kafka.brokers, or persistence.datastores.default.sql with pluginName: sqlite and databaseName',
      ],
    },
    {
      name: 'no brokers',
      source: 'perdure: {kafka: {brokers: "${KAFKA_BROKERS:-}"}}',
      problems: ['server.yaml:1:28: perdure.kafka.brokers: no brokers are named; write brokers: [host:port], or leave kafka out'],
    },
    {
      name: 'a database without a file',
      source: 'persistence: {datastores: {default: {sql: {pluginName: sqlite}}}}',
      problems: [expect.stringMatching(/^server.yaml:1:38: persistence.datastores.default.sql: databaseName is missing: /)],
    },
    {
      name: 'where not to listen',
      source: 'services: {frontend: {rpc: {bindOnLocalHost: false}}}',
      problems: [expect.stringMatching(/^server.yaml:1:46: services.frontend.rpc.bindOnLocalHost: says where not to listen; /)],
    },
    { name: 'nothing at all', source: '', problems: [expect.stringMatching(/^server.yaml:1:1: the file says nothing; /)] },
    { name: 'comments alone', source: '# log:\n', problems: [expect.stringMatching(/^server.yaml:1:1: the file says nothing; /)] },
    {
      name: 'an unknown key of our own is an error',
      source: 'perdure:\n  kafka:\n    broker: [a:1]\n',
      problems: ['server.yaml:3:5: perdure.kafka.broker: unknown key; did you mean brokers?'],
    },
    {
      name: 'so is one under global.tls',
      source: 'global:\n  tls:\n    expirationChecks:\n      warnWindow: 1h\n',
      problems: ['server.yaml:4:7: global.tls.expirationChecks.warnWindow: unknown key'],
    },
    {
      name: 'a duration in days',
      source: 'global:\n  tls:\n    expirationChecks:\n      warningWindow:  "30 days"\n',
      problems: ['server.yaml:4:23: global.tls.expirationChecks.warningWindow: expected a duration such as 720h, got "30 days"'],
    },
    {
      name: 'a number without a unit',
      source: 'global: {membership: {maxJoinDuration: 30}}',
      problems: ['server.yaml:1:40: global.membership.maxJoinDuration: expected a duration such as 720h, got 30'],
    },
    {
      name: 'a key that every object has',
      source: 'constructor: 1\nlog: {toString: {a: 1}, hasOwnProperty: 1}\n',
      problems: [
        'server.yaml:1:1: constructor: unknown key',
        'server.yaml:2:7: log.toString: warning: unknown key',
        'server.yaml:2:25: log.hasOwnProperty: warning: unknown key',
      ],
    },
    {
      name: 'a refused group that holds itself',
      source: 'global: {authorization: {authorizer: &a {b: *a}}}\n',
      problems: [expect.stringMatching(/^server.yaml:1:26: global.authorization.authorizer: authorization is not available yet; /)],
    },
    {
      name: 'a password that is a number is not repeated',
      source: 'perdure: {kafka: {brokers: [a:1], sasl: {mechanism: plain, username: u, password: 271828}}}',
      problems: ['server.yaml:1:83: perdure.kafka.sasl.password: expected text in quotes (what it is instead is not shown)'],
    },
    {
      name: 'nor is a login in one text',
      source: 'perdure: {kafka: {brokers: [a:1], sasl: "plain u 271828"}}',
      problems: ['server.yaml:1:41: perdure.kafka.sasl: expected a group of keys (what it is instead is not shown)'],
    },
    {
      name: 'nor a private key in place of its file',
      source:
        'perdure: {kafka: {brokers: [a:1], tls: {certFile: "-----BEGIN CERTIFICATE-----\\nMII", keyFile: "-----BEGIN PRIVATE KEY-----\\n271828"}}}',
      problems: [
        'server.yaml:1:51: perdure.kafka.tls.certFile: holds the text of a PEM file (not shown): write it to a file, and name the file here',
        'server.yaml:1:96: perdure.kafka.tls.keyFile: holds the text of a PEM file (not shown): write it to a file, and name the file here',
      ],
    },
    {
      name: 'a start that waits for longer than a timer can',
      source: 'global: {membership: {maxJoinDuration: 720h}}',
      problems: ['server.yaml:1:40: global.membership.maxJoinDuration: expected a duration from 100ms to 24h, got "720h"'],
    },
    {
      name: 'a start that waits for nothing',
      source: 'global: {membership: {maxJoinDuration: 0s}}',
      problems: ['server.yaml:1:40: global.membership.maxJoinDuration: expected a duration from 100ms to 24h, got "0s"'],
    },
    {
      name: 'a port out of range',
      source: 'services: {frontend: {rpc: {grpcPort: 70000}}}',
      problems: ['server.yaml:1:39: services.frontend.rpc.grpcPort: expected a port from 0 to 65535, got 70000'],
    },
    {
      name: 'a group where a value belongs',
      source: 'persistence:\n  numHistoryShards:\n    a: 1\n',
      problems: ['server.yaml:2:3: persistence.numHistoryShards: expected a whole number from 1 to 16384, got a group of keys'],
    },
    {
      name: 'a value where a group belongs',
      source: 'perdure: yes\n',
      problems: ['server.yaml:1:10: perdure: expected a group of keys, got "yes"'],
    },
    { name: 'a list where a group belongs', source: '- a\n', problems: ['server.yaml:1:1: expected a group of keys, got a list'] },
    {
      name: 'one broker of several',
      source: 'perdure:\n  kafka:\n    brokers:\n      - a:9092\n      - b\n',
      problems: ['server.yaml:5:9: perdure.kafka.brokers[1]: expected host:port, IPv6 in brackets, got "b"'],
    },
    {
      name: 'what is missing, at what surrounds it',
      source: 'perdure:\n  kafka:\n    brokers: [a:1]\n    sasl: {mechanism: plain, username: u}\n',
      problems: ['server.yaml:4:5: perdure.kafka.sasl.password: expected text, got nothing'],
    },
    {
      name: 'a mechanism nobody knows',
      source: 'perdure: {kafka: {brokers: [a:1], sasl: {mechanism: GSSAPI, username: u, password: p}}}',
      problems: ['server.yaml:1:53: perdure.kafka.sasl.mechanism: expected plain, scram-sha-256 or scram-sha-512, got "gssapi"'],
    },
    {
      name: 'an unset variable, said once',
      source: 'services: {frontend: {rpc: {grpcPort: "${PORT}"}}}',
      problems: ['server.yaml:1:39: environment variable PORT is not set; set it or write ${PORT:-default}'],
    },
    {
      name: 'two spellings that differ',
      source: 'log:\n  encoding: json\n  format: console\n',
      problems: ['server.yaml:3:11: log.format: says console, but log.encoding in line 2 says json; keep one'],
    },
    { name: 'two spellings that agree', source: 'log:\n  encoding: json\n  format: JSON\n', problems: [] },
    {
      name: 'two addresses to listen on',
      source: 'services: {frontend: {rpc: {bindOnLocalHost: true, bindOnIP: 10.0.0.1}}}',
      problems: ['server.yaml:1:62: services.frontend.rpc.bindOnIP: bindOnLocalHost is set too; keep one of them'],
    },
    {
      name: 'TLS that would not be there',
      source: 'global:\n  tls:\n    frontend:\n      server: {certFile: a}\n',
      problems: [expect.stringMatching(/^server.yaml:3:5: global.tls.frontend: TLS on this server.s own ports is not available yet; /)],
    },
    {
      name: 'authorization that would not be there',
      source: 'global: {authorization: {authorizer: default}}',
      problems: [expect.stringMatching(/^server.yaml:1:38: global.authorization.authorizer: authorization is not available yet; /)],
    },
    {
      name: 'authorization that is switched off',
      source: 'global: {authorization: {authorizer: "", claimMapper: ""}, tls: {frontend: {server: {}}}}',
      problems: [],
    },
    {
      name: 'what Temporal knows and we do not use',
      source: 'archival: {visibility: {}}\npublicClient:\n  hostPort: x\nservices:\n  worker: {rpc: {membershipPort: 6939}}\n',
      problems: [
        'server.yaml:1:12: archival.visibility: warning: archival of visibility is not available yet',
        'server.yaml:2:1: publicClient: warning: read, but not used by this server',
        'server.yaml:5:3: services.worker: warning: the worker role runs in this process, without a port',
      ],
    },
    {
      name: 'a role that listens on two addresses',
      source: 'services: {history: {rpc: {bindOnLocalHost: true, bindOnIP: 10.0.0.7}}}',
      problems: [expect.stringMatching(/^server.yaml:1:61: services.history.rpc.bindOnIP: bindOnLocalHost is set too/)],
    },
    {
      name: 'a database that is not supported',
      source: 'persistence: {datastores: {default: {sql: {pluginName: mysql8}}}}',
      problems: ['server.yaml:1:56: persistence.datastores.default.sql.pluginName: mysql8 is not supported; use sqlite, or perdure.kafka'],
    },
    {
      name: 'Cassandra when it is selected',
      source: 'persistence: {datastores: {default: {cassandra: {hosts: x}}, other: {cassandra: {}}}}',
      problems: [
        expect.stringContaining('warning'),
        expect.stringContaining('warning'),
        expect.stringMatching(/default.cassandra: cassandra is not supported/),
      ],
    },
    {
      name: 'certificates that cannot be read',
      source: 'perdure: {kafka: {brokers: [a:1], tls: {caFile: /none/ca.pem, certFile: /none/c.pem}}}',
      problems: [
        expect.stringContaining('certFile and keyFile go together'),
        'server.yaml:1:49: perdure.kafka.tls.caFile: /none/ca.pem cannot be read: ENOENT: no such file or directory',
        expect.stringContaining('certFile: /none/c.pem cannot be read: ENOENT'),
      ],
    },
    {
      name: 'broken YAML',
      source: 'a: [1\nb: 2\n',
      problems: [expect.stringMatching(/^server.yaml:2:1: Flow sequence/)],
    },
    {
      name: 'a line that is indented too far',
      source: 'log:\n  level: info\n   encoding: json\n',
      problems: ['server.yaml:3:4: this line is indented more than the lines of its group; or the line before it lacks a colon'],
    },
    {
      name: 'a line that is not indented far enough',
      source: 'log:\n  level: info\n encoding: json\n',
      problems: ['server.yaml:3:1: this line is indented in another way than the lines of its group'],
    },
    {
      name: 'a tab',
      source: 'log:\n\tlevel: info\n',
      problems: ['server.yaml:2:1: a tab at the beginning of a line; YAML takes spaces only'],
    },
    {
      name: 'two colons',
      source: 'log:\n  level: a: b\n',
      problems: ['server.yaml:2:10: a second colon in one line; put the value in quotes, or its keys on lines of their own'],
    },
    {
      name: 'a key twice',
      source: 'log: {}\nlog: {}\n',
      problems: ['server.yaml:2:1: the key "log" is twice in this group; keep one of them'],
    },
    {
      name: 'two documents',
      source: 'log: {}\n---\nlog: {}\n',
      problems: [expect.stringMatching(/^server.yaml:2:1: .*multiple documents/)],
    },
    {
      name: 'a Go template',
      source: '# enable-template\nlog:\n',
      problems: ['server.yaml:1:1: Go templates are not supported; use ${NAME:-default}'],
    },
  ])('$name', ({ source, problems }) => {
    expect(problemsOf(source)).toEqual(problems);
  });

  test('in the order of the file, all of them', () => {
    const lines = problemsOf(
      'perdure: {kafka: {brokers: [b], replicationFactor: 0}}\nlog: 1\nservices: {frontend: {rpc: {grpcPort: x}}}\n',
    );
    expect(lines.map((line) => line.split(': ')[0])).toEqual([
      'server.yaml:1:29',
      'server.yaml:1:52',
      'server.yaml:2:6',
      'server.yaml:3:39',
    ]);
  });

  test('at most fifty', () => {
    const lines = problemsOf(Array.from({ length: 60 }, (_, index) => `key${index}zzz: 1\n`).join(''));
    expect(lines).toHaveLength(51);
    expect(lines.at(-1)).toBe('server.yaml: and 10 more');
  });

  test('strict turns every unknown key into an error', () => {
    expect(problemsOf('log: {whatever: 1}\n', { strict: true })).toEqual(['server.yaml:1:7: log.whatever: unknown key']);
    expect(resolve('log: {whatever: 1}\n', { strict: true }).settings).toBeUndefined();
  });

  test('an unknown key that is only warned about leaves the rest in force', () => {
    expect(settingsFrom('log: {whatever: 1}\nservices: {frontend: {oops: 1, rpc: {grpcPort: 7300}}}\n').server.port).toBe(7300);
  });

  test('whatever the text, problems have a place in it and nothing is thrown', () => {
    const word = fc.constantFrom(
      'log',
      'perdure',
      'kafka',
      'brokers',
      'services',
      'frontend',
      'rpc',
      'grpcPort',
      'x',
      '7233',
      '${A}',
      '"',
      '[',
      ']',
      '{',
      '}',
      '-',
      '&a',
      '*a',
      '<<',
      '|',
      '#',
    );
    const text = fc
      .array(fc.tuple(word, fc.constantFrom(': ', '\n', '\n  ', ' ', ', ', ':')), { maxLength: 30 })
      .map((parts) => parts.flat().join(''));
    fc.assert(
      fc.property(fc.oneof(text, fc.string()), (source) => {
        const lineCount = source.split('\n').length;
        for (const problem of resolveAsIs(source).problems) {
          expect(problem.line).toBeGreaterThanOrEqual(1);
          expect(problem.line).toBeLessThanOrEqual(lineCount);
          expect(problem.column).toBeGreaterThanOrEqual(1);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe('what nobody writes on purpose', () => {
  const odd = [
    ...['', '~', '[]', '{}', '[[]]', '[~]', '[{}]', '.nan', '.inf', '-.inf', '-0', '0x10', '1e400', '99999999999999999999', '2001-01-01'],
    ...['&a {x: *a}', '&a [*a]', '*nope', '{<<: {a: 1}}', '{<<: [1]}', '{? [a, b] : c}', '{1: 2}', '{~: 1}', '{__proto__: {a: 1}}'],
    ...[
      '{constructor: {}, toString: 1}',
      '!!binary aGVsbG8=',
      '!!set {a, b}',
      '!!omap [a: 1]',
      '!foo bar',
      '"a\\0b"',
      '"\\e[2J"',
      '"${X}"',
      '"${Y}"',
    ],
    ...['true', '"true"', '"0"', '"00012"', '"0s"', '"::"', '"a:99999"', '","', `"${'x'.repeat(70_000)}"`],
  ];

  test('in the place of each key gives settings or problems, and nothing is thrown', () => {
    const paths = pathsOf(fileJsonSchema());
    expect(paths).toContainEqual(['perdure', 'kafka', 'sasl', 'password']);
    for (const path of paths) {
      for (const value of odd) {
        const source = path.map((key, depth) => `${'  '.repeat(depth)}${key}:`).join('\n');
        const { settings, problems } = resolveAsIs(`${source} ${value}\n`, { env: { X: 'x\ny: 1' } });
        expect(settings !== undefined || renderProblems('server.yaml', problems) !== '', `${path.join('.')}: ${value}`).toBe(true);
      }
    }
  });

  function pathsOf(schema: JsonSchema, above: readonly string[] = []): readonly (readonly string[])[] {
    return [schema, ...(schema.anyOf ?? [])].flatMap(({ properties, additionalProperties }) => {
      const named = { ...properties, ...(typeof additionalProperties === 'object' ? { default: additionalProperties } : {}) };
      return Object.entries(named).flatMap(([key, child]) => [[...above, key], ...pathsOf(child, [...above, key])]);
    });
  }
});

describe('the files of perdure.kafka.tls', () => {
  const fixtures = fileURLToPath(new URL('fixtures/', import.meta.url));
  const problemsWith = (tls: string): string[] => {
    const { problems } = readTls(`perdure: {kafka: {brokers: [a:1], tls: ${tls}}}`);
    return problems.map(({ path, message }) => `${path}: ${message}`);
  };
  function readTls(source: string) {
    const read = readConfigFile(source, lenient);
    if (read.config === undefined) throw new Error(renderProblems('server.yaml', read.problems));
    return settingsOf(read.config, { autoCreateTopics: true, locate: read.locate, folder: fixtures });
  }

  test('are found beside the server file', () => {
    const { settings } = readTls(
      'perdure: {kafka: {brokers: [a:1], tls: {caFile: client.pem, certFile: client.pem, keyFile: client-key.pem}}}',
    );
    const text = readFileSync(join(fixtures, 'client.pem'), 'utf8');
    expect(settings?.server.log).toMatchObject({ kafka: { tls: { ca: text, cert: text, key: expect.stringContaining('PRIVATE KEY') } } });
  });

  test.each([
    ['{caFile: ../read-file.test.ts}', /tls\.caFile: .*\/test\/config\/read-file\.test\.ts holds no certificate in PEM form/],
    ['{caFile: client-key.pem}', /tls\.caFile: .*\/client-key\.pem holds no certificate/],
    ['{caFile: damaged.pem}', /tls\.caFile: .*\/damaged\.pem is damaged: certificate 1 of 1 is none/],
    ['{certFile: client.pem, keyFile: client.pem}', /tls\.keyFile: .*\/client\.pem holds no private key in PEM form/],
    ['{certFile: client.pem, keyFile: other-key.pem}', /tls\.keyFile: is not the private key of the certificate in certFile \(CN=/],
  ])('%s is refused by name', (tls, message) => {
    expect(problemsWith(tls)).toEqual([expect.stringMatching(message)]);
  });
});

describe('what it adds up to', () => {
  const kafka =
    'perdure: {kafka: {brokers: [a:1, b:2], topicPrefix: p, replicationFactor: 2, sasl: {mechanism: plain, username: u, password: secret}}}';

  test('is a server file again, with the same meaning', () => {
    for (const source of [
      'persistence: {datastores: {default: {sql: {pluginName: sqlite, connectAttributes: {mode: memory}}}}}',
      'persistence: {datastores: {default: {sql: {pluginName: sqlite, databaseName: x.db}}}}',
      'log: {stdout: true, encoding: console}',
      kafka,
    ]) {
      const settings = settingsFrom(source);
      const printed = toYaml(effectiveConfig(settings.server, settings));
      expect(problemsOf(printed, { strict: true })).toEqual([]);
      const again = settingsFrom(printed.replace('"***"', 'secret').replace(/\*\*\*/, 'secret'));
      expect(again).toEqual(settings);
    }
  });

  test('masks secrets', () => {
    const settings = settingsFrom(kafka);
    const printed = toYaml(effectiveConfig(settings.server, settings));
    expect(printed).not.toContain('secret');
    expect(parse(printed)).toMatchObject({ perdure: { kafka: { brokers: ['a:1', 'b:2'], sasl: { username: 'u', password: '***' } } } });
  });
});
