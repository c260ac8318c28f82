import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { BatchOperations } from '../actors/batch-operations.ts';
import { adminService, adminServiceName } from './admin-service/admin-service.ts';
import type { Host } from './admin-service/host.ts';
import { deadLetterService, deadLetterServiceName } from './deadletter-service/deadletter-service.ts';
import { HandlerContext } from './handler-context.ts';
import { Health, healthService } from './health/health-service.ts';
import { callLog } from './interceptors/call-log.ts';
import { clientVersions } from './interceptors/client-versions.ts';
import { serviceMetrics } from './interceptors/service-metrics.ts';
import { servingGate } from './interceptors/serving-gate.ts';
import { operatorService, operatorServiceName } from './operator-service/operator-service.ts';
import { declaredMethods } from '../wire/generated/declared-methods.ts';
import type { FrontendPorts } from './ports.ts';
import { startGrpcServer } from './transport/grpc-server.ts';
import { defaultTransportLimits, type TransportLimits } from './transport/limits.ts';
import { workflowService, workflowServiceName } from './workflow-service/workflow-service.ts';

export type FrontendOptions = {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly ports: FrontendPorts;
  /** Which process this is, for `GET /health`; '' when nobody asks. */
  readonly instance?: string;
  readonly limits?: TransportLimits;
  /** False: calls are answered UNAVAILABLE until `setServing(true)`. */
  readonly serving?: boolean;
};

export type Frontend = {
  readonly port: number;
  setServing(serving: boolean): void;
  /** What shards have done to workflows for batch jobs. */
  batchOperations(): Promise<BatchOperations>;
  /** A namespace was deleted: calls that wait in it end as if nothing had come. Cheap where there are none. */
  endWaitsOfDeleted(): void;
  /** Long polls of histories end at once, polls of task queues when their hosts end them, calls have `graceMs`; then the port is closed. Idempotent. */
  stop(graceMs: number): Promise<void>;
};

/** The first is what Temporal's server calls it in health checks; no such service is there. */
const adminServiceNames = ['temporal.api.adminservice.v1.AdminService', adminServiceName];

/** The frontend's port: WorkflowService, OperatorService, AdminService and health. Rejects when the port cannot be had. */
export async function startFrontend(options: FrontendOptions): Promise<Frontend> {
  const { ports } = options;
  const context = new HandlerContext(ports);
  const health = new Health({
    services: [workflowServiceName, operatorServiceName, ...adminServiceNames, deadLetterServiceName],
    admitting: options.serving ?? true,
    condition: ports.condition,
    state: ports.state,
  });
  const startedTimeMs = ports.clock.wallMs();
  const id = randomUUID();
  let { port } = options;
  const host = (): Host => ({ name: isEverywhere(options.host) ? hostname() : options.host, port, id, startedTimeMs });
  const workflows = workflowService(context);
  let batches: Promise<BatchOperations> | undefined;
  const loadBatches = async (): Promise<BatchOperations> =>
    new (await import('./batch/edge-batch-operations.ts')).EdgeBatchOperations(context, workflows);
  const server = await startGrpcServer({
    host: options.host,
    port: options.port,
    services: [workflows, operatorService(context), adminService(context, host), deadLetterService(context), healthService(health)],
    declared: declaredMethods,
    interceptors: [
      ...(ports.metrics === undefined ? [] : [serviceMetrics(ports.metrics, declaredMethods)]),
      clientVersions(ports.server.version),
      servingGate(health),
      callLog(ports.logger, ports.clock),
    ],
    ...(ports.metrics === undefined ? {} : { metrics: ports.metrics }),
    limits: options.limits ?? defaultTransportLimits,
    logger: ports.logger,
    health: () => health.report(),
    state: () => health.stateReport(),
    actions: new Map([['/visibility/rebuild', async () => ({ shards: await ports.rebuildList() })]]),
    instance: options.instance ?? '',
  });
  port = server.port;
  return {
    port,
    batchOperations: () => (batches ??= loadBatches()),
    setServing: (serving) => health.setAdmitting(serving),
    endWaitsOfDeleted: () => context.endWaitsOfDeleted(),
    stop: async (graceMs) => {
      health.setAdmitting(false);
      context.drain();
      const timer = setTimeout(() => context.endPolls(), graceMs / 2);
      await server.stop(graceMs);
      clearTimeout(timer);
    },
  };
}

/** Nobody can be reached there. */
function isEverywhere(host: string): boolean {
  return host === '' || host === '::' || host === '0.0.0.0';
}
