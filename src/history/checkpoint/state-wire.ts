/** The port through which a checkpoint turns state into the bytes of database rows, and back. */
import type { ShownOfRun } from '../execution/summary.ts';
import type { HandOverLines } from '../hand-over/hand-over-lines.ts';
import type { HistoryRecord } from '../record.ts';
import type { LetterMark } from '../redrive/letter-marks.ts';
import type { AsideRun, Run, RunView } from '../state.ts';
import type { PendingTask } from '../tasks.ts';
import type { BehindCut } from '../residency/runs-behind.ts';

/**
 * Of the bytes below. v1: first form. v2: runs are behind. v3: tasks were handed over, or letters executed.
 * v4: there are, or were, tasks of later kinds (`isOfLaterKind`). v5: runs that have what came later (`isLaterRun`). v6: there are, or were, runs in
 * preparation. The lowest that says all is written. What a later version has written is not read.
 */
export const stateSchema = 1;
export const stateSchemaBehind = 2;
export const stateSchemaHandOver = 3;
export const stateSchemaLaterTasks = 4;
export const stateSchemaLaterRuns = 5;
export const stateSchemaPreparations = 6;
export const stateSchemaOperators = 7;
/** The last that this version reads. */
export const stateSchemaLast = stateSchemaOperators;

/**
 * What is encoded can be decoded, and means the same: the canonical texts are equal. Decoding throws where the bytes cannot be what was
 * written; then one execution is lost, and nothing else.
 */
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
  /** Of the table; undefined: an earlier version has written this. */
  readonly runs: number | undefined;
  readonly runsBehind: BehindCut['runs'];
  /** Absent: no task was ever handed over. */
  readonly handOvers?: HandOverLines;
  /** Absent: there are none. */
  readonly letterMarks?: readonly LetterMark[];
  /** Rows of earlier checkpoints may hold tasks of later kinds, or what they leave in a run. Absent: none does. */
  readonly laterTasks?: true;
  /** Likewise, runs that have what came later. */
  readonly laterRuns?: true;
  /** Likewise, runs in preparation. */
  readonly preparedRuns?: true;
  /** Likewise, operators' requests that were answered, and what came with them. */
  readonly answeredRequests?: true;
};

export type EncodedRun = {
  readonly state: Uint8Array;
  /** Of what the run has in memory and its state leaves to history. */
  readonly bytesLeftOut: number;
};

/** Of the run that is read, as they stand in its history; by event id. */
export type EventsLeftOut = ReadonlyMap<number, Uint8Array>;
