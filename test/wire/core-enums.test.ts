/** The core's names for numbers of the public API. A wrong one would be written into histories without a word. */
import { expect, test } from 'vitest';
import { emitCoreEnums } from '../../scripts/generate/emit-core-enums.ts';
import type { SchemaEnum } from '../../scripts/generate/schema.ts';
import { taskQueueKind, workflowTaskFailedCause } from '../../src/history/generated/enums.ts';

const emit = (sources: readonly string[], ...enums: SchemaEnum[]): string =>
  emitCoreEnums({ mood: sources }, [{ source: '', modulePath: '', enums, messages: [] }]);
const cheerful: SchemaEnum = {
  name: 'Cheerful',
  values: [
    ['UNSPECIFIED', 0],
    ['VERY_GLAD', 1],
  ],
};

test('values have the core’s names, and nothing stands for nothing', () => {
  expect(emit(['Cheerful'], cheerful)).toContain('export const mood = {\n  veryGlad: 1,\n} as const;');
});

test('several enumerations stand together while they agree', () => {
  const gloomy = (veryGlad: number): SchemaEnum => ({
    name: 'Gloomy',
    values: [
      ['VERY_GLAD', veryGlad],
      ['SAD', 3],
    ],
  });
  expect(emit(['Cheerful', 'Gloomy'], cheerful, gloomy(1))).toContain('{\n  veryGlad: 1,\n  sad: 3,\n}');
  expect(() => emit(['Cheerful', 'Gloomy'], cheerful, gloomy(2))).toThrow('mood.veryGlad is 1 in one enumeration and 2 in Gloomy');
});

test('an enumeration that no hot message has is refused', () => {
  expect(() => emit(['Calm'], cheerful)).toThrow('no hot message has a field of the enumeration Calm');
});

test('numbers that workers know', () => {
  expect(taskQueueKind.sticky).toBe(2);
  expect(workflowTaskFailedCause).toMatchObject({ unhandledCommand: 1, nonDeterministicError: 24, grpcMessageTooLarge: 36 });
});
