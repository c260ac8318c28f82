import { expect, test } from 'vitest';
import { fingerprint32 } from '../../src/kernel/fingerprint.ts';
import { historyShardOf } from '../../src/kernel/shard.ts';

/** Computed with `farm.Fingerprint32` of github.com/dgryski/go-farm v0.0.0-20240924180020, which Temporal's server uses. */
const vectors: readonly (readonly [text: string, fingerprint: number])[] = [
  ['', 3696677242],
  ['T', 3998567331],
  ['Th', 2038587814],
  ['The', 132453154],
  ['The ', 245748330],
  ['The q', 3559721044],
  ['The qu', 2511991355],
  ['The qui', 3218495686],
  ['The quic', 412845616],
  ['The quick', 3562329540],
  ['The quick b', 587937061],
  ['The quick br', 3010238136],
  ['The quick bro', 489073990],
  ['The quick brow', 2024382535],
  ['The quick brown f', 2268804363],
  ['The quick brown fox ', 2066296348],
  ['The quick brown fox jum', 3753936481],
  ['The quick brown fox jump', 3395293187],
  ['The quick brown fox jumps', 2049736672],
  ['The quick brown fox jumps ', 1498551486],
  ['The quick brown fox jumps over the lazy', 328588947],
  ['The quick brown fox jumps over the lazy ', 3340268361],
  ['The quick brown fox jumps over the lazy d', 869709086],
  ['The quick brown fox jumps over the lazy dog;', 3268434812],
  ['The quick brown fox jumps over the lazy dog; ', 3093702075],
  ['The quick brown fox jumps over the lazy dog; 0123456789 abcd', 3086119329],
  ['The quick brown fox jumps over the lazy dog; 0123456789 abcde', 82513455],
  ['The quick brown fox jumps over the lazy dog; 0123456789 abcdefghijklmnopqrstuvwx', 3238923060],
  ['The quick brown fox jumps over the lazy dog; 0123456789 abcdefghijklmnopqrstuvwxy', 3970911481],
  ['The quick brown fox jumps over the lazy dog; 0123456789 abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQ', 2132514402],
  ['32049b68-7872-4094-8e63-d0dd59896a83_orders-1', 261329287],
  ['default_wf', 3688788110],
  ['äöü', 1289046574],
  ['€uro', 1409454298],
  ['名前空間_ワークフロー', 3948730645],
  ['\x00\x7f😀-emoji-longer-than-24-bytes', 901009872],
  ['ÿþýüûúùø÷öõôóòñðïîíìëêéèçæåäãâáàßÞÝ', 2956768816],
];

test.each(vectors)('fingerprint32(%j)', (text, fingerprint) => {
  expect(fingerprint32(text)).toBe(fingerprint);
});

test('a text longer than the scratch buffer, and the next one after it', () => {
  const long = 'é'.repeat(5000);
  const first = fingerprint32(long);
  expect(fingerprint32('default_wf')).toBe(3688788110);
  expect(fingerprint32(long)).toBe(first);
});

test('shards count from 1 and follow Temporal', () => {
  expect(historyShardOf('32049b68-7872-4094-8e63-d0dd59896a83', 'orders-1', 4)).toBe((261329287 % 4) + 1);
  expect(historyShardOf('default', 'wf', 16)).toBe((3688788110 % 16) + 1);
  expect(historyShardOf('a', 'b', 1)).toBe(1);
});
