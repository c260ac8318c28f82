/** A real HTTP server that answers what a test says, and keeps what it was sent. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Received = { readonly path: string; readonly headers: IncomingMessage['headers']; readonly body: Buffer };
export type Answering = (response: ServerResponse, received: Received, number: number) => void;

export class HttpTarget {
  readonly received: Received[] = [];
  readonly #server: Server;
  #answer: Answering;
  readonly #watchers = new Set<() => void>();

  private constructor(answer: Answering) {
    this.#answer = answer;
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const received = { path: request.url ?? '', headers: request.headers, body: Buffer.concat(chunks) };
        this.received.push(received);
        for (const look of this.#watchers) look();
        this.#answer(response, received, this.received.length);
      });
    });
  }

  static async open(answer: Answering = (response) => response.end()): Promise<HttpTarget> {
    const target = new HttpTarget(answer);
    await new Promise<void>((resolve) => target.#server.listen(0, '127.0.0.1', resolve));
    return target;
  }

  /** From now on. */
  answers(answer: Answering): void {
    this.#answer = answer;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path = '/done'): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  async requests(count: number): Promise<readonly Received[]> {
    await new Promise<void>((resolve) => {
      const look = (): void => {
        if (this.received.length < count) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
      look();
    });
    return this.received;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
