import type { Logger } from '../../observability/logger.ts';
import { statusCode } from '../errors/status-error.ts';
import type { Call, Interceptor } from '../transport/call.ts';

type Outcome = { readonly code: number; readonly message: string; readonly durationMs: number };

/** One remark a minute for each method, namespace and kind; the next one says how many it stands for. */
const remarkIntervalMs = 60_000;
/** Namespaces are known ones, so this is seldom reached; then the oldest are forgotten. */
const remarksKeptMax = 1_000;

/** Task queues of one namespace whose refused polls are told one by one; their names are anybody's. */
const refusedQueuesMax = 100;

/** Refusals that somebody should look into, by their names. Not found, exists already, too late: everyday answers. */
const remarkable: ReadonlyMap<number, string> = new Map([
  [statusCode.invalidArgument, 'INVALID_ARGUMENT'],
  [statusCode.permissionDenied, 'PERMISSION_DENIED'],
  [statusCode.resourceExhausted, 'RESOURCE_EXHAUSTED'],
  [statusCode.unauthenticated, 'UNAUTHENTICATED'],
  [statusCode.unimplemented, 'UNIMPLEMENTED'],
]);

/** One debug record for each call that ended, and a warning for what was refused or replaced. Never a payload, a token or a header. */
export function callLog(logger: Logger, clock: { monoMs(): number }): Interceptor {
  const remarks = new Remarks(logger, clock);
  return {
    after: (call, outcome) => {
      if (outcome.code !== statusCode.ok || call.notes.oversized !== '') remarks.about(call, outcome);
      if (!logger.enabled('debug')) return;
      logger.debug('call', {
        operation: call.rpc.method,
        service: call.rpc.service,
        namespace: call.notes.namespace === '' ? undefined : call.notes.namespace,
        code: outcome.code,
        error: outcome.message === '' ? undefined : outcome.message,
        'duration-ms': Math.round(outcome.durationMs * 1_000) / 1_000,
      });
    },
  };
}

class Remarks {
  readonly #logger: Logger;
  readonly #clock: { monoMs(): number };
  readonly #refusedQueues = new Map<string, Set<string>>();
  /** When each remark was made last, oldest first. */
  readonly #made = new Map<string, { readonly madeMs: number; keptBack: number }>();

  constructor(logger: Logger, clock: { monoMs(): number }) {
    this.#logger = logger;
    this.#clock = clock;
  }

  about(call: Call, { code, message }: Outcome): void {
    const { namespace, oversized } = call.notes;
    const common = { operation: call.rpc.method, namespace: namespace === '' ? undefined : namespace };
    if (oversized !== '') {
      const times = this.#times(`oversized ${call.rpc.path} ${namespace}`);
      if (times > 0) this.#logger.warn('a message over its size limit was shortened', { ...common, what: oversized, times });
    }
    const name = remarkable.get(code);
    if (name === undefined || isEveryday(call, code, message)) return;
    if (code === statusCode.unimplemented && call.rpc.waitsFor === 'task') this.#refusedPoll(call, message);
    const times = this.#times(`${code} ${call.rpc.path} ${namespace}`);
    if (times === 0) return;
    const fields = { ...common, code: name, error: message, times };
    // SDKs try methods that a server may lack, and go on without them.
    if (code === statusCode.unimplemented) this.#logger.info('a call was refused: this server does not support it', fields);
    else this.#logger.warn('call refused', fields);
  }

  /** SDKs poll again and again without a word, and their workers look as if they were running. */
  #refusedPoll({ rpc, notes: { namespace, taskQueue } }: Call, error: string): void {
    const told = this.#refusedQueues.get(namespace) ?? new Set();
    if (told.has(taskQueue) || told.size >= refusedQueuesMax) return;
    this.#refusedQueues.set(namespace, told.add(taskQueue));
    if (this.#refusedQueues.size > remarksKeptMax) this.#refusedQueues.delete(this.#refusedQueues.keys().next().value ?? namespace);
    this.#logger.warn('a worker gets no tasks: its polls are refused', {
      namespace: namespace === '' ? undefined : namespace,
      'task-queue': taskQueue === '' ? undefined : taskQueue,
      operation: rpc.method,
      error,
    });
  }

  /** How many calls the remark that is due now stands for; 0 = none is due yet. */
  #times(key: string): number {
    const nowMs = this.#clock.monoMs();
    const last = this.#made.get(key);
    if (last !== undefined && nowMs - last.madeMs < remarkIntervalMs) {
      last.keptBack += 1;
      return 0;
    }
    this.#made.delete(key);
    this.#made.set(key, { madeMs: nowMs, keptBack: 0 });
    if (this.#made.size > remarksKeptMax) this.#made.delete(this.#made.keys().next().value ?? key);
    return (last?.keptBack ?? 0) + 1;
  }
}

/** Queries that a workflow refuses, and completions that a new event overtook, are everyday answers too. */
function isEveryday(call: Call, code: number, message: string): boolean {
  return code === statusCode.invalidArgument && (call.rpc.waitsFor === 'query' || message.startsWith('UnhandledCommand'));
}
