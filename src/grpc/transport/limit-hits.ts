import type { Socket } from 'node:net';
import type { Logger } from '../../observability/logger.ts';
import type { Metrics } from '../../observability/metrics/metrics.ts';
import { Tally } from '../../kernel/tally.ts';
import { limitKeys, type TransportLimits } from './transport-limits.ts';

export type ConnectionLimit = keyof typeof limitKeys;

const everyMs = 60_000;

/** Tells operators of each limit that refuses clients something, or makes them wait: in a metric each time, in the log once a minute. */
export class LimitHits {
  readonly #logger: Logger;
  readonly #metrics: Metrics | undefined;
  readonly #told = new Map<ConnectionLimit, { untilMs: number; untold: number }>();

  constructor(logger: Logger, metrics: Metrics | undefined) {
    this.#logger = logger;
    this.#metrics = metrics;
  }

  hit(limit: ConnectionLimit, limitIs: number, address: string): void {
    this.#metrics?.counter('perdure_grpc_limit_hits', { limit }).add();
    const nowMs = performance.now();
    const told = this.#told.get(limit) ?? { untilMs: 0, untold: 0 };
    this.#told.set(limit, told);
    if (nowMs < told.untilMs) {
      told.untold++;
      return;
    }
    const { key, what } = limitKeys[limit];
    this.#logger.warn(what, { key, limit: limitIs, address, notLogged: told.untold === 0 ? undefined : told.untold });
    this.#told.set(limit, { untilMs: nowMs + everyMs, untold: 0 });
  }
}

/** Counts the connections of clients, of each address and in all. What asks for the health of the server never comes here. */
export class ConnectionAdmission {
  readonly #limits: Pick<TransportLimits, 'connectionsMax' | 'connectionsPerAddressMax'>;
  readonly #hits: LimitHits;
  readonly #open = new Tally();

  constructor(limits: Pick<TransportLimits, 'connectionsMax' | 'connectionsPerAddressMax'>, hits: LimitHits) {
    this.#limits = limits;
    this.#hits = hits;
  }

  admit(socket: Socket): boolean {
    const { connectionsMax, connectionsPerAddressMax } = this.#limits;
    const address = socket.remoteAddress ?? '';
    if (this.#open.total >= connectionsMax) {
      this.#hits.hit('connections', connectionsMax, address);
      return false;
    }
    if (this.#open.of(address) >= connectionsPerAddressMax) {
      this.#hits.hit('connections_of_address', connectionsPerAddressMax, address);
      return false;
    }
    this.#open.add(address, 1);
    socket.once('close', () => this.#open.add(address, -1));
    return true;
  }
}
