import { codecs, HealthCheckResponseServingStatus as ServingStatus } from '../../wire/generated/lean/health.ts';
import type { CheckpointReport } from '../../actors/partition/partition-report.ts';
import type { ServerCondition } from '../../actors/ownership/census.ts';
import type { StateReport } from '../ports.ts';
import { unavailable } from '../errors/details.ts';
import { statusCode, StatusError } from '../errors/status-error.ts';
import { service, streamed, unary } from '../method.ts';
import { healthRpcs } from '../rpcs/health-rpcs.ts';
import type { Interceptor, Service } from '../transport/call.ts';
import { jsonAnswer, page, type Page, type PageAnswer } from '../transport/plain-http.ts';

/** The body of `GET /health`: 200 when `status` is SERVING, otherwise 503. */
type HealthReport = { readonly status: 'SERVING' | 'NOT_SERVING' } & Readonly<Record<string, unknown>>;

type Waiting = { readonly seconds: number; readonly reason: string; readonly unwrittenBytes: number };

function waits<Who extends object>(who: Who, checkpoint: CheckpointReport | undefined): readonly (Who & Waiting)[] {
  if (checkpoint?.trouble === undefined) return [];
  const { trouble, unwrittenBytes } = checkpoint;
  return [{ ...who, ...trouble, unwrittenBytes }];
}

/** Longer lists help nobody; `partitionsNotServed` counts them all. */
const partitionsListedMax = 100;

type HealthOptions = {
  /** What `grpc.health.v1` may be asked about, beside ''. */
  readonly services: readonly string[];
  readonly admitting: boolean;
  readonly condition: ServerCondition;
  readonly state: () => StateReport;
  /** Whose partitions count on the port of one role; absent: those of all topics. */
  readonly topic?: string | undefined;
};

/**
 * How this server is, or one role of it, for `grpc.health.v1` and for `GET /health`. Two things that are not the same:
 *
 *     admitting   calls come in: from when the port serves until it stops
 *     serving     admitting, every partition is served (of the role's topic), and no journal is lost
 */
export class Health {
  readonly #services: ReadonlySet<string>;
  readonly #condition: ServerCondition;
  readonly #state: () => StateReport;
  readonly #topic: string | undefined;
  readonly #watchers = new Set<() => void>();
  #admitting: boolean;

  constructor(options: HealthOptions) {
    this.#state = options.state;
    this.#topic = options.topic;
    this.#services = new Set(['', ...options.services]);
    this.#admitting = options.admitting;
    this.#condition = options.condition;
    options.condition.watch(() => this.#changed());
  }

  get admitting(): boolean {
    return this.#admitting;
  }

  setAdmitting(admitting: boolean): void {
    this.#admitting = admitting;
    this.#changed();
  }

  report(): HealthReport {
    const unserved = this.#condition.unserved(this.#topic);
    const concerns = this.#condition.concerns();
    const runsPutAside = this.#condition.runsPutAside();
    const lost = concerns.some(({ severity }) => severity === 'lost');
    return {
      status: this.#admitting && unserved.length === 0 && !lost ? 'SERVING' : 'NOT_SERVING',
      ...(unserved.length === 0 ? {} : { partitionsNotServed: unserved.length, partitions: unserved.slice(0, partitionsListedMax) }),
      ...(concerns.length === 0 ? {} : { concerns }),
      ...(runsPutAside === 0 ? {} : { runsQuarantined: runsPutAside }),
      ...this.#checkpointsWaiting(),
    };
  }

  stateReport(): HealthReport {
    return { status: this.report().status, ...this.#state() };
  }

  /** Everything is served still, and memory grows. */
  #checkpointsWaiting(): { readonly checkpointsWaiting?: object } {
    const { shards, matching } = this.#state();
    const shardsWaiting = shards.flatMap(({ shard, checkpoint }) => waits({ shard }, checkpoint));
    const matchingWaiting = matching.flatMap(({ partition, checkpoint }) => waits({ matchingPartition: partition }, checkpoint));
    const [longest] = [...shardsWaiting, ...matchingWaiting].toSorted((a, b) => b.seconds - a.seconds);
    if (longest === undefined) return {};
    const matchingPartitions = matchingWaiting.length === 0 ? {} : { matchingPartitions: matchingWaiting.length };
    return { checkpointsWaiting: { shards: shardsWaiting.length, ...matchingPartitions, longest } };
  }

  statusOf(service: string): number {
    if (!this.#services.has(service)) return ServingStatus.SERVICE_UNKNOWN;
    return this.report().status === 'SERVING' ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
  }

  /** `changed` is also called when nothing changed. Answers how to stop watching. */
  watch(changed: () => void): () => void {
    this.#watchers.add(changed);
    return () => this.#watchers.delete(changed);
  }

  #changed(): void {
    for (const changed of this.#watchers) changed();
  }
}

export function healthService(health: Health): Service {
  return service(healthRpcs, [
    unary('Check', codecs.HealthCheck, ({ service: name }) => {
      const status = health.statusOf(name);
      if (status === ServingStatus.SERVICE_UNKNOWN) throw new StatusError(statusCode.notFound, `unknown service ${name}`);
      return { status };
    }),
    streamed('Watch', codecs.HealthCheck, ({ service: name }, call, send) => {
      let told: number | undefined;
      const report = (): void => {
        const status = health.statusOf(name);
        if (status === told) return;
        told = status;
        send({ status });
      };
      report();
      const stop = health.watch(report);
      return new Promise((resolve) =>
        call.onCancel(() => {
          stop();
          resolve();
        }),
      );
    }),
  ]);
}

export function healthPages(health: Health): readonly Page[] {
  return [
    page('GET /health', () => healthAnswer(health.report())),
    // The event loop runs, whatever the partitions do.
    page('GET /health/live', () => healthAnswer({ status: 'SERVING' })),
  ];
}

export function statePage(health: Health): Page {
  return page('GET /health/state', () => healthAnswer(health.stateReport()));
}

export function healthAnswer(report: HealthReport): PageAnswer {
  return jsonAnswer(report.status === 'SERVING' ? 200 : 503, report);
}

/** Closed until the server serves, and from when it stops, but not for partitions: calls to one that is not served are refused by name. */
export function servingGate(health: Health): Interceptor {
  return {
    before: ({ rpc }) => {
      if (!health.admitting && rpc.needsServing) throw unavailable('Frontend is not healthy yet');
    },
  };
}
