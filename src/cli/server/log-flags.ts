import { suggest } from '../../config/suggest.ts';
import { logLevels, type LogFormat, type LogLevel } from '../../observability/logger.ts';
import { usageError } from '../cli-error.ts';
import type { Flag } from '../command.ts';

export const logLevelFlag: Flag = { name: 'log-level', value: 'LEVEL', help: 'debug, info, warn, error or never', defaultText: 'warn' };
export const logFormatFlag: Flag = { name: 'log-format', value: 'FORMAT', help: 'text or json; pretty is text', defaultText: 'text' };

export function readLogLevel(given: string | undefined): LogLevel {
  const wanted = (given ?? 'warn').toLowerCase();
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
