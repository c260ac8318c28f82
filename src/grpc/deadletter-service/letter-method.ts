import { requestLimits, type WireLimits } from '../../wire/wire-limits.ts';
import { unary, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';

/** More ids than may be asked for can be read, so that whoever sends them is told so in the words of their field. */
const limits: WireLimits = { ...requestLimits, repeatedElementsMax: 50_000 };

/** One operation on letters. */
export function letterMethod<Request, Response>(
  name: string,
  decode: (bytes: Uint8Array, limits: WireLimits) => Request,
  encode: (response: Response) => Uint8Array,
  handle: (request: Request, call: Call) => Response | Promise<Response>,
): NamedMethod {
  return unary(name, (bytes) => decode(bytes, limits), encode, handle);
}
