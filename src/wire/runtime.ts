/**
 * Reader and writer of the protobuf wire format, used by the generated codecs and by nothing else.
 *
 * They exist because the hot path needs three things at once: numbers instead of Long objects, bytes that never share memory with
 * the network buffer that they came in (10 bytes can pin 64 KiB), and a clear error for every malformed input.
 *
 *   reading   one pass over one buffer; `end` is the limit of the message being read, `enter` narrows it, `leave` restores it
 *   writing   one growing buffer; a nested message reserves one byte for its length and is shifted only if it needs more
 *
 *      tag | len? | field field field ...          `open` returns where the body starts,
 *            ^1 byte  ^at                          `close(at)` fills the length in
 *
 * A message field that occurs twice replaces the first (other implementations merge them; no encoder writes it so).
 */

import { durationMsMax } from '../kernel/duration.ts';

/** Input that is not what the schema says, or is larger than the reader's limits. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/** Well-formed, and still more than the reader was told to take. */
export class WireLimitError extends WireError {}

/**
 * What a reader takes. Bytes are bounded by whoever hands them over; these bound what the bytes are made into: two bytes of input make
 * an object of some hundred bytes.
 */
export type WireLimits = {
  /** Messages inside messages, the outermost counted as 1. */
  readonly nestingDepthMax: number;
  /** Elements of one repeated field or map. */
  readonly repeatedElementsMax: number;
  /** Nested messages of one decoded message. */
  readonly nestedMessagesMax: number;
  /** A duration beyond it, in either direction, reads as this. */
  readonly durationMsMax: number;
};

/** For what strangers send: the default of every decoder. One tenant's objects take the time and the memory of all. */
export const requestLimits: WireLimits = { nestingDepthMax: 80, repeatedElementsMax: 10_000, nestedMessagesMax: 50_000, durationMsMax };

/**
 * For what we wrote ourselves, and for what the core reads of messages that it has accepted. The writer has no limit but the size of the
 * whole record, so the reader has none either: a record that was committed and cannot be read would stop its partition for ever. The
 * depth is bounded by our own schemas, which keep every message of recursive form as bytes.
 */
export const ownLimits: WireLimits = {
  nestingDepthMax: 100,
  repeatedElementsMax: Infinity,
  nestedMessagesMax: Infinity,
  durationMsMax: Number.MAX_SAFE_INTEGER,
};

const emptyBytes = new Uint8Array(0);
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const asciiScanBytesMax = 128;
const twoTo32 = 0x1_0000_0000;

export class Reader {
  pos = 0;
  /** Where the message being read ends. */
  end: number;
  readonly #buffer: Buffer;
  readonly #limits: WireLimits;
  #depth = 1;
  #nestedMessages = 0;
  /** Low and high half of the varint read last. */
  #low = 0;
  #high = 0;

  constructor(bytes: Uint8Array, limits: WireLimits = requestLimits) {
    this.#limits = limits;
    this.#buffer = bytes instanceof Buffer ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.end = bytes.byteLength;
  }

  /** Steps into a length-delimited message; answers the limit to hand back to `leave`. */
  enter(): number {
    const length = this.#length();
    this.#goDeeper();
    if (++this.#nestedMessages > this.#limits.nestedMessagesMax) {
      throw new WireLimitError(`it holds more than ${this.#limits.nestedMessagesMax} nested messages`);
    }
    const outer = this.end;
    this.end = this.pos + length;
    return outer;
  }

  leave(outer: number): void {
    this.#depth--;
    this.end = outer;
  }

  tag(): number {
    const tag = this.uint32();
    if (tag < 8) throw new WireError(`field number 0 at byte ${this.pos - 1}`);
    return tag;
  }

