/**
 * Every method of the database port, said once: which of the four ports it belongs to, how it meets the lane of writes, and what people are
 * told that it was doing when the database was away. The proxy of the worker thread, its serving side, the choice among SQLite's threads and
 * the report of outages are made from this table; a method that is missing here, or stands under another's port, does not compile.
 */
import type { ClusterPort, Database, DeadLettersPort, StatePort, VisibilityPort } from './database-port.ts';

export type Method = Exclude<keyof Database, 'name'>;
export type Arguments<M extends Method> = Parameters<Database[M]>;
export type Answer<M extends Method> = Awaited<ReturnType<Database[M]>>;

type PortOf<M> = M extends keyof ClusterPort
  ? 'cluster'
  : M extends keyof StatePort
    ? 'state'
    : M extends keyof VisibilityPort
      ? 'visibility'
      : M extends keyof DeadLettersPort
        ? 'deadLetters'
        : 'all';

/** `write` and `window` wait in the lane of writes; `load` reads what is committed beside it; `walk` is long, and nobody waits for it. */
export type MethodKind = 'write' | 'window' | 'load' | 'walk';

/** What people are told during an outage: the task that waits for the database. `nothing`: the method says nothing about the database. */
export type Doing = 'restore' | 'write' | 'flush' | 'clear slots' | 'read' | 'nothing';

type MethodRow<M extends Method> = { readonly port: PortOf<M>; readonly kind: MethodKind; readonly doing: Doing };

export const databaseMethods: { readonly [M in Method]: MethodRow<M> } = {
  cluster: { port: 'cluster', kind: 'window', doing: 'read' },
  bind: { port: 'cluster', kind: 'write', doing: 'read' },

  restore: { port: 'state', kind: 'write', doing: 'restore' },
  position: { port: 'state', kind: 'window', doing: 'read' },
  write: { port: 'state', kind: 'write', doing: 'write' },
  load: { port: 'state', kind: 'load', doing: 'read' },
  transferTasks: { port: 'state', kind: 'window', doing: 'read' },
  timers: { port: 'state', kind: 'window', doing: 'read' },
  tasksAside: { port: 'state', kind: 'window', doing: 'read' },
  dueRuns: { port: 'state', kind: 'window', doing: 'read' },
  runIds: { port: 'state', kind: 'window', doing: 'read' },
  runs: { port: 'state', kind: 'window', doing: 'read' },
  history: { port: 'state', kind: 'load', doing: 'read' },
  matchingTasks: { port: 'state', kind: 'window', doing: 'read' },
  matchingQueues: { port: 'state', kind: 'window', doing: 'read' },
  countMatchingTasks: { port: 'state', kind: 'window', doing: 'read' },

  flush: { port: 'visibility', kind: 'write', doing: 'flush' },
  rewrite: { port: 'visibility', kind: 'write', doing: 'flush' },
  clearSlots: { port: 'visibility', kind: 'write', doing: 'clear slots' },
  strayRows: { port: 'visibility', kind: 'window', doing: 'read' },
  rebuildDue: { port: 'visibility', kind: 'window', doing: 'read' },
  noteRebuild: { port: 'visibility', kind: 'write', doing: 'flush' },
  list: { port: 'visibility', kind: 'walk', doing: 'read' },
  count: { port: 'visibility', kind: 'walk', doing: 'read' },

  letters: { port: 'deadLetters', kind: 'walk', doing: 'read' },
  letterIds: { port: 'deadLetters', kind: 'walk', doing: 'read' },
  countLetters: { port: 'deadLetters', kind: 'walk', doing: 'read' },
  letterGroups: { port: 'deadLetters', kind: 'walk', doing: 'read' },

  giveUp: { port: 'all', kind: 'walk', doing: 'nothing' },
  close: { port: 'all', kind: 'write', doing: 'nothing' },
};

const methods = Object.keys(databaseMethods) as readonly Method[];

type Calls = { readonly [M in Method]: (...args: Arguments<M>) => Promise<Answer<M>> };

/** Answers the call by that method of the database. */
export function callMethod<M extends Method>(database: Calls, method: M, args: Arguments<M>): Promise<Answer<M>> {
  return database[method](...args);
}

/** A database each of whose methods goes through `call`. */
export function everyMethod(name: string, call: <M extends Method>(method: M, args: Arguments<M>) => Promise<Answer<M>>): Database {
  const calls = methods.map((method) => [method, (...args: Arguments<Method>) => call(method, args)] as const);
  return { name, ...(Object.fromEntries(calls) as Pick<Database, Method>) };
}
