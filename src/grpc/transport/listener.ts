import type { Socket } from 'node:net';
import type { PortRole } from '../../config/role-ports.ts';
import { asError } from '../../kernel/error-text.ts';
import type { Logger } from '../../observability/logger.ts';
import type { Metrics } from '../../observability/metrics/metrics.ts';
import type { Service } from './call.ts';
import type { Gate } from './gate.ts';
import { Http2Front } from './http2-front.ts';
import { ConnectionAdmission, LimitHits } from './limit-hits.ts';
import { NewestSockets } from './newest-sockets.ts';
import { PlainHttp, type Page } from './plain-http.ts';
import { sniffProtocol } from './protocol-sniffer.ts';
import { listen } from './tcp-port.ts';
import type { TransportLimits } from './transport-limits.ts';

/** An address, and what is served there. Several stand beside each other in one process. */
export type Listener = {
  readonly role: 'frontend' | 'metrics' | PortRole;
  readonly host: string;
  readonly port: number;
  /** If that port is in use, a free one. */
  readonly orFree?: boolean;
  readonly services: readonly Service[];
  readonly pages: readonly Page[];
  readonly limits: TransportLimits;
};

export type ListenerParts = {
  readonly gate: Gate;
  readonly logger: Logger;
  readonly metrics?: Metrics;
  /** Which process answers, as its claims name it. */
  readonly instance: string;
};

export type RunningListener = {
  readonly port: number;
  /** Takes no new connections and calls; open calls have `graceMs` to end, then they are cut. Idempotent. */
  stop(graceMs: number): Promise<void>;
};

/**
 * One port, two protocols; the first bytes of a connection decide:
 *
 *     socket ── sniff ──┬─ PRI * HTTP/2.0 ─▶ Http2Front ─▶ services, if it has any
 *                       ├─ GET, HEAD, …   ─▶ PlainHttp  ─▶ pages
 *                       └─ else, silence  ─▶ closed
 *
 * Rejects when the port cannot be had.
 */
export async function startListener(listener: Listener, parts: ListenerParts): Promise<RunningListener> {
  const { role, limits } = listener;
  const { gate, logger, metrics } = parts;
  const hits = new LimitHits(logger, metrics);
  const admission = new ConnectionAdmission(limits, hits);
  const grpc = listener.services.length === 0 ? undefined : new Http2Front({ services: listener.services, gate, limits, hits });
  const plain = new PlainHttp({ ...parts, limits, pages: listener.pages });
  const countConnection = metrics === undefined ? undefined : connectionCount(metrics);
  const unsniffed = new NewestSockets(limits.undecidedConnectionsMax);
  const onSocket = (socket: Socket): void => {
    unsniffed.add(socket);
    sniffProtocol(socket, limits.firstBytesTimeoutMs, (protocol) => {
      unsniffed.delete(socket);
      if (protocol === 'http1') plain.accept(socket);
      else if (grpc !== undefined && admission.admit(socket)) {
        countConnection?.(socket);
        grpc.accept(socket);
      } else socket.destroy();
    });
  };
  const bound = await listen({ ...listener, onSocket }).catch((error: unknown) => {
    const { message, cause } = asError(error);
    throw new Error(role === 'frontend' ? message : `${role}: ${message}`, { cause });
  });
  let stopped: Promise<void> | undefined;
  return {
    port: bound.port,
    stop: (graceMs) => {
      stopped ??= (async () => {
        bound.close();
        unsniffed.destroyAll();
        await grpc?.stop(graceMs);
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