  /** Passes over a field that the schema does not know, or knows with another wire type. */
  skip(tag: number): void {
    switch (tag & 7) {
      case 0:
        this.#varint();
        return;
      case 1:
        this.#advance(8);
        return;
      case 2:
        this.#advance(this.#length());
        return;
      case 3:
        this.#skipGroup(tag);
        return;
      case 5:
        this.#advance(4);
        return;
      default:
        throw new WireError(`wire type ${tag & 7} of field ${tag >>> 3} is not valid here`);
    }
  }

  string(): string {
    const length = this.#length();
    const start = this.pos;
    const end = start + length;
    this.pos = end;
    const buffer = this.#buffer;
    if (length <= asciiScanBytesMax) {
      let at = start;
      while (at < end && (buffer[at] as number) < 128) at++;
      if (at === end) return length === 0 ? '' : buffer.toString('latin1', start, end);
    }
    try {
      return strictUtf8.decode(buffer.subarray(start, end));
    } catch (cause) {
      throw new WireError(`string at byte ${start} is not valid UTF-8`, { cause });
    }
  }

  /** Always a copy: the result may outlive the received buffer by days. */
  bytes(): Uint8Array {
    const length = this.#length();
    if (length === 0) return emptyBytes;
    const start = this.pos;
    this.pos = start + length;
    return copyOf(this.#buffer, start, length);
  }

  bool(): boolean {
    this.#varint();
    return this.#low !== 0 || this.#high !== 0;
  }

  int32(): number {
    const buffer = this.#buffer;
    if (this.pos < this.end && (buffer[this.pos] as number) < 128) return buffer[this.pos++] as number;
    this.#varint();
    return this.#low | 0;
  }

  uint32(): number {
    const buffer = this.#buffer;
    if (this.pos < this.end && (buffer[this.pos] as number) < 128) return buffer[this.pos++] as number;
    this.#varint();
    if (this.#high !== 0) throw new WireError(`number before byte ${this.pos} is larger than 32 bits`);
    return this.#low >>> 0;
  }

  sint32(): number {
    const raw = this.uint32();
    return (raw >>> 1) ^ -(raw & 1);
  }

  int64(field: string): number {
    const buffer = this.#buffer;
    if (this.pos < this.end && (buffer[this.pos] as number) < 128) return buffer[this.pos++] as number;
    return this.#safe(this.#int64Rounded(), field);
  }

  uint64(field: string): number {
    this.#varint();
    return this.#safe((this.#high >>> 0) * twoTo32 + (this.#low >>> 0), field);
  }

  sint64(field: string): number {
    this.#varint();
    const sign = -(this.#low & 1);
    const low = ((this.#low >>> 1) | (this.#high << 31)) ^ sign;
    const high = (this.#high >>> 1) ^ sign;
    return this.#safe((high | 0) * twoTo32 + (low >>> 0), field);
  }

  fixed32(): number {
    const at = this.pos;
    this.#advance(4);
    return this.#buffer.readUInt32LE(at);
  }

  sfixed32(): number {
    return this.fixed32() | 0;
  }

  fixed64(field: string): number {
    const low = this.fixed32();
    return this.#safe(this.fixed32() * twoTo32 + low, field);
  }

  sfixed64(field: string): number {
    const low = this.fixed32();
    return this.#safe((this.fixed32() | 0) * twoTo32 + low, field);
  }

  float(): number {
    const at = this.pos;
    this.#advance(4);
    return this.#buffer.readFloatLE(at);
  }

  double(): number {
    const at = this.pos;
    this.#advance(8);
    return this.#buffer.readDoubleLE(at);
  }

  /**
   * google.protobuf.Duration in milliseconds; a fraction of a millisecond counts as a whole one, away from zero. Total but for one case:
   * what is longer than the limit reads as the limit, because nobody can tell them apart.
   */
  durationMs(field: string): number {
    const seconds = this.#secondsAndNanos();
    const nanos = this.#low;
    if ((seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0)) {
      throw new WireError(`${field}: duration has seconds and nanos with different signs`);
    }
    const ms = seconds * 1000 + (nanos > 0 ? Math.ceil(nanos / 1e6) : Math.floor(nanos / 1e6));
    const { durationMsMax } = this.#limits;
    return ms > durationMsMax ? durationMsMax : ms < -durationMsMax ? -durationMsMax : ms;
  }

  /** google.protobuf.Timestamp in milliseconds since 1970, rounded down. */
  timestampMs(field: string): number {
    const seconds = this.#secondsAndNanos();
    return this.#safe(seconds * 1000 + Math.floor(this.#low / 1e6), field);
  }

  /** Guards a repeated field before an element is added. */
  room(elements: number, field: string): void {
    if (elements >= this.#limits.repeatedElementsMax) {
      throw new WireLimitError(`${field} holds more than ${this.#limits.repeatedElementsMax} elements`);
    }
  }

  /** Reads `seconds` and `nanos`: answers the seconds, rounded beyond 2^53, and leaves the nanoseconds in `#low`. */
  #secondsAndNanos(): number {
    const outer = this.enter();
    let seconds = 0;
    let nanos = 0;
    while (this.pos < this.end) {
      const tag = this.tag();
      if (tag === 8) seconds = this.#int64Rounded();
      else if (tag === 16) nanos = this.int32();
      else this.skip(tag);
    }
    this.leave(outer);
    this.#low = nanos;
    return seconds;
  }

  #int64Rounded(): number {
    this.#varint();
    return (this.#high | 0) * twoTo32 + (this.#low >>> 0);
  }

  #skipGroup(start: number): void {
    this.#goDeeper();
    for (;;) {
      const tag = this.tag();
      if ((tag & 7) === 4) {
        if (tag >>> 3 !== start >>> 3) throw new WireError(`group ${start >>> 3} is closed as group ${tag >>> 3}`);
        this.#depth--;
        return;
      }
      this.skip(tag);
    }
  }

  #goDeeper(): void {
    if (++this.#depth > this.#limits.nestingDepthMax) {
      throw new WireError(`messages are nested deeper than ${this.#limits.nestingDepthMax} levels`);
    }
  }

  #length(): number {
    const length = this.uint32();
    if (length > this.end - this.pos) {
      throw new WireError(`field at byte ${this.pos} needs ${length} bytes, ${this.end - this.pos} are left`);
    }
    return length;
  }

  #advance(bytes: number): void {
    if (bytes > this.end - this.pos) throw new WireError(`field at byte ${this.pos} is cut off`);
    this.pos += bytes;
  }

  #varint(): void {
    const buffer = this.#buffer;
    const end = this.end;
    let at = this.pos;
    let low = 0;
    let high = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      if (at >= end) throw new WireError(`number at byte ${this.pos} is cut off`);
      const byte = buffer[at++] as number;
      const bits = byte & 127;
      if (shift < 28) low |= bits << shift;
      else if (shift === 28) {
        low |= bits << 28;
        high = bits >>> 4;
      } else if (shift < 63) high |= bits << (shift - 32);
      else {
        if (byte > 1) break;
        high |= bits << 31;
      }
      if (byte < 128) {
        this.pos = at;
        this.#low = low;
        this.#high = high;
        return;
      }
    }
    throw new WireError(`number at byte ${this.pos} is longer than 64 bits`);
  }

  #safe(value: number, field: string): number {
    if (!Number.isSafeInteger(value)) throw new WireError(`${field} is outside ±2^53`);
    return value;
  }
}

