import type { Namespace } from '../cluster/cluster-state.ts';
import { assert } from '../kernel/assert.ts';
import { requestLimits, type WireLimits } from '../wire/wire-limits.ts';
import { type StatusCode, StatusError } from './errors/status-error.ts';
import type { HandlerContext } from './handler-context.ts';
import type { adminRpcs } from './rpcs/admin-rpcs.ts';
import type { deadLetterRpcs } from './rpcs/dead-letter-rpcs.ts';
import type { healthRpcs } from './rpcs/health-rpcs.ts';
import type { operatorRpcs } from './rpcs/operator-rpcs.ts';
import type { RpcNameOf, RpcService } from './rpcs/rpc.ts';
import type { workflowRpcs } from './rpcs/workflow-rpcs.ts';
import type { Call, Method, Service, TaskToken, UnaryMethod } from './transport/call.ts';
import { decodedWithin, taskTokenOf } from './validation/request-limits.ts';

/** What has no row in the table of a service does not compile as a method. */
export type RpcName = RpcNameOf<typeof workflowRpcs | typeof operatorRpcs | typeof adminRpcs | typeof deadLetterRpcs | typeof healthRpcs>;

export type NamedMethod = readonly [name: RpcName, method: Method];

/** Throws when table and methods differ: nobody would know what the limits of such a method are, or who may call it. */
export function service(table: RpcService, named: readonly NamedMethod[]): Service {
  const methods = new Map<string, Method>(named);
  for (const name of methods.keys()) if (!table.rpcs.has(name)) throw new Error(`${table.name} has no row for ${name}`);
  for (const [name, { missing, streamed = false }] of table.rpcs) {
    const kind = streamed ? 'serverStream' : 'unary';
    if (methods.get(name)?.kind !== (missing === undefined ? kind : undefined))
      throw new Error(`${table.name}/${name} is not served as its row says`);
    if (missing?.refusal !== undefined) methods.set(name, refused(missing.refusal));
  }
  return { name: table.name, rpcs: table.rpcs, methods };
}

function refused({ code, text }: { readonly code: StatusCode; readonly text: string }): Method {
  return {
    kind: 'unary',
    handle: () => {
      throw new StatusError(code, text);
    },
  };
}

/** What decodes the requests of an RPC and encodes its answers, as the generator makes it. */
export type Codec<Request, Response> = {
  readonly decode: (bytes: Uint8Array, limits: WireLimits) => Request;
  readonly encode: (response: Response) => Uint8Array;
};

export function unary<Request extends object, Response>(
  name: RpcName,
  { decode, encode }: Codec<Request, Response>,
  handle: (request: Request, call: Call) => Response | Promise<Response>,
  limits: WireLimits = requestLimits,
): NamedMethod {
  return method(name, encode, (bytes, call) => {
    const request = decodedWithin(limits, decode, bytes);
    const admitted = call.admit(request);
    return admitted === undefined ? handle(request, call) : admitted.then(() => handle(request, call));
  });
}

export type Handler<Request, Response> = (context: HandlerContext, request: Request, call: Call) => Response | Promise<Response>;

type Codecs = Readonly<Record<string, Codec<object, never>>>;

export type HandlersOf<Table extends Codecs> = {
  readonly [Name in keyof Table & RpcName]?: Table[Name] extends Codec<infer Request, infer Response> ? Handler<Request, Response> : never;
};

export function methodsOf<Table extends Codecs>(
  codecs: Table,
  handlers: HandlersOf<Table>,
  limits?: WireLimits,
): (context: HandlerContext) => readonly NamedMethod[] {
  return (context) =>
    Object.entries(handlers as Readonly<Record<string, Handler<never, unknown>>>).map(([name, handle]) =>
      unary(name as RpcName, codecs[name] as Codec<object, unknown>, (request, call) => handle(context, request as never, call), limits),
    );
}

type InNamespace<Request, Response> = (
  ...args: [...Parameters<Handler<Request, Response>>, namespace: Namespace]
) => Response | Promise<Response>;

function having(find: (context: HandlerContext, call: Call, name: string) => Namespace | Promise<Namespace>) {
  return <Request extends { readonly namespace: string }, Response>(handle: InNamespace<Request, Response>): Handler<Request, Response> =>
    (context, request, call) => {
      const found = find(context, call, request.namespace);
      if (!(found instanceof Promise)) return handle(context, request, call, found);
      return found.then((namespace) => handle(context, request, call, namespace));
    };
}

/** Before anything else of a request is looked at, the namespace that it names is found, and the call counts for its rate. */
export const inNamespace = having((context, call, name) => context.namespace(call, name));

/** What a deprecated namespace refuses too: starts. */
export const inOpenNamespace = having((context, call, name) => context.openNamespace(call, name));

export function streamed<Request extends object, Response>(
  name: RpcName,
  { decode, encode }: Codec<Request, Response>,
  handle: (request: Request, call: Call, send: (response: Response) => void) => Promise<void>,
): NamedMethod {
  return [
    name,
    {
      kind: 'serverStream',
      handle: async (bytes, call, send) => {
        const request = decodedWithin(requestLimits, decode, bytes);
        await call.admit(request);
        await handle(request, call, (response) => send(encode(response)));
      },
    },
  ];
}

/** The token is verified before the rest of the request is decoded: a made-up one costs a scan of the first bytes, and no objects. */
export function taskUnary<Token extends TaskToken, Request extends object, Response>(
  name: RpcName,
  readToken: (taskToken: Uint8Array) => Token,
  { decode, encode }: Codec<Request, Response>,
  handle: (request: Request, token: Token, call: Call) => Response | Promise<Response>,
  limits: WireLimits = requestLimits,
): NamedMethod {
  return method(name, encode, (bytes, call) => {
    const token = readToken(decodedWithin(limits, taskTokenOf, bytes));
    const request = decodedWithin(limits, decode, bytes);
    const admitted = call.admit(request, token);
    return admitted === undefined ? handle(request, token, call) : admitted.then(() => handle(request, token, call));
  });
}

type Methods = ReadonlyMap<string, Method>;

/** The methods of a module that is loaded by the first call of any of them: no start pays for what may never be asked. */
export function loadedWhenCalled<Name extends RpcName>(
  table: RpcService<Name>,
  module: string,
  load: () => Promise<readonly NamedMethod[]>,
): readonly NamedMethod[] {
  const names = [...table.rpcs].filter(([, rpc]) => rpc.module === module).map(([name]) => name);
  let loaded: Methods | undefined;
  let loading: Promise<Methods> | undefined;
  const loadOnce = async (): Promise<Methods> => (loaded = new Map(await load()));
  const handled = (methods: Methods, name: string, bytes: Uint8Array, call: Call): ReturnType<UnaryMethod['handle']> => {
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
  name: RpcName,
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
