import { logLevels, type LogFormat, type LogLevel } from '../../observability/logger.ts';
import { didYouMean, usageError } from '../cli-error.ts';

export function readLogLevel(given: string | undefined, otherwise: LogLevel): LogLevel {
  const wanted = (given ?? otherwise).toLowerCase();
  return logLevels.find((level) => level === wanted) ?? refuse('--log-level', given ?? '', logLevels);
}

export function readLogFormat(given: string | undefined): LogFormat {
  const wanted = (given ?? 'text').toLowerCase();
  if (wanted === 'text' || wanted === 'pretty') return 'text';
  return wanted === 'json' ? 'json' : refuse('--log-format', given ?? '', ['text', 'json', 'pretty']);
}

function refuse(flag: string, given: string, known: readonly string[]): never {
  throw usageError(`${flag}: expected ${known.join(', ')}, got "${given}"`, { why: didYouMean(given, known) });
}
