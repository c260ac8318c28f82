import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What load balancers and people with curl ask the gRPC port: `GET /health` and `GET /health/live`. */
export class PlainHttp {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #serving: () => boolean;
  readonly #timeoutMs: number;

  constructor(options: { readonly serving: () => boolean; readonly timeoutMs: number }) {
    this.#serving = options.serving;
    this.#timeoutMs = options.timeoutMs;
    this.#server = createServer({ maxHeaderSize: 8 * 1024, keepAlive: false }, (request, response) => this.#answer(request, response));
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
    // The server never listens itself, so its own header timeout does not run.
    socket.setTimeout(this.#timeoutMs, () => socket.destroy());
    this.#server.emit('connection', socket);
  }

  stop(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    response.setHeader('connection', 'close');
    const path = (request.url ?? '').split('?', 1)[0];
    if (path !== '/health' && path !== '/health/live') {
      response.writeHead(404).end();
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
    } else {
      const serving = path === '/health/live' || this.#serving();
      const body = JSON.stringify({ status: serving ? 'SERVING' : 'NOT_SERVING' });
      response.writeHead(serving ? 200 : 503, {
        'content-type': 'application/json',
        'cache-control': 'no-store',
        'content-length': body.length,
      });
      response.end(request.method === 'HEAD' ? undefined : body);
    }
  }
}
