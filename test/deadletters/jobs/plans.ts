import type { IdRange } from '../../../src/deadletters/letter-commands.ts';
import { countIds } from '../../../src/deadletters/bounds/id-ranges.ts';
import type { JobOptions, PlanLetters, StorePlan } from '../../../src/deadletters/jobs/job.ts';

export const queue = { number: 1, category: 'transfer', sourceCluster: 'active' } as const;

export const options: JobOptions = {
  rps: 0,
  concurrency: 8,
  taskTimeoutMs: 30_000,
  canary: false,
  maxFailures: 0,
  overridesLoopGuard: false,
};

/** What is not named does not matter to the test. */
export function planOf(more: Partial<PlanLetters> = {}): PlanLetters {
  const selection = { ids: undefined, condition: undefined };
  return { kind: 'planLetters', operation: 'merge', queue, selection, options, actor: 'anna', reason: '', query: '', groupId: '', ...more };
}

export function selected(askId: number, planId: string, ids: readonly IdRange[], more: Partial<PlanLetters> = {}): StorePlan {
  const { kind: _, selection: __, queue: asked, ...plan } = planOf(more);
  const hash = JSON.stringify([plan.operation, asked.number, ids, plan.options]);
  return {
    kind: 'storePlan',
    askId,
    plan: {
      ...plan,
      queue: { ...asked, incarnation: asked.incarnation ?? 1 },
      planId,
      hash,
      requestHash: planId,
      ids,
      selected: countIds(ids),
      causes: [],
    },
  };
}
