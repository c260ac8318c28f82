/** Which of several values of a key holds, for what it is asked. */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { dynamicConfigurationTable } from '../../scripts/dynamic-configuration-table.ts';
import { letterSettings } from '../../src/config/dead-letter-settings.ts';
import { type Constraints, DynamicConfig, type Entry, fitsScope, lookUp, noEntries } from '../../src/config/dynamic-config.ts';
import { durationSetting, onOff, type Setting, type SettingScope, wholeNumber } from '../../src/config/dynamic-setting.ts';
import { constantEntries, dynamicSettings, findSetting } from '../../src/config/dynamic-settings.ts';
import type { LetterSettings } from '../../src/deadletters/letter-settings.ts';

const entry = (value: unknown, constraints: Constraints = {}): Entry => ({ value, constraints });

/** As the reference has it, written down once more. */
const order: { readonly [scope in SettingScope]: readonly string[] } = {
  global: [''],
  namespace: ['namespace', ''],
  taskQueue: ['namespace+taskQueueName+taskType', 'namespace+taskQueueName', 'taskQueueName', 'namespace', ''],
  shard: ['shardId', ''],
  destination: ['namespace+destination', 'destination', 'namespace', ''],
};

const anyConstraints: fc.Arbitrary<Constraints> = fc.record(
  {
    namespace: fc.constantFrom('a', 'b'),
    taskQueueName: fc.constantFrom('a', 'b'),
    taskType: fc.constantFrom('workflow', 'activity'),
    destination: fc.constantFrom('a', 'b'),
    shardId: fc.constantFrom(1, 2),
  },
  { requiredKeys: [] },
);
const namesOf = (constraints: Constraints): string => Object.keys(constraints).toSorted().join('+');

describe('of several entries', () => {
  test('the most exact one holds that says nothing else', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...(Object.keys(order) as SettingScope[])),
        fc.array(anyConstraints, { maxLength: 12 }),
        anyConstraints,
        (scope, given, filter) => {
          const asked: Readonly<Record<string, unknown>> = filter;
          const entries = given.map((constraints, index) => entry(index, constraints));
          const expected = order[scope]
            .flatMap((step) => entries.filter(({ constraints }) => namesOf(constraints) === step.split('+').toSorted().join('+')))
            .find(({ constraints }) => Object.entries(constraints).every(([name, value]) => asked[name] === value));
          expect(lookUp(entries, scope, filter)).toBe(expected);
          for (const { constraints } of entries) {
            expect(fitsScope(constraints, scope)).toBe(
              order[scope].some((step) => namesOf(constraints) === step.split('+').toSorted().join('+')),
            );
          }
        },
      ),
    );
  });
});

describe('values of a group', () => {
  const group = { perQueue: { ...wholeNumber('a.b', { range: [1, 10], default: 5, about: '' }), scope: 'taskQueue' } as Setting<number> };
  const valueOf = (config: DynamicConfig, filter: Constraints = {}): number => config.values(group, filter).perQueue;

  test('come from the file, then from constants, then from the default; and from the new file once it is there', () => {
    const config = new DynamicConfig(new Map([['a.b', [entry(4)]]]), new Map([['a.b', [entry(3, { namespace: 'n' })]]]));
    expect(valueOf(config)).toBe(4);
    expect(valueOf(config, { namespace: 'n', taskQueueName: 'q' })).toBe(3);
    expect(valueOf(config, { namespace: 'other' })).toBe(4);
    config.replace(new Map([['a.b', [entry(2)]]]));
    expect(valueOf(config, { namespace: 'n', taskQueueName: 'q' })).toBe(2);
    expect(valueOf(new DynamicConfig(noEntries))).toBe(5);
  });

  test('are worked out once', () => {
    const config = new DynamicConfig(noEntries);
    expect(config.values(group, { namespace: 'n' })).toBe(config.values(group, { namespace: 'n' }));
    const before = config.values(group, { namespace: 'n' });
    config.replace(noEntries);
    expect(config.values(group, { namespace: 'n' })).not.toBe(before);
  });
});

