import { errorCode } from '../../kernel/error-text.ts';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export type TcpPort = {
  readonly port: number;
  /** Accepts no more; sockets that are open stay open. */
  close(): void;
};

type TcpPortOptions = {
  /** `localhost` listens on IPv4 and IPv6: half of all clients try one of them first. */
  readonly host: string;
  readonly port: number;
  /** If that port is in use, a free one. */
  readonly orFree?: boolean;
  readonly onSocket: (socket: Socket) => void;
};

/** Rejects with an Error that names address and port and has the system's error as its cause. */
export async function listen(options: TcpPortOptions): Promise<TcpPort> {
  try {
    return await listenAt(options);
  } catch (error) {
    if (options.orFree !== true || causeCode(error) !== 'EADDRINUSE') throw error;
    return await listenAt({ ...options, port: 0 });
  }
}

async function listenAt(options: TcpPortOptions): Promise<TcpPort> {
  const accept = options.onSocket;
  if (options.host !== 'localhost') {
    const server = await bind(options.host, options.port, accept);
    return boundTo([server]);
  }
  for (let attempt = 1; ; attempt++) {
    const first = await bind('127.0.0.1', options.port, accept);
    try {
      return boundTo([first, await bind('::1', portOf(first), accept)]);
    } catch (error) {
      if (noSuchAddress(error)) return boundTo([first]);
      first.close();
      // A free port of one family may be taken in the other: draw again.
      if (options.port !== 0 || attempt === freePortDraws) throw error;
    }
  }
}

const freePortDraws = 8;

function bind(host: string, port: number, accept: (socket: Socket) => void): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer({ noDelay: true }, accept);
    server.once('error', (cause: NodeJS.ErrnoException) => {
      const reason = cause.code === 'EADDRINUSE' ? 'the port is in use' : cause.message;
      reject(new Error(`cannot listen on ${host.includes(':') ? `[${host}]` : host}:${port}: ${reason}`, { cause }));
    });
    server.listen({ host, port, backlog: 511 }, () => {
      server.removeAllListeners('error');
      // Later errors (out of file descriptors) concern single accepts.
      server.on('error', () => {});
      resolve(server);
    });
  });
}

function boundTo(servers: readonly [Server, ...Server[]]): TcpPort {
  return {
    port: portOf(servers[0]),
    close: () => {
      for (const server of servers) server.close();
    },
  };
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function noSuchAddress(error: unknown): boolean {
  const code = causeCode(error);
  return code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT' || code === 'EINVAL';
}

function causeCode(error: unknown): string | undefined {
  return error instanceof Error ? errorCode(error.cause) : undefined;
}

export function peerOf({ remoteAddress = '', remotePort = 0 }: Pick<Partial<Socket>, 'remoteAddress' | 'remotePort'> = {}): string {
  return remoteAddress.includes(':') ? `[${remoteAddress}]:${remotePort}` : `${remoteAddress}:${remotePort}`;
}
