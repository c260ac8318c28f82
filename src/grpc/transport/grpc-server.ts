import type { Socket } from 'node:net';
import { asError } from '../../kernel/error-text.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Metrics } from '../../observability/metrics/metrics.ts';
import type { DeclaredMethods, Interceptor, Service } from './call.ts';
import { ConnectionAdmission } from './connection-admission.ts';
import { Http2Front } from './http2-front.ts';
import { LimitHits } from './limit-hits.ts';
import { listen } from './listener.ts';
import { NewestSockets } from './newest-sockets.ts';
import type { TransportLimits } from './limits.ts';
import { PlainHttp, type HealthReport } from './plain-http.ts';
import { sniffProtocol } from './protocol-sniffer.ts';

export type GrpcServerOptions = {
  readonly host: string;
  readonly port: number;
  readonly services: readonly Service[];
  readonly declared: DeclaredMethods;
  readonly interceptors: readonly Interceptor[];
  readonly limits: TransportLimits;
  readonly logger: Logger;
  /** Where connections are counted; absent: nowhere. */
  readonly metrics?: Metrics;
  /** What `GET /health` says. */
  readonly health: () => HealthReport;
  /** Of `GET /health/state`; absent: there is no such page. */
  readonly state?: () => HealthReport;
  /** What an operator wants done, by the path of a POST. */
  readonly actions?: ReadonlyMap<string, () => Promise<object>>;
  /** Which process answers, as its claims name it. */
  readonly instance: string;
};

export type GrpcServer = {
  readonly port: number;
  /** Takes no new connections and calls; open calls have `graceMs` to end, then they are cut. Idempotent. */
  stop(graceMs: number): Promise<void>;
};

/**
 * One port, two protocols; the first bytes of a connection decide:
 *
 *     socket ── sniff ──┬─ PRI * HTTP/2.0 ─▶ Http2Front ─▶ services
 *                       ├─ GET, HEAD, …   ─▶ PlainHttp    /health, /health/live, /visibility/rebuild
 *                       └─ else, silence  ─▶ closed
 */
export async function startGrpcServer(options: GrpcServerOptions): Promise<GrpcServer> {
  const { limits, logger } = options;
  const hits = new LimitHits(logger, options.metrics);
  const admission = new ConnectionAdmission(limits, hits);
  const grpc = new Http2Front({
    services: options.services,
    declared: options.declared,
    interceptors: options.interceptors,
    limits,
    hits,
    reportBug: (call, error) => {
      logger.error('a call failed for a reason of ours', { operation: call.method, service: call.service, error: asError(error) });
    },
  });
  const plain = new PlainHttp({
    health: options.health,
    state: options.state,
    actions: options.actions,
    instance: options.instance,
    timeoutMs: limits.plainRequestTimeoutMs,
    connectionsMax: limits.plainConnectionsMax,
  });
  const countConnection = options.metrics === undefined ? undefined : connectionCount(options.metrics);
  const unsniffed = new NewestSockets(limits.undecidedConnectionsMax);
  const listener = await listen({
    host: options.host,
    port: options.port,
    onSocket: (socket) => {
      unsniffed.add(socket);
      sniffProtocol(socket, limits.firstBytesTimeoutMs, (protocol) => {
        unsniffed.delete(socket);
        if (protocol === 'http1') plain.accept(socket);
        else if (admission.admit(socket)) {
          countConnection?.(socket);
          grpc.accept(socket);
        } else socket.destroy();
      });
    },
  });
  let stopped: Promise<void> | undefined;
  return {
    port: listener.port,
    stop: (graceMs) => {
      stopped ??= (async () => {
        await listener.close();
        unsniffed.destroyAll();
        await grpc.stop(graceMs);
        plain.stop();
      })();
      return stopped;
    },
  };
}

function connectionCount(metrics: Metrics): (socket: Socket) => void {
  const accepted = metrics.counter('service_grpc_conn_accepted', {});
  const closed = metrics.counter('service_grpc_conn_closed', {});
  const active = metrics.gauge('service_grpc_conn_active', {});
  return (socket) => {
    accepted.add();
    active.value++;
    socket.once('close', () => {
      closed.add();
      active.value--;
    });
  };
}
