import { DatabaseError } from '../projections/database-port.ts';
import { unreachable } from '../kernel/assert.ts';
import { canceled, deadlineExceeded, exhaustedCause, exhaustedScope, resourceExhausted, unavailable } from './errors/details.ts';
import { statusCode, StatusError } from './errors/status-error.ts';
import type { Call } from './transport/call.ts';

const defaultLimits = {
  /** Queries of one namespace at a time. A database may do one after the other: those of others stand behind as many, never behind all. */
  runningPerNamespaceMax: 2,
  waitingPerNamespaceMax: 100,
  /** A query whose call came longer ago is given up, and counts until it has ended. */
  timeoutMs: 10_000,
};
type VisibilityQueryLimits = Readonly<typeof defaultLimits>;

type Lane = { running: number; readonly waiting: Set<() => void> };

export class VisibilityQueries {
  readonly #limits: VisibilityQueryLimits;
  readonly #lanes = new Map<string, Lane>();
  readonly #giveUp: (asked: number) => Promise<void>;
  #lastAsked = 0;

  /** `giveUp`: nobody waits for the query with that number any more. */
  constructor(giveUp: (asked: number) => Promise<void>, limits: VisibilityQueryLimits = defaultLimits) {
    this.#giveUp = giveUp;
    this.#limits = limits;
  }

  /** Rejects with a StatusError for whatever a database may fail with. */
  run<Answer>(call: Call, namespaceId: string, query: (asked: number) => Promise<Answer>): Promise<Answer> {
    const { runningPerNamespaceMax, waitingPerNamespaceMax, timeoutMs } = this.#limits;
    const lane = this.#lanes.get(namespaceId) ?? { running: 0, waiting: new Set() };
    const mayRun = lane.running < runningPerNamespaceMax;
    if (!mayRun && lane.waiting.size >= waitingPerNamespaceMax) {
      throw resourceExhausted('too many lists and counts of this namespace wait', exhaustedCause.concurrentLimit, exhaustedScope.namespace);
    }
    return new Promise((resolve, reject) => {
      const asked = ++this.#lastAsked;
      let isRunning = false;
      const begin = (): void => {
        lane.waiting.delete(begin);
        lane.running++;
        isRunning = true;
        query(asked)
          .then(resolve, (error: unknown) => reject(failureOf(error)))
          .finally(() => {
            clearTimeout(timer);
            isRunning = false;
            this.#ended(namespaceId, lane);
          });
      };
      const giveUp = (error: StatusError): void => {
        clearTimeout(timer);
        lane.waiting.delete(begin);
        // Where it cannot be said the query ends with its own time.
        if (isRunning) this.#giveUp(asked).catch(() => {});
        reject(error);
      };
      const timer = setTimeout(() => giveUp(deadlineExceeded(`the query took longer than ${timeoutMs / 1000} s`)), timeoutMs);
      call.onCancel(() => giveUp(canceled()));
      if (call.cancelled) return;
      this.#lanes.set(namespaceId, lane);
      if (mayRun) begin();
      else lane.waiting.add(begin);
    });
  }

  #ended(namespaceId: string, lane: Lane): void {
    lane.running--;
    const [next] = lane.waiting;
    if (next !== undefined) next();
    else if (lane.running === 0) this.#lanes.delete(namespaceId);
  }
}

function failureOf(error: unknown): unknown {
  if (!(error instanceof DatabaseError)) return error;
  const { code, message } = error;
  switch (code) {
    case 'unavailable':
    case 'closed':
    case 'misconfigured':
      return unavailable(`visibility does not answer: ${message}`);
    case 'overtime':
      return deadlineExceeded(`visibility: ${message}`);
    case 'corrupt':
      return new StatusError(statusCode.dataLoss, `visibility: ${message}`);
    case 'data':
      return new StatusError(statusCode.internal, `visibility: ${message}`);
    default:
      return unreachable(code);
  }
}
