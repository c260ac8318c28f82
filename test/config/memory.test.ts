import { describe, expect, test } from 'vitest';
import { defaults } from '../../src/config/defaults.ts';
import type { StateLimits } from '../../src/config/server-options.ts';
import { COMMAND_BYTES_MAX } from '../../src/actors/partition/command-budget.ts';
import {
  memoryShare,
  memoryThereIs,
  stateLimitsBeside,
  stateLimitsIn,
  usableHeapBytes,
  whyItDoesNotFit,
  whyTheyDoNotFit,
} from '../../src/config/memory.ts';
import { windowLimitsOf } from '../../src/matching/matching-limits.ts';

const mebibyte = 2 ** 20;
const memory = (heapMiB: number, machineMiB: number) => ({ heapBytes: heapMiB * mebibyte, machineBytes: machineMiB * mebibyte });

test('a machine with a heap of 1.5 GiB or more has the defaults', () => {
  for (const plenty of [memory(1_536, 2_048), memory(12_288, 16_384)]) {
    expect(memoryShare(plenty)).toBe(1);
    expect(stateLimitsIn(plenty)).toEqual(defaults.state);
  }
});

test.each([
  ['a heap that somebody made small', memory(96, 16_384), 1 / 16],
  ['a container of 1 GiB', memory(768, 1_024), 1 / 2],
  ['a container into which its heap does not fit', memory(192, 256), 1 / 12],
  ['next to nothing', memory(8, 64), 1 / 32],
])('%s has its share of each', (_what, little, share) => {
  expect(memoryShare(little)).toBeCloseTo(share, 10);
  for (const [key, bytes] of Object.entries(stateLimitsIn(little))) {
    expect(bytes, key).toBe(Math.floor(share * defaults.state[key as keyof typeof defaults.state]));
  }
});

const bytesOf = ({ hotStateBytesMax, historyCacheBytesMax, unwrittenStateBytesMax }: typeof defaults.state | StateLimits) =>
  hotStateBytesMax + historyCacheBytesMax + unwrittenStateBytesMax;

describe('all limits together', () => {
  test.each([64, 96, 128, 512, 1_536, 12_288])(
    'fit a heap of %i MiB, also the stored tasks of 16 partitions and commands that wait',
    (mib) => {
      const there = memory(mib, 65_536);
      const share = memoryShare(there);
      const ofOthers = share * COMMAND_BYTES_MAX + defaults.onKafka.matchingPartitions * windowLimitsOf(share).windowBytesPerHostMax;
      expect(bytesOf(stateLimitsIn(there)) + ofOthers).toBeLessThanOrEqual(usableHeapBytes(there));
      expect(whyTheyDoNotFit(stateLimitsIn(there), there)).toBeUndefined();
    },
  );

  test('what nobody set gives way in proportion to what somebody did', () => {
    const there = memory(1_536, 4_096);
    const limits = stateLimitsBeside({ hotStateBytesMax: 600 * mebibyte, checkpointRecordsMax: 50 }, there);
    // 960 MiB for all three: 360 are left for 64 and 512.
    expect(limits).toEqual({
      hotStateBytesMax: 600 * mebibyte,
      historyCacheBytesMax: 40 * mebibyte,
      unwrittenStateBytesMax: 320 * mebibyte,
      checkpointRecordsMax: 50,
    });
    expect(whyTheyDoNotFit(limits, there)).toBeUndefined();
  });

  test('where what is set leaves nothing, the others keep a quarter, and all are reported', () => {
    const there = memory(1_536, 4_096);
    const given = { hotStateBytesMax: 700 * mebibyte, unwrittenStateBytesMax: 700 * mebibyte };
    const limits = stateLimitsBeside(given, there);
    expect(limits).toEqual({ ...given, historyCacheBytesMax: 16 * mebibyte, checkpointRecordsMax: 10_000 });
    expect(whyTheyDoNotFit(limits, there)).toBe(
      'hotStateBytesMax (700 MiB) + historyCacheBytesMax (16 MiB) + unwrittenStateBytesMax (700 MiB) = 1416 MiB do not fit: this process has ' +
        '1536 MiB for state, of which these may fill 960 MiB, and would run out of memory before all limits are reached. Lower what is set, ' +
        'or give it more memory (NODE_OPTIONS=--max-old-space-size=<MiB>, or a larger container)',
    );
  });

  test('what is set and fits is as somebody wants it, beside the defaults', () => {
    const there = memory(12_288, 16_384);
    const given = { hotStateBytesMax: 4_096 * mebibyte };
    expect(stateLimitsBeside(given, there)).toEqual({ ...defaults.state, ...given });
  });
});

test('what this process has is no more than V8 and the machine say', () => {
  const { heapBytes, machineBytes } = memoryThereIs();
  expect(heapBytes).toBeGreaterThan(0);
  expect(heapBytes).toBeLessThan(2 ** 40);
  expect(machineBytes).toBeGreaterThan(128 * mebibyte);
});

test('a limit that somebody sets past half of the heap is reported, with what fits', () => {
  const little = memory(96, 16_384);
  expect(whyItDoesNotFit('hotStateBytesMax', 48 * mebibyte, little)).toBeUndefined();
  expect(whyItDoesNotFit('hotStateBytesMax', 256 * mebibyte, little)).toBe(
    '256 MiB do not fit: this process has 96 MiB for state, and would run out of memory before this limit is reached. Give it more memory ' +
      '(NODE_OPTIONS=--max-old-space-size=<MiB>, or a larger container), say 48 MiB or less, or leave the key out (16 MiB then)',
  );
  expect(whyItDoesNotFit('checkpointRecordsMax', 40_000, little)).toBeUndefined();
});
