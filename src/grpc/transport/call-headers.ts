import type { IncomingHttpHeaders } from 'node:http2';

/** Those that somebody reads. */
const readHeaders = [
  'client-name',
  'client-version',
  'grpc-accept-encoding',
  'grpc-encoding',
  'grpc-timeout',
  'supported-features',
  'supported-server-versions',
  'user-agent',
  'x-request-id',
] as const;

export type ReadHeader = (typeof readHeaders)[number];

/** Of a value; nobody reads more. */
const headerCharsMax = 512;

/**
 * What is kept of the headers of a call: a call may wait for years, and the memory of a long value lies outside of the heap, where it would stay until the
 * next full collection.
 */
export class CallHeaders {
  readonly #values = new Map<ReadHeader, string>();
  /** As HTTP/2 counts them. */
  readonly bytes: number;

  constructor(headers: IncomingHttpHeaders) {
    let bytes = 0;
    for (const name of readHeaders) {
      const value = headers[name];
      if (value === undefined) continue;
      const kept = shortened(typeof value === 'string' ? value : value.join(','));
      this.#values.set(name, kept);
      bytes += name.length + kept.length + 32;
    }
    this.bytes = bytes;
  }

  get(name: ReadHeader): string {
    return this.#values.get(name) ?? '';
  }
}

/** A copy: a part of a string keeps all of it. */
function shortened(value: string): string {
  return value.length <= headerCharsMax ? value : Buffer.from(value.slice(0, headerCharsMax), 'latin1').toString('latin1');
}

/** Of all of them, as HTTP/2 counts them. */
export function headerBytes(headers: IncomingHttpHeaders): number {
  let bytes = 0;
  for (const name in headers) bytes += name.length + (headers[name]?.length ?? 0) + 32;
  return bytes;
}
