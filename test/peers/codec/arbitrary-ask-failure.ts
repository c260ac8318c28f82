import fc from 'fast-check';
import type { AskFailure } from '../../../src/actors/asks/asks.ts';
import { type ByKind, count, record, text } from './arbitrary.ts';

function failure<Kind extends AskFailure['kind']>(kind: Kind): fc.Arbitrary<{ readonly kind: Kind; readonly message: string }> {
  return record({ kind: fc.constant(kind), message: text });
}

export const askFailures: ByKind<AskFailure> = {
  unavailable: failure('unavailable'),
  deadline: failure('deadline'),
  busy: failure('busy'),
  tooLarge: failure('tooLarge'),
  internal: failure('internal'),
  dataLoss: failure('dataLoss'),
  notHere: record({ kind: fc.constant('notHere' as const), message: text, hint: text, epoch: count }),
};
