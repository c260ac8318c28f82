import { describe, expect, test } from 'vitest';
import { effectiveConfig, toYaml } from '../../src/config/effective.ts';
import { defaultNaming } from '../../src/config/metrics-options.ts';
import { readConfigFile } from '../../src/config/read-file.ts';
import { settingsOf } from '../../src/config/settings.ts';

const store = 'persistence: {datastores: {default: {sql: {pluginName: sqlite, databaseName: /x.db}}}}\n';

function read(metrics: string) {
  const file = readConfigFile(`${store}global: {metrics: ${metrics}}`, { env: {}, strict: true });
  const { locate } = file;
  const checked = file.config === undefined ? undefined : settingsOf(file.config, { autoCreateTopics: true, locate, folder: '/' });
  const problems = [...file.problems, ...(checked?.problems ?? [])].map(({ severity, path, message }) => `${severity} ${path}: ${message}`);
  return { settings: checked?.settings, problems };
}

const listens = 'listenAddress: "[::1]:9090"';

describe('global.metrics', () => {
  test('nothing is served that nobody asked for', () => {
    expect(read('{}').settings?.server.metrics).toBeUndefined();
    expect(read('{clientConfig: {prefix: acme}}').settings?.server.metrics).toBeUndefined();
  });

  test('the least that it says is where to listen', () => {
    const { settings, problems } = read(`{prometheus: {${listens}}}`);
    expect(problems).toEqual([]);
    const naming = defaultNaming;
    expect(settings?.server.metrics).toEqual({ host: '::1', port: 9090, path: '/metrics', naming, timerBoundsMs: undefined });
  });

  test('every key, and what print makes of it reads the same', () => {
    const client =
      'tags: {region: eu}, excludeTags: {namespace: [a]}, prefix: acme, perUnitHistogramBoundaries: {milliseconds: [1, 2.5]}, ' +
      'withoutUnitSuffix: true, withoutCounterSuffix: true, recordTimerInSeconds: true';
    const { settings, problems } = read(`{prometheus: {framework: opentelemetry, ${listens}, handlerPath: /m}, clientConfig: {${client}}}`);
    expect(problems).toEqual([]);
    expect(settings?.server.metrics).toMatchObject({ path: '/m', timerBoundsMs: [1, 2.5], naming: { framework: 'opentelemetry' } });
    if (settings === undefined) throw new Error('the settings are right');
    const printed = readConfigFile(toYaml(effectiveConfig(settings.server, settings)), { env: {}, strict: true });
    expect(printed.problems).toEqual([]);
    const again = printed.config && settingsOf(printed.config, { autoCreateTopics: true, locate: printed.locate, folder: '/' }).settings;
    expect(again?.server.metrics).toEqual(settings.server.metrics);
  });

  test.each([
    ['{prometheus: {}}', 'error global.metrics.prometheus.listenAddress: expected host:port, IPv6 in brackets, got nothing'],
    ['{prometheus: {listenAddress: ":9090"}}', 'error global.metrics.prometheus.listenAddress: expected host:port'],
    [`{prometheus: {framework: other, ${listens}}}`, 'error global.metrics.prometheus.framework: expected tally or opentelemetry'],
    [`{prometheus: {handlerPath: metrics, ${listens}}}`, 'error global.metrics.prometheus.handlerPath: expected a path such as /metrics'],
    [
      `{prometheus: {listenAdress: "a:1", ${listens}}}`,
      'error global.metrics.prometheus.listenAdress: unknown key; did you mean listenAddress?',
    ],
    ['{clientConfig: {prefix: "a b"}}', 'error global.metrics.clientConfig.prefix: expected a prefix of letters'],
    ['{clientConfig: {tags: {"a b": c}}}', 'error global.metrics.clientConfig.tags'],
    ['{clientConfig: {perUnitHistogramBoundaries: {milliseconds: [2, 1]}}}', 'expected a list of rising numbers'],
    ['{clientConfig: {perUnitHistogramBoundaries: {milliseconds: [.nan]}}}', 'expected a list of rising numbers'],
    ['{clientConfig: {perUnitHistogramBoundaries: {milliseconds: []}}}', 'expected a list of rising numbers'],
    ['{clientConfig: {perUnitHistogramBoundaries: {miles: [1]}}}', 'unknown key'],
    ['{excludeTags: {namespace: []}}', 'error global.metrics.excludeTags: not available'],
    ['{excludeTags: {namespace: [a]}}', 'error global.metrics.excludeTags: not available: it lists values to keep'],
  ])('%s', (metrics, problem) => {
    expect(read(metrics).problems.join('\n')).toContain(problem);
  });

  test('what has no effect is said', () => {
    const { settings, problems } = read(`{prometheus: {${listens}}, statsd: {hostPort: "a:1"}, clientConfig: {withoutUnitSuffix: true}}`);
    expect(settings).toBeDefined();
    expect(problems).toEqual([
      'warning global.metrics.statsd: metrics are not sent to statsd yet; prometheus serves them',
      'warning global.metrics.clientConfig.withoutUnitSuffix: has no effect: names of the framework tally have no suffixes',
    ]);
  });
});
