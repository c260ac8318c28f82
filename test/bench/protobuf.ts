/**
 * Just enough protobuf for a load driver: a writer that builds the few requests once or patches a token in, a reader that walks fields
 * and skips the rest. A general codec would cost more CPU than the server under test is allowed to.
 *
 *   field key = (number << 3) | wire type;  0 varint · 1 fixed64 · 2 length-delimited · 5 fixed32
 */
const encoder = new TextEncoder();

export function varint(field: number, value: number): Uint8Array {
  return value === 0 ? empty : join([varintBytes(field * 8), varintBytes(value)]);
}

export function bytes(field: number, value: Uint8Array): Uint8Array {
  return value.length === 0 ? empty : join([varintBytes(field * 8 + 2), varintBytes(value.length), value]);
}

export function text(field: number, value: string): Uint8Array {
  return bytes(field, encoder.encode(value));
}

/** A nested message; written even when it is empty, since presence means something. */
export function message(field: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const body = join(parts);
  return join([varintBytes(field * 8 + 2), varintBytes(body.length), body]);
}

export function duration(field: number, milliseconds: number): Uint8Array {
  return message(field, varint(1, Math.floor(milliseconds / 1000)), varint(2, (milliseconds % 1000) * 1e6));
}

export function join(parts: readonly Uint8Array[]): Uint8Array {
  let length = 0;
  for (const part of parts) length += part.length;
  const joined = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    joined.set(part, at);
    at += part.length;
  }
  return joined;
}

const empty = new Uint8Array(0);

function varintBytes(value: number): Uint8Array {
  const out: number[] = [];
  let rest = value;
  while (rest > 0x7f) {
    out.push((rest % 128) | 0x80);
    rest = Math.floor(rest / 128);
  }
  out.push(rest);
  return Uint8Array.from(out);
}

/** Walks the fields of one message. */
export class FieldReader {
  readonly #buffer: Buffer;
  readonly #end: number;
  #at: number;
  #wireType = 0;

  constructor(buffer: Buffer, start = 0, end = buffer.length) {
    this.#buffer = buffer;
    this.#at = start;
    this.#end = end;
  }

  /** The next field's number, 0 at the end. Its value must be read or skipped before the next call. */
  next(): number {
    if (this.#at >= this.#end) return 0;
    const key = this.varint();
    this.#wireType = key % 8;
    return Math.floor(key / 8);
  }

  varint(): number {
    let value = 0;
    let scale = 1;
    for (;;) {
      const byte = this.#buffer[this.#at++] ?? 0;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
      scale *= 128;
    }
  }

  bytes(): Buffer {
    const length = this.varint();
    const start = this.#at;
    this.#at += length;
    return this.#buffer.subarray(start, this.#at);
  }

  text(): string {
    return this.bytes().toString('utf8');
  }

  message(): FieldReader {
    const length = this.varint();
    const start = this.#at;
    this.#at += length;
    return new FieldReader(this.#buffer, start, this.#at);
  }

  skip(): void {
    switch (this.#wireType) {
      case 0:
        this.varint();
        return;
      case 1:
        this.#at += 8;
        return;
      case 2:
        this.bytes();
        return;
      case 5:
        this.#at += 4;
        return;
      default:
        throw new Error(`unexpected wire type ${this.#wireType} at ${this.#at}`);
    }
  }
}
