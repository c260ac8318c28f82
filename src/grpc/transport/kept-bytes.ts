import type { ServerHttp2Session } from 'node:http2';

/**
 * What clients make us keep: requests that are not complete, answers that they have not taken. A client that stops in the middle, or
 * reads nothing, costs up to 4 MiB a call, and a connection has 1,000 calls. Over the limit, whichever connection makes us keep the most
 * is cut.
 */
export class KeptBytes {
  readonly #bytesMax: number;
  readonly #cut: (session: ServerHttp2Session) => void;
  readonly #bySession = new Map<ServerHttp2Session, number>();
  #bytes = 0;

  constructor(bytesMax: number, cut: (session: ServerHttp2Session) => void) {
    this.#bytesMax = bytesMax;
    this.#cut = cut;
  }

  add(session: ServerHttp2Session, bytes: number): void {
    if (session.destroyed) return;
    this.#bySession.set(session, (this.#bySession.get(session) ?? 0) + bytes);
    this.#bytes += bytes;
    while (this.#bytes > this.#bytesMax) this.#cutLargest();
  }

  /** The request is complete, the answer was taken, or the call has ended. */
  remove(session: ServerHttp2Session, bytes: number): void {
    const kept = this.#bySession.get(session);
    if (kept === undefined) return;
    // Of a connection that is destroyed nothing more is counted, though calls of it may still finish.
    const counted = Math.min(kept, bytes);
    this.#bytes -= counted;
    if (kept === counted) this.#bySession.delete(session);
    else this.#bySession.set(session, kept - counted);
  }

  #cutLargest(): void {
    let largest: ServerHttp2Session | undefined;
    let most = 0;
    for (const [session, bytes] of this.#bySession) {
      if (bytes > most) [largest, most] = [session, bytes];
    }
    if (largest === undefined) return;
    this.#bySession.delete(largest);
    this.#bytes -= most;
    this.#cut(largest);
  }
}
