/** A grpc-js client that speaks bytes: what an SDK's transport sends and sees, without an SDK's own checks. */
import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js';

export type CallOptions = {
  readonly timeoutMs?: number | undefined;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly gzip?: boolean;
};

export const workflowServicePrefix = '/temporal.api.workflowservice.v1.WorkflowService/';

export class RawClient {
  readonly #client: Client;
  readonly #gzipClient: Client;

  constructor(address: string) {
    const options = { 'grpc.use_local_subchannel_pool': 1, 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 };
    this.#client = new Client(address, credentials.createInsecure(), options);
    this.#gzipClient = new Client(address, credentials.createInsecure(), { ...options, 'grpc.default_compression_algorithm': 2 });
  }

  close(): void {
    this.#client.close();
    this.#gzipClient.close();
  }

  /** A bare method name means WorkflowService. */
  call(path: string, request: Uint8Array, options: CallOptions = {}): Promise<Uint8Array> {
    return this.start(path, request, options).answer;
  }

  start(
    path: string,
    request: Uint8Array,
    options: CallOptions = {},
  ): { readonly answer: Promise<Uint8Array>; readonly cancel: () => void } {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(options.metadata ?? {})) metadata.set(name, value);
    const timeoutMs = 'timeoutMs' in options ? options.timeoutMs : 10_000;
    let cancel = (): void => {};
    const answer = new Promise<Uint8Array>((resolve, reject) => {
      const call = (options.gzip === true ? this.#gzipClient : this.#client).makeUnaryRequest(
        path.startsWith('/') ? path : workflowServicePrefix + path,
        (bytes: Uint8Array) => Buffer.from(bytes),
        (bytes: Buffer) => new Uint8Array(bytes),
        request,
        metadata,
        timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs },
        (error: ServiceError | null, reply?: Uint8Array) => {
          if (error === null) resolve(reply ?? new Uint8Array(0));
          else reject(error);
        },
      );
      cancel = () => call.cancel();
    });
    return { answer, cancel };
  }

  /** The error that a call ends with; fails the test when it succeeds. */
  async refusal(path: string, request: Uint8Array, options: CallOptions = {}): Promise<ServiceError> {
    try {
      await this.call(path, request, options);
    } catch (error) {
      return error as ServiceError;
    }
    throw new Error(`${path} succeeded, an error was expected`);
  }
}
