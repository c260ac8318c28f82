/**
 * How far a batch job is, as plain values, and how it gets on.
 *
 *     step 0: how many there are ─▶ step 1 … n: each some executions ─▶ completed
 *
 * A step is journaled when it is over, whole: its counts, and where the next begins. What was under way when its owner went is done once more, from
 * where it began, so an operation must bear to be repeated.
 */

/** Where a job goes on: of a query, behind this row in the order of List; of a list, that many are done. */
export type BatchPosition = { readonly listed: number; readonly after: BatchKeyset | undefined };

export type BatchKeyset = { readonly sortMs: number; readonly startTimeMs: number; readonly runId: string };

export type BatchProgress = {
  /** How many steps are over: the number of the next. */
  readonly steps: number;
  /** Executions: of a query as many as there were when the job began. */
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
  readonly position: BatchPosition;
};

/** What has come of a step. */
export type BatchStep = {
  /** Which one it was: a step that is told twice counts once. */
  readonly number: number;
  /** undefined: as it was known. */
  readonly total: number | undefined;
  readonly completed: number;
  readonly failed: number;
  readonly position: BatchPosition;
  readonly next: AfterStep;
};

export type AfterStep =
  /** The next one, when its rate lets it. */
  | { readonly kind: 'goesOn'; readonly pauseMs: number }
  | { readonly kind: 'completed' }
  /** The batch cannot go on. */
  | { readonly kind: 'failed'; readonly message: string };

export function newBatch(total: number): BatchProgress {
  return { steps: 0, total, completed: 0, failed: 0, position: { listed: 0, after: undefined } };
}

/** undefined: that step is told of already. */
export function stepped(progress: BatchProgress, step: BatchStep): BatchProgress | undefined {
  if (step.number !== progress.steps) return undefined;
  const failed = progress.failed + step.failed;
  const told = progress.completed + step.completed;
  // The list changes meanwhile, and may gain some.
  const total = Math.max(step.total ?? progress.total, told + failed);
  // Those that it has lost are closed or gone, by themselves or by a step that was cut off before it was told of.
  const completed = step.next.kind === 'completed' ? total - failed : told;
  return { steps: progress.steps + 1, total, completed, failed, position: step.position };
}
