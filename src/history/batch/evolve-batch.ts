/** How far a batch job is. */
import type { Fact } from '../record.ts';
import type { Run } from '../state.ts';

const noDefinition = new Uint8Array(0);

/** The first makes the run a batch job's. */
export function evolveBatch(run: Run, { definition, progress }: Extract<Fact, { readonly kind: 'batchChanged' }>): void {
  const { batch } = run;
  if (batch === undefined) run.start = { ...run.start, archetype: 'batch' };
  run.batch = { definition: definition ?? batch?.definition ?? noDefinition, progress, stepTaskId: batch?.stepTaskId ?? 0 };
}
