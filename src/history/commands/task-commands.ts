/** What a shard commands itself about the timers and transfer tasks of its state. */
import type { RunKey } from '../../kernel/run-key.ts';

/** A task whose turn it is. `tries`: how often it was tried, handed back with the effect. */
export type TriedTask = { readonly taskId: number; readonly tries: { readonly attempt: number; readonly failures: number } };

export type FireTimer = {
  readonly kind: 'fireTimer';
  readonly taskId: number;
  readonly jitter: number;
  /** There for the end of a run's time: another run may go on in its place. */
  readonly newRunId?: string;
  /** How long the next run is kept once it is closed, as its namespace says now; absent: as long as this one. */
  readonly retentionMs?: number | undefined;
};

/** The history of a run is archived, or there is no run any more (execution/archive.ts). */
export type Archived = { readonly kind: 'archived'; readonly taskId: number };

/** Whether a letter of the run's archive task, or of one of its callbacks, is in its queue still; also where nobody can tell. */
export type LetterChecked = { readonly kind: 'letterChecked'; readonly taskId: number; readonly isOpen: boolean };

/** Tasks for workers that matching has answered as stored. Those that have started or ended meanwhile are passed over. */
export type NoteAtMatching = { readonly kind: 'noteAtMatching'; readonly taskIds: readonly number[] };

/** List does not show this run as it is (execution/refused-row.ts). */
export type RowRefused = { readonly kind: 'rowRefused'; readonly key: RunKey };

/** The task is to be run: its run is in memory then. Writes nothing where there is something to do. */
export type WriteRow = TriedTask & { readonly kind: 'writeRow' };

export type FinishRow = { readonly kind: 'finishRow'; readonly taskId: number };

export type TaskCommand = FireTimer | Archived | LetterChecked | NoteAtMatching | RowRefused | WriteRow | FinishRow;
