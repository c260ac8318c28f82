import type { PostgresOptions } from '../../config/postgres-options.ts';

/** For people: `postgres db.example:5432/perdure`. */
export function nameOf({ host, port, database }: PostgresOptions): string {
  return `postgres ${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;
}
