/**
 * How much later than its nominal time a schedule is due: a hash of that time and of a seed, so that every server answers the same and no two
 * schedules do. What is hashed is Go's binary form of a time in UTC, and the seed:
 *
 *     01 | seconds since the year 1, 8 bytes | nanoseconds, 4 bytes | ff ff | the seed as UTF-8
 */
import { fingerprint32OfBytes } from '../../kernel/fingerprint.ts';

/** Product and hash share 64 bits: 49 days. */
const jitterMsBound = 0xffff_ffff;
const timeBytes = 15;
const secondsFromYear1 = 62_135_596_800;

const encoder = new TextEncoder();

export function jittered(nominalMs: number, { jitterMsMax, seed }: { readonly jitterMsMax: number; readonly seed: string }): number {
  const spreadMs = Math.min(Math.floor(jitterMsMax), jitterMsBound);
  return spreadMs > 0 ? nominalMs + upper32Bits(hashOf(nominalMs, seed), spreadMs) : nominalMs;
}

function hashOf(nominalMs: number, seed: string): number {
  const seedBytes = encoder.encode(seed);
  const bytes = new Uint8Array(timeBytes + seedBytes.length);
  const view = new DataView(bytes.buffer);
  const seconds = nominalMs / 1000 + secondsFromYear1;
  view.setUint8(0, 1);
  view.setUint32(1, Math.floor(seconds / 2 ** 32));
  view.setUint32(5, seconds % 2 ** 32);
  view.setUint16(13, 0xffff);
  bytes.set(seedBytes, timeBytes);
  return fingerprint32OfBytes(bytes);
}

/** The upper half of a product of two numbers of 32 bits: a number in JavaScript holds 53 bits of it. */
function upper32Bits(a: number, b: number): number {
  const high = Math.floor(a / 2 ** 16) * b;
  const low = (a % 2 ** 16) * b;
  return Math.floor((high + Math.floor(low / 2 ** 16)) / 2 ** 16);
}
