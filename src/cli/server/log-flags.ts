import { suggest } from '../../config/suggest.ts';
import { logLevels, type LogFormat, type LogLevel } from '../../observability/logger.ts';
import { usageError } from '../cli-error.ts';
import type { Flag } from '../command.ts';

const levels = 'debug, info, warn, error or never';
export const logLevelFlag: Flag = { name: 'log-level', value: 'LEVEL', help: levels, defaultText: 'warn' };
/** Where a server file says something too. */
export const logLevelOverFileFlag: Flag = { ...logLevelFlag, help: `${levels}; goes before the server file`, defaultText: 'log.level' };
export const logFormatFlag: Flag = { name: 'log-format', value: 'FORMAT', help: 'text or json; pretty is text', defaultText: 'text' };

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
  const meant = suggest(given, known);
  throw usageError(`${flag}: expected ${known.join(', ')}, got "${given}"`, {
    why: meant === undefined ? undefined : `Did you mean ${meant}?`,
  });
}
