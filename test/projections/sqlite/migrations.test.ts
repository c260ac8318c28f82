/** A migration that was released never changes: databases that had it would no longer be what the next one begins with. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { migrations as ofPostgres } from '../../../src/projections/postgres/migrations.ts';
import { migrations as ofSqlite } from '../../../src/projections/sqlite/migrations.ts';

const hash = (statements: string): string => createHash('sha256').update(statements).digest('hex').slice(0, 16);

test('the migrations of PostgreSQL are those that were released', () => {
  expect(ofPostgres.map((statements) => hash(statements('perdure').join(';\n')))).toEqual(['c4a2852f980d18ae']);
});

test('the migrations of SQLite are those that were released', () => {
  expect(ofSqlite.map((statements) => hash(statements))).toEqual(['6f1a560a038448dc']);
});
