/** What actors with checkpoints are given in the simulation. */
import { defaultCheckpointLimits } from '../../src/projections/checkpoints/checkpoint-limits.ts';
import type { Clock } from '../../src/ports/machine.ts';

/** Small, so that there is a checkpoint at every turn of a run. */
export const checkpointLimits = {
  ...defaultCheckpointLimits,
  idleMs: 100,
  busyMs: 500,
  captureSliceMs: 1,
  retryDelayMs: 10,
  retryDelayMsMax: 200,
  refusedRetryDelayMs: 500,
  finishMsMax: 300,
};

/** In the simulation nothing takes time, and whoever measures how long it has worked would go on for ever: each look costs a little. */
export function busyClock(clock: Clock): Clock {
  const lookMs = 0.3;
  let lastMs = 0;
  return { ...clock, monoMs: () => (lastMs = Math.max(lastMs + lookMs, clock.monoMs())) };
}
