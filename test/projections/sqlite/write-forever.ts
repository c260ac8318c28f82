/** Run by sqlite-file.test.ts: takes the journal and writes checkpoints to the file given, until it is killed; each is reported in a line. */
import { writeSync } from 'node:fs';
import { openSqlite } from '../../../src/projections/sqlite/open-sqlite.ts';
import { deltaAt, journalUnderTest } from './generations.ts';
import { positionAt } from '../../contract/database/samples.ts';

const database = openSqlite({ filename: process.argv[2] });
const { fence, position } = await database.restore(journalUnderTest);
for (let generation = (position?.nextOffset ?? 0) + 1; ; generation++) {
  const outcome = await database.write(journalUnderTest, fence, {
    kind: 'history',
    position: positionAt(generation),
    delta: deltaAt(generation),
  });
  writeSync(1, outcome.kind === 'written' ? `${generation}\n` : `${outcome.kind}\n`);
  if (outcome.kind !== 'written') process.exit(3);
}
