/**
 * Calls of one command to a running server.
 *
 *     connect ── call ──▶ answer
 *                   └───▶ GrpcError: its code, in words and as exit code
 *
 * The library is loaded by the first command that calls; a server never does.
 */
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import type * as grpc from '@grpc/grpc-js';
import { refusalReasonTrailer, type RefusalReason } from '../kernel/refusal-reasons.ts';
import { ownLimits, type WireLimits } from '../wire/wire-limits.ts';
import { CliError } from './cli-error.ts';
import type { Invocation } from './command.ts';
import { connectionSettings, type ConnectionSettings, type TlsSettings } from './connection.ts';
import { exitCodes, type ExitCode } from './exit-codes.ts';
import { plainText } from './plain-text.ts';

const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
const CALL_TIMEOUT_MS = 30_000;
/** A queue without an owner gets one within that time, as a rule. */
const RETRY_MS_MAX = 8_000;
const RETRY_PAUSE_MS_MIN = 100;
const RETRY_PAUSE_MS_MAX = 2_000;

export type GrpcMethod<Request, Response> = {
  /** `/package.Service/Method` */
  readonly path: string;
  readonly encode: (request: Request) => Uint8Array;
  readonly decode: (bytes: Uint8Array, limits: WireLimits) => Response;
};

type GrpcErrorParts = ConstructorParameters<typeof CliError>[2] & { readonly reason?: string };

/** A call that came to nothing; printed as any other error of a command. */
class GrpcError extends CliError {
  readonly code: number;
  readonly details: string;
  /** '' = the server gives none. */
  readonly reason: string;

  constructor(code: number, details: string, exitCode: ExitCode, what: string, parts: GrpcErrorParts = {}) {
    super(exitCode, what, parts);
    this.code = code;
    this.details = details;
    this.reason = parts.reason ?? '';
  }
}

export function isRefusedAs(error: unknown, ...reasons: readonly RefusalReason[]): boolean {
  return error instanceof GrpcError && reasons.some((reason) => reason === error.reason);
}

export type CallOptions = {
  /** How long its answer may take beyond the ordinary. */
  readonly waitMs?: number;
  /** It changes something, and must not be sent twice. */
  readonly isChange?: boolean;
};

export interface GrpcClient {
  readonly address: string;
  call<Request, Response>(method: GrpcMethod<Request, Response>, request: Request, options?: CallOptions): Promise<Response>;
}

/** A client, for as long as it is used. Ctrl-C ends the call that is under way; a second one ends the process. */
export async function withServer<Result>(invocation: Invocation, use: (client: GrpcClient) => Promise<Result>): Promise<Result> {
  const settings = connectionSettings(invocation);
  const library = createRequire(import.meta.url)('@grpc/grpc-js') as typeof grpc;
  // Node tells whoever connects to an IP address with TLS that the library names it to the server. Nobody who reads that can change it.
  process.noDeprecation = true;
  const interruption = new AbortController();
  const interrupt = (): void => interruption.abort();
  process.once('SIGINT', interrupt);
  const client = new ServerClient(library, settings, interruption.signal);
  try {
    await client.connected();
    return await use(client);
  } finally {
    process.removeListener('SIGINT', interrupt);
    client.close();
  }
}

function interrupted(): CliError {
  return new CliError(exitCodes.interrupted, 'program interrupted');
}

class ServerClient implements GrpcClient {
  readonly address: string;
  readonly #client: grpc.Client;
  readonly #library: typeof grpc;
  readonly #settings: ConnectionSettings;
  readonly #endMs: number;
  readonly #interruption: AbortSignal;

