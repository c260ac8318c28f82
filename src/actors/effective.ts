/**
 * Which records of a journal count. Every reader uses this one function: owners, projections, tools, tests (rule T8).
 *
 *     offset      0      1      2      3      4      5      6      7
 *     epoch.seq   1.0    1.1    1.2    2.0    1.3    2.1    2.1    2.3
 *                 claim                claim
 *     verdict     claim  record record claim  void   record void   void
 *                                             fenced        twice  hole
 *
 * A claim is valid if its epoch is greater than that of the last valid claim; it has sequence 0 of its epoch. A record counts if its
 * epoch is that of the last valid claim and its sequence is the next one. All else is void: a fenced owner's, a duplicate, or what
 * stands behind a hole. Of two claims of one epoch the first in the log wins (T1).
 */
import { assert } from '../kernel/assert.ts';
import { CLAIM_KEY } from './claim.ts';

/** How far a journal was read: the stamp of the last record that counted, and the offset to read next. Before any claim: 0, 0. */
export type LogCursor = { epoch: number; sequence: number; offset: number };

export type LogPosition = Readonly<LogCursor>;

export type Stamped = { readonly key: string; readonly epoch: number; readonly sequence: number; readonly offset: number };

export type Verdict = 'claim' | 'record' | 'void';

/** Judges the next record and moves the cursor behind it. */
export function effective(cursor: LogCursor, record: Stamped): Verdict {
  assert(record.offset >= cursor.offset, 'records are judged once, in the order of the log');
  cursor.offset = record.offset + 1;
  if (record.key === CLAIM_KEY) {
    if (record.epoch <= cursor.epoch) return 'void';
    cursor.epoch = record.epoch;
    cursor.sequence = 0;
    return 'claim';
  }
  if (cursor.epoch === 0) return 'void';
  if (record.epoch !== cursor.epoch || record.sequence !== cursor.sequence + 1) return 'void';
  cursor.sequence = record.sequence;
  return 'record';
}

/**
 * May derived data that stands at `stored` be replaced by data that stands at `mine`? Asked in the transaction that writes it, so that
 * a fenced owner that still runs cannot overwrite its successor's (T11).
 */
export function mayReplace(stored: LogPosition | undefined, mine: LogPosition): boolean {
  if (stored === undefined) return true;
  if (stored.epoch !== mine.epoch) return stored.epoch < mine.epoch;
  return stored.sequence <= mine.sequence;
}
