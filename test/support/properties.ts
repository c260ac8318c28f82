/**
 * Set-up of every suite: its properties begin at the seed of the run, and look at as many more values as are asked for.
 *
 *     PERDURE_SEED=7     this seed; a failure prints its own
 *     PERDURE_RUNS=20    twenty times the `numRuns` of each property
 *
 * It stands in for the package because what a property asks for goes before anything that is configured for all; and only a suite with
 * properties pays for loading it.
 */
import type * as fastCheck from 'fast-check';
import { vi } from 'vitest';
import { seed } from './seed.ts';

const times = Number(process.env['PERDURE_RUNS'] ?? 1);
/** Of fast-check, where a property does not say. */
const NUM_RUNS = 100;

vi.doMock('fast-check', async (original: () => Promise<typeof fastCheck>) => {
  const real = await original();
  const assert = (property: never, parameters: fastCheck.Parameters<never> = {}): unknown =>
    real.assert(property, { seed, ...parameters, numRuns: (parameters.numRuns ?? NUM_RUNS) * times });
  return { ...real, assert, default: { ...real.default, assert } };
});
