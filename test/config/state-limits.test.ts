import { describe, expect, test } from 'vitest';
import { defaultCheckpointLimits } from '../../src/projections/checkpoints/checkpoint-limits.ts';
import { defaults } from '../../src/config/defaults.ts';
import { effectiveConfig, toYaml } from '../../src/config/effective.ts';
import { readConfigFile } from '../../src/config/read-file.ts';
import { settingsOf } from '../../src/config/settings.ts';

const inFile = 'persistence: {datastores: {default: {sql: {pluginName: sqlite, databaseName: x.db}}}}\n';
const inMemory = 'persistence: {datastores: {default: {sql: {pluginName: sqlite, connectAttributes: {mode: memory}}}}}\n';
const onKafka = 'kafka: {brokers: [a:1]}, ';
const onPostgres = `${onKafka}postgres: {host: db}, `;

const mebibyte = 2 ** 20;
const plenty = { heapBytes: 4 * 2 ** 40, machineBytes: 4 * 2 ** 40 };

function read(source: string, memory = plenty) {
  const file = readConfigFile(source, { env: { CACHE: '1048576' }, strict: true });
  const locate = file.locate;
  const checked = file.config === undefined ? undefined : settingsOf(file.config, { autoCreateTopics: true, locate, folder: '/', memory });
  const problems = [...file.problems, ...(checked?.problems ?? [])].map(({ severity, path, message }) => `${severity} ${path}: ${message}`);
  return { settings: checked?.settings, problems };
}

const all = {
  hotStateBytesMax: 1_048_576,
  historyCacheBytesMax: 1_048_576,
  unwrittenStateBytesMax: 1_099_511_627_776,
  checkpointRecordsMax: 50,
};

describe('limits of state in memory', () => {
  test('every key, also from the environment', () => {
    const keys =
      'hotStateBytesMax: 1048576, historyCacheBytesMax: "${CACHE}", unwrittenStateBytesMax: 1099511627776, checkpointRecordsMax: 50';
    for (const source of [`${inFile}perdure: {${keys}}`, `perdure: {${onPostgres}${keys}}`]) {
      const { settings, problems } = read(source);
      expect(problems).toEqual([]);
      expect(settings?.server.stateLimits).toEqual(all);
    }
  });

  test('one alone; the others have their defaults', () => {
    const { settings } = read(`${inFile}perdure: {hotStateBytesMax: 1048576}`);
    expect(settings?.server.stateLimits).toEqual({ ...defaults.state, hotStateBytesMax: 1_048_576 });
    expect(defaults.state.checkpointRecordsMax).toBe(defaultCheckpointLimits.recordsMax);
  });

  test('on little memory those that nobody set are smaller, and one that is set and does not fit is reported', () => {
    const little = { heapBytes: 96 * mebibyte, machineBytes: 4_096 * mebibyte };
    const { settings, problems } = read(`${inFile}perdure: {unwrittenStateBytesMax: 104857600}`, little);
    // A quarter of the 16 and 4 MiB that they would have.
    expect(settings?.server.stateLimits).toEqual({
      hotStateBytesMax: 4 * mebibyte,
      historyCacheBytesMax: 1 * mebibyte,
      unwrittenStateBytesMax: 100 * mebibyte,
      checkpointRecordsMax: 625,
    });
    expect(problems).toEqual([
      expect.stringMatching(/^warning perdure\.unwrittenStateBytesMax: 100 MiB do not fit: this process has 96 MiB .* 48 MiB or less/),
    ]);
  });

  test('two that fit alone and not together are reported together', () => {
    const there = { heapBytes: 1_536 * mebibyte, machineBytes: 4_096 * mebibyte };
    const two = 'hotStateBytesMax: 734003200, unwrittenStateBytesMax: 734003200';
    const told =
      /^warning perdure: hotStateBytesMax \(700 MiB\) \+ historyCacheBytesMax \(16 MiB\) \+ unwrittenStateBytesMax \(700 MiB\) = 1416 MiB do not fit/;
    expect(read(`${inFile}perdure: {${two}}`, there).problems).toEqual([expect.stringMatching(told)]);
    expect(read(`${inMemory}perdure: {${two}}`, there).problems).toEqual([
      'warning perdure.hotStateBytesMax: means nothing for a log in memory: state lives there too',
      'warning perdure.unwrittenStateBytesMax: means nothing for a log in memory: state lives there too',
    ]);
  });

  test.each([
    ['hotStateBytesMax: 1048575', 'hotStateBytesMax: expected a whole number of bytes from 1048576 to 1099511627776, got 1048575'],
    ['historyCacheBytesMax: 1GiB', 'historyCacheBytesMax: expected a whole number of bytes from 1048576 to 1099511627776, got "1GiB"'],
    ['unwrittenStateBytesMax: .nan', 'unwrittenStateBytesMax: expected a whole number of bytes from 1048576 to 1099511627776, got null'],
    ['checkpointRecordsMax: 9', 'checkpointRecordsMax: expected a whole number from 10 to 40000, got 9'],
    ['journalRetentionBytes: 0', 'journalRetentionBytes: expected a whole number of bytes from 1048576 to 1099511627776, got 0'],
    ['hotStateByteMax: 1048576', 'hotStateByteMax: unknown key; did you mean hotStateBytesMax?'],
  ])('%s is refused', (key, problem) => {
    expect(read(`perdure: {${onPostgres}${key}}`).problems).toEqual([`error perdure.${problem}`]);
  });

  test('what means nothing without a database, or beside one in a file, is reported', () => {
    const keys = 'hotStateBytesMax: 1048576, historyCacheBytesMax: 1048576, journalRetentionBytes: 1048576';
    expect(read(`perdure: {${onKafka}${keys}}`).problems).toEqual([
      'warning perdure.journalRetentionBytes: means nothing without perdure.postgres: the topics keep everything',
      'warning perdure.hotStateBytesMax: means nothing without perdure.postgres: state lives in memory',
    ]);
    expect(read(`${inMemory}perdure: {${keys}}`).problems).toContain(
      'warning perdure.hotStateBytesMax: means nothing for a log in memory: state lives there too',
    );
    expect(read(`${inFile}perdure: {${keys}}`).problems).toEqual([
      'warning perdure.journalRetentionBytes: means nothing for a log in a file: what the state beside it has is taken out of it',
    ]);
    expect(read(`perdure: {${onPostgres}journalRetention: 0s, journalRetentionBytes: 1048576}`).problems).toEqual([
      'warning perdure.journalRetentionBytes: means nothing while journalRetention is 0s: then the topics keep nothing',
    ]);
  });

  test.each([
    ['a file', inFile, ''],
    ['memory', inMemory, ''],
    ['Kafka', '', onKafka],
    ['PostgreSQL', '', `${onPostgres}journalRetentionBytes: 1048576, checkpointRecordsMax: 10, `],
  ])('printed for %s it is a server file again, that nobody warns of', (_what, top, perdure) => {
    const { settings } = read(`${top}perdure: {${perdure}historyCacheBytesMax: 2097152}`);
    if (settings === undefined) throw new Error('it is a server file');
    const printed = toYaml(effectiveConfig(settings.server, settings));
    expect(read(printed)).toEqual({ settings, problems: [] });
  });
});
