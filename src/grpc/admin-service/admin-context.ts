import { errorText } from '../../kernel/error-text.ts';
import type { PublicMessages, ServiceMessages } from '../../wire/services.ts';
import { WireError, WireLimitError } from '../../wire/wire-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { unary, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import type { Host } from './host.ts';

/** What the operations of AdminService share. */
export type AdminContext = {
  readonly context: HandlerContext;
  readonly host: () => Host;
  readonly messages: ServiceMessages;
  readonly publicMessages: PublicMessages;
  readonly api: ServiceMessages['adminservice']['v1'];
};

/** Names, ids and page tokens: the largest honest request has some kilobytes. Beyond it nothing is decoded, for bytes become many objects. */
const requestBytesMax = 256 * 1024;

type RequestClass<Request> = { decode(bytes: Uint8Array): Request };
type ResponseClass<Response> = { encode(response: Response): { finish(): Uint8Array } };

/** One operation, in terms of the generated classes. */
export function operation<Request, Response>(
  name: string,
  request: RequestClass<Request>,
  response: ResponseClass<Response>,
  handle: (request: Request, call: Call) => Response | Promise<Response>,
  bytesMax = requestBytesMax,
): NamedMethod {
  const decode = (bytes: Uint8Array): Request => {
    if (bytes.length > bytesMax) throw new WireLimitError(`${bytes.length} vs. ${bytesMax}`);
    try {
      return request.decode(bytes);
    } catch (error) {
      throw new WireError(errorText(error));
    }
  };
  return unary(name, decode, (answer: Response) => response.encode(answer).finish(), handle);
}
