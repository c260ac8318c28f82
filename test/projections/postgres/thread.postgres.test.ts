/** PostgreSQL in its thread, as the server has it. */
import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { openPostgres } from '../../../src/projections/postgres/open-postgres.ts';
import { postgresOptions, startPostgres } from '../../postgres/postgres.ts';
import { capturingLogger, failureOf, historyCheckpoint, runRow, visibilityRow } from './support.ts';
import type { LocalPostgres } from '../../postgres/local-postgres.ts';

const journal = { kind: 'history', partition: 0 } as const;

describe.skipIf('missing' in inject('postgres'))('PostgreSQL in a thread', () => {
  let server: LocalPostgres;

  beforeAll(async () => {
    server = await startPostgres();
  });
  afterAll(() => server?.stop());

  test('writes, loads, tells the log what it leaves out; an outage ends calls with words, and the same thread goes on after it', async () => {
    const log = capturingLogger();
    const database = openPostgres(postgresOptions(server), log.logger);
    const { fence } = await database.restore(journal);
    const run = runRow({ state: randomBytes(100_000) });
    const refused = visibilityRow({ workflowType: randomBytes(6_000).toString('hex') });
    const delta = { runs: [run], currentRuns: [run], visibility: [refused] };
    expect(await database.write(journal, fence, historyCheckpoint(1, delta))).toEqual({ kind: 'written' });
    expect(log.errors.map(({ fields }) => fields['runID'])).toEqual([refused.runId]);
    const { rows } = await database.load(journal, [{ kind: 'current', namespaceId: run.namespaceId, workflowId: run.workflowId }]);
    expect(Buffer.compare(rows[0]?.run?.state ?? Buffer.alloc(0), run.state)).toBe(0);

    await server.kill9();
    const failure = await failureOf(database.position(journal));
    expect(failure).toMatchObject({ code: 'unavailable', recoverable: true });
    await server.restart();
    expect((await database.position(journal)).position?.nextOffset).toBe(1);
    await database.close();
    expect((await failureOf(database.position(journal))).code).toBe('closed');
  });

  test('nobody listens when it starts: each call says so, until somebody does', async () => {
    const options = postgresOptions(server);
    await server.shutDown();
    const database = openPostgres(options, capturingLogger().logger);
    expect((await failureOf(database.restore(journal))).message).toContain('is it running');
    await server.restart();
    expect((await database.restore(journal)).fence).toBeGreaterThan(0);
    await database.close();
  });
});
