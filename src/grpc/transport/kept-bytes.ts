import type { ServerHttp2Session } from 'node:http2';

export type ConnectionBytes = { readonly session: ServerHttp2Session; bytes: number };

/**
 * Requests that are not complete, answers that clients have not taken: one that stops in the middle, or reads nothing, costs up to 4 MiB a call,
 * and a connection has 1,000 calls. Over the limit, whichever connection makes us keep the most is cut.
 */
export class KeptBytes {
  readonly #bytesMax: number;
  readonly #cut: (session: ServerHttp2Session) => void;
  readonly #connections = new Set<ConnectionBytes>();
  #bytes = 0;

  constructor(bytesMax: number, cut: (session: ServerHttp2Session) => void) {
    this.#bytesMax = bytesMax;
    this.#cut = cut;
  }

  open(session: ServerHttp2Session): ConnectionBytes {
    const connection = { session, bytes: 0 };
    this.#connections.add(connection);
    return connection;
  }

  add(connection: ConnectionBytes, bytes: number): void {
    if (connection.session.destroyed) return;
    connection.bytes += bytes;
    this.#bytes += bytes;
    while (this.#bytes > this.#bytesMax) this.#cutLargest();
  }

  /** The request is complete, the answer was taken, or the call has ended. */
  remove(connection: ConnectionBytes, bytes: number): void {
    // Of a connection that is destroyed nothing more is counted, though calls of it may still finish.
    const counted = Math.min(connection.bytes, bytes);
    connection.bytes -= counted;
    this.#bytes -= counted;
  }

  close(connection: ConnectionBytes): void {
    this.remove(connection, connection.bytes);
    this.#connections.delete(connection);
  }

  #cutLargest(): void {
    let largest: ConnectionBytes | undefined;
    for (const connection of this.#connections) {
      if (connection.bytes > (largest?.bytes ?? 0)) largest = connection;
    }
    if (largest === undefined) return;
    this.close(largest);
    this.#cut(largest.session);
  }
}
