import type { Namespace } from '../../cluster/cluster-state.ts';
import { errorText } from '../../kernel/error-text.ts';
import { nsPerMs, splitInstant } from '../../kernel/instant.ts';
import type { Comparison, Condition, Operand } from '../../filter/condition.ts';
import { columnNamed, queryAttributes } from '../../projections/visibility/columns.ts';
import { scheduleIdOf } from '../../schedules/schedule-id.ts';
import { parseQuery, type Listed } from '../../projections/visibility/filter/parse-query.ts';
import { statusName } from '../../projections/visibility/filter/special-values.ts';
import * as wire from '../../wire/generated/lean/visibility_service.ts';
import { codecs as batchCodecs } from '../../wire/generated/lean/batch.ts';
import { codecs as scheduleCodecs } from '../../wire/generated/lean/schedule.ts';
import { jsonPayload } from '../../wire/json-payload.ts';
import { batchesQuery, batchInfo } from '../batch/listed-batches.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { inNamespace, methodsOf, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { bounds, checkBound } from '../validation/bounds.ts';
import { type LeftOut, listedPage, PAGE_BYTES_MAX, rowsAfter } from '../pages/listed-page.ts';
import { allOf } from '../conditions.ts';
import { listInfoOf, withoutListInfo, withoutScheduleAttributes } from './schedule-fields.ts';

/** `frontend.visibilityMaxPageSize` of Temporal; a page is also as long as nobody asks for less. */
const PAGE_ROWS_MAX = 1_000;

export function visibilityMethods(context: HandlerContext): readonly NamedMethod[] {
  const lists = new Lists(context);
  const ofWorkflows = methodsOf(wire.codecs, {
    ListWorkflowExecutions: (_, request, call) => lists.page(call, request),
    ScanWorkflowExecutions: (_, request, call) => lists.page(call, request),
    ListOpenWorkflowExecutions: (_, request, call) =>
      lists.page(call, { ...request, pageSize: request.maximumPageSize, ...openQuery(request) }),
    ListClosedWorkflowExecutions: (_, request, call) =>
      lists.page(call, { ...request, pageSize: request.maximumPageSize, ...closedQuery(request) }),
    /** Nothing is archived here, and whoever asks for it is told so, in the words of a Temporal server that was set up without. */
    ListArchivedWorkflowExecutions: inNamespace((_, { pageSize }) => {
      throw invalidArgument(bounds['ListArchivedWorkflowExecutionsRequest.page_size'].problem(pageSize));
    }),
    CountWorkflowExecutions: (_, request, call) => lists.count(call, request),
    /** The attributes that every namespace has: the request names none. */
    GetSearchAttributes: ({ ports: { cluster } }) => ({
      keys: new Map([...cluster.systemSearchAttributes, ...cluster.clusterSearchAttributes]),
    }),
  });
  const ofSchedules = methodsOf(scheduleCodecs, {
    ListSchedules: async (_, request, call) => {
      const { executions, nextPageToken } = await lists.page(call, { ...request, pageSize: request.maximumPageSize }, 'schedules');
      const schedules = executions.map(({ execution, memo, searchAttributes }) => ({
        scheduleId: scheduleIdOf({ workflowId: execution?.workflowId ?? '' }),
        memo: withoutListInfo(memo) ?? noFields,
        searchAttributes: withoutScheduleAttributes(searchAttributes) ?? noFields,
        info: listInfoOf(memo),
      }));
      return { schedules, nextPageToken };
    },
    CountSchedules: (_, request, call) => lists.count(call, request, 'schedules'),
  });
  const ofBatches = methodsOf(batchCodecs, {
    ListBatchOperations: async (_, request, call) => {
      const { executions, nextPageToken } = await lists.page(call, { ...request, query: batchesQuery });
      return { operationInfo: executions.map(batchInfo), nextPageToken };
    },
  });
  return [...ofWorkflows(context), ...ofSchedules(context), ...ofBatches(context)];
}

const noFields = new Uint8Array(0);

type PageRequest = {
  readonly namespace: string;
  readonly pageSize: number;
  readonly nextPageToken: Uint8Array;
  readonly query: string;
  readonly filters?: () => readonly Condition[];
};

const TOLD_MAX = 1_000;

class Lists {
  readonly #context: HandlerContext;
  /** Run ids of damaged rows that were logged. */
  readonly #told = new Set<string>();

  constructor(context: HandlerContext) {
    this.#context = context;
  }

  readonly #leftOut: LeftOut = ({ namespaceId, workflowId, runId }, part, error) => {
    if (this.#told.has(runId) || this.#told.size >= TOLD_MAX) return;
    this.#told.add(runId);
    const fields = { namespaceId, workflowId, runId, part, reason: errorText(error) };
    this.#context.ports.logger.error('a part of a workflow’s row of List cannot be read: it is listed without it', fields);
  };

  async page(call: Call, request: PageRequest, listed: Listed = 'workflows'): Promise<wire.ListWorkflowExecutionsResponse> {
    const namespace = await this.#context.namespace(call, request.namespace);
    const filters = request.filters?.() ?? [];
    const { id, query } = await this.#checked(call, namespace, request.query, listed);
    const condition = allOf(query.condition, ...filters);
    const { tokens, ports } = this.#context;
    const after = rowsAfter(tokens, request.nextPageToken, id, condition);
    const max = request.pageSize <= 0 ? PAGE_ROWS_MAX : Math.min(request.pageSize, PAGE_ROWS_MAX);
    const { rows } = await this.#context.queries.run(call, id, (asked) =>
      ports.visibility.list({ namespaceId: id, condition, after, max, bytesMax: PAGE_BYTES_MAX, asked }),
    );
    return listedPage(tokens, rows, max, id, condition, this.#leftOut);
  }

