import type { LogSettings } from '../../config/settings.ts';
import { stackOf } from '../../observability/stack.ts';
import type { Logger } from '../../observability/logger.ts';
import type { CliError } from '../cli-error.ts';
import type { Io } from '../io.ts';

/** Why a server ends. */
export interface LastWords {
  failure(error: CliError): void;
  /** Ours, with its stack. */
  bug(error: Error): void;
}

/**
 * Said where whoever runs the server looks: in the log, in its format, and on stderr, once each. On stderr a text log says it as the command
 * line does, over several lines; `never` silences the log and not this.
 */
export function lastWords({ level, format, target }: LogSettings, logger: Logger, io: Io): LastWords {
  const inLog = level !== 'never' && (format === 'json' || target.kind !== 'stderr');
  const onStderr = !inLog || target.kind !== 'stderr';
  // Commands to copy stand in it, a line each: in JSON nobody can paste them.
  const isToCopy = ({ message }: CliError): boolean => message.includes('\n');
  return {
    failure: (error) => {
      if (inLog) logger.error(error.message, { why: error.why, next: error.next });
      if (onStderr || isToCopy(error)) io.err(error.render());
    },
    bug: (error) => {
      if (inLog) logger.error('ended by a bug; please report it with this record', { error });
      if (onStderr) io.err(`perdure: ended by a bug; please report it\n${stackOf(error) ?? error.message}\n`);
    },
  };
}
