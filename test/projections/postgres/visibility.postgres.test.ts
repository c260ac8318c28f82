/** What PostgreSQL alone refuses of a visibility row, and columns for everything that a filter can name. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import type { PostgresDatabase } from '../../../src/projections/postgres/postgres-database.ts';
import { postgresOptions } from '../../postgres/postgres.ts';
import { capturingLogger, failureOf, historyCheckpoint, namespaceId, openedPostgres, runRow, visibilityRow } from './support.ts';
import type { Condition } from '../../../src/filter/condition.ts';
import type { VisibilityRow } from '../../../src/projections/visibility/row.ts';

const server = inject('postgres');
const journal = { kind: 'history', partition: 0 } as const;
const all = { namespaceId, condition: undefined, after: undefined, max: 1_000 };
/** Does not compress, so an index cannot hold it. */
const incompressible = randomBytes(6_000).toString('hex');

describe.skipIf('missing' in server)('visibility rows on PostgreSQL', () => {
  let database: PostgresDatabase;
  const log = capturingLogger();

  beforeAll(async () => {
    if ('missing' in server) throw new Error(server.missing);
    database = await openedPostgres(postgresOptions(server), log.logger);
  });
  afterAll(() => database?.close());

  test('rows that an index cannot hold are left out and said; those beside them, and the state, are written', async () => {
    const { fence } = await database.restore(journal);
    const kept = [visibilityRow(), visibilityRow({ slots: new Map([['Keyword01', 'x']]) }), visibilityRow()];
    const refused = [
      visibilityRow({ workflowType: incompressible }),
      visibilityRow({ workflowId: incompressible, slots: new Map([['Int01', 1]]) }),
    ];
    const run = runRow();
    const visibility = [kept[0]!, refused[0]!, kept[1]!, refused[1]!, kept[2]!];
    expect(await database.write(journal, fence, historyCheckpoint(1, { runs: [run], visibility }))).toEqual({ kind: 'written' });
    const { rows } = await database.list(all);
    expect(new Set(rows.map(({ runId }) => runId))).toEqual(new Set(kept.map(({ runId }) => runId)));
    expect((await database.runs(journal, '', 10, Infinity)).rows.map(({ runId }) => runId)).toEqual([run.runId]);
    expect(new Set(log.errors.map(({ fields }) => fields['runID']))).toEqual(new Set(refused.map(({ runId }) => runId)));
    expect(log.errors[0]?.message).toContain('not listed');
  });

  // Of what is flushed alone it is known then, and a letter is made of it (src/projections/list/visibility-flusher.ts).
  test.each(['flush', 'rewrite'] as const)('a row that an index cannot hold ends a %s, and nothing of it is written', async (how) => {
    const { fence, position } = await database.restore(journal);
    const [kept, refused] = [visibilityRow(), visibilityRow({ workflowId: incompressible })];
    const write = async (...rows: readonly VisibilityRow[]): Promise<string> =>
      how === 'flush'
        ? await database.flush(journal, fence, rows, [])
        : await database.rewrite(journal, fence, position?.nextOffset ?? 0, rows);
    const listed = async (): Promise<readonly string[]> => (await database.list(all)).rows.map(({ runId }) => runId);
    expect(await failureOf(write(kept, refused))).toMatchObject({ code: 'data' });
    expect(await listed()).not.toContain(kept.runId);
    expect(await write(kept)).toBe('flushed');
    expect(await listed()).toContain(kept.runId);
  });

  test('values that an index cannot hold are left out alone: the run is listed, and found by its other attributes', async () => {
    const { fence } = await database.restore(journal);
    const row = visibilityRow({
      slots: new Map<string, string | readonly string[]>([
        ['Keyword01', incompressible],
        ['Keyword02', 'found'],
        ['KeywordList01', ['short', incompressible]],
        ['Text01', `some words and ${incompressible}`],
      ]),
    });
    expect(await database.flush(journal, fence, [row], [])).toBe('flushed');
    const conditions: readonly Condition[] = [
      { kind: 'compare', column: { name: 'Keyword02', kind: 'keyword' }, operator: '=', operand: 'found' },
      { kind: 'compare', column: { name: 'KeywordList01', kind: 'keywordList' }, operator: '=', operand: 'short' },
      { kind: 'compare', column: { name: 'Text01', kind: 'text' }, operator: '=', operand: 'words' },
    ];
    for (const condition of conditions) {
      expect((await database.list({ ...all, condition })).rows.map(({ runId }) => runId)).toContain(row.runId);
    }
    const isSet: Condition = { kind: 'isNull', column: { name: 'Keyword01', kind: 'keyword' }, not: true };
    expect((await database.list({ ...all, condition: isSet })).rows.map(({ runId }) => runId)).not.toContain(row.runId);
  });
});
