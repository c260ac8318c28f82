import { describe, inject } from 'vitest';
import { describeDatabase } from '../../contract/database/describe-database.ts';
import { postgresOptions } from '../../postgres/postgres.ts';
import { openedPostgres } from './support.ts';

const server = inject('postgres');

describe.skipIf('missing' in server)('on a real PostgreSQL', () => {
  describeDatabase('PostgreSQL', {
    open: async () => {
      if ('missing' in server) throw new Error(server.missing);
      const options = postgresOptions(server);
      const database = await openedPostgres(options);
      return { database, again: () => openedPostgres(options), close: () => database.close() };
    },
  });
});
