/** What a plan says of its letters: conditions over them, and what its hash is over. */
import type { Condition } from '../../filter/condition.ts';
import type { IdRange } from '../commands.ts';
import type { LetterSelection, PlanLetters } from './commands.ts';

/** As selected, and of these ids. */
export function selectedLetters({ condition }: LetterSelection, ids: readonly IdRange[]): Condition {
  const inIds: Condition = { kind: 'or', conditions: ids.map(({ from, to }) => between(from, to)) };
  return { kind: 'and', conditions: condition === undefined ? [inIds] : [inIds, condition] };
}

/** Those of them that have this cause; '' = it is not known. */
export function withCause(letters: Condition, cause: string): Condition {
  const column = { name: 'Cause', kind: 'keyword' } as const;
  const hasCause: Condition =
    cause === '' ? { kind: 'isNull', column, not: false } : { kind: 'compare', column, operator: '=', operand: cause };
  return { kind: 'and', conditions: [letters, hasCause] };
}

function between(low: number, high: number): Condition {
  return { kind: 'between', column: { name: 'MessageId', kind: 'int' }, not: false, low, high };
}

/** Whoever applies a plan by its hash gets exactly this. */
export function hashedText({ operation, queue, options }: PlanLetters, ids: readonly IdRange[]): string {
  const { rps, concurrency, taskTimeoutMs, canary, maxFailures, overridesLoopGuard } = options;
  const chosen = [rps, concurrency, taskTimeoutMs, canary, maxFailures, overridesLoopGuard];
  return JSON.stringify([operation, queue.category, queue.sourceCluster, ids.map(({ from, to }) => [from, to]), chosen]);
}
