/** A log on the other side of a thread: what is said in one is written in the other. */
import { errorText } from '../../kernel/error-text.ts';
import type { LogFields, Logger, RecordLevel } from '../../observability/logger.ts';
import type { Said } from '../thread/messages.ts';

/** In the thread; `say` carries plain data. */
export function relayedLogger(say: (said: Said) => void, bound: LogFields = {}): Logger {
  const log =
    (level: RecordLevel) =>
    (message: string, fields: LogFields = {}): void =>
      say({
        level,
        message,
        fields: Object.fromEntries(Object.entries({ ...bound, ...fields }).map(([name, value]) => [name, plain(value)])),
      });
  return {
    debug: log('debug'),
    info: log('info'),
    warn: log('warn'),
    error: log('error'),
    enabled: () => true,
    with: (fields) => relayedLogger(say, { ...bound, ...fields }),
  };
}

function plain(value: LogFields[string]): Said['fields'][string] {
  return value instanceof Error ? errorText(value) : value;
}
