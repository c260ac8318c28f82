/** The thread of a PostgreSQL database. What it logs goes to whoever started it, as plain data. */
import { workerData } from 'node:worker_threads';
import { errorText } from '../../kernel/error-text.ts';
import { say, serve } from '../thread/serve.ts';
import { postgresDatabase } from './postgres-database.ts';
import type { PostgresOptions } from '../../config/postgres-options.ts';
import type { LogFields, Logger, RecordLevel } from '../../observability/logger.ts';

const options: PostgresOptions = workerData;
serve(postgresDatabase(options, relayedLogger({})));

function relayedLogger(bound: LogFields): Logger {
  const log =
    (level: RecordLevel) =>
    (message: string, fields: LogFields = {}): void => {
      const all = Object.entries({ ...bound, ...fields });
      const plain = all.map(([name, value]) => [name, value instanceof Error ? errorText(value) : value]);
      say({ level, message, fields: Object.fromEntries(plain) });
    };
  const levels = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };
  return { ...levels, enabled: () => true, with: (fields) => relayedLogger({ ...bound, ...fields }) };
}
