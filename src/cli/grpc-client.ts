/**
 * The calls of a command to a running server.
 *
 *     connect ── call ──▶ answer
 *                   └───▶ GrpcError: its code, as text and as exit code
 *
 * The library is loaded only by a command that calls a server.
 */
import { createRequire } from 'node:module';
import { setTimeout as pause } from 'node:timers/promises';
import type * as grpc from '@grpc/grpc-js';
import { refusalReasonTrailer, type RefusalReason } from '../kernel/refusal-reasons.ts';
import { ownLimits, type WireLimits } from '../wire/wire-limits.ts';
import { CliError } from './cli-error.ts';
import { exitCodes, type ExitCode, type Invocation } from './command.ts';
import { connectionSettings, type ConnectionSettings, type TlsSettings } from './connection.ts';
import { plainText } from './plain-text.ts';

const ANSWER_BYTES_MAX = 64 * 1024 * 1024;
const CALL_TIMEOUT_MS = 30_000;
/** A queue without an owner usually gets one within this time. */
const RETRY_MS_MAX = 8_000;
const RETRY_PAUSE_MS_MIN = 100;
const RETRY_PAUSE_MS_MAX = 2_000;

export type GrpcMethod<Request, Response> = {
  readonly path: string;
  readonly encode: (request: Request) => Uint8Array;
  readonly decode: (bytes: Uint8Array, limits: WireLimits) => Response;
};

type Calls = Readonly<Record<string, Omit<GrpcMethod<never, unknown>, 'path'>>>;

type MethodsOf<Of extends Calls> = { readonly [Name in keyof Of]: Of[Name] & { readonly path: string } };

export function methodsOf<Of extends Calls>(service: string, calls: Of): MethodsOf<Of> {
  const methods = Object.entries(calls).map(([name, codecs]) => [name, { ...codecs, path: `/${service}/${name}` }]);
  return Object.fromEntries(methods) as MethodsOf<Of>;
}

/** One page is in memory at a time. */
export async function* pagesOf<Page extends { readonly nextPageToken: Uint8Array }>(
  ask: (nextPageToken: Uint8Array) => Promise<Page>,
): AsyncGenerator<Page, undefined> {
  let nextPageToken: Uint8Array = new Uint8Array(0);
  do {
    const page = await ask(nextPageToken);
    yield page;
    ({ nextPageToken } = page);
  } while (nextPageToken.length > 0);
}

type GrpcErrorParts = ConstructorParameters<typeof CliError>[2] & { readonly reason?: string };

class GrpcError extends CliError {
  readonly code: number;
  readonly details: string;
  /** Empty if the server gives no reason. */
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
  /** How much longer than usual the answer may take. */
  readonly waitMs?: number;
  /** Whether the call changes something, and so must not be sent twice. */
  readonly isChange?: boolean;
};

export interface GrpcClient {
  readonly address: string;
  call<Request, Response>(method: GrpcMethod<Request, Response>, request: Request, options?: CallOptions): Promise<Response>;
}

/** Connects a client for the duration of `use`. Ctrl-C ends the call in progress; a second one ends the process. */
export async function withServer<Result>(invocation: Invocation, use: (client: GrpcClient) => Promise<Result>): Promise<Result> {
  const settings = connectionSettings(invocation);
  const library = createRequire(import.meta.url)('@grpc/grpc-js') as typeof grpc;
  // For TLS to an IP address Node prints a deprecation warning about the library, which users cannot act on.
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

  /** Waits for the connection; returns early if it is refused, and throws after the time limit. */
  async connected(): Promise<void> {
    const channel = this.#client.getChannel();
    const { READY, TRANSIENT_FAILURE, SHUTDOWN } = this.#library.connectivityState;
    const deadlineMs = Math.min(Date.now() + this.#settings.connectTimeoutMs, this.#endMs);
    for (let state = channel.getConnectivityState(true); state !== READY; state = channel.getConnectivityState(false)) {
      // The first call will report the reason.
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

/** Whether the text is from the library and not from a server. */
function isConnectionLost(details: string): boolean {
  return /^(No connection established|Name resolution failed|Connection dropped|Received RST_STREAM)/.test(details);
}

function unreachable(address: string, details: string): GrpcError {
  const why = details.replace(/\.? Resolution note: ?$/, '');
  return new GrpcError(14, details, exitCodes.unreachable, `no server answers at ${address}`, {
    why,
    next: 'Give the address of the gRPC port of a running server: --address HOST:PORT.',
  });
}

function grpcError({ status }: typeof grpc, address: string, { code, details: text, metadata }: grpc.ServiceError): GrpcError {
  // The text may have names that others chose.
  const details = plainText(text);
  const reason = String(metadata.get(refusalReasonTrailer)[0] ?? '');
  const said = (exitCode: ExitCode, next?: string): GrpcError =>
    new GrpcError(code, details, exitCode, `${status[code] ?? code}: ${details}`, { next, reason });
  if (isConnectionLost(details)) return unreachable(address, details);
  switch (code) {
    case status.UNAVAILABLE:
      return new GrpcError(code, details, exitCodes.unreachable, `the server at ${address} does not serve this right now`, {
        why: details,
        next: 'Try again in a moment; perdure admin state shows what it serves.',
      });
    case status.CANCELLED:
      return unreachable(address, details);
    case status.DEADLINE_EXCEEDED:
      return new GrpcError(code, details, exitCodes.unreachable, `the server at ${address} has not answered in time`, {
        why: details,
        next: 'Try again, or allow more time: --command-timeout.',
      });
    case status.PERMISSION_DENIED:
    case status.UNAUTHENTICATED:
      return said(exitCodes.denied, 'This needs an administrator of the cluster: --api-key or TEMPORAL_API_KEY.');
    case status.INVALID_ARGUMENT:
      return said(exitCodes.usage);
    case status.UNIMPLEMENTED:
      return said(exitCodes.failed, `The server at ${address} may have another version: see perdure admin cluster describe.`);
    default:
      return said(exitCodes.failed);
  }
}
