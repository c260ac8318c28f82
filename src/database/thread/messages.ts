/** What the event loop and a database's thread say to each other. Answers carry the number of their request; they come in any order. */
import type { Database, DatabaseErrorCode } from '../../actors/database.ts';

/** Every method of the port can be asked for. */
export type Method = Exclude<keyof Database, 'name'>;
export type Arguments<M extends Method> = Parameters<Database[M]>;
export type Answer<M extends Method> = Awaited<ReturnType<Database[M]>>;

export type ThreadRequest<M extends Method> = { readonly id: number; readonly method: M; readonly args: Arguments<M> };

/** A line for the log, with plain fields. */
export type Said = {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean | bigint | undefined>>;
};

export type ThreadAnswer =
  | { readonly kind: 'said'; readonly said: Said }
  | { readonly kind: 'done'; readonly id: number; readonly value: Answer<Method> }
  | { readonly kind: 'failed'; readonly id: number; readonly failure: { readonly code: DatabaseErrorCode; readonly message: string } };
