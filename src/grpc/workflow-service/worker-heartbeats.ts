/** What workers say of themselves once a minute, and when they shut down. Nothing of it is journaled: `src/workers`. */
import type { Namespace } from '../../cluster/cluster-state.ts';
import type { Worker } from '../../workers/worker.ts';
import { WorkerStatus } from '../../wire/generated/lean/enums.ts';
import { decodeWorkerHeartbeat, type RecordWorkerHeartbeatRequest } from '../../wire/generated/lean/worker.ts';
import { requestLimits } from '../../wire/wire-limits.ts';
import { invalidArgument, StatusError } from '../errors/status-error.ts';
import type { Turns } from '../computing-calls.ts';
import type { HandlerContext } from '../handler-context.ts';
import type { Call } from '../transport/call.ts';
import { checkLength, type EdgeLimits } from '../validation/names.ts';
import { checkOpaque } from '../validation/opaque.ts';
import { decodedWithin } from '../validation/request-limits.ts';

/** A worker with a hundred plugins sends 8 KiB. */
const heartbeatBytesMax = 64 * 1024;
/** Heartbeats of one request that are read in one turn: the workers of a process send theirs together. */
const heardAtOnceMax = 8;

const statusNames: ReadonlyMap<number, string> = new Map([
  [WorkerStatus.UNSPECIFIED, 'Unspecified'],
  [WorkerStatus.RUNNING, 'Running'],
  [WorkerStatus.SHUTTING_DOWN, 'ShuttingDown'],
  [WorkerStatus.SHUTDOWN, 'Shutdown'],
]);

/** All of a request are kept, or none. */
export async function recordHeartbeats(
  context: HandlerContext,
  request: RecordWorkerHeartbeatRequest,
  call: Call,
  namespace: Namespace,
): Promise<Record<string, never>> {
  checkLength(request.identity, 'Identity', context.limits);
  const { workerHeartbeat: sent } = request;
  if (sent.length <= heardAtOnceMax) hear(context, namespace, sent);
  else await context.computing.run(call, namespace.id, (turns) => hearInTurns(context, namespace, sent, turns));
  return {};
}

function hear(context: HandlerContext, namespace: Namespace, sent: readonly Uint8Array[]): void {
  for (const one of sent.map((bytes) => heartbeatOf(bytes, context.limits))) keep(context, namespace, one);
}

/** Thousands may come at once: others have their turns between them. What cannot be understood is found before any is kept. */
async function hearInTurns(context: HandlerContext, namespace: Namespace, sent: readonly Uint8Array[], turns: Turns): Promise<void> {
  const heard: Heard[] = [];
  for (const bytes of sent) {
    await turns.next();
    heard.push(heartbeatOf(bytes, context.limits));
  }
  for (const one of heard) {
    await turns.next();
    keep(context, namespace, one);
  }
}

/** A heartbeat that came with another request. It is told by the way: that request is not refused for it. */
export function recordAside(context: HandlerContext, namespace: Namespace, bytes: Uint8Array | undefined): void {
  if (bytes === undefined) return;
  try {
    keep(context, namespace, heartbeatOf(bytes, context.limits));
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    context.ports.logger.warn('a heartbeat of a worker was not understood', { namespace: namespace.name, error: error.message });
  }
}

type Heard = { readonly worker: Worker; readonly isShutDown: boolean };

function keep(context: HandlerContext, namespace: Namespace, { worker, isShutDown }: Heard): void {
  const { workers } = context.ports;
  if (!workers.isEnabled(namespace.name)) return;
  if (isShutDown) workers.registry.remove(namespace.id, worker.fields.instanceKey);
  else workers.registry.record(namespace.id, worker, context.monoMs());
}

function heartbeatOf(bytes: Uint8Array, limits: EdgeLimits): Heard {
  if (bytes.length > heartbeatBytesMax) throw invalidArgument('WorkerHeartbeat size exceeds limit.');
  checkOpaque(bytes, 'workerHeartbeat');
  const heartbeat = decodedWithin(requestLimits, decodeWorkerHeartbeat, bytes);
  checkLength(heartbeat.workerInstanceKey, 'WorkerInstanceKey', limits);
  const fields = {
    instanceKey: heartbeat.workerInstanceKey,
    identity: heartbeat.workerIdentity,
    hostName: heartbeat.hostInfo?.hostName ?? '',
    taskQueue: heartbeat.taskQueue,
    deploymentName: heartbeat.deploymentVersion?.deploymentName ?? '',
    buildId: heartbeat.deploymentVersion?.buildId ?? '',
    sdkName: heartbeat.sdkName,
    sdkVersion: heartbeat.sdkVersion,
    status: statusNames.get(heartbeat.status) ?? String(heartbeat.status),
    startTimeMs: heartbeat.startTimeMs,
    heartbeatTimeMs: heartbeat.heartbeatTimeMs,
  };
  return { worker: { fields, heartbeat: bytes }, isShutDown: heartbeat.status === WorkerStatus.SHUTDOWN };
}
