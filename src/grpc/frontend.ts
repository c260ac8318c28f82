import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { BatchOperations } from '../ports/batch-operations.ts';
import { portRoles, type PortRole, type RolePort } from '../config/role-ports.ts';
import { adminService } from './admin-service/admin-service.ts';
import type { Host } from './admin-service/admin-context.ts';
import { deadLetterService } from './deadletter-service/deadletter-service.ts';
import { HandlerContext } from './handler-context.ts';
import { Health, healthPages, healthService, servingGate, statePage } from './health/health-service.ts';
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
import { startListener, type Listener, type ListenerParts, type RunningListener } from './transport/listener.ts';
import { jsonAnswer, page } from './transport/plain-http.ts';
import { defaultTransportLimits, type TransportLimits } from './transport/transport-limits.ts';
import { workflowService } from './workflow-service/workflow-service.ts';

export type FrontendOptions = {
  readonly host: string;
  readonly port: number;
  readonly ports: FrontendPorts;
  /** Which process this is, for `GET /health`; '' when nobody asks. */
  readonly instance?: string;
  readonly limits?: TransportLimits;
  /** Begins before the frontend's own listener, and ends behind it. */
  readonly scrape?: Listener | undefined;
  readonly rolePorts?: Readonly<Partial<Record<PortRole, RolePort>>> | undefined;
  /** Whose partitions count on the port of a role. */
  readonly topics?: Readonly<Record<PortRole, string>>;
  /** False: calls are answered UNAVAILABLE until `setServing(true)`. */
  readonly serving?: boolean;
};

export type Frontend = {
  readonly port: number;
  readonly metricsPort: number | undefined;
  readonly rolePorts: Readonly<Partial<Record<PortRole, number | undefined>>>;
  setServing(serving: boolean): void;
  batchOperations(): Promise<BatchOperations>;
  /** A namespace was deleted: calls that wait in it end as if nothing had come. Cheap where there are none. */
  endWaitsOfDeleted(): void;
  /** Long polls of histories end at once, polls of task queues when their hosts end them, calls have `graceMs`; then the port is closed. Idempotent. */
  stop(graceMs: number): Promise<void>;
};

/** What Temporal's server calls AdminService in health checks; no such service is there. */
const adminServiceInHealth = 'temporal.api.adminservice.v1.AdminService';

/** The names by which Temporal's roles are asked in health checks, and the packages that these services really have. */
const roleServices: Readonly<Record<PortRole, readonly string[]>> = {
  history: ['temporal.api.workflowservice.v1.HistoryService', 'temporal.server.api.historyservice.v1.HistoryService'],
  matching: ['temporal.api.workflowservice.v1.MatchingService', 'temporal.server.api.matchingservice.v1.MatchingService'],
};

/**
 * The ports of a process: the frontend's with WorkflowService, OperatorService, AdminService, DeadLetterService and health; the roles' with health; metrics.
 * Rejects when one of them cannot be had.
 */
export async function startFrontend(options: FrontendOptions): Promise<Frontend> {
  const { ports } = options;
  const context = new HandlerContext(ports);
  const condition = { admitting: options.serving ?? true, condition: ports.condition, state: ports.state };
  const served = [workflowRpcs, operatorRpcs, adminRpcs, deadLetterRpcs].map(({ name }) => name);
  const health = new Health({ ...condition, services: [...served, adminServiceInHealth] });
  const limits = options.limits ?? defaultTransportLimits;
  const roles = roleListeners(options, condition, limits);
  const startedTimeMs = ports.clock.wallMs();
  const id = randomUUID();
  let { port } = options;
  let places: Host['roles'] = {};
  const host = (): Host => ({ name: reachable(options.host), port, roles: places, id, startedTimeMs });
  const workflows = workflowService(context);
  const gate = gateOf(ports, health);
  let batches: Promise<BatchOperations> | undefined;
  const loadBatches = async (): Promise<BatchOperations> =>
    (await import('./batch/edge-batch-operations.ts')).edgeBatchOperations(context, workflows, gate);
  const rebuild = page('POST /visibility/rebuild', async () => jsonAnswer(200, { shards: await rebuildList(ports) }));
  const listener: Listener = {
    role: 'frontend',
    host: options.host,
    port: options.port,
    services: [workflows, operatorService(context), adminService(context, host), deadLetterService(context), healthService(health)],
    pages: [...healthPages(health), statePage(health), rebuild],
    limits,
  };
  const parts = { ...ports, gate, instance: options.instance ?? '' };
  const running = await startListeners([options.scrape, ...roles.map((role) => role.listener), listener], parts);
  const portOf = (role: Listener['role']): number | undefined => running.find((each) => each.role === role)?.port;
  port = portOf('frontend') ?? port;
  const rolePorts = { history: portOf('history'), matching: portOf('matching') };
  places = Object.fromEntries(roles.map(({ listener: { role, host } }) => [role, { name: reachable(host), port: portOf(role) ?? 0 }]));
  const setAdmitting = (admitting: boolean): void => {
    for (const each of [health, ...roles.map((role) => role.health)]) each.setAdmitting(admitting);
  };
  return {
    port,
    metricsPort: portOf('metrics'),
    rolePorts,
    batchOperations: () => (batches ??= loadBatches()),
    setServing: (serving) => setAdmitting(serving),
    endWaitsOfDeleted: () => context.endWaitsOfDeleted(),
    stop: async (graceMs) => {
      setAdmitting(false);
      context.drain();
      const timer = setTimeout(() => context.endPolls(), graceMs / 2);
      await Promise.all(running.filter(({ role }) => role !== 'metrics').map((each) => each.stop(graceMs)));
      clearTimeout(timer);
      await running.find(({ role }) => role === 'metrics')?.stop(0);
    },
  };
}

type Condition = Omit<ConstructorParameters<typeof Health>[0], 'services' | 'topic'>;

function roleListeners({ rolePorts, topics }: FrontendOptions, condition: Condition, limits: TransportLimits) {
  return portRoles.flatMap((role) => {
    const at = rolePorts?.[role];
    if (at === undefined) return [];
    const health = new Health({ ...condition, services: roleServices[role], topic: topics?.[role] });
    const listener: Listener = { role, ...at, services: [healthService(health)], pages: healthPages(health), limits: ofProbes(limits) };
    return [{ health, listener }];
  });
}

/** Probes are few and small, and what calls may hold is not to be had once more for each port. */
function ofProbes(limits: TransportLimits): TransportLimits {
  const { messageBytesMax: keptBytesMax } = limits;
  return { ...limits, keptBytesMax, connectionsMax: Math.min(limits.connectionsMax, 100), concurrentStreamsMax: 100 };
}

/** All of them, or none. Who can do with any port comes last: the one that it would like may be one that another was given by name. */
async function startListeners(listeners: readonly (Listener | undefined)[], parts: ListenerParts) {
  const wanted = listeners.filter((listener) => listener !== undefined);
  const running: (RunningListener & Pick<Listener, 'role'>)[] = [];
  try {
    for (const listener of wanted.toSorted((a, b) => Number(a.orFree === true) - Number(b.orFree === true)))
      running.push({ role: listener.role, ...(await startListener(listener, parts)) });
    return running;
  } catch (error) {
    await Promise.all(running.map((each) => each.stop(0)));
    throw error;
  }
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

/** Nobody can be reached at an address that stands for all of them. */
function reachable(host: string): string {
  return host === '' || host === '::' || host === '0.0.0.0' ? hostname() : host;
}
