import type { LogSettings } from '../../config/settings.ts';
import { stackOf } from '../../observability/stack.ts';
import type { Logger } from '../../observability/logger.ts';
import type { CliError } from '../cli-error.ts';
import type { Io } from '../io.ts';

export interface LastWords {
  failure(error: CliError): void;
  bug(error: Error): void;
}

/**
 * The reason is written once to the log, in its format, and once to stderr. If the log is text on stderr, it is printed only as the command
 * line prints errors, over several lines. Log level `never` does not suppress it.
 */
export function lastWords({ level, format, target }: LogSettings, logger: Logger, io: Io): LastWords {
  const inLog = level !== 'never' && (format === 'json' || target.kind !== 'stderr');
  const onStderr = !inLog || target.kind !== 'stderr';
  // Messages of several lines have commands to copy, which is not possible from JSON.
  const isToCopy = ({ message }: CliError): boolean => message.includes('\n');
  return {
    failure: (error) => {
      if (inLog) logger.error(error.message, { why: error.why, next: error.next });
      if (onStderr || isToCopy(error)) io.err(error.render());
    },
    bug: (error) => {
      if (inLog) logger.error('ended because of a bug; please report it with this record', { error });
      if (onStderr) io.err(`perdure: ended because of a bug; please report it\n${stackOf(error) ?? error.message}\n`);
    },
  };
}
