/** Which seconds, hours, days ... a field of a calendar means: a bit each. */
import type { Range } from './schedule-spec.ts';

/** Bits 0 to 31, and 32 to 63. */
export type ValueSet = { readonly low: number; readonly high: number };

const valueMax = 63;

/** Ranges may say what no field holds: that is left out. */
export function valueSet(ranges: readonly Range[]): ValueSet {
  let low = 0;
  let high = 0;
  for (const { start, end, step } of ranges) {
    for (let value = start; value <= Math.min(end, valueMax); value += step) {
      if (value < 32) low |= 1 << value;
      else high |= 1 << (value - 32);
    }
  }
  return { low, high };
}

export function has(set: ValueSet, value: number): boolean {
  return value < 32 ? (set.low & (1 << value)) !== 0 : (set.high & (1 << (value - 32))) !== 0;
}

/** The first that is not below. -1: there is none. */
export function firstFrom({ low, high }: ValueSet, value: number): number {
  if (value < 32) {
    const found = firstBit(low & (-1 << value));
    if (found >= 0) return found;
  }
  if (value > valueMax) return -1;
  const found = firstBit(value < 32 ? high : high & (-1 << (value - 32)));
  return found < 0 ? -1 : found + 32;
}

export function hasEach(set: ValueSet, { low, high }: ValueSet): boolean {
  return (low & ~set.low) === 0 && (high & ~set.high) === 0;
}

function firstBit(bits: number): number {
  return bits === 0 ? -1 : 31 - Math.clz32(bits & -bits);
}
