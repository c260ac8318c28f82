import type { Logger } from '../../observability/logger.ts';
import type { Metrics } from '../../observability/metrics/metrics.ts';
import { limitKeys } from './limits.ts';

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
