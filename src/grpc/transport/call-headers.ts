import type { IncomingHttpHeaders } from 'node:http2';

/** Characters that are kept of a value; nobody reads more. */
const headerCharsMax = 512;

/** A call may wait for years, and the memory of a long value lies outside of the heap, where it would stay until the next full collection. */
export class CallHeaders {
  readonly #values: Readonly<Record<ReadHeader, string>>;
  readonly bytes: number;

  constructor(headers: IncomingHttpHeaders) {
    let bytes = 0;
    const kept = (name: string): string => {
      const value = headers[name];
      if (value === undefined) return '';
      const text = shortened(typeof value === 'string' ? value : value.join(','));
      bytes += name.length + text.length + 32;
      return text;
    };
    this.#values = valuesOf(kept);
    this.bytes = bytes;
  }

  get(name: ReadHeader): string {
    return this.#values[name];
  }
}

/** The headers that somebody reads. Made for each call: a literal is the cheapest. */
function valuesOf(kept: (name: string) => string) {
  return {
    'client-name': kept('client-name'),
    'client-version': kept('client-version'),
    'grpc-accept-encoding': kept('grpc-accept-encoding'),
    'grpc-encoding': kept('grpc-encoding'),
    'grpc-timeout': kept('grpc-timeout'),
    'supported-features': kept('supported-features'),
    'supported-server-versions': kept('supported-server-versions'),
    traceparent: kept('traceparent'),
    'user-agent': kept('user-agent'),
    'x-request-id': kept('x-request-id'),
  };
}

export type ReadHeader = keyof ReturnType<typeof valuesOf>;

/** A copy: a part of a string keeps all of it. */
function shortened(value: string): string {
  return value.length <= headerCharsMax ? value : Buffer.from(value.slice(0, headerCharsMax), 'latin1').toString('latin1');
}

/** The size of all headers, as HTTP/2 counts it. `rawHeaders`: names and values, in turn. */
export function headerBytes(rawHeaders: readonly string[]): number {
  let bytes = 16 * rawHeaders.length;
  for (const text of rawHeaders) bytes += text.length;
  return bytes;
}
