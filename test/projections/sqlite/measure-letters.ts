/**
 * What dead letters cost: `node test/projections/sqlite/measure-letters.ts [memory | file | postgres] [letters]`. One line for each figure: writing them by
 * checkpoints of 1,000, then the best and the median of some reads.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sqliteDatabase } from '../../../src/projections/sqlite/sqlite-database.ts';
import { letterRow, positionAt } from '../../contract/database/samples.ts';
import { postgresOptions, startPostgres } from '../../postgres/postgres.ts';
import { openedPostgres } from '../postgres/support.ts';
import type { Database } from '../../../src/projections/database-port.ts';
import type { LetterGrouping } from '../../../src/deadletters/letter-commands.ts';
import type { Condition } from '../../../src/filter/condition.ts';

const kind = process.argv[2] ?? 'file';
const letters = Number(process.argv[3] ?? 100_000);
const perCheckpoint = 1_000;
const readsOfEach = 15;
const journal = { kind: 'deadLetters', partition: 1 } as const;

const folder = mkdtempSync(join(tmpdir(), 'perdure-measure-'));
const server = kind === 'postgres' ? await startPostgres({ shared_buffers: '256MB', max_wal_size: '4GB' }) : undefined;
const database: Database =
  server === undefined
    ? sqliteDatabase({ filename: kind === 'file' ? join(folder, 'x.db-state') : undefined })
    : await openedPostgres(postgresOptions(server));

const causes = ['retries-exhausted', 'permanent-error', 'namespace-deleted'] as const;
const { fence } = await database.restore(journal);
const beganMs = performance.now();
for (let from = 0; from < letters; from += perCheckpoint) {
  const rows = Array.from({ length: perCheckpoint }, (_, index) => {
    const id = from + index;
    return letterRow(id, {
      fingerprint: ((id * 7) % 97).toString(16).padStart(16, '0'),
      cause: causes[id % 3] ?? '',
      workflowId: `order-${(id * 7919) % 20_011}`,
      workflowType: `Type${id % 10}`,
      namespace: `namespace-${id % 5}`,
      errorType: `Error${id % 7}`,
      errorMessage: `connection to 10.0.${id % 256}.${id % 250}:7233 refused: ${'x'.repeat(id % 200)}`,
      node: `host-${id % 4}:7233`,
    });
  });
  const delta = { letters: rows, goneLetters: [] };
  const outcome = await database.write(journal, fence, { kind: 'deadLetters', position: positionAt(from + 1_000), delta });
  if (outcome.kind !== 'written') throw new Error(outcome.kind);
}
const wroteMs = performance.now() - beganMs;
console.log(`${kind}: ${letters} letters written, ${Math.round(letters / (wroteMs / 1_000))}/s`);
await server?.run('VACUUM ANALYZE');

async function figure(what: string, read: () => Promise<{ readonly rows: unknown }>): Promise<void> {
  const times: number[] = [];
  for (let n = 0; n < readsOfEach; n++) {
    const startMs = performance.now();
    await read();
    times.push(performance.now() - startMs);
  }
  times.sort((one, other) => one - other);
  console.log(`${what}: best ${times[0]?.toFixed(1)} ms, median ${times[Math.floor(readsOfEach / 2)]?.toFixed(1)} ms`);
}

const equals = (name: string, operand: string): Condition => ({
  kind: 'compare',
  column: { name, kind: 'keyword' },
  operator: '=',
  operand,
});
const first = { condition: undefined, afterMessageId: -1, max: 1_000, bytesMax: 3 * 2 ** 20 };
await figure('first page of 1,000', () => database.letters(journal, first));
await figure('last page of 1,000', () => database.letters(journal, { ...first, afterMessageId: letters - 1_001 }));
await figure('first page of one namespace', () => database.letters(journal, { ...first, condition: equals('Namespace', 'namespace-3') }));
await figure('page of one workflow', () => database.letters(journal, { ...first, condition: equals('WorkflowId', 'order-77') }));
await figure('page of none', () => database.letters(journal, { ...first, condition: equals('Build', 'none') }));
await figure('count', () => database.countLetters(journal, undefined));
await figure('count of one namespace', () => database.countLetters(journal, equals('Namespace', 'namespace-3')));
await figure('count of one fingerprint', () => database.countLetters(journal, equals('Fingerprint', '0000000000000007')));
await figure('10,000 ids', () => database.letterIds(journal, { condition: undefined, afterMessageId: -1, max: 10_000 }));
for (const by of ['fingerprint', 'cause', 'workflowType', 'namespace'] satisfies LetterGrouping[]) {
  await figure(`groups by ${by}`, () => database.letterGroups(journal, { condition: undefined, by, max: 100 }));
}
await figure('groups by fingerprint, of one namespace', () =>
  database.letterGroups(journal, { condition: equals('Namespace', 'namespace-3'), by: 'fingerprint', max: 100 }),
);

await database.close();
await server?.stop();
rmSync(folder, { recursive: true, force: true });
