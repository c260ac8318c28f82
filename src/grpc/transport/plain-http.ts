import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { NewestSockets } from './newest-sockets.ts';

/** Not by `import`: its module form reads every name, and two of them load Node's fetch, which takes 20 ms of each start. */
const { createServer } = process.getBuiltinModule('node:http');

/** The body of `GET /health`: 200 when `status` is SERVING, otherwise 503. */
export type HealthReport = { readonly status: 'SERVING' | 'NOT_SERVING' } & Readonly<Record<string, unknown>>;

/**
 * What load balancers and people with curl ask the gRPC port: `GET /health`, `/health/live` and `/health/state`. And what an operator wants done,
 * by POST. For that a header is asked for which a page in somebody's browser cannot send to us.
 */
export class PlainHttp {
  readonly #server: Server;
  readonly #sockets: NewestSockets;
  readonly #pages: ReadonlyMap<string, () => HealthReport>;
  readonly #actions: ReadonlyMap<string, () => Promise<object>>;
  readonly #instance: string;
  readonly #timeoutMs: number;

  /** `timeoutMs`: how long a socket may stay open, whatever it does meanwhile. */
  constructor(options: {
    readonly health: () => HealthReport;
    readonly state?: (() => HealthReport) | undefined;
    /** By path. They never reject. */
    readonly actions?: ReadonlyMap<string, () => Promise<object>> | undefined;
    readonly instance: string;
    readonly timeoutMs: number;
    readonly connectionsMax: number;
  }) {
    this.#sockets = new NewestSockets(options.connectionsMax);
    const { health, state } = options;
    this.#pages = new Map([
      ['/health', health],
      ['/health/live', () => live],
      ...(state === undefined ? [] : [['/health/state', state] as const]),
    ]);
    this.#actions = options.actions ?? new Map();
    this.#instance = options.instance;
    this.#timeoutMs = options.timeoutMs;
    this.#server = createServer({ maxHeaderSize: 8 * 1024, keepAlive: false }, (request, response) => this.#answer(request, response));
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  accept(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    // The server never listens itself, so its own header timeout does not run; and an idle timeout begins anew with every byte.
    const timer = setTimeout(() => socket.destroy(), this.#timeoutMs);
    socket.once('close', () => clearTimeout(timer));
    this.#server.emit('connection', socket);
  }

  stop(): void {
    this.#sockets.destroyAll();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    request.resume();
    response.setHeader('connection', 'close');
    const [path = ''] = (request.url ?? '').split('?', 1);
    const page = this.#pages.get(path);
    const action = this.#actions.get(path);
    if (action !== undefined) {
      void this.#act(action, request, response);
    } else if (page === undefined) {
      response.writeHead(404).end();
    } else if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.writeHead(405, { allow: 'GET, HEAD' }).end();
    } else {
      const report = page();
      this.#send(request, response, report.status === 'SERVING' ? 200 : 503, report);
    }
  }

  async #act(action: () => Promise<object>, request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') response.writeHead(405, { allow: 'POST' }).end();
    else if (request.headers[operatorHeader] === undefined) response.writeHead(403).end();
    else this.#send(request, response, 200, await action());
  }

  #send(request: IncomingMessage, response: ServerResponse, status: number, content: object): void {
    const body = JSON.stringify(content);
    response.writeHead(status, {
      'content-type': 'application/json',
      // By this a server that is about to start sees whether the one that claimed last is still there.
      'perdure-instance': this.#instance,
      'cache-control': 'no-store',
      'content-length': Buffer.byteLength(body),
    });
    response.end(request.method === 'HEAD' ? undefined : body);
  }
}

const operatorHeader = 'perdure-operator';

/** The event loop runs, whatever the partitions do. */
const live: HealthReport = { status: 'SERVING' };
