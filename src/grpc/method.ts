import { WireError } from '../wire/runtime.ts';
import { invalidArgument } from './errors/status-error.ts';
import type { Call, Method } from './transport/call.ts';

export type NamedMethod = readonly [name: string, method: Method];

/** A method in terms of messages: decoding before it, encoding after it. */
export function unary<Request, Response>(
  name: string,
  decode: (bytes: Uint8Array) => Request,
  encode: (response: Response) => Uint8Array,
  handle: (request: Request, call: Call) => Response | Promise<Response>,
): NamedMethod {
  return [
    name,
    {
      kind: 'unary',
      handle: (bytes, call) => {
        const response = handle(decodeRequest(decode, bytes), call);
        return response instanceof Promise ? response.then(encode) : encode(response);
      },
    },
  ];
}

function decodeRequest<Request>(decode: (bytes: Uint8Array) => Request, bytes: Uint8Array): Request {
  try {
    return decode(bytes);
  } catch (error) {
    if (error instanceof WireError) throw invalidArgument(`grpc: error unmarshalling request: ${error.message}`);
    throw error;
  }
}
