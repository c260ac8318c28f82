import { BoundedValues } from '../../observability/metrics/bounded-values.ts';
import type { Counter, Gauge, Metrics, Timer } from '../../observability/metrics/metrics.ts';
import { adminServiceName } from '../admin-service/admin-service.ts';
import { exhaustedScope } from '../errors/details.ts';
import { statusCode } from '../errors/status-code.ts';
import type { StatusError } from '../errors/status-error.ts';
import { operatorServiceName } from '../operator-service/operator-service.ts';
import type { Call, DeclaredMethods, Interceptor } from '../transport/call.ts';

/** Calls that wait for a worker or a workflow: their time says nothing of this server. */
const waiting = /^(?:Poll|QueryWorkflow$)/;

/** What did not end as the caller could have wished, for a reason that is not his. */
const unexpected: ReadonlySet<number> = new Set([
  statusCode.unknown,
  statusCode.deadlineExceeded,
  statusCode.aborted,
  statusCode.unimplemented,
  statusCode.internal,
  statusCode.unavailable,
  statusCode.dataLoss,
  statusCode.resourceExhausted,
]);

/** By code; what is not named is told as its number. */
const errorTypes: ReadonlyMap<number, string> = new Map(
  Object.entries(statusCode).map(([name, code]) => [code, `serviceerror_${name.slice(0, 1).toUpperCase()}${name.slice(1)}`]),
);

/**
 * What Temporal's dashboards show of calls. A call costs two look-ups and a few additions: the series of each operation and namespace are
 * made at its first call and kept here. A namespace that does not exist, and a method that nobody declared, become no series.
 */
export function serviceMetrics(metrics: Metrics, declared: DeclaredMethods): Interceptor {
  const namespaces = new BoundedValues();
  const unknown = new Operation('_unknown_', metrics);
  const operations = new Map<string, Operation>();
  const historyWaits = new Operation('PollWorkflowExecutionHistory', metrics);
  const open = new Set<Call>();
  const operationOf = (call: Call): Operation => {
    if (call.notes.waitsForEvents) return historyWaits;
    const found = operations.get(call.path);
    if (found !== undefined) return found;
    if (declared.get(call.service)?.has(call.method) !== true) return unknown;
    const made = new Operation(operationName(call), metrics);
    operations.set(call.path, made);
    return made;
  };
  metrics.beforeScrape(() => {
    for (const operation of [unknown, historyWaits, ...operations.values()]) operation.nonePending();
    for (const call of open) operationOf(call).series(namespaces.bounded(call.notes.namespace)).pending.value++;
  });
  return {
    before: (call) => void open.add(call),
    after: (call, { code, durationMs, error }) => {
      open.delete(call);
      operationOf(call).series(namespaces.bounded(call.notes.namespace)).ended(code, durationMs, error);
    },
  };
}

function operationName({ service, method }: Call): string {
  if (service === adminServiceName) return `Admin${method}`;
  return service === operatorServiceName ? `Operator${method}` : method;
}

class Operation {
  readonly #name: string;
  readonly #metrics: Metrics;
  readonly #byNamespace = new Map<string, CallSeries>();

  constructor(name: string, metrics: Metrics) {
    this.#name = name;
    this.#metrics = metrics;
  }

  series(namespace: string): CallSeries {
    const found = this.#byNamespace.get(namespace);
    if (found !== undefined) return found;
    const made = new CallSeries({ operation: this.#name, namespace }, this.#metrics);
    this.#byNamespace.set(namespace, made);
    return made;
  }

  nonePending(): void {
    for (const { pending } of this.#byNamespace.values()) pending.value = 0;
  }
}

type CallTags = { readonly operation: string; readonly namespace: string };

class CallSeries {
  readonly pending: Gauge;
  readonly #requests: Counter;
  readonly #errors: Counter;
  readonly #latency: Timer;
  /** undefined: the call waits for somebody else. */
  readonly #ownLatency: Timer | undefined;
  readonly #tags: CallTags;
  readonly #metrics: Metrics;

  constructor(tags: CallTags, metrics: Metrics) {
    this.#tags = tags;
    this.#metrics = metrics;
    this.pending = metrics.gauge('service_pending_requests', tags);
    this.#requests = metrics.counter('service_requests', tags);
    this.#errors = metrics.counter('service_errors', tags);
    this.#latency = metrics.timer('service_latency', tags);
    this.#ownLatency = waiting.test(tags.operation) ? undefined : metrics.timer('service_latency_nouserlatency', tags);
  }

  ended(code: number, durationMs: number, error: StatusError | undefined): void {
    this.#requests.add();
    this.#latency.record(durationMs);
    this.#ownLatency?.record(durationMs);
    if (code !== statusCode.ok) this.#failed(code, error);
  }

  #failed(code: number, error: StatusError | undefined): void {
    const tags = this.#tags;
    const scope = error?.trailers['x-resource-exhausted-scope'] ?? '_unknown_';
    if (unexpected.has(code) && scope !== exhaustedScope.namespace.name) this.#errors.add();
    const errorType = errorTypes.get(code) ?? `serviceerror_${code}`;
    this.#metrics.counter('service_error_with_type', { ...tags, error_type: errorType }).add();
    switch (code) {
      case statusCode.invalidArgument:
        this.#metrics.counter('service_errors_invalid_argument', tags).add();
        return;
      case statusCode.notFound:
        this.#metrics.counter('service_errors_entity_not_found', tags).add();
        return;
      case statusCode.alreadyExists:
        if (error?.details[0]?.type.endsWith('.WorkflowExecutionAlreadyStartedFailure') === true)
          this.#metrics.counter('service_errors_execution_already_started', tags).add();
        return;
      case statusCode.deadlineExceeded:
        this.#metrics.counter('service_errors_context_timeout', tags).add();
        return;
      case statusCode.resourceExhausted: {
        const cause = error?.trailers['x-resource-exhausted-cause'] ?? '_unknown_';
        const why = { resource_exhausted_cause: cause, resource_exhausted_scope: scope };
        this.#metrics.counter('service_errors_resource_exhausted', { ...tags, ...why }).add();
        return;
      }
    }
  }
}
