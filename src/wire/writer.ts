/**
 * Writer of the protobuf wire format, for the generated codecs; reader.ts is its counterpart.
 *
 * One growing buffer: a nested message reserves one byte for its length and is shifted only if it needs more.
 *
 *      tag | len? | field field field ...          `open` returns where the body starts,
 *            ^1 byte  ^at                          `close(at)` fills the length in
 */
import { splitInstant } from '../kernel/instant.ts';
import { briefCopyOf, copyOf } from './copy-of.ts';
import { WireError } from './wire-error.ts';

const twoTo32 = 0x1_0000_0000;
const writerBytesInitial = 4 * 1024;
/** A buffer that grew past this is given back after use: one large message must not stay for ever. */
const writerBytesKept = 256 * 1024;

/** The plain methods leave a default out, as proto3 does without presence; `…Always` write it: `optional` fields, list and map entries. */
export class Writer {
  #buffer = Buffer.allocUnsafeSlow(writerBytesInitial);
  #pos = 0;

  reset(): void {
    this.#pos = 0;
  }

  /** A copy of what was written, of exactly its size. */
  finish(): Uint8Array {
    const bytes = copyOf(this.#buffer, 0, this.#pos);
    this.#begin();
    return bytes;
  }

  /** A copy that nobody keeps (copy-of.ts). */
  finishBriefly(): Uint8Array {
    const bytes = briefCopyOf(this.#buffer, 0, this.#pos);
    this.#begin();
    return bytes;
  }

  #begin(): void {
    this.#pos = 0;
    if (this.#buffer.length > writerBytesKept) this.#buffer = Buffer.allocUnsafeSlow(writerBytesInitial);
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

  /** A duration with its fraction of a millisecond, to the nanosecond. */
  exactDurationMs(tag: number, ms: number): void {
    if (ms !== 0) this.exactDurationMsAlways(tag, ms);
  }

  exactDurationMsAlways(tag: number, ms: number): void {
    const whole = Math.trunc(ms);
    assertSafe(whole);
    this.#secondsAndNanos(tag, Math.trunc(whole / 1000), Math.round((ms % 1000) * 1e6));
  }

  timestampMs(tag: number, ms: number): void {
    if (ms !== 0) this.timestampMsAlways(tag, ms);
  }

  timestampMsAlways(tag: number, ms: number): void {
    assertSafe(ms);
    const seconds = Math.floor(ms / 1000);
    this.#secondsAndNanos(tag, seconds, (ms - seconds * 1000) * 1e6);
  }

  timestampNsAlways(tag: number, ns: bigint): void {
    const { ms, part } = splitInstant(ns);
    const seconds = Math.floor(Number(ms) / 1000);
    this.#secondsAndNanos(tag, seconds, (Number(ms) - seconds * 1000) * 1e6 + Number(part));
  }

  #secondsAndNanos(tag: number, seconds: number, nanos: number): void {
    const at = this.open(tag);
    this.int64(8, seconds);
    this.int32(16, nanos);
    this.close(at);
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

/** Encodes what nobody keeps: an answer to a call, a record that is appended (copy-of.ts). */
export function encodeBriefly<T>(write: (writer: Writer, message: T) => void, message: T): Uint8Array {
  sharedWriter.reset();
  write(sharedWriter, message);
  return sharedWriter.finishBriefly();
}
