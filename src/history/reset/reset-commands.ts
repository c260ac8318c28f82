/** What is asked of a shard when a workflow is reset. */

import type { PriorityChange } from '../execution/options-commands.ts';

type RunKey = { readonly namespaceId: string; readonly workflowId: string; readonly runId: string };

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
  /** Encoded, from the first event on: what the new run begins with. */
  readonly keptEvents: readonly Uint8Array[];
  /** Encoded, in order: what came behind them, in this run and in those that continue it, and is to be applied again. */
  readonly laterEvents: readonly Uint8Array[];
  /** Where the reading of these ended. */
  readonly readTo: { readonly runId: string; readonly lastEventId: number };
  readonly reappliesSignals: boolean;
  /** Of the run that goes on, in order, behind all that is applied again. */
  readonly priorityChanges: readonly PriorityChange[];
};
