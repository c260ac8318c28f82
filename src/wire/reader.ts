/**
 * Reader of the protobuf wire format, for the generated codecs; writer.ts is its counterpart.
 *
 * The two exist because the hot path needs three things at once: numbers instead of Long objects, bytes that never share memory with
 * the network buffer that they came in (10 bytes can pin 64 KiB), and a clear error for every malformed input.
 *
 * One pass over one buffer: `end` is the limit of the message being read, `enter` narrows it, `leave` restores it. A message field that
 * occurs twice replaces the first (other implementations merge them; no encoder writes it so).
 */
import { nsPerMs } from '../kernel/instant.ts';
import { copyOf } from './copy-of.ts';
import { WireError, WireLimitError } from './wire-error.ts';
import { requestLimits, type WireLimits } from './wire-limits.ts';

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

  /** Whether the string that comes is this one. `utf8Bytes`: how many it has. One of another length is passed over unread. */
  isString(text: string, utf8Bytes: number): boolean {
    const start = this.pos;
    const length = this.#length();
    if (length !== utf8Bytes) {
      this.pos += length;
      return false;
    }
    this.pos = start;
    return this.string() === text;
  }

  /** Always a copy: the result may outlive the received buffer by days. */
  bytes(): Uint8Array {
    const length = this.#length();
    if (length === 0) return emptyBytes;
    const start = this.pos;
    this.pos = start + length;
    return copyOf(this.#buffer, start, length);
  }

  /** A view of the received buffer: for what is used up before the call that came in it returns. */
  bytesInPlace(): Uint8Array {
    const length = this.#length();
    const start = this.pos;
    this.pos = start + length;
    return this.#buffer.subarray(start, this.pos);
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

  int64(field: string): number {
    const buffer = this.#buffer;
    if (this.pos < this.end && (buffer[this.pos] as number) < 128) return buffer[this.pos++] as number;
    return this.#safe(this.#int64Rounded(), field);
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

  /** google.protobuf.Duration, rounded away from zero. What is longer than the limit reads as the limit: nobody can tell them apart. */
  durationMs(field: string): number {
    const ms = this.exactDurationMs(field);
    return ms > 0 ? Math.ceil(ms) : Math.floor(ms);
  }

  /** google.protobuf.Duration in milliseconds with their fraction: exact to the nanosecond up to 50 days. */
  exactDurationMs(field: string): number {
    const seconds = this.#secondsAndNanos();
    const nanos = this.#low;
    if ((seconds > 0 && nanos < 0) || (seconds < 0 && nanos > 0)) {
      throw new WireError(`${field}: duration has seconds and nanos with different signs`);
    }
    // Nanos may be a second and more. Added as they are they could give another number than what is written and read again.
    const carried = Math.trunc(nanos / 1e9);
    const ms = (seconds + carried) * 1000 + (nanos - carried * 1e9) / 1e6;
    const { durationMsMax } = this.#limits;
    return ms > durationMsMax ? durationMsMax : ms < -durationMsMax ? -durationMsMax : ms;
  }

  /** google.protobuf.Timestamp in milliseconds since 1970, rounded down. */
  timestampMs(field: string): number {
    const seconds = this.#secondsAndNanos();
    return this.#safe(seconds * 1000 + Math.floor(this.#low / 1e6), field);
  }

  /** google.protobuf.Timestamp in nanoseconds since 1970. Refuses what `timestampMs` refuses. */
  timestampNs(field: string): bigint {
    const seconds = this.#secondsAndNanos();
    const nanos = this.#low;
    this.#safe(seconds * 1000 + Math.floor(nanos / 1e6), field);
    return BigInt(seconds) * 1000n * nsPerMs + BigInt(nanos);
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
