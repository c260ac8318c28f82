import type { BatchProgress, BatchStep } from '../../src/batches/batch.ts';

/** The next step of a job that is so far: two executions, of which one fails. */
export function stepOf({ steps, position }: BatchProgress, change: Partial<BatchStep> = {}): BatchStep {
  const isFirst = steps === 0;
  return {
    number: steps,
    total: isFirst ? 4 : undefined,
    completed: isFirst ? 0 : 1,
    failed: isFirst ? 0 : 1,
    position: isFirst ? position : { listed: 0, after: { sortMs: 9, startTimeMs: 8 - steps, runId: `run-${steps}` } },
    next: { kind: 'goesOn', pauseMs: 1_000 },
    ...change,
  };
}
