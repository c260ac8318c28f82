/**
 * Run by sqlite-file.test.ts with a limit on the size of files: a checkpoint that fits, one that does not, and a small one again. Each outcome is
 * told in a line, with the offset that stands in the database then.
 */
import { openSqlite } from '../../../src/projections/sqlite/open-sqlite.ts';
import { bytesOf, emptyDelta, historyRow, positionAt, uuid } from '../../contract/database/samples.ts';
import { journalUnderTest } from './generations.ts';
import type { HistoryRow } from '../../../src/projections/database-port.ts';

const [, , filename, megabytes] = process.argv;
const database = openSqlite({ filename });
const { fence } = await database.restore(journalUnderTest);
const large = Array.from({ length: Number(megabytes) }, () => ({ ...historyRow(uuid(), 1, 1), events: new Uint8Array(1024 * 1024) }));
const small = [{ ...historyRow(uuid(), 1, 1), events: bytesOf('small') }];
for (const [index, history] of [small, large, small].entries()) await attempt(index + 1, history);
await database.close();

async function attempt(offset: number, history: readonly HistoryRow[]): Promise<void> {
  const checkpoint = { kind: 'history', position: positionAt(offset), delta: { ...emptyDelta, history } } as const;
  const outcome = await database.write(journalUnderTest, fence, checkpoint).then(
    ({ kind }) => kind,
    ({ code }) => code,
  );
  const { position } = await database.position(journalUnderTest);
  console.log(`${outcome} ${position?.nextOffset}`);
}
