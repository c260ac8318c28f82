import type { LogSettings, ServerSettings } from '../../config/settings.ts';
import { openLogFile } from '../../observability/log-file.ts';
import { createLogger, type Logger } from '../../observability/logger.ts';
import { failure, usageError } from '../cli-error.ts';
import { exitCodes, type ExitCode, type Invocation } from '../command.ts';
import type { Io } from '../io.ts';
import { printProblems, readServerFile } from '../server-file.ts';
import { hostPort } from './banner.ts';
import { lastWords } from './last-words.ts';
import { readLogLevel } from './log-flags.ts';
import { serve } from './serve.ts';
import { roles } from './start-flags.ts';
import { errorMessage } from '../../kernel/error-text.ts';

const variable = 'TEMPORAL_SERVER_CONFIG_FILE_PATH';

export async function runStart({ flags, io }: Invocation): Promise<ExitCode> {
  checkRoles(flags.all('role'));
  const file = flags.one('config') ?? io.env[variable];
  if (file === undefined || file === '') {
    throw usageError('no configuration file', {
      why: `Neither --config nor ${variable} names one.`,
      next: 'Write perdure server start --config server.yaml, or perdure server start-dev for a server without a file.',
    });
  }
  const read = readServerFile(file, io, {
    strict: flags.switched('strict-config') === true,
    autoCreateTopics: flags.switched('no-auto-migrate') !== true,
  });
  if (read.settings === undefined) {
    printProblems(file, read, io);
    return exitCodes.usage;
  }
  const { server, startMsMax } = read.settings;
  const log = { ...read.settings.log, level: readLogLevel(flags.one('log-level'), read.settings.log.level) };
  const logger = createLogger({ level: log.level, format: log.format, write: writerOf(log.target, io), nowMs: () => Date.now() });
  for (const { file: other = file, line, column, path, message } of read.problems)
    logger.warn(message, { file: `${other}:${line}:${column}`, key: path === '' ? undefined : path });
  if (flags.switched('allow-no-auth') !== true && !isTrue(io.env['TEMPORAL_ALLOW_NO_AUTH'])) warnAboutOpenPort(server, logger);
  return serve({
    settings: server,
    addressSetBy: (role) => ({ host: `services.${role}.rpc.bindOnIP`, port: `services.${role}.rpc.grpcPort` }),
    logger,
    io,
    startMsMax,
    lastWords: lastWords(log, logger, io),
    onServing: () => {},
  });
}

function checkRoles(given: readonly string[]): void {
  const missing = roles.filter((role) => !given.includes(role));
  if (given.length === 0 || missing.length === 0) return;
  throw usageError(`can't run ${given.join(', ')} alone`, {
    why: 'One process runs all roles; several processes that serve together are not supported yet.',
    next: 'Leave --role out.',
  });
}

function writerOf(target: LogSettings['target'], io: Io): (line: string) => void {
  switch (target.kind) {
    case 'stderr':
      return io.err;
    case 'stdout':
      return io.out;
    case 'file':
      try {
        return openLogFile(target.filename, (what) => io.err(`perdure: ${what}\n`));
      } catch (error) {
        throw failure(`can't open log file ${target.filename}`, { why: errorMessage(error) });
      }
  }
}

function warnAboutOpenPort({ host, port }: ServerSettings, logger: Logger): void {
  if (host === 'localhost' || host.startsWith('127.') || host === '::1') return;
  logger.warn('anybody who can reach this port can use it, because there is no authorization; --allow-no-auth silences this warning', {
    address: hostPort(host, port),
  });
}

function isTrue(text: string | undefined): boolean {
  return text === '1' || text?.toLowerCase() === 'true';
}
