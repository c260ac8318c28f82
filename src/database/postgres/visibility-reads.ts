/** List and Count: rows of any shard, as they are served. */
import { largeCountSql, listSql } from '../visibility-sql.ts';
import { quoted } from './schema-name.ts';
import type { Asked } from '../../actors/database.ts';
import type { Row } from './connections.ts';
import type { RevocableReads } from './revocable-reads.ts';
import type { Sql } from '../condition-sql.ts';
import type { ListedRow, VisibilityCount, VisibilityList, VisibilityPage } from '../../visibility/row.ts';

const servedColumns = [
  ...['namespace_id', 'run_id', 'shard', 'status', 'start_ms', 'execution_ms', 'close_ms', 'execution_duration_ms', 'history_length'],
  ...['history_size_bytes', 'state_transition_count', 'workflow_id', 'workflow_type', 'task_queue', 'parent_workflow_id', 'parent_run_id'],
  ...['root_workflow_id', 'root_run_id', 'memo', 'search_attributes'],
].join(', ');

export class VisibilityReads {
  readonly #reads: RevocableReads;
  readonly #table: string;

  constructor(reads: RevocableReads, schema: string) {
    this.#reads = reads;
    this.#table = `${quoted(schema)}.visibility`;
  }

  async list(query: VisibilityList): Promise<VisibilityPage> {
    return { rows: (await this.#rows<ListedTuple>(this.#listSql(query), query.asked)).map(listedRow) };
  }

  async count(query: VisibilityCount): Promise<readonly { readonly status: number | undefined; readonly count: number }[]> {
    const rows = await this.#rows<{ readonly status?: number; readonly count: number }>(
      largeCountSql('postgres', this.#table, this.#table, query),
      query.asked,
    );
    return rows.map(({ status, count }) => ({ status, count }));
  }

  /** Rows that have no room stay where they are: a page of them might be larger than our memory. */
  #listSql(query: VisibilityList): Sql {
    if (query.bytesMax === undefined) return listSql('postgres', servedColumns, this.#table, query);
    const { text, parameters } = listSql('postgres', `${servedColumns}, sort_ms`, this.#table, query);
    const order = 'sort_ms DESC, start_ms DESC, run_id DESC';
    const bytes = 'coalesce(octet_length(memo), 0) + coalesce(octet_length(search_attributes), 0)';
    const before = `sum(${bytes}) OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)`;
    return {
      text: `SELECT ${servedColumns} FROM (SELECT *, ${before} AS bytes_before FROM (${text}) AS page) AS summed
        WHERE coalesce(bytes_before, 0) < $${parameters.length + 1} ORDER BY ${order}`,
      parameters: [...parameters, BigInt(query.bytesMax)],
    };
  }

  /** No two filters are alike: none is prepared. */
  #rows<Tuple extends Row>({ text, parameters }: Sql, asked: Asked | undefined): Promise<readonly Tuple[]> {
    return this.#reads.use(asked, async (session) => (await session.query<Tuple>({ text }, parameters)).rows);
  }
}

type ListedTuple = {
  readonly namespace_id: string;
  readonly run_id: string;
  readonly shard: number;
  readonly status: number;
  readonly start_ms: number;
  readonly execution_ms: number;
  readonly close_ms: number | null;
  readonly execution_duration_ms: number | null;
  readonly history_length: number | null;
  readonly history_size_bytes: number | null;
  readonly state_transition_count: number | null;
  readonly workflow_id: string;
  readonly workflow_type: string;
  readonly task_queue: string;
  readonly parent_workflow_id: string | null;
  readonly parent_run_id: string | null;
  readonly root_workflow_id: string | null;
  readonly root_run_id: string | null;
  readonly memo: Uint8Array | null;
  readonly search_attributes: Uint8Array | null;
};

function listedRow(row: ListedTuple): ListedRow {
  return {
    namespaceId: row.namespace_id,
    runId: row.run_id,
    shard: row.shard,
    workflowId: row.workflow_id,
    workflowType: row.workflow_type,
    taskQueue: row.task_queue,
    status: row.status,
    startTimeMs: row.start_ms,
    executionTimeMs: row.execution_ms,
    closeTimeMs: row.close_ms ?? undefined,
    executionDurationMs: row.execution_duration_ms ?? undefined,
    historyLength: row.history_length ?? undefined,
    historySizeBytes: row.history_size_bytes ?? undefined,
    stateTransitionCount: row.state_transition_count ?? undefined,
    parentWorkflowId: row.parent_workflow_id ?? '',
    parentRunId: row.parent_run_id ?? '',
    rootWorkflowId: row.root_workflow_id ?? '',
    rootRunId: row.root_run_id ?? '',
    memo: row.memo ?? undefined,
    searchAttributes: row.search_attributes ?? undefined,
  };
}
