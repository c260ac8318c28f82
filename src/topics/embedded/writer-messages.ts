/** What the event loop and the writer thread say to each other: calls of a JournalDb. Answers come in the order of the calls. */
import type { LogErrorCode } from '../../ports/log.ts';
import type { JournalBounds, JournalDb } from './journal-db.ts';

type Method = 'append' | 'add' | 'read' | 'truncate' | 'close';
type Calls = { readonly [M in Method]: (...args: Parameters<JournalDb[M]>) => ReturnType<JournalDb[M]> };

export type WriterMethod = Method;
export type WriterArguments<M extends Method> = Parameters<JournalDb[M]>;
export type WriterResult<M extends Method> = ReturnType<JournalDb[M]>;

export type WriterCall = { readonly [M in Method]: { readonly method: M; readonly args: WriterArguments<M> } }[Method];

export type WriterAnswer =
  /** `result`: of the call; the first one, unasked, what was found at opening. */
  | { readonly result: WriterResult<Method> | readonly JournalBounds[] }
  | { readonly failure: { readonly code: LogErrorCode; readonly message: string; readonly recoverable: boolean } };

export function callJournal<M extends Method>(db: Calls, method: M, args: WriterArguments<M>): WriterResult<M> {
  return db[method](...args);
}
