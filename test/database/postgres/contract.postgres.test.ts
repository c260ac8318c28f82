import { describe, inject } from 'vitest';
import { PostgresDatabase } from '../../../src/database/postgres/postgres-database.ts';
import { describeDatabase } from '../../contract/database/describe-database.ts';
import { postgresOptions } from '../../postgres/postgres.ts';
import { silentLogger } from '../../../src/observability/logger.ts';

const server = inject('postgres');

describe.skipIf('missing' in server)('on a real PostgreSQL', () => {
  describeDatabase('PostgreSQL', {
    open: async () => {
      if ('missing' in server) throw new Error(server.missing);
      const options = postgresOptions(server);
      const database = await PostgresDatabase.open(options, silentLogger);
      return { database, again: () => PostgresDatabase.open(options, silentLogger), close: () => database.close() };
    },
  });
});
