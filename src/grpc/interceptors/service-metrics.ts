import { BoundedValues } from '../../observability/metrics/bounded-values.ts';
import type { Counter, Gauge, Metrics, Timer } from '../../observability/metrics/metrics.ts';
import { exhaustedScope } from '../errors/details.ts';
import { statusCode, type StatusError } from '../errors/status-error.ts';
import { undeclared, type Rpc } from '../rpcs/rpc.ts';
import { pascalCase } from '../../kernel/pascal-case.ts';
import type { Call, Interceptor } from '../transport/call.ts';

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

const ofCode = new Map<number, 'service_errors_invalid_argument' | 'service_errors_entity_not_found' | 'service_errors_context_timeout'>([
  [statusCode.invalidArgument, 'service_errors_invalid_argument'],
  [statusCode.notFound, 'service_errors_entity_not_found'],
  [statusCode.deadlineExceeded, 'service_errors_context_timeout'],
]);

/** The names of codes; a code without one is told as its number. */
const errorTypes: ReadonlyMap<number, string> = new Map(
  Object.entries(statusCode).map(([name, code]) => [code, `serviceerror_${pascalCase(name)}`]),
);

/**
 * What Temporal's dashboards show of calls. A call costs two look-ups and a few additions: the series of each operation and namespace are
 * made at its first call and kept here. A namespace that does not exist, and a method that nobody declared, become no series.
 */
export function serviceMetrics(metrics: Metrics): Interceptor {
  const namespaces = new BoundedValues();
  const unknown = new Operation('_unknown_', true, metrics);
  const operations = new Map<Rpc, Operation>();
  const historyWaits = new Operation('PollWorkflowExecutionHistory', false, metrics);
  const open = new Set<Call>();
  const operationOf = ({ rpc, notes }: Call): Operation | undefined => {
    if (notes.waitsForEvents) return historyWaits;
    const found = operations.get(rpc);
    if (found !== undefined) return found;
    if (rpc.missing === undeclared) return unknown;
    if (rpc.operation === undefined) return undefined;
    const made = new Operation(rpc.operation, isOwnTime(rpc), metrics);
    operations.set(rpc, made);
    return made;
  };
  metrics.beforeScrape(() => {
    for (const operation of [unknown, historyWaits, ...operations.values()]) operation.nonePending();
    for (const call of open) {
      const operation = operationOf(call);
      if (operation !== undefined) operation.series(namespaces.bounded(call.notes.namespace)).pending.value++;
    }
  });
  return {
    before: (call) => void open.add(call),
    after: (call, { code, durationMs, error }) => {
      open.delete(call);
      operationOf(call)?.series(namespaces.bounded(call.notes.namespace)).ended(code, durationMs, error);
    },
  };
}

/** Calls that wait for a worker or a workflow, and do nothing else: their time says nothing of this server. */
function isOwnTime({ waitsFor }: Rpc): boolean {
  return waitsFor !== 'task' && waitsFor !== 'query' && waitsFor !== 'outcome';
}

class Operation {
  readonly #name: string;
  readonly #isOwnTime: boolean;
  readonly #metrics: Metrics;
  readonly #byNamespace = new Map<string, CallSeries>();

  constructor(name: string, isOwnTime: boolean, metrics: Metrics) {
    this.#name = name;
    this.#isOwnTime = isOwnTime;
    this.#metrics = metrics;
  }

  series(namespace: string): CallSeries {
    const found = this.#byNamespace.get(namespace);
    if (found !== undefined) return found;
    const made = new CallSeries({ operation: this.#name, namespace }, this.#isOwnTime, this.#metrics);
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

  constructor(tags: CallTags, isOwnTime: boolean, metrics: Metrics) {
    this.#tags = tags;
    this.#metrics = metrics;
    this.pending = metrics.gauge('service_pending_requests', tags);
    this.#requests = metrics.counter('service_requests', tags);
    this.#errors = metrics.counter('service_errors', tags);
    this.#latency = metrics.timer('service_latency', tags);
    this.#ownLatency = isOwnTime ? metrics.timer('service_latency_nouserlatency', tags) : undefined;
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
    const counted = ofCode.get(code);
    if (counted !== undefined) this.#metrics.counter(counted, tags).add();
    else if (code === statusCode.alreadyExists && error?.details[0]?.type.endsWith('.WorkflowExecutionAlreadyStartedFailure') === true)
      this.#metrics.counter('service_errors_execution_already_started', tags).add();
    else if (code === statusCode.resourceExhausted) {
      const cause = error?.trailers['x-resource-exhausted-cause'] ?? '_unknown_';
      const why = { resource_exhausted_cause: cause, resource_exhausted_scope: scope };
      this.#metrics.counter('service_errors_resource_exhausted', { ...tags, ...why }).add();
    }
  }
}
