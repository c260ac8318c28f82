/** PostgreSQL beside the event loop: parameters are encoded and rows read in a thread of its own, which starts with the first call, or at once. */
import { threadDatabase } from '../thread/thread-database.ts';
import { nameOf } from './names.ts';
import type { Database } from '../database-port.ts';
import type { PostgresOptions } from '../../config/postgres-options.ts';
import type { Logger } from '../../observability/logger.ts';

export function openPostgres(
  options: PostgresOptions,
  logger: Logger,
  { startsAtOnce = false }: { readonly startsAtOnce?: boolean } = {},
): Database {
  return threadDatabase({
    name: nameOf(options),
    worker: new URL('./thread.ts', import.meta.url),
    workerData: options,
    startsAtOnce,
    heard: ({ level, message, fields }) => logger[level](message, fields),
  });
}
