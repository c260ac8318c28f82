/** The public API by reflection: requests from plain objects, answers and error details as plain objects, every field visible. */
import { Client, credentials, status, type ServiceError } from '@grpc/grpc-js';
import proto from '@temporalio/proto';
import type { Method, Root, Type } from 'protobufjs';
import type { Fields } from './program.ts';
import { decodeStatus } from '../../src/wire/generated/lean/error_details.ts';

export type Answer = {
  readonly code: number;
  readonly message: string;
  readonly details: readonly Fields[];
  readonly response: Fields | undefined;
};

const untyped: unknown = proto;
const root = untyped as Root;
root.resolveAll();

const SERVICES = ['temporal.api.workflowservice.v1.WorkflowService', 'temporal.api.operatorservice.v1.OperatorService'] as const;

export class Api {
  readonly #client: Client;

  constructor(address: string) {
    this.#client = new Client(address, credentials.createInsecure(), {
      'grpc.max_receive_message_length': 128 * 1024 * 1024,
      'grpc.use_local_subchannel_pool': 1,
    });
  }

  call(name: string, request: Fields, timeoutMs = 10_000): Promise<Answer> {
    const { path, input, output } = methodNamed(name);
    const bytes = Buffer.from(input.encode(input.fromObject(request)).finish());
    return new Promise((resolve) => {
      this.#client.makeUnaryRequest(
        path,
        (sent: Buffer) => sent,
        (received: Buffer) => received,
        bytes,
        { deadline: Date.now() + timeoutMs },
        (error: ServiceError | null, received?: Buffer) => {
          if (error !== null) resolve(refusal(error));
          else resolve({ code: 0, message: '', details: [], response: plain(output, received ?? Buffer.alloc(0)) });
        },
      );
    });
  }

  close(): void {
    this.#client.close();
  }
}

/** The message type of one field, for those who make requests up. */
export function requestType(name: string): Type {
  return methodNamed(name).input;
}

function methodNamed(name: string): { readonly path: string; readonly input: Type; readonly output: Type } {
  for (const service of SERVICES) {
    const method: Method | undefined = root.lookupService(service).methods[name];
    if (method?.resolvedRequestType && method.resolvedResponseType)
      return { path: `/${service}/${name}`, input: method.resolvedRequestType, output: method.resolvedResponseType };
  }
  throw new Error(`there is no method ${name}`);
}

/** `json`: what an Any holds is shown, not its bytes. */
function plain(type: Type, bytes: Uint8Array): Fields {
  return type.toObject(type.decode(bytes), { enums: String, longs: Number, bytes: String, json: true }) as Fields;
}

function refusal(error: ServiceError): Answer {
  const [raw] = error.metadata.get('grpc-status-details-bin');
  const details = raw === undefined ? [] : decodeStatus(raw as Buffer).details;
  return {
    code: error.code,
    // The text of a deadline is the client library's own.
    message: error.code === status.DEADLINE_EXCEEDED ? '' : error.details,
    details: details.map(({ typeUrl, value }) => {
      const type = root.lookupType(typeUrl.replace('type.googleapis.com/', ''));
      return { type: type.name, ...plain(type, value) };
    }),
    response: undefined,
  };
}
