/**
 * What every database promises the actors (src/projections/database-port.ts); run against the twin in memory, SQLite in memory and on a file, and
 * PostgreSQL.
 */
import { afterAll, beforeAll, describe } from 'vitest';
import { DatabaseUnderTest } from './database-under-test.ts';
import { describeAtomicity } from './atomicity.ts';
import { describeBindAndClose } from './bind-and-close.ts';
import { describeContention } from './contention.ts';
import { describeExactDates } from './exact-dates.ts';
import { describeFence } from './fence.ts';
import { describeHistoryRanges } from './history-ranges.ts';
import { describeHostileValues } from './hostile-values.ts';
import { describeLetters } from './letters.ts';
import { describeListAndCount } from './list-and-count.ts';
import { describeListPages } from './list-pages.ts';
import { describeListRebuild } from './list-rebuild.ts';
import { describeLoads } from './loads.ts';
import { describeRandomWrites } from './random-writes.ts';
import { describeRows } from './rows.ts';
import { describeSlotClearing } from './slot-clearing.ts';
import { describeVisibilityRows } from './visibility-rows.ts';
import { describeWindows } from './windows.ts';
import type { Database } from '../../../src/projections/database-port.ts';

export type DatabaseFixture = {
  readonly database: Database;
  /** Another connection to the same rows, as of a second process; absent where rows go with the only one. The suite closes what it opens. */
  readonly again?: () => Promise<Database>;
  /** Closes `database`, if that is not done yet, and takes its rows away. */
  readonly close: () => Promise<void>;
};

/** `open` gives an empty database of its own each time; the suite opens some, most tests share the first. */
export function describeDatabase(name: string, subject: { readonly open: () => Promise<DatabaseFixture> }): void {
  // A limit for what hangs: some tests ask a real database ten thousand times, beside others on the same cores.
  describe(`database contract: ${name}`, { timeout: 240_000 }, () => {
    let shared: DatabaseUnderTest | undefined;
    beforeAll(async () => {
      shared = await DatabaseUnderTest.open(await subject.open());
    });
    afterAll(() => shared?.close());
    const use = (): DatabaseUnderTest => {
      if (shared === undefined) throw new Error('the database did not open');
      return shared;
    };

    describeFence(use);
    describeContention(use);
    describeAtomicity(use);
    describeRows(use);
    describeLoads(use);
    describeWindows(use);
    describeHistoryRanges(use);
    describeVisibilityRows(use);
    describeSlotClearing(use);
    describeListAndCount(use);
    describeExactDates(use);
    describeListPages(use);
    describeListRebuild(use);
    describeLetters(use);
    describeHostileValues(use);
    describeRandomWrites(use);
    describeBindAndClose(subject.open);
  });
}
