import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '../../../src/projections/sqlite/open-sqlite.ts';
import { describeDatabase } from '../../contract/database/describe-database.ts';

describeDatabase('SQLite in memory', {
  open: async () => {
    const database = openSqlite({ filename: undefined });
    return { database, close: () => database.close() };
  },
});

describeDatabase('SQLite on a file', {
  open: async () => {
    const folder = await mkdtemp(join(tmpdir(), 'perdure-state-'));
    const filename = join(folder, 'x.db-state');
    const database = openSqlite({ filename });
    return {
      database,
      again: async () => openSqlite({ filename }),
      close: async () => {
        await database.close();
        await rm(folder, { recursive: true, force: true });
      },
    };
  },
});
