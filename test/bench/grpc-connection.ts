import { connect, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders } from 'node:http2';

/** A gRPC status other than OK. */
export class StatusError extends Error {
  readonly code: number;

  constructor(path: string, code: number, detail: string) {
    super(`${path}: ${code} ${detail}`);
    this.code = code;
  }
}

const service = '/temporal.api.workflowservice.v1.WorkflowService/';
const cancelled = 1;

/** Unary gRPC on one bare HTTP/2 connection. */
export class GrpcConnection {
  readonly #session: ClientHttp2Session;
  readonly #open = new Set<ClientHttp2Stream>();
  #closing = false;

  private constructor(session: ClientHttp2Session) {
    this.#session = session;
  }

  static connect(address: string): Promise<GrpcConnection> {
    return new Promise((resolve, reject) => {
      const session = connect(`http://${address}`, { settings: { initialWindowSize: 4 * 1024 * 1024 } });
      session.once('error', reject);
      session.once('connect', () => {
        session.off('error', reject);
        // What breaks the connection breaks every open call, and is reported there.
        session.on('error', () => {});
        session.setLocalWindowSize(16 * 1024 * 1024);
        resolve(new GrpcConnection(session));
      });
    });
  }

  call(method: string, request: Uint8Array, timeoutSeconds = 30): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const stream = this.#session.request({
        ':method': 'POST',
        ':path': service + method,
        'content-type': 'application/grpc',
        te: 'trailers',
        'grpc-timeout': `${timeoutSeconds}S`,
      });
      this.#open.add(stream);
      const chunks: Buffer[] = [];
      let status: number | undefined;
      let detail = '';
      const readStatus = (headers: IncomingHttpHeaders): void => {
        if (headers['grpc-status'] === undefined) return;
        status = Number(headers['grpc-status']);
        detail = decodeURIComponent(headers['grpc-message']?.toString() ?? '');
      };
      stream.on('response', readStatus);
      stream.on('trailers', readStatus);
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('error', () => {});
      stream.on('close', () => {
        this.#open.delete(stream);
        if (status === 0) resolve(unframe(chunks));
        else reject(new StatusError(method, status ?? (this.#closing ? cancelled : 14), detail || `stream ended by ${stream.rstCode}`));
      });
      stream.end(frame(request));
    });
  }

  get isClosing(): boolean {
    return this.#closing;
  }

  /** Cancels what is open, as a worker does that stops. */
  async close(): Promise<void> {
    this.#closing = true;
    for (const stream of this.#open) stream.close(constants.NGHTTP2_CANCEL);
    if (this.#session.destroyed) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => this.#session.destroy(), 200);
      this.#session.once('close', () => {
        clearTimeout(timer);
        resolve();
      });
      this.#session.close();
    });
  }
}

/** One byte for the compression, four for the length. */
function frame(body: Uint8Array): Buffer {
  const framed = Buffer.allocUnsafe(body.length + 5);
  framed[0] = 0;
  framed.writeUInt32BE(body.length, 1);
  framed.set(body, 5);
  return framed;
}

function unframe(chunks: readonly Buffer[]): Buffer {
  const whole = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
  if (whole === undefined || whole.length < 5) return Buffer.alloc(0);
  if (whole[0] !== 0) throw new Error('a compressed answer, though none was asked for');
  return whole.subarray(5);
}
