/**
 * FarmHash Fingerprint32 of a string's UTF-8 bytes: which shard a workflow lives on, which host a task queue. Stable for ever and the
 * same on every machine; the tests hold values that other implementations gave.
 *
 *   0–4 bytes    one multiply-add for each byte
 *   5–24 bytes   a few words, some read twice where they overlap
 *   25 and more  three lanes (h, g, f), 20 bytes a round, started from the last 20 bytes
 */
const c1 = 0xcc9e2d51;
const c2 = 0x1b873593;
const roundBytes = 20;

const encoder = new TextEncoder();
let scratch = new Uint8Array(1024);
let words = new DataView(scratch.buffer);

export function fingerprint32(text: string): number {
  reserve(text.length * 3);
  return ofScratch(encode(text));
}

/** The fingerprint of bytes that are no text. */
export function fingerprint32OfBytes(bytes: Uint8Array): number {
  reserve(bytes.length);
  scratch.set(bytes);
  return ofScratch(bytes.length);
}

function reserve(bytesMax: number): void {
  if (bytesMax <= scratch.length) return;
  scratch = new Uint8Array(bytesMax * 2);
  words = new DataView(scratch.buffer);
}

function ofScratch(length: number): number {
  if (length <= 4) return upTo4(length);
  if (length <= 12) return upTo12(length);
  if (length <= 24) return upTo24(length);
  return long(length);
}

/** ASCII, the usual case, without a call into the encoder. */
function encode(text: string): number {
  const length = text.length;
  for (let i = 0; i < length; i++) {
    const code = text.charCodeAt(i);
    if (code > 127) return encoder.encodeInto(text, scratch).written;
    scratch[i] = code;
  }
  return length;
}

function upTo4(length: number): number {
  let b = 0;
  let c = 9;
  for (let i = 0; i < length; i++) {
    // Bytes count as signed here.
    b = (Math.imul(b, c1) + words.getInt8(i)) | 0;
    c ^= b;
  }
  return finish(mix(b, mix(length, c)));
}

function upTo12(length: number): number {
  const a = (length + word(0)) | 0;
  const b = (length * 5 + word(length - 4)) | 0;
  const c = (9 + word((length >>> 1) & 4)) | 0;
  return finish(mix(c, mix(b, mix(a, length * 5))));
}

function upTo24(length: number): number {
  const half = length >>> 1;
  const b = word(4);
  const c = word(length - 8);
  const d = word(half);
  const e = word(0);
  const f = word(length - 4);
  let h = (Math.imul(d, c1) + length) | 0;
  let a = (rotateRight(word(half - 4), 12) + f) | 0;
  h = (mix(c, h) + a) | 0;
  a = (rotateRight(a, 3) + c) | 0;
  h = (mix(e, h) + a) | 0;
  a = (rotateRight((a + f) | 0, 12) + d) | 0;
  h = (mix(b, h) + a) | 0;
  return finish(h);
}

function long(length: number): number {
  let h = length;
  let g = Math.imul(c1, length);
  let f = g;
  h = turn(h ^ scramble(word(length - 4)));
  h = turn(h ^ scramble(word(length - 16)));
  g = turn(g ^ scramble(word(length - 8)));
  g = turn(g ^ scramble(word(length - 12)));
  f = (rotateRight((f + scramble(word(length - 20))) | 0, 19) + 113) | 0;
  // The last 20 bytes went in above: a round begins only while more than that is left.
  for (let at = 0; length - at > roundBytes; at += roundBytes) {
    const a = word(at);
    const b = word(at + 4);
    const c = word(at + 8);
    const d = word(at + 12);
    const e = word(at + 16);
    h = (h + a) | 0;
    g = (g + b) | 0;
    f = (f + c) | 0;
    h = (mix(d, h) + e) | 0;
    g = (mix(c, g) + a) | 0;
    f = (mix((b + Math.imul(e, c1)) | 0, f) + d) | 0;
    f = (f + g) | 0;
    g = (g + f) | 0;
  }
  g = Math.imul(rotateRight(g, 11), c1);
  g = Math.imul(rotateRight(g, 17), c1);
  f = Math.imul(rotateRight(f, 11), c1);
  f = Math.imul(rotateRight(f, 17), c1);
  h = turn((h + g) | 0);
  h = Math.imul(rotateRight(h, 17), c1);
  h = turn((h + f) | 0);
  h = Math.imul(rotateRight(h, 17), c1);
  return h >>> 0;
}

function word(at: number): number {
  return words.getInt32(at, true);
}

function rotateRight(value: number, by: number): number {
  return (value >>> by) | (value << (32 - by));
}

function turn(value: number): number {
  return (Math.imul(rotateRight(value, 19), 5) + 0xe6546b64) | 0;
}

function scramble(value: number): number {
  return Math.imul(rotateRight(Math.imul(value, c1), 17), c2);
}

function mix(value: number, h: number): number {
  return turn(h ^ scramble(value));
}

function finish(value: number): number {
  let h = value ^ (value >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
