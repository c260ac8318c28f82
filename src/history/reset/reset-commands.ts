/** What is asked of a shard when a workflow is reset. */

import type { RunKey } from '../../kernel/run-key.ts';
import type { PriorityChange } from '../execution/options-commands.ts';

/**
 * Another run goes on from an event of this one. Reply: WorkflowReset; rejected: workflow-not-found, invalid-argument. Asked again with the same
 * request id: the run that the first request made.
 */
export type ResetWorkflow = {
  readonly kind: 'resetWorkflow';
  /** With its run id. */
  readonly key: RunKey;
  readonly newRunId: string;
  readonly requestId: string;
  readonly reason: string;
  /** The new run was prepared: it has its events already. What refuses the reset drops it. */
  readonly isPrepared: boolean;
  /** Encoded, from the first event on: what the new run begins with. None of one that was prepared. */
  readonly keptEvents: readonly Uint8Array[];
  /** Encoded, in order: what came behind them, in this run and in those that continue it, and is to be applied again. */
  readonly laterEvents: readonly Uint8Array[];
  /** Where the reading of these ended. */
  readonly readTo: { readonly runId: string; readonly lastEventId: number };
  readonly reappliesSignals: boolean;
  /** Of the run that goes on, in order, behind all that is applied again. */
  readonly priorityChanges: readonly PriorityChange[];
  /** For how long the run that goes on is kept once it is closed, as its namespace says now; absent: as the base run. */
  readonly retentionMs?: number;
};

/**
 * The next of the kept events, for the run that is to go on: the first of them begin its preparation. Reply: WorkflowReset, of that run, or of the
 * one that an earlier request with this id has made; rejected: workflow-not-found, no-room, busy-workflow where the preparation was dropped. A part
 * that comes once more changes nothing.
 */
export type PrepareReset = {
  readonly kind: 'prepareReset';
  /** Of the base run, with its run id. */
  readonly key: RunKey;
  readonly newRunId: string;
  readonly requestId: string;
  /** Of the first of these events. */
  readonly firstEventId: number;
  /** Encoded. */
  readonly events: readonly Uint8Array[];
};

/** Nobody will finish this preparation. Of any other run it changes nothing. Reply: Done. */
export type DropReset = {
  readonly kind: 'dropReset';
  /** Of the run in preparation. */
  readonly key: RunKey;
};
