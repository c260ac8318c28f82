/** How much of its level's turns a fairness key gets, beside the others. */
import type { MatchingTask } from './tasks.ts';

/** As Temporal: whatever somebody says of himself, others have their turns. */
const fairnessWeightMin = 0.001;
const fairnessWeightMax = 1_000;

/** What operators say of its key (`weights`) goes before what the task says. Of one that says nothing, or what makes no sense, 1. */
export function fairnessWeightOf({ priority }: MatchingTask, weights: ReadonlyMap<string, number>): number {
  return effectiveWeight(weights.get(priority?.fairnessKey ?? '') ?? priority?.fairnessWeight ?? 0);
}

function effectiveWeight(weight: number): number {
  return weight > 0 ? Math.min(Math.max(weight, fairnessWeightMin), fairnessWeightMax) : 1;
}
