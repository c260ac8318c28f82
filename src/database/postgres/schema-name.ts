import { createHash } from 'node:crypto';

/** PostgreSQL cuts longer names off, in silence. */
const identifierBytesMax = 63;

/** Of the tables of one prefix of topics: the prefix itself where PostgreSQL takes it. */
export function schemaName(topicPrefix: string): string {
  const fits = Buffer.byteLength(topicPrefix) <= identifierBytesMax && !topicPrefix.startsWith('pg_');
  return fits ? topicPrefix : `perdure-${createHash('sha256').update(topicPrefix).digest('hex').slice(0, 32)}`;
}

export function quoted(identifier: string): string {
  return `"${identifier.replaceAll('"', '""')}"`;
}
