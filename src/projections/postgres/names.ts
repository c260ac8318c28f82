/** What a database, and the schema of its tables, are called. */
import { createHash } from 'node:crypto';
import type { PostgresOptions } from '../../config/postgres-options.ts';

/** PostgreSQL cuts longer names off, in silence. */
const identifierBytesMax = 63;

/** The schema of a topic prefix's tables: the prefix itself where PostgreSQL takes it. */
export function schemaName(topicPrefix: string): string {
  const fits = Buffer.byteLength(topicPrefix) <= identifierBytesMax && !topicPrefix.startsWith('pg_');
  return fits ? topicPrefix : `perdure-${createHash('sha256').update(topicPrefix).digest('hex').slice(0, 32)}`;
}

export function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}

/** For people: `postgres db.example:5432/perdure`. */
export function nameOf({ host, port, database }: PostgresOptions): string {
  return `postgres ${host.includes(':') ? `[${host}]` : host}:${port}/${database}`;
}