  constructor(library: typeof grpc, settings: ConnectionSettings, interruption: AbortSignal) {
    this.#interruption = interruption;
    this.address = settings.address;
    this.#library = library;
    this.#settings = settings;
    this.#endMs = settings.commandTimeoutMs === 0 ? Infinity : Date.now() + settings.commandTimeoutMs;
    this.#client = new library.Client(settings.address, credentialsOf(library, settings.tls), {
      'grpc.max_receive_message_length': ANSWER_BYTES_MAX,
      'grpc.enable_http_proxy': 0,
      ...(settings.tls?.serverName === undefined ? {} : { 'grpc.ssl_target_name_override': settings.tls.serverName }),
    });
  }

  /** At once when it is refused, else when it was tried for long enough. */
  async connected(): Promise<void> {
    const channel = this.#client.getChannel();
    const { READY, TRANSIENT_FAILURE, SHUTDOWN } = this.#library.connectivityState;
    const deadlineMs = Math.min(Date.now() + this.#settings.connectTimeoutMs, this.#endMs);
    for (let state = channel.getConnectivityState(true); state !== READY; state = channel.getConnectivityState(false)) {
      // The reason comes with the first call.
      if (state === TRANSIENT_FAILURE || state === SHUTDOWN) return;
      const changed = await new Promise<boolean>((resolve) => {
        channel.watchConnectivityState(state, deadlineMs, (error) => resolve(error === undefined));
        this.#interruption.addEventListener('abort', () => resolve(false));
      });
      if (this.#interruption.aborted) throw interrupted();
      if (!changed) throw unreachable(this.address, `No connection within ${Math.round(this.#settings.connectTimeoutMs / 1_000)} s.`);
    }
  }

  async call<Request, Response>(
    method: GrpcMethod<Request, Response>,
    request: Request,
    { waitMs = 0, isChange = false }: CallOptions = {},
  ): Promise<Response> {
    const bytes = Buffer.from(method.encode(request));
    const retryUntilMs = isChange ? 0 : Math.min(Date.now() + RETRY_MS_MAX, this.#endMs);
    for (let pauseMs = RETRY_PAUSE_MS_MIN; ; pauseMs = Math.min(2 * pauseMs, RETRY_PAUSE_MS_MAX)) {
      try {
        return method.decode(await this.#send(method.path, bytes, waitMs), ownLimits);
      } catch (error) {
        const isServed = error instanceof GrpcError && error.code === this.#library.status.UNAVAILABLE && !isConnectionLost(error.details);
        if (!isServed || Date.now() + pauseMs > retryUntilMs) throw error;
        await pause(pauseMs);
      }
    }
  }

  #send(path: string, request: Buffer, waitMs: number): Promise<Buffer> {
    const signal = this.#interruption;
    const metadata = new this.#library.Metadata();
    for (const [name, value] of this.#settings.metadata) metadata.add(name, value);
    const deadline = Math.min(Date.now() + CALL_TIMEOUT_MS + waitMs, this.#endMs);
    return new Promise((resolve, reject) => {
      const same = (bytes: Buffer): Buffer => bytes;
      const call = this.#client.makeUnaryRequest(path, same, same, request, metadata, { deadline }, (error, answer) => {
        signal.removeEventListener('abort', cancel);
        if (error === null) resolve(answer ?? Buffer.alloc(0));
        else reject(signal.aborted ? interrupted() : grpcError(this.#library, this.address, error));
      });
      const cancel = (): void => call.cancel();
      signal.addEventListener('abort', cancel);
      if (signal.aborted) cancel();
    });
  }

  close(): void {
    this.#client.close();
  }
}

function credentialsOf(library: typeof grpc, tls: TlsSettings | undefined): grpc.ChannelCredentials {
  if (tls === undefined) return library.credentials.createInsecure();
  const { ca = null, key = null, certificate = null, trustsAnyone } = tls;
  const anyone = { rejectUnauthorized: false, checkServerIdentity: () => undefined };
  return library.credentials.createSsl(ca, key, certificate, trustsAnyone ? anyone : {});
}

/** Said by the library, not by a server. */
function isConnectionLost(details: string): boolean {
  return /^(No connection established|Name resolution failed|Connection dropped|Received RST_STREAM)/.test(details);
}

function unreachable(address: string, details: string): GrpcError {
  const why = details.replace(/\.? Resolution note: ?$/, '');
  return new GrpcError(14, details, exitCodes.unreachable, `no server answers at ${address}`, {
    why,
    next: 'Name the gRPC port of a running server: --address HOST:PORT.',
  });
}

function grpcError({ status }: typeof grpc, address: string, { code, details: text, metadata }: grpc.ServiceError): GrpcError {
  // Names that others made up stand in it.
  const details = plainText(text);
  const reason = String(metadata.get(refusalReasonTrailer)[0] ?? '');
  const said = (exitCode: ExitCode, next?: string): GrpcError =>
    new GrpcError(code, details, exitCode, `${status[code] ?? code}: ${details}`, { next, reason });
  if (isConnectionLost(details)) return unreachable(address, details);
  switch (code) {
    case status.UNAVAILABLE:
      return new GrpcError(code, details, exitCodes.unreachable, `the server at ${address} does not serve this now`, {
        why: details,
        next: 'Ask again in a moment; perdure admin state shows what it serves.',
      });
    case status.CANCELLED:
      return unreachable(address, details);
    case status.DEADLINE_EXCEEDED:
      return new GrpcError(code, details, exitCodes.unreachable, `the server at ${address} has not answered in time`, {
        why: details,
        next: 'Ask again, or let it take longer: --command-timeout.',
      });
    case status.PERMISSION_DENIED:
    case status.UNAUTHENTICATED:
      return said(exitCodes.denied, 'It needs an administrator of the cluster: --api-key, or TEMPORAL_API_KEY.');
    case status.INVALID_ARGUMENT:
      return said(exitCodes.usage);
    case status.UNIMPLEMENTED:
      return said(exitCodes.failed, `Is the server at ${address} of another version? Compare perdure version.`);
    default:
      return said(exitCodes.failed);
  }
}
