import { assert } from '../kernel/assert.ts';
import { requestLimits, type WireLimits } from '../wire/wire-limits.ts';
import type { Call, Method, UnaryMethod } from './transport/call.ts';
import { decodedWithin } from './validation/request-limits.ts';
import { taskTokenOf } from './validation/task-token.ts';

export type NamedMethod = readonly [name: string, method: Method];

type Decode<Request> = (bytes: Uint8Array, limits: WireLimits) => Request;

/** A method in terms of messages: decoding before it, encoding after it. */
export function unary<Request, Response>(
  name: string,
  decode: Decode<Request>,
  encode: (response: Response) => Uint8Array,
  handle: (request: Request, call: Call) => Response | Promise<Response>,
): NamedMethod {
  return method(name, encode, (bytes, call) => handle(decodedWithin(requestLimits, decode, bytes), call));
}

/**
 * A method of whoever holds a task. The token is verified before the rest of the request is decoded: a made-up token costs a scan
 * of the request's first bytes, and no objects.
 */
export function taskUnary<Token, Request, Response>(
  name: string,
  readToken: (taskToken: Uint8Array) => Token,
  decode: Decode<Request>,
  encode: (response: Response) => Uint8Array,
  handle: (request: Request, token: Token, call: Call) => Response | Promise<Response>,
  limits: WireLimits = requestLimits,
): NamedMethod {
  return method(name, encode, (bytes, call) => {
    const token = readToken(decodedWithin(limits, taskTokenOf, bytes));
    return handle(decodedWithin(limits, decode, bytes), token, call);
  });
}

/** Methods whose module is loaded by the first call of any of them: no start pays for what may never be asked. */
export function loadedWhenCalled(names: readonly string[], load: () => Promise<readonly NamedMethod[]>): readonly NamedMethod[] {
  let loaded: ReadonlyMap<string, Method> | undefined;
  let loading: Promise<ReadonlyMap<string, Method>> | undefined;
  const loadOnce = async (): Promise<ReadonlyMap<string, Method>> => (loaded = new Map(await load()));
  const handled = (
    methods: ReadonlyMap<string, Method>,
    name: string,
    bytes: Uint8Array,
    call: Call,
  ): ReturnType<UnaryMethod['handle']> => {
    const found = methods.get(name);
    assert(found?.kind === 'unary', `${name} is among the methods that were loaded for it`);
    return found.handle(bytes, call);
  };
  return names.map((name) => [
    name,
    {
      kind: 'unary',
      handle: (bytes, call) => {
        if (loaded !== undefined) return handled(loaded, name, bytes, call);
        // The network takes its memory back when this returns.
        const kept = bytes.slice();
        loading ??= loadOnce();
        return loading.then((methods) => handled(methods, name, kept, call));
      },
    },
  ]);
}

function method<Response>(
  name: string,
  encode: (response: Response) => Uint8Array,
  handle: (bytes: Uint8Array, call: Call) => Response | Promise<Response>,
): NamedMethod {
  return [
    name,
    {
      kind: 'unary',
      handle: (bytes, call) => {
        const response = handle(bytes, call);
        return response instanceof Promise ? response.then(encode) : encode(response);
      },
    },
  ];
}
