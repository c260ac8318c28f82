import { codecs, decodeWorkerHeartbeat, type ListWorkersRequest, type WorkerListInfo } from '../../wire/generated/lean/worker.ts';
import type { Namespace } from '../../cluster/cluster-state.ts';
import { isSystemWorker, type Worker } from '../../workers/worker.ts';
import { parseWorkerFilter, type WorkerFilter } from '../../workers/worker-filter.ts';
import { notFound } from '../errors/details.ts';
import { invalidArgument } from '../errors/status-error.ts';
import type { Turns } from '../computing-calls.ts';
import type { HandlerContext } from '../handler-context.ts';
import { inNamespace, methodsOf } from '../method.ts';
import { recordHeartbeats } from './worker-heartbeats.ts';

const pageSizeMax = 1_000;
/** Workers of a page whose size nobody says: written at once, more would keep others waiting. */
const pageWorkersMax = 10_000;
/** What a page carries of heartbeats; clients receive 4 MiB. */
const pageBytesMax = 3 * 1024 * 1024;
/** Workers that are looked at as they are at one moment. */
const workersAtOnce = 1_000;

export const workerMethods = methodsOf(codecs, {
  RecordWorkerHeartbeat: inNamespace(recordHeartbeats),
  /** In the order of their keys; without a page size they come all at once, as far as a client can receive them and a moment's work goes. */
  ListWorkers: inNamespace(async (context, request, call, namespace) => {
    const { pageSize, nextPageToken: token } = request;
    const after = token.length === 0 ? undefined : context.tokens.workerPage.read(token).afterName;
    const page = new Page(pageSize > 0 ? Math.min(pageSize, pageSizeMax) : pageWorkersMax);
    let isLast = true;
    await context.computing.run(call, namespace.id, async (turns) => {
      for await (const worker of matching(context, turns, namespace, request, after)) {
        isLast = page.take(worker);
        if (!isLast) break;
      }
    });
    const last = page.workers.at(-1)?.workerInstanceKey;
    return {
      workersInfo: page.heartbeats.map((workerHeartbeat) => ({ workerHeartbeat })),
      workers: page.workers,
      nextPageToken: last === undefined || isLast ? new Uint8Array(0) : context.tokens.workerPage.sign({ afterName: last }),
    };
  }),
  CountWorkers: inNamespace(async (context, request, call, namespace) => {
    let found = 0;
    await context.computing.run(call, namespace.id, async (turns) => {
      for await (const _ of matching(context, turns, namespace, request, undefined)) found++;
    });
    return { count: found };
  }),
  DescribeWorker: inNamespace(async (context, request, call, namespace) => {
    const found = context.ports.workers.registry.find(namespace.id, request.workerInstanceKey, context.monoMs());
    if (found === undefined) throw notFound(`Worker ${request.workerInstanceKey} not found`);
    return { workerInfo: { workerHeartbeat: found.heartbeat } };
  }),
});

function filterOf(query: string): WorkerFilter {
  const parsed = parseWorkerFilter(query);
  if ('problem' in parsed) throw invalidArgument(parsed.problem);
  return parsed.filter;
}

type Wanted = Pick<ListWorkersRequest, 'query' | 'includeSystemWorkers'>;

/** There may be many: others have their turns between them, and they come and go meanwhile. */
async function* matching(
  context: HandlerContext,
  turns: Turns,
  namespace: Namespace,
  { query, includeSystemWorkers }: Wanted,
  after: string | undefined,
): AsyncGenerator<Worker, void> {
  const filter = filterOf(query);
  let last = after;
  for (;;) {
    const some = context.ports.workers.registry.workersAfter(namespace.id, last, workersAtOnce, context.monoMs());
    for (const worker of some) {
      await turns.next();
      if ((includeSystemWorkers || !isSystemWorker(worker)) && filter(worker.fields)) yield worker;
    }
    if (some.length < workersAtOnce) return;
    last = some.at(-1)?.fields.instanceKey;
  }
}

/** One at least. Each stands in it twice, whole and in short. It is read as it is taken, so others have turns. */
class Page {
  readonly heartbeats: Uint8Array[] = [];
  readonly workers: WorkerListInfo[] = [];
  readonly #sizeMax: number;
  #bytes = 0;

  constructor(sizeMax: number) {
    this.#sizeMax = sizeMax;
  }

  /** False: it is of the next page. */
  take(worker: Worker): boolean {
    const { length } = this.workers;
    this.#bytes += 2 * worker.heartbeat.length;
    if (length === this.#sizeMax || (length > 0 && this.#bytes > pageBytesMax)) return false;
    this.heartbeats.push(worker.heartbeat);
    this.workers.push(listInfo(worker));
    return true;
  }
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
