import { describe, expect, test } from 'vitest';
import { jsonClaims } from '../ledger.ts';
import { effective, mayReplace } from '../../../src/actors/ownership/effective.ts';
import type { LogCursor } from '../../../src/actors/ownership/effective.ts';

/** `claim 2` and `2.1`, in the order of the log. */
function verdicts(...records: readonly string[]): string[] {
  const cursor: LogCursor = { epoch: 0, sequence: 0, offset: 0 };
  return records.map((record, offset) => {
    const [, claim, epoch, sequence] = /^(claim |garbage |nameless )?(\d+)(?:\.(\d+))?$/.exec(record) ?? [];
    const stamp = { epoch: Number(epoch), sequence: Number(sequence ?? 0), offset };
    const value = claim === 'garbage ' ? new Uint8Array(3) : jsonClaims.encode({ ownerNonce: claim === 'nameless ' ? '' : 'n', owner: '' });
    return effective(cursor, { ...stamp, key: claim === undefined ? 'k' : '@claim', value }, jsonClaims);
  });
}

describe('effective', () => {
  const table: readonly (readonly [name: string, records: readonly string[], wanted: readonly string[]])[] = [
    ['records follow their claim', ['claim 1', '1.1', '1.2'], ['claim', 'record', 'record']],
    ['nothing counts before a claim', ['1.1', '0.1', 'claim 1', '1.1'], ['gap', 'foreign', 'claim', 'record']],
    ['of two claims of one epoch the first', ['claim 3', 'claim 3', '3.1'], ['claim', 'void', 'record']],
    ['a lower claim is void', ['claim 3', 'claim 2', '2.1', '3.1'], ['claim', 'void', 'void', 'record']],
    ['epochs may be left out', ['claim 3', 'claim 9', '9.1'], ['claim', 'claim', 'record']],
    [
      'a fenced owner writes in vain',
      ['claim 1', '1.1', 'claim 2', '1.2', '2.1', '1.3'],
      ['claim', 'record', 'claim', 'void', 'record', 'void'],
    ],
    ['an epoch that nobody claimed', ['claim 1', '2.1', '1.1'], ['claim', 'gap', 'record']],
    ['a duplicate', ['claim 1', '1.1', '1.1', '1.2', '1.1'], ['claim', 'record', 'void', 'record', 'void']],
    ['a record that is named like a claim', ['claim 1', '1.1', 'claim 1.2', '1.3'], ['claim', 'record', 'record', 'record']],
    ['a sequence left out', ['claim 1', '1.1', '1.3', '1.4', '1.2'], ['claim', 'record', 'gap', 'gap', 'record']],
    ['no stamp', ['claim 1', '0.0', '0.1', 'claim 0', '1.1'], ['claim', 'foreign', 'foreign', 'foreign', 'record']],
    ['a claim that cannot be read', ['claim 1', 'garbage 2', 'nameless 2', '1.1'], ['claim', 'foreign', 'foreign', 'record']],
    [
      'an epoch out of all proportion',
      ['claim 1', 'claim 1000001', 'claim 2000002', `claim ${2 ** 53 - 1}`, '3000000.1', '1000001.1'],
      ['claim', 'claim', 'foreign', 'foreign', 'foreign', 'record'],
    ],
  ];
  test.each(table)('%s', (_name, records, wanted) => expect(verdicts(...records)).toEqual(wanted));

  const next = { key: 'k', epoch: 1, sequence: 1, value: new Uint8Array() };

  test('a record is judged once', () => {
    const cursor: LogCursor = { epoch: 1, sequence: 0, offset: 5 };
    expect(() => effective(cursor, { ...next, offset: 4 }, jsonClaims)).toThrow('in the order of the log');
  });

  test('an offset that is left out is a hole, and stops the reader', () => {
    const cursor: LogCursor = { epoch: 1, sequence: 0, offset: 5 };
    expect(effective(cursor, { ...next, offset: 9 }, jsonClaims)).toBe('hole');
    expect(cursor).toEqual({ epoch: 1, sequence: 0, offset: 5 });
  });
});

describe('mayReplace', () => {
  const at = (epoch: number, sequence: number): { epoch: number; sequence: number; offset: number } => ({ epoch, sequence, offset: 0 });
  test.each([
    ['nothing stored', undefined, at(1, 0), true],
    ['a repeat', at(2, 5), at(2, 5), true],
    ['later in the epoch', at(2, 5), at(2, 6), true],
    ['earlier in the epoch', at(2, 5), at(2, 4), false],
    ['a successor, with a lower sequence', at(2, 5), at(3, 0), true],
    ['a fenced owner, with a higher sequence', at(2, 5), at(1, 900), false],
  ])('%s', (_name, stored, mine, wanted) => expect(mayReplace(stored, mine)).toBe(wanted));
});
