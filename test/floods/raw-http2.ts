/** HTTP/2 by the byte: what no library sends. Each function gives one frame. */
import { connect, type Socket } from 'node:net';

const [dataType, headersType, resetType, settingsType] = [0, 1, 3, 4];
const [endStream, endHeaders] = [1, 4];

export function frame(type: number, flags: number, stream: number, payload: Uint8Array): Buffer {
  const bytes = Buffer.alloc(9 + payload.length);
  bytes.writeUIntBE(payload.length, 0, 3);
  bytes[3] = type;
  bytes[4] = flags;
  bytes.writeUInt32BE(stream, 5);
  bytes.set(payload, 9);
  return bytes;
}

export function data(stream: number, payload: Uint8Array, isLast = false): Buffer {
  return frame(dataType, isLast ? endStream : 0, stream, payload);
}

/** Cancelled by its client. */
export function reset(stream: number): Buffer {
  return frame(resetType, 0, stream, Buffer.from([0, 0, 0, 8]));
}

/** Of a gRPC call; the first on its connection puts authority, path and content type into the dynamic table of HPACK. */
export function firstHeaders(stream: number, path: string): Buffer {
  const block = Buffer.concat([
    Buffer.from([...post, 0x41]),
    text('x'),
    Buffer.from([0x44]),
    text(path),
    Buffer.from([0x5f]),
    text('application/grpc'),
  ]);
  return frame(headersType, endHeaders, stream, block);
}

/** The same for each call behind it, in 5 bytes: these are the last three of that table. */
export function nextHeaders(stream: number): Buffer {
  return frame(headersType, endHeaders, stream, Buffer.from([...post, 0x80 | 64, 0x80 | 63, 0x80 | 62]));
}

/** Entries of the static table: `:method` POST, `:scheme` http. */
const post = [0x83, 0x86];

/** With these fields, each of them literally. */
export function longHeaders(stream: number, path: string, fields: Readonly<Record<string, string>>): Buffer {
  const named = { host: 'x', 'content-type': 'application/grpc', ...fields };
  const literals = Object.entries(named).map(([name, value]) => Buffer.concat([Buffer.from([0]), text(name), text(value)]));
  return frame(headersType, endHeaders, stream, Buffer.concat([Buffer.from([...post, 0x04]), text(path), ...literals]));
}

/** HPACK: a length of 7 bits with its continuation, no Huffman code. */
function text(value: string): Buffer {
  const bytes = Buffer.from(value);
  const head: number[] = [Math.min(bytes.length, 127)];
  for (let length = bytes.length - 127; length >= 0; length >>= 7) {
    head.push((length & 127) | (length >= 128 ? 128 : 0));
    if (length < 128) break;
  }
  return Buffer.concat([Buffer.from(head), bytes]);
}

/** What stands before a gRPC message: no compression, and the length it announces. */
export function messageHead(bytes: number): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes, 1);
  return head;
}

/** The frames of a few streams, again and again for those that follow: made once, so that a flood costs its sender little. */
export class Repeated {
  readonly #bytes: Buffer;
  readonly #ids: readonly { readonly at: number; readonly behindFirst: number }[];
  readonly #streams: number;

  constructor(streams: number, framesOf: (stream: number) => readonly Buffer[]) {
    const frames = Array.from({ length: streams }, (_, index) => framesOf(2 * index)).flat();
    this.#bytes = Buffer.concat(frames);
    this.#streams = streams;
    let end = 0;
    this.#ids = frames.map((each) => ({ at: (end += each.length) - each.length + 5, behindFirst: each.readUInt32BE(5) }));
  }

  /** For another connection: `first`, of stream 1, and from there on these. */
  behind(first: readonly Buffer[]): () => Buffer {
    let stream = 1;
    return () => {
      if (stream === 1) {
        stream = 3;
        return Buffer.concat(first);
      }
      const bytes = Buffer.from(this.#bytes);
      for (const { at, behindFirst } of this.#ids) bytes.writeUInt32BE(stream + behindFirst, at);
      stream += 2 * this.#streams;
      return bytes;
    };
  }
}

/** What a client says first. */
export const preface = Buffer.concat([Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), frame(settingsType, 0, 0, Buffer.alloc(0))]);

/** Past the beginning of the handshake. `undefined`: it was not let in. What the other side sends is read and dropped. */
export function open(address: string): Promise<Socket | undefined> {
  const [host, port] = address.split(':');
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), noDelay: true });
    socket.on('error', () => {});
    socket.once('close', () => resolve(undefined));
    socket.once('connect', () => socket.write(preface));
    socket.once('data', () => resolve(socket));
  });
}