describe('a value is read as', () => {
  const read = (setting: Setting<unknown>, value: unknown): unknown => {
    const result = setting.read(value);
    return 'value' in result ? result.value : result.problem;
  };

  test.each([
    [true, true],
    ['false', false],
    [1, 'expected true or false, got 1'],
    ['no', 'expected true or false, got "no"'],
    [null, 'expected true or false, got nothing'],
  ])('a switch: %j', (value, expected) => {
    expect(read(onOff('k', { default: true, about: '' }), value)).toBe(expected);
  });

  test.each([
    [3, 3],
    [3.5, 'expected a whole number from 1 to 10, got 3.5'],
    ['3', 'expected a whole number from 1 to 10, got "3"'],
    [0, 'expected a whole number from 1 to 10, got 0'],
    [11, 'expected a whole number from 1 to 10, got 11'],
  ])('a whole number: %j', (value, expected) => {
    expect(read(wholeNumber('k', { range: [1, 10], default: 5, about: '' }), value)).toBe(expected);
  });

  test.each([
    ['90s', 90_000],
    ['1d', 86_400_000],
    ['1d12h', 129_600_000],
    [30, 30_000],
    ['30', 30_000],
    [0.5, 500],
    ['0s', 'expected a duration from 1ms to 2d, such as 90s, got "0s"'],
    ['3d', 'expected a duration from 1ms to 2d, such as 90s, got "3d"'],
    [-1, 'expected a duration from 1ms to 2d, such as 90s, got -1'],
    ['soon', 'expected a duration from 1ms to 2d, such as 90s, got "soon"'],
    [true, 'expected a duration from 1ms to 2d, such as 90s, got true'],
  ])('a duration: %j', (value, expected) => {
    expect(read(durationSetting('k', { range: ['1ms', '2d'], default: 1, about: '' }), value)).toBe(expected);
  });
});

describe('the keys', () => {
  test('are known in any case, each once, and have defaults that they would read', () => {
    expect(new Set(dynamicSettings.map(({ key }) => key.toLowerCase())).size).toBe(dynamicSettings.length);
    for (const setting of dynamicSettings) {
      expect(findSetting(setting.key.toUpperCase())).toBe(setting);
      // Durations stand in milliseconds, and are read as texts.
      const written = setting.expected.startsWith('a duration') ? setting.defaultText : setting.default;
      if (setting.default !== undefined) expect(setting.read(written), setting.key).toEqual({ value: setting.default });
    }
  });

  test('of dead letters have the defaults of the reference, and what an operator sets', () => {
    const defaults: LetterSettings = new DynamicConfig(noEntries).values(letterSettings);
    expect(defaults).toEqual({
      lettersPerStepMax: 100,
      emitsMetrics: true,
      emitsReplicationMetrics: true,
      maxGeneration: 5,
      mergeRps: 100,
      mergeConcurrency: 8,
      mergeTaskTimeoutMs: 30_000,
      requiresReason: false,
      undoWindowMs: 3_600_000,
      compactionMaxCarry: 10_000,
    });
    const { entries, problems } = constantEntries(
      new Map<string, unknown>([
        ['history.dlqmaxmessagecount', 1_000],
        ['perdure.dlq.mergeTaskTimeout', '2m'],
        ['perdure.dlq.mergeRPS', 0],
      ]),
    );
    expect(new DynamicConfig(entries).values(letterSettings)).toMatchObject({
      lettersPerStepMax: 1_000,
      mergeTaskTimeoutMs: 120_000,
      mergeRps: 100,
    });
    expect(problems).toEqual([
      { key: 'perdure.dlq.mergeRPS', message: 'this value is not used: expected a whole number from 1 to 100000, got 0' },
    ]);
  });
});

test('docs/operations/dynamic-configuration.md ends with the table that its script makes of the keys', () => {
  const page = readFileSync(new URL('../../docs/operations/dynamic-configuration.md', import.meta.url), 'utf8');
  expect(page.endsWith(dynamicConfigurationTable())).toBe(true);
});
