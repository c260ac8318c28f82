import type { Namespace } from '../../cluster/cluster-state.ts';
import { errorText } from '../../kernel/error-text.ts';
import type { Condition } from '../../filter/condition.ts';
import { scheduleIdOf } from '../../schedules/schedule-id.ts';
import { parseQuery, type CheckedQuery, type Listed } from '../../visibility/filter/parse-query.ts';
import { statusName } from '../../visibility/filter/special-values.ts';
import { queryAttributes } from '../../visibility/query-attributes.ts';
import {
  decodeCountWorkflowExecutionsRequest,
  decodeGetSearchAttributesRequest,
  decodeListArchivedWorkflowExecutionsRequest,
  decodeListClosedWorkflowExecutionsRequest,
  decodeListOpenWorkflowExecutionsRequest,
  decodeListWorkflowExecutionsRequest,
  decodeScanWorkflowExecutionsRequest,
  encodeCountWorkflowExecutionsResponse,
  encodeGetSearchAttributesResponse,
  encodeListArchivedWorkflowExecutionsResponse,
  encodeListClosedWorkflowExecutionsResponse,
  encodeListOpenWorkflowExecutionsResponse,
  encodeListWorkflowExecutionsResponse,
  encodeScanWorkflowExecutionsResponse,
  type CountWorkflowExecutionsRequest,
  type CountWorkflowExecutionsResponse,
  type GetSearchAttributesResponse,
  type ListArchivedWorkflowExecutionsRequest,
  type ListWorkflowExecutionsResponse,
} from '../../wire/generated/lean/visibility_service.ts';
import { decodeListBatchOperationsRequest, encodeListBatchOperationsResponse } from '../../wire/generated/lean/batch.ts';
import {
  decodeCountSchedulesRequest,
  decodeListSchedulesRequest,
  encodeCountSchedulesResponse,
  encodeListSchedulesResponse,
  type ListSchedulesRequest,
  type ListSchedulesResponse,
} from '../../wire/generated/lean/schedule.ts';
import { jsonPayload } from '../../wire/json-payload.ts';
import { batchesQuery, batchInfo } from '../batch/listed-batches.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { unary, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { bounds } from '../validation/bounds.ts';
import { closedQuery, openQuery } from './execution-filters.ts';
import { type LeftOut, listedPage, PAGE_BYTES_MAX, rowsAfter } from '../pages/listed-page.ts';
import { listInfoOf, withoutListInfo, withoutScheduleAttributes } from './schedule-fields.ts';

/** `frontend.visibilityMaxPageSize` of Temporal; a page is also as long as nobody asks for less. */
const PAGE_ROWS_MAX = 1_000;

/** Which workflows there are: lists, counts, and what may be asked for. */
export function visibilityMethods(context: HandlerContext): readonly NamedMethod[] {
  const lists = new Lists(context);
  return [
    unary('ListWorkflowExecutions', decodeListWorkflowExecutionsRequest, encodeListWorkflowExecutionsResponse, (request, call) =>
      lists.page(call, request),
    ),
    unary('ScanWorkflowExecutions', decodeScanWorkflowExecutionsRequest, encodeScanWorkflowExecutionsResponse, (request, call) =>
      lists.page(call, request),
    ),
    unary(
      'ListOpenWorkflowExecutions',
      decodeListOpenWorkflowExecutionsRequest,
      encodeListOpenWorkflowExecutionsResponse,
      (request, call) => lists.page(call, { ...request, pageSize: request.maximumPageSize, ...openQuery(request) }),
    ),
    unary(
      'ListClosedWorkflowExecutions',
      decodeListClosedWorkflowExecutionsRequest,
      encodeListClosedWorkflowExecutionsResponse,
      (request, call) => lists.page(call, { ...request, pageSize: request.maximumPageSize, ...closedQuery(request) }),
    ),
    unary(
      'ListArchivedWorkflowExecutions',
      decodeListArchivedWorkflowExecutionsRequest,
      encodeListArchivedWorkflowExecutionsResponse,
      (request, call) => archived(context, request, call),
    ),
    unary('CountWorkflowExecutions', decodeCountWorkflowExecutionsRequest, encodeCountWorkflowExecutionsResponse, (request, call) =>
      lists.count(call, request),
    ),
    unary('ListSchedules', decodeListSchedulesRequest, encodeListSchedulesResponse, (request, call) => schedules(lists, request, call)),
    unary('CountSchedules', decodeCountSchedulesRequest, encodeCountSchedulesResponse, (request, call) =>
      lists.count(call, request, 'schedules'),
    ),
    unary('ListBatchOperations', decodeListBatchOperationsRequest, encodeListBatchOperationsResponse, async (request, call) => {
      const { executions, nextPageToken } = await lists.page(call, { ...request, query: batchesQuery });
      return { operationInfo: executions.map(batchInfo), nextPageToken };
    }),
    unary('GetSearchAttributes', decodeGetSearchAttributesRequest, encodeGetSearchAttributesResponse, () => searchAttributes(context)),
  ];
}

