import fc from 'fast-check';
import type { Column, Condition, Operand } from '../../../src/filter/condition.ts';
import { arbitraryTerm, conditionsOf } from '../../projections/visibility/arbitrary.ts';
import { anyNumber, flag, record, text, word } from './arbitrary.ts';

const column: fc.Arbitrary<Column> = record({
  name: text,
  kind: word('keyword', 'text', 'int', 'double', 'bool', 'datetime', 'instant', 'keywordList'),
});
const operand: fc.Arbitrary<Operand> = fc.oneof(text, anyNumber, fc.bigInt(), flag);

export const condition: fc.Arbitrary<Condition> = conditionsOf(column.chain((of) => arbitraryTerm(of, operand)));

/** As deep as whoever writes a filter may make it. */
export const deepCondition = Array.from({ length: 200 }).reduce<Condition>((inner) => ({ kind: 'not', condition: inner }), {
  kind: 'isNull',
  column: { name: 'Cause', kind: 'keyword' },
  not: true,
});
