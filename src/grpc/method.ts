import { requestLimits, type WireLimits } from '../wire/runtime.ts';
import type { Call, Method } from './transport/call.ts';
import { decodedWithin } from './validation/request-limits.ts';

export type NamedMethod = readonly [name: string, method: Method];

/** A method in terms of messages: decoding before it, encoding after it. */
export function unary<Request, Response>(
  name: string,
  decode: (bytes: Uint8Array, limits: WireLimits) => Request,
  encode: (response: Response) => Uint8Array,
  handle: (request: Request, call: Call) => Response | Promise<Response>,
  limits: WireLimits = requestLimits,
): NamedMethod {
  return [
    name,
    {
      kind: 'unary',
      handle: (bytes, call) => {
        const response = handle(decodedWithin(limits, decode, bytes), call);
        return response instanceof Promise ? response.then(encode) : encode(response);
      },
    },
  ];
}
