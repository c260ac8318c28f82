/** A migration that was released never changes: databases that had it would no longer be what the next one begins with. */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { migrations as ofPostgres } from '../../src/database/postgres/migrations.ts';
import { migrations as ofSqlite } from '../../src/database/sqlite/migrations.ts';

const hash = (statements: string): string => createHash('sha256').update(statements).digest('hex').slice(0, 16);

test('the migrations of PostgreSQL are those that were released', () => {
  expect(ofPostgres.map(({ number, statements }) => [number, hash(statements('perdure').join(';\n'))])).toEqual([
    [1, '706972586581d43b'],
    [2, '4706875438c022bf'],
    [3, '20779ffce4963454'],
    [4, 'ec12103b4cb6c91e'],
    [5, 'b12e8c28618b3b22'],
    [6, 'b69057d436ba9622'],
    [7, 'a4e284ada018e1ba'],
    [8, '542f56eefde53eac'],
  ]);
});

test('the migrations of SQLite are those that were released', () => {
  expect(ofSqlite.map((statements) => hash(statements))).toEqual([
    'c4fb785b43aedd6c',
    'a5129254a4c83297',
    '296dc3d84f537b45',
    '20ccda1278a1de06',
    'a462b46f2c1e741e',
    '0ce8ab694f1463b5',
    '72b058c03709f000',
  ]);
});
