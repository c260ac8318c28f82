import type { HeldJournal } from '../actors/database.ts';

/** As visibility rows name them: from 1. */
export function heldShards(held: readonly HeldJournal[]): readonly number[] {
  return held.filter(({ journal }) => journal.kind === 'history').map(({ journal }) => journal.partition + 1);
}
