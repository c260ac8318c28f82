import type { PortRole } from '../../config/role-ports.ts';
import type { PublicMessages, ServiceMessages } from '../../wire/services.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { adminRpcs } from '../rpcs/admin-rpcs.ts';
import type { RpcNameOf } from '../rpcs/rpc.ts';
import type { Call } from '../transport/call.ts';

/** This process, as one of a cluster's hosts: until processes serve together it is all of them, in every role. */
export type Host = {
  /** A name or an address that others can reach. */
  readonly name: string;
  /** The frontend's. */
  readonly port: number;
  /** The roles that listen beside it, each at its own address. */
  readonly roles: Readonly<Partial<Record<PortRole, Pick<Host, 'name' | 'port'>>>>;
  /** A UUID, new with each start. */
  readonly id: string;
  readonly startedTimeMs: number;
};

/** The order in which `ClusterMemberRole` counts them, from 1. */
export const roles = ['frontend', 'history', 'matching', 'worker'] as const;

export function addressOf({ name, port }: Host): string {
  return name.includes(':') ? `[${name}]:${port}` : `${name}:${port}`;
}

export type AdminContext = {
  readonly context: HandlerContext;
  readonly host: () => Host;
  readonly messages: ServiceMessages;
  readonly publicMessages: PublicMessages;
};

export type RequestClass<Request> = { decode(bytes: Uint8Array): Request };
export type ResponseClass<Response> = { encode(response: Response): { finish(): Uint8Array } };

type Api = ServiceMessages['adminservice']['v1'];
type ClassNamed<Name extends string> = Name extends keyof Api ? Api[Name] : never;
export type RequestOf<Name extends string> = ClassNamed<`${Name}Request`> extends RequestClass<infer Request> ? Request : never;
export type ResponseOf<Name extends string> = ClassNamed<`${Name}Response`> extends ResponseClass<infer Response> ? Response : never;

export type AdminHandler<Request, Response> = (admin: AdminContext, request: Request, call: Call) => Response | Promise<Response>;

export type AdminHandlers = {
  readonly [Name in RpcNameOf<typeof adminRpcs>]?: AdminHandler<RequestOf<Name>, ResponseOf<Name>>;
};