const writerBytesInitial = 4 * 1024;
/** A buffer that grew past this is given back after use: one large message must not stay for ever. */
const writerBytesKept = 256 * 1024;

/**
 * Methods with a tag write one field. The plain ones leave a default value out, as proto3 does for fields without presence; those
 * ending in `Always` write it, for `optional` fields, list elements and map entries.
 */
export class Writer {
  #buffer = Buffer.allocUnsafeSlow(writerBytesInitial);
  #pos = 0;

  reset(): void {
    this.#pos = 0;
  }

  /** A copy of what was written, of exactly its size. */
  finish(): Uint8Array {
    const bytes = copyOf(this.#buffer, 0, this.#pos);
    this.#pos = 0;
    if (this.#buffer.length > writerBytesKept) this.#buffer = Buffer.allocUnsafeSlow(writerBytesInitial);
    return bytes;
  }

  /** Starts a length-delimited message or packed list; the answer goes to `close`. */
  open(tag: number): number {
    this.#reserve(11);
    this.#small(tag);
    return ++this.#pos;
  }

  close(bodyAt: number): void {
    const length = this.#pos - bodyAt;
    if (length < 128) {
      this.#buffer[bodyAt - 1] = length;
      return;
    }
    const extra = length < 0x4000 ? 1 : length < 0x20_0000 ? 2 : length < 0x1000_0000 ? 3 : 4;
    this.#reserve(extra);
    this.#buffer.copyWithin(bodyAt + extra, bodyAt, this.#pos);
    this.#pos = bodyAt - 1;
    this.#small(length);
    this.#pos = bodyAt + extra + length;
  }

  string(tag: number, value: string): void {
    if (value !== '') this.stringAlways(tag, value);
  }

  stringAlways(tag: number, value: string): void {
    const chars = value.length;
    this.#reserve(chars * 3 + 10);
    this.#small(tag);
    const buffer = this.#buffer;
    if (chars > 42) {
      this.#small(Buffer.byteLength(value));
      this.#pos += buffer.write(value, this.#pos, 'utf8');
      return;
    }
    // At most 126 bytes, so the length takes one byte and can be filled in afterwards.
    const lengthAt = this.#pos;
    let at = lengthAt + 1;
    for (let i = 0; i < chars; i++) {
      const code = value.charCodeAt(i);
      if (code > 127) {
        at = lengthAt + 1 + buffer.write(value, lengthAt + 1, 'utf8');
        break;
      }
      buffer[at++] = code;
    }
    buffer[lengthAt] = at - lengthAt - 1;
    this.#pos = at;
  }

  /** Fields that are encoded already. */
  raw(fields: Uint8Array): void {
    this.#reserve(fields.length);
    this.#buffer.set(fields, this.#pos);
    this.#pos += fields.length;
  }

  bytes(tag: number, value: Uint8Array): void {
    if (value.length !== 0) this.bytesAlways(tag, value);
  }

  bytesAlways(tag: number, value: Uint8Array): void {
    const length = value.length;
    this.#reserve(length + 10);
    this.#small(tag);
    this.#small(length);
    this.#buffer.set(value, this.#pos);
    this.#pos += length;
  }

  bool(tag: number, value: boolean): void {
    if (value) this.boolAlways(tag, value);
  }

  boolAlways(tag: number, value: boolean): void {
    this.#reserve(6);
    this.#small(tag);
    this.#buffer[this.#pos++] = value ? 1 : 0;
  }

  int32(tag: number, value: number): void {
    if (value !== 0) this.int32Always(tag, value);
  }

  int32Always(tag: number, value: number): void {
    this.#reserve(15);
    this.#small(tag);
    this.int32Raw(value);
  }

  int32Raw(value: number): void {
    if (value !== (value | 0)) throw new WireError(`${value} is not a 32-bit integer`);
    this.#reserve(10);
    if (value >= 0) this.#small(value);
    else this.#varint(value >>> 0, 0xffff_ffff);
  }

  uint32(tag: number, value: number): void {
    if (value !== 0) this.uint32Always(tag, value);
  }

  uint32Always(tag: number, value: number): void {
    this.#reserve(15);
    this.#small(tag);
    this.uint32Raw(value);
  }

  uint32Raw(value: number): void {
    if (value !== value >>> 0) throw new WireError(`${value} is not an unsigned 32-bit integer`);
    this.#reserve(10);
    this.#small(value);
  }

  sint32(tag: number, value: number): void {
    if (value !== 0) this.sint32Always(tag, value);
  }

  sint32Always(tag: number, value: number): void {
    this.#reserve(15);
    this.#small(tag);
    this.sint32Raw(value);
  }

  sint32Raw(value: number): void {
    if (value !== (value | 0)) throw new WireError(`${value} is not a 32-bit integer`);
    this.#reserve(10);
    this.#small(((value << 1) ^ (value >> 31)) >>> 0);
  }

  int64(tag: number, value: number): void {
    if (value !== 0) this.int64Always(tag, value);
  }

  int64Always(tag: number, value: number): void {
    this.#reserve(15);
    this.#small(tag);
    this.int64Raw(value);
  }

  int64Raw(value: number): void {
    this.#reserve(10);
    if (value >= 0 && value <= 0x7fff_ffff && Number.isInteger(value)) this.#small(value);
    else {
      assertSafe(value);
      this.#varint((value % twoTo32) >>> 0, Math.floor(value / twoTo32) >>> 0);
    }
  }

  uint64(tag: number, value: number): void {
    if (value !== 0) this.uint64Always(tag, value);
  }

  uint64Always(tag: number, value: number): void {
    this.#reserve(15);
    this.#small(tag);
    this.uint64Raw(value);
  }

  uint64Raw(value: number): void {
    if (value < 0) throw new WireError(`${value} is not an unsigned integer`);
    this.int64Raw(value);
  }

  sint64(tag: number, value: number): void {
    if (value !== 0) this.sint64Always(tag, value);
  }

  sint64Always(tag: number, value: number): void {
    this.#reserve(15);
    this.#small(tag);
    this.sint64Raw(value);
  }

  sint64Raw(value: number): void {
    assertSafe(value);
    this.#reserve(10);
    const low = (value % twoTo32) >>> 0;
    const high = Math.floor(value / twoTo32) | 0;
    const sign = high >> 31;
    this.#varint(((low << 1) ^ sign) >>> 0, (((high << 1) | (low >>> 31)) ^ sign) >>> 0);
  }

  fixed32(tag: number, value: number): void {
    if (value !== 0) this.fixed32Always(tag, value);
  }

  fixed32Always(tag: number, value: number): void {
    this.#reserve(9);
    this.#small(tag);
    this.fixed32Raw(value);
  }

  fixed32Raw(value: number): void {
    if (value !== value >>> 0) throw new WireError(`${value} is not an unsigned 32-bit integer`);
    this.#reserve(4);
    this.#pos = this.#buffer.writeUInt32LE(value, this.#pos);
  }

  fixed64(tag: number, value: number): void {
    if (value !== 0) this.fixed64Always(tag, value);
  }

  fixed64Always(tag: number, value: number): void {
    this.#reserve(13);
    this.#small(tag);
    this.fixed64Raw(value);
  }

  fixed64Raw(value: number): void {
    if (value < 0) throw new WireError(`${value} is not an unsigned integer`);
    this.#fixed64(value);
  }

  sfixed64(tag: number, value: number): void {
    if (value !== 0) this.sfixed64Always(tag, value);
  }

  sfixed64Always(tag: number, value: number): void {
    this.#reserve(13);
    this.#small(tag);
    this.sfixed64Raw(value);
  }

  sfixed64Raw(value: number): void {
    this.#fixed64(value);
  }

  sfixed32(tag: number, value: number): void {
    if (value !== 0) this.sfixed32Always(tag, value);
  }

  sfixed32Always(tag: number, value: number): void {
    this.#reserve(9);
    this.#small(tag);
    this.sfixed32Raw(value);
  }

  sfixed32Raw(value: number): void {
    if (value !== (value | 0)) throw new WireError(`${value} is not a 32-bit integer`);
    this.fixed32Raw(value >>> 0);
  }

  float(tag: number, value: number): void {
    if (!Object.is(value, 0)) this.floatAlways(tag, value);
  }

  floatAlways(tag: number, value: number): void {
    this.#reserve(9);
    this.#small(tag);
    this.floatRaw(value);
  }

  floatRaw(value: number): void {
    this.#reserve(4);
    this.#pos = this.#buffer.writeFloatLE(value, this.#pos);
  }

  double(tag: number, value: number): void {
    if (!Object.is(value, 0)) this.doubleAlways(tag, value);
  }

  doubleAlways(tag: number, value: number): void {
    this.#reserve(13);
    this.#small(tag);
    this.doubleRaw(value);
  }

  doubleRaw(value: number): void {
    this.#reserve(8);
    this.#pos = this.#buffer.writeDoubleLE(value, this.#pos);
  }

  durationMs(tag: number, ms: number): void {
    if (ms !== 0) this.durationMsAlways(tag, ms);
  }

  durationMsAlways(tag: number, ms: number): void {
    assertSafe(ms);
    this.#secondsAndNanos(tag, Math.trunc(ms / 1000), (ms % 1000) * 1e6);
  }

  timestampMs(tag: number, ms: number): void {
    if (ms !== 0) this.timestampMsAlways(tag, ms);
  }

  timestampMsAlways(tag: number, ms: number): void {
    assertSafe(ms);
    const seconds = Math.floor(ms / 1000);
    this.#secondsAndNanos(tag, seconds, (ms - seconds * 1000) * 1e6);
  }

  #secondsAndNanos(tag: number, seconds: number, nanos: number): void {
    const at = this.open(tag);
    this.int64(8, seconds);
    this.int32(16, nanos);
    this.close(at);
  }

  #fixed64(value: number): void {
    assertSafe(value);
    this.#reserve(8);
    this.#pos = this.#buffer.writeUInt32LE((value % twoTo32) >>> 0, this.#pos);
    this.#pos = this.#buffer.writeUInt32LE(Math.floor(value / twoTo32) >>> 0, this.#pos);
  }

