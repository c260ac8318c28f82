import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { errorMessage } from '../../kernel/error-text.ts';
import type { Logger } from '../logger.ts';
import { expositionType } from './exposition.ts';

/** Not by `import`: see src/grpc/transport/plain-http.ts. */
const { createServer } = process.getBuiltinModule('node:http');

/** A scrape that has not ended by then is cut off. */
const socketMsMax = 30_000;

/** `GET /metrics`, on sockets that somebody else accepted. */
export class MetricsPage {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #path: string;
  readonly #scrape: () => Promise<string>;
  readonly #logger: Logger;

  constructor(path: string, scrape: () => Promise<string>, logger: Logger) {
    this.#path = path;
    this.#scrape = scrape;
    this.#logger = logger;
    this.#server = createServer({ maxHeaderSize: 8 * 1024, keepAlive: false }, (request, response) => void this.#answer(request, response));
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    const timer = setTimeout(() => socket.destroy(), socketMsMax);
    socket.once('close', () => {
      clearTimeout(timer);
      this.#sockets.delete(socket);
    });
    this.#server.emit('connection', socket);
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    response.setHeader('connection', 'close');
    const [path] = (request.url ?? '').split('?', 1);
    if (path !== this.#path) {
      response.writeHead(404).end();
      return;
    }
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
      return;
    }
    try {
      const body = await this.#scrape();
      response.writeHead(200, { 'content-type': expositionType, 'content-length': Buffer.byteLength(body) });
      response.end(request.method === 'HEAD' ? undefined : body);
    } catch (error) {
      this.#logger.error('the metrics could not be written', { error: errorMessage(error) });
      response.writeHead(500).end();
    }
  }
}
