/** What a plan says of its letters: conditions over them, and what its hash is over. */
import type { Condition } from '../../filter/condition.ts';
import type { IdRange } from '../letter-commands.ts';
import type { JobOptions, LetterSelection, Plan, PlanLetters } from './job.ts';

/** The condition of the selection, limited to these ids. */
export function selectedLetters({ condition }: LetterSelection, ids: readonly IdRange[]): Condition {
  const inIds: Condition = { kind: 'or', conditions: ids.map(({ from, to }) => between(from, to)) };
  return { kind: 'and', conditions: condition === undefined ? [inIds] : [inIds, condition] };
}

/** Limits a condition to letters with this cause; '' = the cause is not known. */
export function withCause(letters: Condition, cause: string): Condition {
  const column = { name: 'Cause', kind: 'keyword' } as const;
  const hasCause: Condition =
    cause === '' ? { kind: 'isNull', column, not: false } : { kind: 'compare', column, operator: '=', operand: cause };
  return { kind: 'and', conditions: [letters, hasCause] };
}

function between(low: number, high: number): Condition {
  return { kind: 'between', column: { name: 'MessageId', kind: 'int' }, not: false, low, high };
}

/** What was asked for: the same again while letters of it are handled is the same, though others of them are left. */
export function requestText({ operation, queue, selection, options }: PlanLetters): string {
  const { ids = null, condition = null, purgedBy } = selection;
  const { category, sourceCluster } = queue;
  const purger = purgedBy === undefined ? [] : [purgedBy];
  const asked = [operation, category, sourceCluster, ids, condition, chosen(options), ...purger];
  return JSON.stringify(asked, (_, value: unknown) => (typeof value === 'bigint' ? `${value}n` : value));
}

/** Whoever applies a plan by its hash gets exactly this. `digest`: over each letter, where `ids` has others between them. */
export function hashedText(
  { operation, queue, options }: Pick<Plan, 'operation' | 'queue' | 'options'>,
  ids: readonly IdRange[],
  digest: string | undefined,
): string {
  const { category, sourceCluster, incarnation } = queue;
  const ranges = ids.map(({ from, to }) => [from, to]);
  const others = digest === undefined ? [] : [{ digest }];
  return JSON.stringify([operation, category, sourceCluster, ranges, chosen(options), incarnation, ...others]);
}

function chosen({ rps, concurrency, taskTimeoutMs, canary, maxFailures, overridesLoopGuard }: JobOptions): readonly unknown[] {
  return [rps, concurrency, taskTimeoutMs, canary, maxFailures, overridesLoopGuard];
}
