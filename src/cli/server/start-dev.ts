import { stderrLogger } from '../../observability/logger.ts';
import type { Invocation } from '../command.ts';
import type { ExitCode } from '../exit-codes.ts';
import { banner } from './banner.ts';
import { readLogFormat, readLogLevel } from './log-flags.ts';
import { serve } from './serve.ts';
import { readStartDevSettings } from './start-dev-settings.ts';

export async function runStartDev({ flags, io }: Invocation): Promise<ExitCode> {
  const logger = stderrLogger(readLogLevel(flags.one('log-level')), readLogFormat(flags.one('log-format')));
  const settings = readStartDevSettings(flags);
  if (flags.switched('log-config') === true) {
    const { effectiveStartDev, toYaml } = await import('../../config/effective.ts');
    io.err(toYaml(effectiveStartDev(settings)));
  }
  return serve({ settings, logger, io, startMsMax: 30_000, onServing: (server) => io.out(banner(settings, server.port)) });
}
