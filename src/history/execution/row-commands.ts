/** What a shard commands itself about rows of List (refused-row.ts). */
import type { RunKey } from '../../kernel/run-key.ts';

/** List does not show this run as it is. No reply. */
export type RowRefused = {
  readonly kind: 'rowRefused';
  readonly key: RunKey;
};

/** The task is to be run: its run is in memory then. The shard's own; writes nothing where there is something to do. No reply. */
export type WriteRow = {
  readonly kind: 'writeRow';
  readonly taskId: number;
  /** How often it was tried: handed back with the effect. */
  readonly tries: { readonly attempt: number; readonly failures: number };
};

/** The row is written. No reply. */
export type FinishRow = { readonly kind: 'finishRow'; readonly taskId: number };

export type RowCommand = RowRefused | WriteRow | FinishRow;
