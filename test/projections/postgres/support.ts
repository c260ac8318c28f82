import { randomUUID } from 'node:crypto';
import { DatabaseError, type Checkpoint, type HistoryDelta, type RunRow } from '../../../src/projections/database-port.ts';
import { postgresDatabase, type PostgresDatabase } from '../../../src/projections/postgres/postgres-database.ts';
import { silentLogger, type LogFields, type Logger } from '../../../src/observability/logger.ts';
import { emptyDelta } from '../../contract/database/samples.ts';
import type { PostgresOptions } from '../../../src/config/postgres-options.ts';
import type { VisibilityRow } from '../../../src/projections/visibility/row.ts';

/** With its tables there, or the reason why not. */
export async function openedPostgres(options: PostgresOptions, logger = silentLogger): Promise<PostgresDatabase> {
  const database = postgresDatabase(options, logger);
  try {
    await database.prepare();
    return database;
  } catch (error) {
    await database.close();
    throw error;
  }
}

export function capturingLogger(): {
  readonly logger: Logger;
  readonly errors: { readonly message: string; readonly fields: LogFields }[];
} {
  const errors: { readonly message: string; readonly fields: LogFields }[] = [];
  const logger: Logger = { ...silentLogger, error: (message, fields = {}) => void errors.push({ message, fields }), with: () => logger };
  return { logger, errors };
}

/** What was rejected with, which must be the port's own error. */
export async function failureOf(call: Promise<unknown>): Promise<DatabaseError> {
  const outcome = await call.then(
    (value) => value,
    (error: unknown) => error,
  );
  if (outcome instanceof DatabaseError) return outcome;
  throw new Error('expected a DatabaseError', { cause: outcome });
}

export const namespaceId = '11111111-2222-4333-8444-555555555555';

export function runRow(fields: Partial<RunRow> = {}): RunRow {
  const runId = randomUUID();
  return {
    namespaceId,
    workflowId: `workflow ${runId}`,
    runId,
    status: 1,
    state: Buffer.from(`state of ${runId}`),
    forgetMs: undefined,
    ...fields,
  };
}

export function visibilityRow(fields: Partial<VisibilityRow> = {}): VisibilityRow {
  const runId = fields.runId ?? randomUUID();
  return {
    namespaceId,
    runId,
    shard: 1,
    workflowId: `workflow ${runId}`,
    workflowType: 'Order',
    taskQueue: 'orders',
    status: 1,
    startTimeMs: 1_790_000_000_000,
    executionTimeMs: 1_790_000_000_000,
    closeTimeMs: undefined,
    executionDurationMs: undefined,
    historyLength: undefined,
    historySizeBytes: undefined,
    stateTransitionCount: undefined,
    parentWorkflowId: '',
    parentRunId: '',
    rootWorkflowId: '',
    rootRunId: '',
    memo: undefined,
    searchAttributes: undefined,
    slots: new Map(),
    version: 1,
    ...fields,
  };
}

export function historyCheckpoint(nextOffset: number, delta: Partial<HistoryDelta>): Checkpoint {
  const position = { epoch: 1, sequence: nextOffset, nextOffset, lastOffset: nextOffset - 1, timeMs: 1_790_000_000_000, schema: 1 };
  return { kind: 'history', position: { ...position, counters: new Uint8Array([1]), trimPoints: [] }, delta: { ...emptyDelta, ...delta } };
}
