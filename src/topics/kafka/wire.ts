/** Kafka's primitive types, big endian: what the four requests of the data path need. */
import { LogError } from '../../ports/log.ts';

const two32 = 2 ** 32;
/** Bytes that a varint of 64 bits needs. */
const varintBytesMax = 10;

/** Writes into a buffer of known size; the caller computed it. */
export class WireWriter {
  readonly bytes: Buffer<ArrayBuffer>;
  at = 0;

  constructor(size: number) {
    this.bytes = Buffer.from(new ArrayBuffer(size));
  }

  int8(value: number): void {
    this.at = this.bytes.writeInt8(value, this.at);
  }

  int16(value: number): void {
    this.at = this.bytes.writeInt16BE(value, this.at);
  }

  int32(value: number): void {
    this.at = this.bytes.writeInt32BE(value, this.at);
  }

  /** Whole numbers up to 2^53, which is all that offsets and times need. */
  int64(value: number): void {
    this.bytes.writeInt32BE(Math.floor(value / two32), this.at);
    this.bytes.writeUInt32BE(value >>> 0, this.at + 4);
    this.at += 8;
  }

  /** STRING: int16 length, UTF-8. */
  string(value: string): void {
    const length = this.bytes.write(value, this.at + 2, 'utf8');
    this.bytes.writeInt16BE(length, this.at);
    this.at += 2 + length;
  }

  varint(value: number): void {
    let rest = zigzag(value);
    while (rest >= 0x80) {
      this.bytes[this.at++] = (rest % 0x80) | 0x80;
      rest = Math.floor(rest / 0x80);
    }
    this.bytes[this.at++] = rest;
  }

  utf8(value: string): void {
    if (value !== '') this.at += this.bytes.write(value, this.at, 'utf8');
  }

  raw(value: Uint8Array): void {
    this.bytes.set(value, this.at);
    this.at += value.byteLength;
  }
}

function zigzag(value: number): number {
  return value >= 0 ? value * 2 : -value * 2 - 1;
}

export function varintSize(value: number): number {
  let size = 1;
  for (let rest = zigzag(value); rest >= 0x80; rest = Math.floor(rest / 0x80)) size++;
  return size;
}

/** Throws LogError `corrupt` when it runs past the end: a torn answer must not look like an empty one. */
export class WireReader {
  readonly bytes: Buffer;
  at = 0;

  constructor(bytes: Buffer) {
    this.bytes = bytes;
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  int8(): number {
    return this.bytes.readInt8(this.#take(1));
  }

  int16(): number {
    return this.bytes.readInt16BE(this.#take(2));
  }

  int32(): number {
    return this.bytes.readInt32BE(this.#take(4));
  }

  int64(): number {
    const at = this.#take(8);
    return this.bytes.readInt32BE(at) * two32 + this.bytes.readUInt32BE(at + 4);
  }

  string(): string {
    const length = this.int16();
    return length < 0 ? '' : this.utf8(length);
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (let bytes = 1; bytes <= varintBytesMax; bytes++) {
      const byte = this.bytes[this.#take(1)] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
      scale *= 0x80;
    }
    throw new LogError('corrupt', `Kafka's answer has a number of more than ${varintBytesMax} bytes, up to byte ${this.at}`);
  }

  utf8(length: number): string {
    const at = this.#take(length);
    return length === 0 ? '' : this.bytes.toString('utf8', at, at + length);
  }

  /** The place behind the next `length` bytes. */
  behind(length: number): number {
    const at = this.#take(length);
    this.at = at;
    return at + length;
  }

  /** A view, not a copy. */
  view(length: number): Buffer {
    const at = this.#take(length);
    return this.bytes.subarray(at, at + length);
  }

  array<T>(item: () => T): readonly T[] {
    const count = this.int32();
    const items: T[] = [];
    for (let index = 0; index < count; index++) items.push(item());
    return items;
  }

  #take(length: number): number {
    const at = this.at;
    if (length < 0 || at + length > this.bytes.length) {
      throw new LogError('corrupt', `Kafka's answer ends at byte ${this.bytes.length}, within a field of ${length} bytes at ${at}`);
    }
    this.at = at + length;
    return at;
  }
}
