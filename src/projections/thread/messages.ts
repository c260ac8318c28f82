/** What the event loop and a database's thread say to each other. Answers carry the number of their request; they come in any order. */
import type { DatabaseErrorCode, Fence, JournalId } from '../database-port.ts';
import type { Answer, Arguments, Method } from '../database-methods.ts';
import type { Rows, WithoutRows } from './parcels.ts';

export type ThreadRequest<M extends Method> = { readonly id: number; readonly method: M; readonly args: Arguments<M> };

export type ThreadMessage =
  | ({ readonly kind: 'call' } & ThreadRequest<Method>)
  /** Rows of the write with that number, which is to come. */
  | { readonly kind: 'rows'; readonly id: number; readonly rows: Rows }
  /** The write itself comes behind its rows. */
  | { readonly kind: 'write'; readonly id: number; readonly journal: JournalId; readonly fence: Fence; readonly checkpoint: WithoutRows };

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
