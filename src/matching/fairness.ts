/** How much of its level's turns a fairness key gets, beside the others. */
import type { MatchingTask } from './tasks.ts';

const fairnessWeightMin = 0.001;

/** Of one that says nothing, or what makes no sense, 1. */
export function fairnessWeightOf({ priority }: MatchingTask): number {
  return effectiveWeight(priority?.fairnessWeight ?? 0);
}

function effectiveWeight(weight: number): number {
  return weight > 0 ? Math.max(weight, fairnessWeightMin) : 1;
}
