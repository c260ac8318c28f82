/** What workers say of themselves once a minute, and who asks for it. Nothing here is journaled: `src/workers`. */
import {
  decodeCountWorkersRequest,
  decodeDescribeWorkerRequest,
  decodeListWorkersRequest,
  decodeRecordWorkerHeartbeatRequest,
  decodeWorkerHeartbeat,
  encodeCountWorkersResponse,
  encodeDescribeWorkerResponse,
  encodeListWorkersResponse,
  encodeRecordWorkerHeartbeatResponse,
  type CountWorkersRequest,
  type CountWorkersResponse,
  type DescribeWorkerRequest,
  type DescribeWorkerResponse,
  type ListWorkersRequest,
  type ListWorkersResponse,
  type WorkerListInfo,
} from '../../wire/generated/lean/worker.ts';
import type { Namespace } from '../../cluster/cluster-state.ts';
import { isSystemWorker, type Worker } from '../../workers/worker.ts';
import { parseWorkerFilter, type WorkerFilter } from '../../workers/worker-filter.ts';
import { notFound } from '../errors/details.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { HandlerContext } from '../handler-context.ts';
import { unary, type NamedMethod } from '../method.ts';
import type { Call } from '../transport/call.ts';
import { Turns } from '../turns.ts';
import { recordHeartbeats } from './worker-heartbeats.ts';

const pageSizeMax = 1_000;
/** What a page carries of heartbeats; clients receive 4 MiB. */
const pageBytesMax = 3 * 1024 * 1024;

export function workerMethods(context: HandlerContext): readonly NamedMethod[] {
  return [
    unary('RecordWorkerHeartbeat', decodeRecordWorkerHeartbeatRequest, encodeRecordWorkerHeartbeatResponse, (request, call) =>
      recordHeartbeats(context, request, call),
    ),
    unary('ListWorkers', decodeListWorkersRequest, encodeListWorkersResponse, (request, call) => list(context, request, call)),
    unary('CountWorkers', decodeCountWorkersRequest, encodeCountWorkersResponse, (request, call) => count(context, request, call)),
    unary('DescribeWorker', decodeDescribeWorkerRequest, encodeDescribeWorkerResponse, (request, call) => describe(context, request, call)),
  ];
}

/** By their keys; those without a page size come all at once, as far as a client can receive them. */
async function list(context: HandlerContext, request: ListWorkersRequest, call: Call): Promise<ListWorkersResponse> {
  const namespace = await context.namespace(call, request.namespace);
  const { pageSize, nextPageToken: token, includeSystemWorkers } = request;
  const after = token.length === 0 ? undefined : context.tokens.readWorkerPage(token).afterName;
  const found = await matching(context, namespace, filterOf(request.query), includeSystemWorkers);
  const rest = found
    .filter(({ fields }) => after === undefined || fields.instanceKey > after)
    .toSorted((a, b) => (a.fields.instanceKey < b.fields.instanceKey ? -1 : 1));
  const page = pageOf(rest, pageSize > 0 ? Math.min(pageSize, pageSizeMax) : Infinity);
  const last = page.at(-1)?.fields.instanceKey;
  return {
    workersInfo: page.map(({ heartbeat }) => ({ workerHeartbeat: heartbeat })),
    workers: page.map(listInfo),
    nextPageToken: last === undefined || page.length === rest.length ? new Uint8Array(0) : context.tokens.workerPage({ afterName: last }),
  };
}

async function count(context: HandlerContext, request: CountWorkersRequest, call: Call): Promise<CountWorkersResponse> {
  const namespace = await context.namespace(call, request.namespace);
  const found = await matching(context, namespace, filterOf(request.query), request.includeSystemWorkers);
  return { count: found.length };
}

async function describe(context: HandlerContext, request: DescribeWorkerRequest, call: Call): Promise<DescribeWorkerResponse> {
  const namespace = await context.namespace(call, request.namespace);
  const found = context.ports.workers.registry.find(namespace.id, request.workerInstanceKey, context.monoMs());
  if (found === undefined) throw notFound(`Worker ${request.workerInstanceKey} not found`);
  return { workerInfo: { workerHeartbeat: found.heartbeat } };
}

function filterOf(query: string): WorkerFilter {
  const parsed = parseWorkerFilter(query);
  if ('problem' in parsed) throw invalidArgument(parsed.problem);
  return parsed.filter;
}

/** There may be many: others have their turns between them. */
async function matching(
  context: HandlerContext,
  namespace: Namespace,
  filter: WorkerFilter,
  systemToo: boolean,
): Promise<readonly Worker[]> {
  const turns = new Turns();
  const found: Worker[] = [];
  for (const worker of context.ports.workers.registry.workersOf(namespace.id, context.monoMs())) {
    await turns.next();
    if ((systemToo || !isSystemWorker(worker)) && filter(worker.fields)) found.push(worker);
  }
  return found;
}

/** At least one. Each stands there twice, whole and in short. */
function pageOf(workers: readonly Worker[], sizeMax: number): readonly Worker[] {
  let bytes = 0;
  let size = 0;
  for (const { heartbeat } of workers) {
    bytes += 2 * heartbeat.length;
    if (size === sizeMax || (size > 0 && bytes > pageBytesMax)) break;
    size += 1;
  }
  return workers.slice(0, size);
}

function listInfo({ heartbeat: bytes }: Worker): WorkerListInfo {
  const heartbeat = decodeWorkerHeartbeat(bytes);
  const { workerInstanceKey, workerIdentity, taskQueue, deploymentVersion, sdkName, sdkVersion, status, startTimeMs } = heartbeat;
  return {
    ...{ workerInstanceKey, workerIdentity, taskQueue, deploymentVersion, sdkName, sdkVersion, status, startTimeMs },
    hostName: heartbeat.hostInfo?.hostName ?? '',
    workerGroupingKey: heartbeat.hostInfo?.workerGroupingKey ?? '',
    processId: heartbeat.hostInfo?.processId ?? '',
    plugins: heartbeat.plugins,
    drivers: heartbeat.drivers,
  };
}
