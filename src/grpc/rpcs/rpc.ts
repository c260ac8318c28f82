/** A row for each RPC that clients know of, built or not: who asks for its limits, name in metrics, waits or rights reads it. */
import type { StatusCode } from '../errors/status-error.ts';

export type LimitClass = 'execution' | 'visibility';

/** Who goes first where a namespace has reached its rate: 0. */
export type Priority = 0 | 1 | 2 | 3 | 4 | 5;
export const prioritiesInAll = 6;

export type Missing = {
  readonly why: string;
  /** Absent: UNIMPLEMENTED, in the transport's one wording. */
  readonly refusal?: { readonly code: StatusCode; readonly text: string };
};

export type Row = {
  /** Whom a call is about. 'none': everybody may ask. */
  readonly scope: 'none' | 'cluster' | 'namespace';
  readonly access: 'none' | 'read' | 'write' | 'admin';
  /** Fields of the request that say its namespace; the first that is set does. A task token has it inside. */
  readonly namespaceIn?: readonly string[];
  /** Fields that say further namespaces, themselves or somewhere within: by the names of JSON, a list as one field. */
  readonly innerNamespaces?: readonly string[];
  /** Absent: always let in. What operators ask is: a namespace that floods the server must be deletable. */
  readonly limitClass?: LimitClass;
  /** Absent: 2, which has what changes something and can be asked again. */
  readonly priority?: Priority;
  /** What a call waits for that the server does not bring about. A namespace may have so many waiting calls of each such RPC at a time. */
  readonly waitsFor?: 'task' | 'query' | 'outcome' | 'update' | 'events';
  /** Which module its first call loads. Absent: every start does. */
  readonly module?: string;
  readonly streamed?: boolean;
  readonly missing?: Missing;
};

/** One row for several RPCs of a service. */
export function rowsOf<Declared extends string>() {
  return <Name extends Declared>(row: Row, ...names: readonly Name[]): Readonly<Record<Name, Row>> =>
    Object.fromEntries(names.map((name) => [name, row])) as Record<Name, Row>;
}

export type Rpc = Row & {
  readonly service: string;
  readonly method: string;
  /** `/<service>/<method>` */
  readonly path: string;
  /** What metrics call it; undefined: they do not count it. */
  readonly operation: string | undefined;
  readonly priority: Priority;
  /** Refused until the server serves, and from when it stops. */
  readonly needsServing: boolean;
};

export type RpcService<Name extends string = string> = {
  readonly name: string;
  readonly rpcs: ReadonlyMap<Name, Rpc>;
};

export type RpcNameOf<Service> = Service extends RpcService<infer Name> ? Name : never;

export function rpcService<Name extends string>(
  name: string,
  rows: Readonly<Record<Name, Row>>,
  { needsServing = false, operationPrefix = '', isCounted = true } = {},
): RpcService<Name> {
  const rpcs = new Map<Name, Rpc>();
  for (const method in rows) {
    const row: Row = rows[method];
    const { priority = 2 } = row;
    rpcs.set(method, {
      ...row,
      service: name,
      method,
      path: `/${name}/${method}`,
      operation: isCounted ? operationPrefix + method : undefined,
      priority,
      needsServing,
    });
  }
  return { name, rpcs };
}

export const undeclared: Missing = { why: 'unknown' };

export function undeclaredRpc(path: string): Rpc {
  const slash = path.lastIndexOf('/');
  const [service, method] = [path.slice(1, slash), path.slice(slash + 1)];
  return {
    scope: 'cluster',
    access: 'admin',
    service,
    method,
    path,
    operation: method,
    priority: 2,
    needsServing: false,
    missing: undeclared,
  };
}
