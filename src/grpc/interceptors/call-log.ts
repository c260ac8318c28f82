import type { Logger } from '../../observability/logger.ts';
import type { Interceptor } from '../transport/call.ts';

/** One debug record for each call that ended. Never a payload, a token or a header. */
export function callLog(logger: Logger): Interceptor {
  return {
    after: (call, outcome) => {
      if (!logger.enabled('debug')) return;
      logger.debug('call', {
        operation: call.method,
        service: call.service,
        code: outcome.code,
        error: outcome.message === '' ? undefined : outcome.message,
        'duration-ms': Math.round(outcome.durationMs * 1_000) / 1_000,
      });
    },
  };
}
