/** Says of some commands of a ledger that their state is not in memory. */
import type { Prefetch } from '../../src/actors/partition/prefetch.ts';
import type { LedgerCommand } from './ledger.ts';

export function ledgerPrefetch(parts: Partial<Prefetch<LedgerCommand>>): Prefetch<LedgerCommand> {
  return {
    keyOf: (command) => ('id' in command ? command.id : ''),
    lacks: () => false,
    load: () => {},
    ownWaits: () => {},
    ownNotLoaded: () => {},
    ...parts,
  };
}
