/** The transport as services see it: a method gets the raw bytes of a request, and gives back those of its answer or throws a StatusError. */

import type { Principal } from '../../actors/asks/asks.ts';
import type { StatusError } from '../errors/status-error.ts';
import type { Rpc } from '../rpcs/rpc.ts';
import type { ReadHeader } from './call-headers.ts';

export interface Call {
  readonly rpc: Rpc;
  /** Address and port of who called; of a proxy, where there is one. */
  readonly peer: string;
  /** The time by `performance.now`, which never jumps; Infinity when the client set none. */
  readonly deadlineMs: number;
  /** The client went away, or its deadline passed: an answer would reach nobody. */
  readonly cancelled: boolean;
  /** Who calls, once an interceptor has found out; undefined: nobody knows. */
  principal: Principal | undefined;
  readonly own?: OwnCall;
  readonly notes: CallNotes;
  header(name: ReadHeader): string;
  /** Called once, when `cancelled` becomes true. One listener: a second replaces the first. */
  onCancel(listener: () => void): void;
  /** Methods ask this once the request is decoded and before they act on it: what interceptors have to say of it. undefined: nobody had to wait. */
  admit(request: object, token?: TaskToken): Promise<void> | undefined;
}

/** The token of whoever holds a task; its signature is verified. */
export type TaskToken = { readonly namespaceId: string };

/** Counts for no rate of its namespace. A reset by it may go to a workflow task that waits for its worker: behind the last event. */
export type OwnCall = {
  /** The id of a request whose message has no field for one. */
  readonly requestId: string;
};

export type CallNotes = {
  /** The name of a namespace that exists; '' before it is known. */
  namespace: string;
  /** The task queue of a poll whose fields are in order; '' of other calls. */
  taskQueue: string;
  /** What was over its size limit and therefore taken in another form than it came; '' = nothing. */
  oversized: string;
  /** The call waits until a history has more events: it is told as an operation of its own. */
  waitsForEvents: boolean;
};

export function newNotes(): CallNotes {
  return { namespace: '', taskQueue: '', oversized: '', waitsForEvents: false };
}

export type UnaryMethod = {
  readonly kind: 'unary';
  /** The request's memory belongs to the network: nothing may keep a view of it. */
  readonly handle: (request: Uint8Array, call: Call) => Uint8Array | Promise<Uint8Array>;
};

export type ServerStreamMethod = {
  readonly kind: 'serverStream';
  readonly handle: (request: Uint8Array, call: Call, send: (message: Uint8Array) => void) => Promise<void>;
};

export type Method = UnaryMethod | ServerStreamMethod;

/** `rpcs`: all that clients know of; `methods`: those of them that are built. */
export type Service = {
  readonly name: string;
  readonly rpcs: ReadonlyMap<string, Rpc>;
  readonly methods: ReadonlyMap<string, Method>;
};

export type CallOutcome = {
  readonly code: number;
  readonly message: string;
  readonly durationMs: number;
  /** What the client was told; undefined: nobody was told, or all went well. */
  readonly error: StatusError | undefined;
};

export interface Interceptor {
  /** Before the request is read; throws a StatusError to refuse the call. */
  before?(call: Call): void;
  /** Between decoding and handling; rejects with a StatusError to refuse the call. undefined: it may go on at once. */
  admit?(call: Call, request: object, token: TaskToken | undefined): Promise<void> | undefined;
  /** After the call ended, however it did. `code` as gRPC counts; 1 (CANCELLED) when nobody waited for the answer any more. */
  after?(call: Call, outcome: CallOutcome): void;
}
