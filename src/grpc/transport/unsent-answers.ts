import { constants, type ServerHttp2Session } from 'node:http2';

/**
 * Answers that their clients have not taken yet. Who asks for much and reads nothing makes us keep it all: 1,000 calls on a connection,
 * up to 4 MiB each. Over the limit, whichever connection makes us keep the most is cut.
 */
export class UnsentAnswers {
  readonly #bytesMax: number;
  readonly #bySession = new Map<ServerHttp2Session, number>();
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  add(session: ServerHttp2Session, bytes: number): void {
    if (session.destroyed) return;
    this.#bySession.set(session, (this.#bySession.get(session) ?? 0) + bytes);
    this.#bytes += bytes;
    while (this.#bytes > this.#bytesMax) this.#cutLargest();
  }

  /** Taken, or its call is gone. */
  remove(session: ServerHttp2Session, bytes: number): void {
    const kept = this.#bySession.get(session);
    if (kept === undefined) return;
    this.#bytes -= bytes;
    if (kept === bytes) this.#bySession.delete(session);
    else this.#bySession.set(session, kept - bytes);
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
    largest.destroy(undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }
}
