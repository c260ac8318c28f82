import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { statusCode, StatusError } from '../errors/status-error.ts';
import { httpRpcs } from '../rpcs/http-rpcs.ts';
import type { Rpc, RpcNameOf } from '../rpcs/rpc.ts';
import { CallHeaders } from './call-headers.ts';
import type { Gate } from './gate.ts';
import { NewestSockets } from './newest-sockets.ts';
import { peerOf } from './tcp-port.ts';
import type { TransportLimits } from './transport-limits.ts';

/** Not by `import`: its module form reads every name, and two of them load Node's fetch, which takes 20 ms of each start. */
const { createServer } = process.getBuiltinModule('node:http');

export type PageAnswer = { readonly status: number; readonly type: string; readonly body: string };

export type Page = {
  readonly rpc: Rpc;
  readonly verb: string;
  readonly path: string;
  readonly answer: () => PageAnswer | Promise<PageAnswer>;
};

/** `path`: where it is another one than its row says. */
export function page(name: RpcNameOf<typeof httpRpcs>, answer: Page['answer'], path?: string): Page {
  const [verb = '', usualPath = ''] = name.split(' ');
  return { rpc: httpRpcs.rpcs.get(name) as Rpc, verb, path: path ?? usualPath, answer };
}

export function jsonAnswer(status: number, content: object): PageAnswer {
  return { status, type: 'application/json', body: JSON.stringify(content) };
}

/** What load balancers, scrapers and people with curl ask a port. A POST needs a header that a page in a browser cannot send. */
export class PlainHttp {
  readonly #server: Server;
  readonly #sockets: NewestSockets;
  readonly #pages: ReadonlyMap<string, Page>;
  readonly #gate: Gate;
  readonly #instance: string;
  readonly #timeoutMs: number;
  readonly #answered = new WeakSet<Socket>();

  constructor(options: {
    readonly pages: readonly Page[];
    readonly gate: Gate;
    readonly instance: string;
    readonly limits: Pick<TransportLimits, 'plainConnectionsMax' | 'plainRequestTimeoutMs'>;
  }) {
    this.#sockets = new NewestSockets(options.limits.plainConnectionsMax);
    this.#pages = new Map(options.pages.map((each) => [each.path, each]));
    this.#gate = options.gate;
    this.#instance = options.instance;
    this.#timeoutMs = options.limits.plainRequestTimeoutMs;
    this.#server = createServer({ maxHeaderSize: 8 * 1024, keepAlive: false }, (request, response) => void this.#serve(request, response));
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

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    response.setHeader('connection', 'close');
    // A connection has one answer: what is sent behind its request is not looked at.
    if (this.#answered.has(request.socket)) return;
    this.#answered.add(request.socket);
    const { method = '', headers } = request;
    const [path = ''] = (request.url ?? '').split('?', 1);
    const found = this.#pages.get(path);
    if (found === undefined) {
      response.writeHead(404).end();
      return;
    }
    const verbs = found.verb === 'GET' ? ['GET', 'HEAD'] : [found.verb];
    if (!verbs.includes(method)) response.writeHead(405, { allow: verbs.join(', ') }).end();
    else if (found.verb === 'POST' && headers[operatorHeader] === undefined) response.writeHead(403).end();
    else this.#send(response, method === 'HEAD', await this.#answer(found, request));
  }

  async #answer({ rpc, answer }: Page, { headers, socket }: IncomingMessage): Promise<PageAnswer> {
    const kept = new CallHeaders(headers);
    const call = this.#gate.call({ rpc, peer: peerOf(socket), deadlineMs: Infinity, header: (name) => kept.get(name) });
    try {
      return await this.#gate.run(call, async () => {
        await call.admit({});
        return answer();
      });
    } catch (error) {
      if (error instanceof StatusError) return { status: httpStatus[error.code] ?? 500, type: 'text/plain', body: error.message };
      this.#gate.reportBug(call, error);
      return { status: 500, type: 'text/plain', body: '' };
    }
  }

  #send(response: ServerResponse, isHead: boolean, { status, type, body }: PageAnswer): void {
    response.writeHead(status, {
      'content-type': type,
      // By this a server that is about to start sees whether the one that claimed last is still there.
      'perdure-instance': this.#instance,
      'cache-control': 'no-store',
      'content-length': Buffer.byteLength(body),
    });
    response.end(isHead ? undefined : body);
  }
}

const operatorHeader = 'perdure-operator';

const httpStatus: Readonly<Partial<Record<number, number>>> = {
  [statusCode.invalidArgument]: 400,
  [statusCode.failedPrecondition]: 400,
  [statusCode.unauthenticated]: 401,
  [statusCode.permissionDenied]: 403,
  [statusCode.resourceExhausted]: 429,
  [statusCode.unavailable]: 503,
};
