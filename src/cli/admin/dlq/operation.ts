import { Operation } from '../../../wire/generated/api/deadletter/service.ts';

export type OperationName = 'merge' | 'purge' | 'restore';

export const operationNumbers: Readonly<Record<OperationName, number>> = {
  merge: Operation.MERGE,
  purge: Operation.PURGE,
  restore: Operation.RESTORE,
};

export const participles: Readonly<Record<OperationName, string>> = { merge: 'merged', purge: 'purged', restore: 'restored' };

/** An operation that only a newer server knows is printed as a merge. */
export function operationName(number: number): OperationName {
  if (number === Operation.PURGE) return 'purge';
  return number === Operation.RESTORE ? 'restore' : 'merge';
}