  async count(
    call: Call,
    request: wire.CountWorkflowExecutionsRequest,
    listed: Listed = 'workflows',
  ): Promise<wire.CountWorkflowExecutionsResponse> {
    const namespace = await this.#context.namespace(call, request.namespace);
    const { id, query } = await this.#checked(call, namespace, request.query, listed);
    const { ports } = this.#context;
    const counts = await this.#context.queries.run(call, id, (asked) => ports.visibility.count({ namespaceId: id, ...query, asked }));
    const count = counts.reduce((sum, each) => sum + each.count, 0);
    if (!query.byStatus) return { count, groups: [] };
    const byStatus = counts.toSorted((a, b) => (a.status ?? 0) - (b.status ?? 0));
    return {
      count,
      groups: byStatus.map((each) => ({ groupValues: [jsonPayload(statusName(BigInt(each.status ?? 0)), 'Keyword')], count: each.count })),
    };
  }

  async #checked(call: Call, namespace: Namespace, text: string, listed: Listed) {
    let known = namespace;
    let parsed = parsedQuery(known, text, listed);
    if (parsed.kind === 'invalid') {
      // Another process may have added an attribute a moment ago.
      await this.#context.cluster(call, namespace.name, { kind: 'syncCluster' });
      known = await this.#context.namespace(call, namespace.name);
      parsed = parsedQuery(known, text, listed);
    }
    if (parsed.kind === 'invalid') throw invalidArgument(parsed.message);
    return { id: known.id, query: parsed };
  }
}

function parsedQuery({ searchAttributeTypes: types, searchAttributeSlots: slots }: Namespace, text: string, listed: Listed) {
  return parseQuery(text, queryAttributes({ types, slots }), listed);
}

// ── What ListOpen and ListClosed filter by ─────────────────────────────────────────────────────────────────────────────────────

/** A query, and conditions beside it: names of strangers are operands, never a query's text. */
type FilteredQuery = {
  readonly query: string;
  readonly filters: () => readonly Condition[];
};

function openQuery(request: wire.ListOpenWorkflowExecutionsRequest): FilteredQuery {
  return {
    query: `ExecutionStatus = 'Running'`,
    filters: () => [...within('StartTime', request.startTimeFilter), ...named(request)],
  };
}

/** The time filter is on the close here, whatever its name. */
function closedQuery(request: wire.ListClosedWorkflowExecutionsRequest): FilteredQuery {
  return {
    query: `ExecutionStatus != 'Running'`,
    filters: () => [...within('CloseTime', request.startTimeFilter), ...named(request), ...ofStatus(request)],
  };
}

/** What Go takes for no time at all. */
const zeroTimeNs = BigInt(Date.parse('0001-01-01T00:00:00Z')) * nsPerMs;

/** The times of runs are whole milliseconds: the first from `earliest` on, the last up to `latest`. */
function within(column: string, filter: wire.StartTimeFilter | undefined): readonly Condition[] {
  const earliest = moment('StartTimeFilter.earliest_time', filter?.earliestTimeNs);
  const latest = moment('StartTimeFilter.latest_time', filter?.latestTimeNs);
  if (earliest !== undefined && latest !== undefined && earliest > latest) {
    throw invalidArgument('EarliestTime in StartTimeFilter should not be larger than LatestTime.');
  }
  return [
    ...(earliest === undefined ? [] : [compared(column, '>=', firstMsFrom(earliest))]),
    ...(latest === undefined ? [] : [compared(column, '<=', Number(splitInstant(latest).ms))]),
  ];
}

function firstMsFrom(instant: bigint): number {
  const { ms, part } = splitInstant(instant);
  return Number(part === 0n ? ms : ms + 1n);
}

function moment(field: Parameters<typeof checkBound>[0], ns: bigint | undefined): bigint | undefined {
  if (ns === undefined) return undefined;
  checkBound(field, Number(splitInstant(ns).ms));
  return ns === zeroTimeNs ? undefined : ns;
}

function named({
  executionFilter,
  typeFilter,
}: Pick<wire.ListOpenWorkflowExecutionsRequest, 'executionFilter' | 'typeFilter'>): readonly Condition[] {
  const conditions: Condition[] = [];
  if (executionFilter !== undefined) {
    conditions.push(compared('WorkflowId', '=', executionFilter.workflowId));
    if (executionFilter.runId !== '') conditions.push(compared('RunId', '=', executionFilter.runId));
  }
  if (typeFilter !== undefined) conditions.push(compared('WorkflowType', '=', typeFilter.name));
  return conditions;
}

function ofStatus({ statusFilter }: wire.ListClosedWorkflowExecutionsRequest): readonly Condition[] {
  if (statusFilter === undefined) return [];
  checkBound('StatusFilter.status', statusFilter.status);
  return [compared('ExecutionStatus', '=', statusFilter.status)];
}

function compared(name: string, operator: Comparison, operand: Operand): Condition {
  return { kind: 'compare', column: columnNamed(name), operator, operand };
}
