import { asError } from '../../kernel/error-text.ts';
import type { Logger } from '../../observability/logger.ts';
import { canceled } from '../errors/details.ts';
import { statusCode } from '../errors/status-error.ts';
import { asStatusError } from './status-trailers.ts';
import { newNotes, type Call, type CallOutcome, type Interceptor, type TaskToken } from './call.ts';

/**
 * What every call passes, however it comes: over HTTP/2, as a page of HTTP/1, or made by the server itself.
 *
 *     before ── the request is read and decoded ── admit ── it is handled ── after
 */
export class Gate {
  readonly #interceptors: readonly Interceptor[];
  readonly #logger: Logger;

  constructor(interceptors: readonly Interceptor[], logger: Logger) {
    this.#interceptors = interceptors;
    this.#logger = logger;
  }

  before(call: Call): void {
    for (const interceptor of this.#interceptors) interceptor.before?.(call);
  }

  /** One after the other. undefined: none of them had to wait. */
  admit(call: Call, request: object, token: TaskToken | undefined): Promise<void> | undefined {
    let admitted: Promise<void> | undefined;
    for (const interceptor of this.#interceptors) {
      if (interceptor.admit === undefined) continue;
      admitted =
        admitted === undefined ? interceptor.admit(call, request, token) : admitted.then(() => interceptor.admit?.(call, request, token));
    }
    return admitted?.then(() => {
      if (call.cancelled) throw canceled();
    });
  }

  after(call: Call, outcome: CallOutcome): void {
    for (const interceptor of this.#interceptors) {
      try {
        interceptor.after?.(call, outcome);
      } catch (error) {
        this.reportBug(call, error);
      }
    }
  }

  reportBug({ rpc }: Call, error: unknown): void {
    this.#logger.error('a call failed because of a bug', { operation: rpc.method, service: rpc.service, error: asError(error) });
  }

  /** A call that comes over no stream of HTTP/2, for `run`. Nothing cancels it. */
  call(from: Pick<Call, 'rpc' | 'peer' | 'deadlineMs' | 'own' | 'header'>): Call {
    const call: Call = {
      ...from,
      cancelled: false,
      principal: undefined,
      notes: newNotes(),
      onCancel: () => {},
      admit: (request, token) => this.admit(call, request, token),
    };
    return call;
  }

  /** Rejects with what refused the call, or with what `handle` threw. */
  async run<Answer>(call: Call, handle: () => Answer | Promise<Answer>): Promise<Answer> {
    const startedMs = performance.now();
    try {
      this.before(call);
      const answer = await handle();
      this.after(call, { code: statusCode.ok, message: '', error: undefined, durationMs: performance.now() - startedMs });
      return answer;
    } catch (thrown) {
      const error = asStatusError(thrown);
      this.after(call, { code: error.code, message: error.message, error, durationMs: performance.now() - startedMs });
      throw thrown;
    }
  }
}
