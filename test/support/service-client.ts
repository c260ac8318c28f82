/**
 * A bare WorkflowService client on the lean codecs: no retries, no reconnect logic of its own beyond the channel's, so that the
 * caller sees every answer and every doubt exactly once.
 */
import { Client, type ClientUnaryCall, credentials, status, type ServiceError } from '@grpc/grpc-js';

const SERVICE = '/temporal.api.workflowservice.v1.WorkflowService/';

/** `fail`: the server refused, nothing happened. `unknown`: no answer; it happened once or not at all. */
export type CallOutcome<Response> =
  | { readonly kind: 'ok'; readonly response: Response }
  | { readonly kind: 'fail'; readonly code: number; readonly message: string }
  | { readonly kind: 'unknown'; readonly code: number; readonly message: string };

/** Codes with which this server says that nothing was done. UNAVAILABLE is one only when no connection was made. */
const REFUSALS: ReadonlySet<number> = new Set([
  status.INVALID_ARGUMENT,
  status.NOT_FOUND,
  status.ALREADY_EXISTS,
  status.FAILED_PRECONDITION,
  status.PERMISSION_DENIED,
  status.RESOURCE_EXHAUSTED,
  status.UNIMPLEMENTED,
]);

export type Method<Request, Response> = {
  readonly name: string;
  readonly encode: (request: Request) => Uint8Array;
  readonly decode: (bytes: Uint8Array) => Response;
};

export class ServiceClient {
  readonly #client: Client;
  readonly #underWay = new Set<ClientUnaryCall>();

  constructor(address: string) {
    this.#client = new Client(address, credentials.createInsecure(), {
      'grpc.max_receive_message_length': 128 * 1024 * 1024,
      'grpc.initial_reconnect_backoff_ms': 50,
      'grpc.min_reconnect_backoff_ms': 50,
      'grpc.max_reconnect_backoff_ms': 200,
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  call<Request, Response>(method: Method<Request, Response>, request: Request, timeoutMs: number): Promise<CallOutcome<Response>> {
    return new Promise((resolve) => {
      const made = this.#client.makeUnaryRequest(
        SERVICE + method.name,
        (bytes: Buffer) => bytes,
        (bytes: Buffer) => bytes,
        Buffer.from(method.encode(request)),
        { deadline: Date.now() + timeoutMs },
        (error: ServiceError | null, bytes?: Buffer) => {
          this.#underWay.delete(made);
          if (error === null && bytes !== undefined) resolve({ kind: 'ok', response: method.decode(bytes) });
          else resolve(failed(error));
        },
      );
      this.#underWay.add(made);
    });
  }

  /** Nobody waits any longer for what is under way: of each call it is unknown what became of it. */
  giveUp(): void {
    for (const made of this.#underWay) made.cancel();
  }

  close(): void {
    this.#client.close();
  }
}

function failed(error: ServiceError | null): Exclude<CallOutcome<never>, { readonly kind: 'ok' }> {
  const code = error?.code ?? status.UNKNOWN;
  const message = error?.details ?? 'no answer and no error';
  return { kind: REFUSALS.has(code) ? 'fail' : 'unknown', code, message };
}
