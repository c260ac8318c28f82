/** The port through which a checkpoint turns state into the bytes of database rows, and back. */
import type { ShownOfRun } from '../run/summary.ts';
import type { HandOverLines } from '../run/hand-over-lines.ts';
import type { HistoryRecord } from '../run/record.ts';
import type { LetterMark } from '../run/letter-marks.ts';
import type { AsideRun, Run, RunView } from '../run/state.ts';
import type { PendingTask } from '../run/tasks.ts';
import type { BehindCut } from './runs-behind.ts';

/** What is encoded means the same when decoded: the canonical texts are equal. Decoding throws what cannot have been written. */
export interface StateWire {
  encodeRun(run: RunView, aside: AsideRun | undefined): EncodedRun;
  /** `events`: for what the bytes leave out, if they do (`eventsLeftOut`). */
  decodeRun(state: Uint8Array, events?: EventsLeftOut): { readonly run: Run; readonly aside: AsideRun | undefined };
  /** What a list shows of it: for that its bytes need no events. */
  decodeShown(state: Uint8Array): ShownOfRun;
  /** Ids of the events, in the run's history, that its bytes cannot be read without. Nearly always none. */
  eventsLeftOut(state: Uint8Array): readonly number[];
  encodeTask(task: PendingTask): Uint8Array;
  decodeTask(bytes: Uint8Array): PendingTask;
  encodeCounters(counters: WrittenCounters): Uint8Array;
  decodeCounters(bytes: Uint8Array): WrittenCounters;
  /** One that waits for a run. */
  encodeRecord(record: HistoryRecord): Uint8Array;
  decodeRecord(bytes: Uint8Array): HistoryRecord;
}

export type WrittenCounters = {
  readonly taskIdLast: number;
  /** How many runs the table has. */
  readonly runs: number;
  readonly runsBehind: BehindCut['runs'];
  /** Absent: no task was ever handed over. */
  readonly handOvers?: HandOverLines;
  /** Absent: there are none. */
  readonly letterMarks?: readonly LetterMark[];
};

export type EncodedRun = {
  readonly state: Uint8Array;
  /** Bytes that the run has in memory and that its state leaves to history. */
  readonly bytesLeftOut: number;
};

/** Events of the run that is read, by their ids, as they stand in its history. */
export type EventsLeftOut = ReadonlyMap<number, Uint8Array>;
