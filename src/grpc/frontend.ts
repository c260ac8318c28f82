import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { BatchOperations } from '../ports/batch-operations.ts';
import { adminService } from './admin-service/admin-service.ts';
import type { Host } from './admin-service/admin-context.ts';
import { deadLetterService } from './deadletter-service/deadletter-service.ts';
import { HandlerContext } from './handler-context.ts';
import { Health, healthPages, healthService, servingGate } from './health/health-service.ts';
import { callLog } from './interceptors/call-log.ts';
import { clientVersions } from './interceptors/client-versions.ts';
import { serviceMetrics } from './interceptors/service-metrics.ts';
import { operatorService } from './operator-service/operator-service.ts';
import type { FrontendPorts } from './ports.ts';
import { rebuildList } from './rebuild-list.ts';
import { adminRpcs } from './rpcs/admin-rpcs.ts';
import { deadLetterRpcs } from './rpcs/dead-letter-rpcs.ts';
import { operatorRpcs } from './rpcs/operator-rpcs.ts';
import { workflowRpcs } from './rpcs/workflow-rpcs.ts';
import { Gate } from './transport/gate.ts';
import { startListener, type Listener } from './transport/listener.ts';
import { jsonAnswer, page } from './transport/plain-http.ts';
import { defaultTransportLimits, type TransportLimits } from './transport/transport-limits.ts';
import { workflowService } from './workflow-service/workflow-service.ts';

export type FrontendOptions = {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  readonly ports: FrontendPorts;
  /** Which process this is, for `GET /health`; '' when nobody asks. */
  readonly instance?: string;
  readonly limits?: TransportLimits;
  /** Stands beside the frontend's own listener: begins before it, and ends behind it. */
  readonly beside?: Listener | undefined;
  /** False: calls are answered UNAVAILABLE until `setServing(true)`. */
  readonly serving?: boolean;
};

export type Frontend = {
  readonly port: number;
  readonly portBeside: number | undefined;
  setServing(serving: boolean): void;
  /** What shards have done to workflows for batch jobs. */
  batchOperations(): Promise<BatchOperations>;
  /** A namespace was deleted: calls that wait in it end as if nothing had come. Cheap where there are none. */
  endWaitsOfDeleted(): void;
  /** Long polls of histories end at once, polls of task queues when their hosts end them, calls have `graceMs`; then the port is closed. Idempotent. */
  stop(graceMs: number): Promise<void>;
};

/** What Temporal's server calls AdminService in health checks; no such service is there. */
const adminServiceInHealth = 'temporal.api.adminservice.v1.AdminService';

/** The frontend's port: WorkflowService, OperatorService, AdminService and health. Rejects when the port cannot be had. */
export async function startFrontend(options: FrontendOptions): Promise<Frontend> {
  const { ports } = options;
  const context = new HandlerContext(ports);
  const health = new Health({
    services: [...[workflowRpcs, operatorRpcs, adminRpcs, deadLetterRpcs].map(({ name }) => name), adminServiceInHealth],
    admitting: options.serving ?? true,
    condition: ports.condition,
    state: ports.state,
  });
  const startedTimeMs = ports.clock.wallMs();
  const id = randomUUID();
  let { port } = options;
  const host = (): Host => ({ name: isEverywhere(options.host) ? hostname() : options.host, port, id, startedTimeMs });
  const workflows = workflowService(context);
  const gate = gateOf(ports, health);
  let batches: Promise<BatchOperations> | undefined;
  const loadBatches = async (): Promise<BatchOperations> =>
    (await import('./batch/edge-batch-operations.ts')).edgeBatchOperations(context, workflows, gate);
  const listener: Listener = {
    role: 'frontend',
    host: options.host,
    port: options.port,
    services: [workflows, operatorService(context), adminService(context, host), deadLetterService(context), healthService(health)],
    pages: [...healthPages(health), page('POST /visibility/rebuild', async () => jsonAnswer(200, { shards: await rebuildList(ports) }))],
    limits: options.limits ?? defaultTransportLimits,
  };
  const parts = { ...ports, gate, instance: options.instance ?? '' };
  const beside = options.beside && (await startListener(options.beside, parts));
  const server = await startListener(listener, parts).catch(async (error: unknown) => {
    await beside?.stop(0);
    throw error;
  });
  port = server.port;
  return {
    port,
    portBeside: beside?.port,
    batchOperations: () => (batches ??= loadBatches()),
    setServing: (serving) => health.setAdmitting(serving),
    endWaitsOfDeleted: () => context.endWaitsOfDeleted(),
    stop: async (graceMs) => {
      health.setAdmitting(false);
      context.drain();
      const timer = setTimeout(() => context.endPolls(), graceMs / 2);
      await server.stop(graceMs);
      clearTimeout(timer);
      await beside?.stop(0);
    },
  };
}

function gateOf({ metrics, server, logger, clock }: FrontendPorts, health: Health): Gate {
  const interceptors = [
    ...(metrics === undefined ? [] : [serviceMetrics(metrics)]),
    clientVersions(server.version),
    servingGate(health),
    callLog(logger, clock),
  ];
  return new Gate(interceptors, logger);
}

/** Nobody can be reached there. */
function isEverywhere(host: string): boolean {
  return host === '' || host === '::' || host === '0.0.0.0';
}
