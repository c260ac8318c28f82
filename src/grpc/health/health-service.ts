import {
  decodeHealthCheckRequest,
  encodeHealthCheckResponse,
  HealthCheckResponseServingStatus as ServingStatus,
} from '../../wire/generated/lean/health.ts';
import { statusCode } from '../errors/status-code.ts';
import { StatusError } from '../errors/status-error.ts';
import { unary } from '../method.ts';
import type { Service } from '../transport/call.ts';

/** Whether this server serves, for `grpc.health.v1` and for `GET /health`. */
export class Health {
  readonly #services: ReadonlySet<string>;
  readonly #watchers = new Set<() => void>();
  #serving: boolean;

  constructor(services: readonly string[], serving: boolean) {
    this.#services = new Set(['', ...services]);
    this.#serving = serving;
  }

  get serving(): boolean {
    return this.#serving;
  }

  setServing(serving: boolean): void {
    if (serving === this.#serving) return;
    this.#serving = serving;
    for (const changed of this.#watchers) changed();
  }

  statusOf(service: string): number {
    if (!this.#services.has(service)) return ServingStatus.SERVICE_UNKNOWN;
    return this.#serving ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }

  /** Answers how to stop watching. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }
}

export function healthService(health: Health): Service {
  return {
    name: 'grpc.health.v1.Health',
    methods: new Map([
      unary('Check', decodeHealthCheckRequest, encodeHealthCheckResponse, ({ service }) => {
        const status = health.statusOf(service);
        if (status === ServingStatus.SERVICE_UNKNOWN) throw new StatusError(statusCode.notFound, `unknown service ${service}`);
        return { status };
      }),
      [
        'Watch',
        {
          kind: 'serverStream',
          handle: (request, call, send) => {
            const { service } = decodeHealthCheckRequest(request);
            const report = (): void => send(encodeHealthCheckResponse({ status: health.statusOf(service) }));
            report();
            const stop = health.watch(report);
            return new Promise((resolve) =>
              call.onCancel(() => {
                stop();
                resolve();
              }),
            );
          },
        },
      ],
    ]),
  };
}
