/** How much of its level's turns a fairness key gets, beside the others. */
import type { MatchingTask } from './tasks.ts';

const fairnessWeightMin = 0.001;

/** What operators say of its key (`weights`) goes before what the task says. Of one that says nothing, or what makes no sense, 1. */
export function fairnessWeightOf({ priority }: MatchingTask, weights: ReadonlyMap<string, number>): number {
  return effectiveWeight(weights.get(priority?.fairnessKey ?? '') ?? priority?.fairnessWeight ?? 0);
}

function effectiveWeight(weight: number): number {
  return weight > 0 ? Math.max(weight, fairnessWeightMin) : 1;
}
