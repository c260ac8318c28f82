/** A priority that a queue could use. Starts and commands ask alike; the text is Temporal's. */
import { utf8Bytes } from './utf8.ts';

/** Tasks of key 1 go first in a queue. 0 means that no key is set. */
export const priorityKeyDefault = 3;
export const priorityKeyMax = 5;

export type PriorityFields = { readonly priorityKey: number; readonly fairnessKey: string; readonly fairnessWeight: number };

const fairnessKeyBytesMax = 64;

/** Undefined = it can be used. */
export function priorityProblem({ priorityKey, fairnessKey, fairnessWeight }: PriorityFields): string | undefined {
  if (priorityKey < 0) return "priority key can't be negative";
  if (fairnessKey.length > fairnessKeyBytesMax || utf8Bytes(fairnessKey) > fairnessKeyBytesMax) return 'fairness key length exceeds limit';
  // NaN too.
  return fairnessWeight >= 0 ? undefined : 'must be greater than zero';
}
