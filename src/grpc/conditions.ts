import type { Condition } from '../filter/condition.ts';

/** All of those that are there; undefined: there is none. */
export function allOf(...given: readonly (Condition | undefined)[]): Condition | undefined {
  const conditions = given.filter((condition) => condition !== undefined);
  return conditions.length > 1 ? { kind: 'and', conditions } : conditions[0];
}
