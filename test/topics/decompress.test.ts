import { gzipSync, zstdCompressSync } from 'node:zlib';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { APPEND_BYTES_MAX } from '../../src/ports/log.ts';
import { codecs, decompress } from '../../src/topics/kafka/decompress.ts';

const text = 'abcd'.repeat(5);

/** `abcd`, and a copy of 16 from 4 back. */
const snappyBlock = [20, 0x0c, ...Buffer.from('abcd'), (15 << 2) | 2, 4, 0];
const snappyStream = [
  ...[0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00, 0, 0, 0, 1, 0, 0, 0, 1],
  ...[0, 0, 0, snappyBlock.length],
  ...snappyBlock,
  // A block of literals alone, then one of a short copy: 8 from 4 back.
  ...[0, 0, 0, 6, 4, 0x0c, ...Buffer.from('wxyz')],
  ...[0, 0, 0, 8, 12, 0x0c, ...Buffer.from('1234'), (4 << 2) | 1, 4],
];
const lz4Head = (flags: number): number[] => [0x04, 0x22, 0x4d, 0x18, flags, 0x40, 0x82];
/** `abcd`, a copy of 12 from 4 back, and `abcd` at the end. */
const lz4Block = [0x48, ...Buffer.from('abcd'), 4, 0, 0x40, ...Buffer.from('abcd')];

test.each([
  ['nothing', codecs.none, [...Buffer.from(text)], text],
  ['gzip', codecs.gzip, [...gzipSync(text)], text],
  ['zstd', codecs.zstd, [...zstdCompressSync(text)], text],
  ['a bare snappy block', codecs.snappy, snappyBlock, text],
  ['framed snappy', codecs.snappy, snappyStream, `${text}wxyz123412341234`],
  ['lz4', codecs.lz4, [...lz4Head(0x60), lz4Block.length, 0, 0, 0, ...lz4Block, 0, 0, 0, 0], text],
  [
    'lz4, stored, with sums',
    codecs.lz4,
    [...lz4Head(0x74), 4, 0, 0, 0x80, ...Buffer.from('abcd'), 9, 9, 9, 9, 0, 0, 0, 0, 8, 8, 8, 8],
    'abcd',
  ],
])('%s', (_name, codec, bytes, wanted) => expect(decompress(Buffer.from(bytes), codec)?.toString()).toBe(wanted));

test('a long literal and a long copy of lz4 count on', () => {
  const literal = Buffer.alloc(300, 'x');
  const block = [0xff, 255, 30, ...literal, 1, 0, 255, 100, 0x10, 0x79];
  const frame = [...lz4Head(0x60), block.length & 255, block.length >> 8, 0, 0, ...block, 0, 0, 0, 0];
  expect(decompress(Buffer.from(frame), codecs.lz4)?.toString()).toBe(`${'x'.repeat(300 + 374)}y`);
});

test('what is larger than any batch of ours is not unpacked', () => {
  const large = Buffer.alloc(65 * 1024 * 1024);
  expect(decompress(gzipSync(large), codecs.gzip)).toBeUndefined();
  expect(decompress(zstdCompressSync(large), codecs.zstd)).toBeUndefined();
  // Little to send, and no more to unpack than any batch of ours.
  expect(decompress(gzipSync(Buffer.alloc(APPEND_BYTES_MAX)), codecs.gzip)?.length).toBe(APPEND_BYTES_MAX);
  expect(decompress(gzipSync(Buffer.alloc(APPEND_BYTES_MAX + 1)), codecs.gzip)).toBeUndefined();
  const copies = Array.from({ length: 1_100_000 }, () => [(63 << 2) | 2, 1, 0]).flat();
  expect(decompress(Buffer.from([1, 0x00, 0x61, ...copies]), codecs.snappy)).toBeUndefined();
});

test('property: bytes of no codec, and codecs of nobody, are reported as such', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), fc.integer({ min: 1, max: 7 }), (bytes, codec) => {
      const found = decompress(Buffer.from(bytes), codec);
      expect(found === undefined || found.length < 64 * 200 * 256).toBe(true);
      if (codec > codecs.zstd) expect(found).toBeUndefined();
    }),
    { numRuns: 500 },
  );
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.constantFrom(snappyStream, [...lz4Head(0x60), 50, 0, 0, 0]), (bytes, head) => {
      decompress(Buffer.from([...head, ...bytes]), head === snappyStream ? codecs.snappy : codecs.lz4);
    }),
    { numRuns: 500 },
  );
});