async function schedules(lists: Lists, request: ListSchedulesRequest, call: Call): Promise<ListSchedulesResponse> {
  const page = await lists.page(call, { ...request, pageSize: request.maximumPageSize }, 'schedules');
  const entries = page.executions.map(({ execution, memo, searchAttributes }) => ({
    scheduleId: scheduleIdOf({ workflowId: execution?.workflowId ?? '' }),
    memo: withoutListInfo(memo) ?? noFields,
    searchAttributes: withoutScheduleAttributes(searchAttributes) ?? noFields,
    info: listInfoOf(memo),
  }));
  return { schedules: entries, nextPageToken: page.nextPageToken };
}

const noFields = new Uint8Array(0);

type PageRequest = {
  readonly namespace: string;
  readonly pageSize: number;
  readonly nextPageToken: Uint8Array;
  readonly query: string;
  /** Beside the query. */
  readonly filters?: () => readonly Condition[];
};

const TOLD_MAX = 1_000;

class Lists {
  readonly #context: HandlerContext;
  /** Run ids of rows that are damaged, of which somebody has heard. */
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

  async page(call: Call, request: PageRequest, listed: Listed = 'workflows'): Promise<ListWorkflowExecutionsResponse> {
    const namespace = await this.#context.namespace(call, request.namespace);
    const filters = request.filters?.() ?? [];
    const { id, query } = await this.#checked(call, namespace, request.query, listed);
    const condition = allOf([...(query.condition === undefined ? [] : [query.condition]), ...filters]);
    const { tokens, ports } = this.#context;
    const after = rowsAfter(tokens, request.nextPageToken, id, condition);
    const max = request.pageSize <= 0 ? PAGE_ROWS_MAX : Math.min(request.pageSize, PAGE_ROWS_MAX);
    const { rows } = await this.#context.queries.run(call, id, (asked) =>
      ports.visibility.list({ namespaceId: id, condition, after, max, bytesMax: PAGE_BYTES_MAX, asked }),
    );
    return listedPage(tokens, rows, max, id, condition, this.#leftOut);
  }

  async count(call: Call, request: CountWorkflowExecutionsRequest, listed: Listed = 'workflows'): Promise<CountWorkflowExecutionsResponse> {
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

  async #checked(
    call: Call,
    namespace: Namespace,
    text: string,
    listed: Listed,
  ): Promise<{ readonly id: string; readonly query: CheckedQuery }> {
    let known = namespace;
    let parsed = parsedQuery(known, text, listed);
    if (parsed.kind === 'invalid') {
      // Another process may have added an attribute a moment ago.
      await this.#context.cluster(call, { kind: 'syncCluster' }, namespace.name);
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

function allOf(conditions: readonly Condition[]): Condition | undefined {
  return conditions.length < 2 ? conditions[0] : { kind: 'and', conditions };
}

/** Nothing is archived here, and whoever asks for it is told so, in the words of a Temporal server that was set up without. */
async function archived(context: HandlerContext, request: ListArchivedWorkflowExecutionsRequest, call: Call): Promise<never> {
  await context.namespace(call, request.namespace);
  throw invalidArgument(bounds['ListArchivedWorkflowExecutionsRequest.page_size'].problem(request.pageSize));
}

/** Those that every namespace has: the request names none. */
function searchAttributes({ ports: { cluster } }: HandlerContext): GetSearchAttributesResponse {
  return { keys: new Map([...cluster.systemSearchAttributes, ...cluster.clusterSearchAttributes]) };
}
