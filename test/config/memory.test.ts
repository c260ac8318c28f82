import { expect, test } from 'vitest';
import { defaults } from '../../src/config/defaults.ts';
import { memoryShare, memoryThereIs, stateLimitsIn, usableHeapBytes, whyItDoesNotFit } from '../../src/config/memory.ts';

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

test('all limits of the heap together leave room in it', () => {
  for (const heapMiB of [64, 96, 128, 512, 1_536]) {
    const little = memory(heapMiB, 65_536);
    const { hotStateBytesMax, unwrittenStateBytesMax } = stateLimitsIn(little);
    expect(hotStateBytesMax + unwrittenStateBytesMax, `${heapMiB} MiB`).toBeLessThanOrEqual(0.5 * usableHeapBytes(little));
  }
});

test('what this process has is no more than V8 and the machine say', () => {
  const { heapBytes, machineBytes } = memoryThereIs();
  expect(heapBytes).toBeGreaterThan(0);
  expect(heapBytes).toBeLessThan(2 ** 40);
  expect(machineBytes).toBeGreaterThan(128 * mebibyte);
});

test('a limit that somebody sets past half of the heap is told, with what fits', () => {
  const little = memory(96, 16_384);
  expect(whyItDoesNotFit('hotStateBytesMax', 48 * mebibyte, little)).toBeUndefined();
  expect(whyItDoesNotFit('hotStateBytesMax', 256 * mebibyte, little)).toBe(
    '256 MiB do not fit: this process has 96 MiB for state, and would run out of memory before this limit is reached. Give it more memory ' +
      '(NODE_OPTIONS=--max-old-space-size=<MiB>, or a larger container), say 48 MiB or less, or leave the key out (16 MiB then)',
  );
  expect(whyItDoesNotFit('checkpointRecordsMax', 40_000, little)).toBeUndefined();
});
