/** What the event loop and the writer thread say to each other. Answers come in the order of the requests. */
import type { LogErrorCode, TopicSpec } from '../../actors/log.ts';
import type { JournalAppend, JournalBounds, JournalDbOptions, JournalEntry, JournalRow } from './journal-db.ts';

export type WriterOptions = JournalDbOptions;

export type WriterRequest =
  | { readonly kind: 'append'; readonly entries: readonly JournalEntry[] }
  | { readonly kind: 'add'; readonly topic: Pick<TopicSpec, 'name' | 'partitions'> }
  | { readonly kind: 'read'; readonly index: number; readonly offset: number; readonly bytesMax: number }
  | { readonly kind: 'truncate'; readonly index: number; readonly offset: number }
  | { readonly kind: 'close' };

export type WriterFailure = { readonly code: LogErrorCode; readonly message: string; readonly recoverable: boolean };

export type WriterAnswer =
  | { readonly kind: 'opened'; readonly bounds: readonly JournalBounds[] }
  | { readonly kind: 'added'; readonly bounds: readonly JournalBounds[] }
  | { readonly kind: 'appended'; readonly result: JournalAppend }
  | { readonly kind: 'rows'; readonly rows: readonly JournalRow[] }
  | { readonly kind: 'truncated'; readonly more: boolean }
  | { readonly kind: 'done' }
  | { readonly kind: 'failed'; readonly failure: WriterFailure };
