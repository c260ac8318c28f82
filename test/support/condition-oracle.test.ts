import { describe, expect, test } from 'vitest';
import type { Condition } from '../../src/filter/condition.ts';
import { visibilityRow } from '../contract/database/samples.ts';
import { type Truth, truthOf } from './condition-oracle.ts';

const row = visibilityRow({ namespaceId: '00000000-0000-4000-8000-000000000001', slots: new Map([['Keyword01', 'x']]) });

const column = (name: string) => ({ name, kind: 'keyword' }) as const;
const terms: Readonly<Record<'T' | 'F' | 'U', Condition>> = {
  T: { kind: 'compare', column: column('Keyword01'), operator: '=', operand: 'x' },
  F: { kind: 'compare', column: column('Keyword01'), operator: '=', operand: 'y' },
  U: { kind: 'compare', column: column('Keyword02'), operator: '=', operand: 'x' },
};
const truths: Readonly<Record<'T' | 'F' | 'U', Truth>> = { T: true, F: false, U: undefined };

/** SQL's three-valued logic, in full. */
describe('truth tables', () => {
  test.each([
    ['T', 'T', 'T', 'T'],
    ['T', 'F', 'F', 'T'],
    ['T', 'U', 'U', 'T'],
    ['F', 'T', 'F', 'T'],
    ['F', 'F', 'F', 'F'],
    ['F', 'U', 'F', 'U'],
    ['U', 'T', 'U', 'T'],
    ['U', 'F', 'F', 'U'],
    ['U', 'U', 'U', 'U'],
  ] as const)('%s, %s: and = %s, or = %s', (one, other, and, or) => {
    const conditions = [terms[one], terms[other]];
    expect(truthOf({ kind: 'and', conditions }, row)).toBe(truths[and]);
    expect(truthOf({ kind: 'or', conditions }, row)).toBe(truths[or]);
  });

  test.each([
    ['T', 'F'],
    ['F', 'T'],
    ['U', 'U'],
  ] as const)('NOT %s = %s', (one, other) => {
    expect(truthOf({ kind: 'not', condition: terms[one] }, row)).toBe(truths[other]);
  });

  test('an operand that would be equal outweighs what is unknown, in lists of operands too', () => {
    const between = { kind: 'between', column: column('Keyword02'), low: 'a', high: 'z' } as const;
    expect(truthOf({ ...between, not: false }, row)).toBeUndefined();
    expect(truthOf({ ...between, not: true }, row)).toBeUndefined();
    const isIn = { kind: 'in', column: column('Keyword01'), operands: ['y', 'x'] } as const;
    expect([truthOf({ ...isIn, not: false }, row), truthOf({ ...isIn, not: true }, row)]).toEqual([true, false]);
  });
});