  /** A varint of at most 32 bits; the room is reserved by the caller. */
  #small(value: number): void {
    const buffer = this.#buffer;
    let rest = value;
    while (rest > 127) {
      buffer[this.#pos++] = (rest & 127) | 128;
      rest >>>= 7;
    }
    buffer[this.#pos++] = rest;
  }

  #varint(low: number, high: number): void {
    const buffer = this.#buffer;
    let restLow = low;
    let restHigh = high;
    while (restHigh !== 0) {
      buffer[this.#pos++] = (restLow & 127) | 128;
      restLow = ((restLow >>> 7) | (restHigh << 25)) >>> 0;
      restHigh >>>= 7;
    }
    this.#small(restLow);
  }

  #reserve(bytes: number): void {
    const needed = this.#pos + bytes;
    if (needed <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#buffer.length * 2));
    this.#buffer.copy(larger, 0, 0, this.#pos);
    this.#buffer = larger;
  }
}

/**
 * V8 keeps typed arrays of up to 64 bytes inside its heap, until native code touches them: then they move out, which costs fifteen times
 * as much as copying them here.
 */
function copyOf(buffer: Buffer, start: number, length: number): Uint8Array {
  const copy = new Uint8Array(length);
  if (length > 64) buffer.copy(copy, 0, start, start + length);
  else for (let i = 0; i < length; i++) copy[i] = buffer[start + i] as number;
  return copy;
}

function assertSafe(value: number): void {
  if (!Number.isSafeInteger(value)) throw new WireError(`${value} is not an integer within ±2^53`);
}

const sharedWriter = new Writer();

/** Encodes with one writer for the whole process: encoding is synchronous and never nests. */
export function encodeWith<T>(write: (writer: Writer, message: T) => void, message: T): Uint8Array {
  sharedWriter.reset();
  write(sharedWriter, message);
  return sharedWriter.finish();
}
