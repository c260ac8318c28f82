import { defaults } from '../../config/defaults.ts';
import { constantEntries, findSetting } from '../../config/dynamic-settings.ts';
import { createLogger, type Logger } from '../../observability/logger.ts';
import type { ExitCode, FlagValues, Invocation } from '../command.ts';
import type { Io } from '../io.ts';
import { announceWebUi } from './announce-web-ui.ts';
import { banner, webUiLine } from './banner.ts';
import { lastWords } from './last-words.ts';
import { readLogFormat, readLogLevel } from './log-flags.ts';
import { serve } from './serve.ts';
import { readStartDevSettings } from './start-dev-settings.ts';

export async function runStartDev({ flags, io }: Invocation): Promise<ExitCode> {
  const level = readLogLevel(flags.one('log-level'), 'warn');
  const format = readLogFormat(flags.one('log-format'));
  const logger = createLogger({ level, format, write: io.err, nowMs: () => Date.now() });
  const settings = readStartDevSettings(flags);
  warnOfUnserved(flags, logger);
  if (flags.switched('log-config') === true) {
    const { effectiveStartDev, toYaml } = await import('../../config/effective.ts');
    io.err(toYaml(effectiveStartDev(settings)));
  }
  warnOfUnread(settings.dynamicConfig, logger);
  const stopped = new AbortController();
  const ended = serve({
    settings,
    addressSetBy: (role) => ({
      host: asTyped('--ip ADDRESS', io),
      port: asTyped(role === 'frontend' ? '--port N' : `--${role}-port N`, io),
    }),
    logger,
    io,
    startMsMax: 30_000,
    lastWords: lastWords({ level, format, target: { kind: 'stderr' } }, logger, io),
    onServing: (server) => {
      io.out(banner(settings, server));
      const port = webUiPort(flags);
      if (port !== undefined) void announceWebUi(port, stopped.signal, () => io.out(webUiLine(port)));
    },
  });
  return await ended.finally(() => stopped.abort());
}

function webUiPort(flags: FlagValues): number | undefined {
  if (flags.switched('headless') === true) return undefined;
  const given = Number(flags.one('ui-port') ?? defaults.webUiPort);
  return given === 0 ? undefined : given;
}

/** The flag as this user would have to type it: `npm start` passes flags on after two dashes. */
function asTyped(flag: string, { env }: Io): string {
  return env['npm_lifecycle_event'] === 'start' ? `npm start -- ${flag}` : flag;
}

/** Values that the SDKs' test environments set at every start. This server works that way anyway, so there is no warning about them. */
const askedByEverySdk: ReadonlyMap<string, unknown> = new Map([
  ['frontend.enableServerVersionCheck', false],
  ['frontend.enableUpdateWorkflowExecution', true],
  ['frontend.enableUpdateWorkflowExecutionAsyncAccepted', true],
]);

const webUiApart = 'the web UI is a separate program (docs/web-ui.md): nothing is served on --ui-port unless it runs there';

/** A user may connect to a port that a flag names, so a port without a service gets a warning. Flags about the looks of the web UI get none. */
function warnOfUnserved(flags: FlagValues, logger: Logger): void {
  if (flags.one('ui-port') !== undefined) logger.warn(webUiApart);
  if (flags.one('http-port') !== undefined) logger.warn('nothing is served on --http-port yet: the HTTP API is not built');
}

function warnOfUnread(dynamicConfig: ReadonlyMap<string, unknown>, logger: Logger): void {
  for (const { key, message } of constantEntries(dynamicConfig).problems) logger.warn(message, { key });
  for (const [key, value] of dynamicConfig) {
    if (findSetting(key) === undefined && askedByEverySdk.get(key) !== value) {
      logger.warn('this dynamic configuration value has no effect: this server does not use the key', { key });
    }
  }
}
