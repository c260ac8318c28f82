/** As much of Docker's HTTP API as it takes to start one container and remove it: what was asked for can be looked at. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

export class DockerEngineStub {
  /** Bodies of `containers/create`. */
  readonly created: unknown[] = [];
  readonly removed: string[] = [];
  readonly #server = createServer((request, response) => void this.#answer(request, response));
  readonly #containerLog: string;
  #bindings: unknown;

  /** `containerLog`: what every container says. */
  static async start(containerLog: string): Promise<DockerEngineStub> {
    const stub = new DockerEngineStub(containerLog);
    await once(stub.#server.listen(0, '127.0.0.1'), 'listening');
    return stub;
  }

  private constructor(containerLog: string) {
    this.#containerLog = containerLog;
  }

  /** As DOCKER_HOST names it. */
  get address(): string {
    const address = this.#server.address();
    return `tcp://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    const path = (request.url ?? '').replace(/\?.*$/, '');
    const json = (status: number, value: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    };
    switch (`${request.method} ${path.replace(/^\/v[\d.]+/, '')}`) {
      case 'GET /info':
        return json(200, { ServerVersion: '28.0', OperatingSystem: 'stub', OSType: 'linux', Architecture: 'x86_64', NCPU: 2, MemTotal: 1 });
      case 'GET /containers/json':
        return json(200, []);
      case 'POST /containers/create': {
        const wanted = JSON.parse(body) as { readonly HostConfig: { readonly PortBindings: unknown } };
        this.created.push(wanted);
        this.#bindings = wanted.HostConfig.PortBindings;
        return json(201, { Id: 'c1', Warnings: [] });
      }
      case 'GET /containers/c1/json':
        return json(200, inspection(this.#bindings));
      case 'GET /containers/c1/logs': {
        const line = Buffer.from(`${this.#containerLog}\n`);
        const frame = Buffer.alloc(8);
        frame.writeUInt8(1, 0);
        frame.writeUInt32BE(line.length, 4);
        response.writeHead(200, { 'content-type': 'application/vnd.docker.multiplexed-stream' }).end(Buffer.concat([frame, line]));
        return;
      }
      case 'POST /containers/c1/start':
      case 'POST /containers/c1/stop':
        response.writeHead(204).end();
        return;
      case 'DELETE /containers/c1':
        this.removed.push('c1');
        response.writeHead(204).end();
        return;
      default:
        // Images are there; nothing else is.
        return path.includes('/images/') ? json(200, { Id: 'sha256:0', Config: {} }) : json(404, { message: `no ${path}` });
    }
  }
}

function inspection(bindings: unknown): unknown {
  const state = { Status: 'running', Running: true, StartedAt: '2026-05-04T10:00:00Z', FinishedAt: '0001-01-01T00:00:00Z' };
  return {
    Id: 'c1',
    Name: '/c1',
    State: state,
    Config: { Hostname: 'c1', Labels: {}, Image: '' },
    HostConfig: { PortBindings: bindings },
    NetworkSettings: { Ports: bindings, Networks: {} },
  };
}
