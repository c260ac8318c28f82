/**
 * What a batch holds, whoever compressed it. Perdure never compresses, but a broker told to (`compression.type`) compresses what we append,
 * and then it is still ours; so every codec that Kafka has is read: gzip, snappy, lz4, zstd.
 *
 *     snappy   one block, or Java's framing: magic 8 · version i32 · compatible i32 · (length i32 · block)*
 *     lz4      a frame: magic u32 · flags · block size · [content size u64] · [dictionary u32] · checksum
 *              · (size u32, high bit: stored · block · [checksum u32])* · 0 u32 · [checksum u32]
 *
 * Undefined when it cannot be read, or would be larger than any batch of ours: then it is a stranger's.
 */
import { gunzipSync, zstdDecompressSync } from 'node:zlib';
import { APPEND_BYTES_MAX as outputBytesMax } from '../../ports/log.ts';

export const codecs = { none: 0, gzip: 1, snappy: 2, lz4: 3, zstd: 4 } as const;

export function decompress(bytes: Buffer, codec: number): Buffer | undefined {
  try {
    switch (codec) {
      case codecs.none:
        return bytes;
      case codecs.gzip:
        return gunzipSync(bytes, { maxOutputLength: outputBytesMax });
      case codecs.snappy:
        return unsnappy(bytes);
      case codecs.lz4:
        return unlz4(bytes);
      case codecs.zstd:
        return zstdDecompressSync(bytes, { maxOutputLength: outputBytesMax });
      default:
        return undefined;
    }
  } catch {
    return undefined;
  }
}

/** Grows as blocks come; a copy may reach back into everything written so far. */
class Output {
  #bytes: Buffer;
  #length = 0;

  constructor(sizeHint: number) {
    this.#bytes = Buffer.allocUnsafe(Math.min(Math.max(sizeHint, 1024), outputBytesMax));
  }

  get written(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }

  literal(from: Buffer, start: number, length: number): number {
    if (start + length > from.length) throw new RangeError('a literal runs past the end');
    this.#room(length);
    from.copy(this.#bytes, this.#length, start, start + length);
    this.#length += length;
    return start + length;
  }

  /** Byte by byte: source and target may overlap, which repeats a pattern. */
  copy(distance: number, length: number): void {
    if (distance === 0 || distance > this.#length) throw new RangeError('a copy reaches back before the start');
    this.#room(length);
    const end = this.#length + length;
    for (let at = this.#length; at < end; at++) this.#bytes[at] = this.#bytes[at - distance] ?? 0;
    this.#length = end;
  }

  #room(length: number): void {
    const needed = this.#length + length;
    if (needed <= this.#bytes.length) return;
    if (needed > outputBytesMax) throw new RangeError('larger than any batch of ours');
    const grown = Buffer.allocUnsafe(Math.min(outputBytesMax, Math.max(needed, 2 * this.#bytes.length)));
    this.#bytes.copy(grown, 0, 0, this.#length);
    this.#bytes = grown;
  }
}

const snappyMagic = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const snappyHeadBytes = 16;

function unsnappy(bytes: Buffer): Buffer {
  const output = new Output(4 * bytes.length);
  if (!bytes.subarray(0, snappyMagic.length).equals(snappyMagic)) {
    snappyBlock(bytes, output);
    return output.written;
  }
  for (let at = snappyHeadBytes; at < bytes.length;) {
    const length = bytes.readInt32BE(at);
    if (length < 0 || at + 4 + length > bytes.length) throw new RangeError('a block runs past the end');
    snappyBlock(bytes.subarray(at + 4, at + 4 + length), output);
    at += 4 + length;
  }
  return output.written;
}

function snappyBlock(block: Buffer, output: Output): void {
  let at = 0;
  // The length of what comes out, as a varint; what comes out tells it too.
  while (block.readUInt8(at++) >= 0x80);
  while (at < block.length) {
    const tag = block.readUInt8(at++);
    const size = tag >>> 2;
    switch (tag & 3) {
      case 0: {
        const extraBytes = size < 60 ? 0 : size - 59;
        const length = 1 + (extraBytes === 0 ? size : block.readUIntLE(at, extraBytes));
        at = output.literal(block, at + extraBytes, length);
        break;
      }
      case 1:
        output.copy(((tag >>> 5) << 8) | block.readUInt8(at), (size & 7) + 4);
        at += 1;
        break;
      case 2:
        output.copy(block.readUInt16LE(at), size + 1);
        at += 2;
        break;
      default:
        output.copy(block.readUInt32LE(at), size + 1);
        at += 4;
    }
  }
}

const lz4Magic = 0x184d2204;
const lz4Flag = { dictionary: 0x01, contentSize: 0x08, blockChecksum: 0x10 } as const;
const lz4Stored = 0x80000000;

function unlz4(bytes: Buffer): Buffer {
  if (bytes.readUInt32LE(0) !== lz4Magic) throw new RangeError('not an lz4 frame');
  const flags = bytes.readUInt8(4);
  let at = 4 + 1 + 1 + (flags & lz4Flag.contentSize ? 8 : 0) + (flags & lz4Flag.dictionary ? 4 : 0) + 1;
  const output = new Output(4 * bytes.length);
  for (let size = bytes.readUInt32LE(at); size !== 0; size = bytes.readUInt32LE(at)) {
    const length = size & ~lz4Stored;
    const start = at + 4;
    if (start + length > bytes.length) throw new RangeError('a block runs past the end');
    if (size >= lz4Stored) output.literal(bytes, start, length);
    else lz4Block(bytes.subarray(start, start + length), output);
    at = start + length + (flags & lz4Flag.blockChecksum ? 4 : 0);
  }
  return output.written;
}

function lz4Block(block: Buffer, output: Output): void {
  for (let at = 0; at < block.length;) {
    const token = block.readUInt8(at++);
    let literal = token >>> 4;
    if (literal === 15) for (let more = 255; more === 255; literal += more) more = block.readUInt8(at++);
    at = output.literal(block, at, literal);
    // The last sequence has no copy.
    if (at === block.length) return;
    const distance = block.readUInt16LE(at);
    at += 2;
    let length = (token & 15) + 4;
    if ((token & 15) === 15) for (let more = 255; more === 255; length += more) more = block.readUInt8(at++);
    output.copy(distance, length);
  }
}
