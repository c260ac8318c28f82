/**
 * The thread of thread-database.test.ts: SQLite in memory, with some calls that end otherwise. `start-fails`, a file named by the thread's data:
 * while it is there no thread starts.
 */
import { existsSync } from 'node:fs';
import { workerData } from 'node:worker_threads';
import { sqliteDatabase } from '../../../src/projections/sqlite/sqlite-database.ts';
import { serve } from '../../../src/projections/thread/serve.ts';
import { DatabaseError, type Database } from '../../../src/projections/database-port.ts';

const { startFails }: { readonly startFails: string | undefined } = workerData;
if (startFails !== undefined && existsSync(startFails)) throw new Error('no thread today');

const database: Database = sqliteDatabase({ filename: undefined });
const bind = database.bind.bind(database);

database.bind = async (clusterId) => {
  switch (clusterId) {
    case 'refuse':
      throw new DatabaseError('misconfigured', 'this is another one');
    case 'a bug':
      throw new RangeError('out of bounds');
    case 'die':
      setImmediate(() => {
        throw new Error('out of memory, say');
      });
      return new Promise(() => {});
    case 'exit':
      return process.exit(3);
    default:
      return bind(clusterId);
  }
};

serve(database);
