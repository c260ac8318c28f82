import { createServer } from 'node:net';
import { flushCompileCache } from 'node:module';
import { AnotherServerError } from '../../config/another-server.ts';
import type { RunningServer } from '../../config/server-options.ts';
import type { ServerSettings } from '../../config/settings.ts';
import type { Logger } from '../../observability/logger.ts';
import { CliError, failure } from '../cli-error.ts';
import type { Io } from '../io.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { hostPort } from './banner.ts';

export type ServeRequest = {
  readonly settings: ServerSettings;
  readonly logger: Logger;
  readonly io: Io;
  /** A start that takes longer has failed. */
  readonly startMsMax: number;
  readonly onServing: (server: RunningServer) => void;
};

const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** Whoever sent the signal waits ten seconds; past this we leave without having drained. */
const stopMsMax = 9_000;

type End = { readonly kind: 'signal'; readonly signal: string } | { readonly kind: 'fatal'; readonly error: Error };

/**
 * Runs a server until a signal or its own failure ends it.
 *
 *     starting ── banner ──▶ serving ── SIGTERM, SIGINT, SIGHUP ──▶ stopping ──▶ exit 0
 *        │                      │                                      └─ second signal, or 9 s ──▶ exit 1
 *        └── signal: exit 0     └── onFatal: exit 1, or 3 for another server, at once: there is nothing left that it may write
 */
export async function serve(request: ServeRequest): Promise<ExitCode> {
  const { settings, logger, io } = request;
  const end = Promise.withResolvers<End>();
  const secondSignal = Promise.withResolvers<'again'>();
  let signals = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    signals += 1;
    if (signals === 1) end.resolve({ kind: 'signal', signal });
    else secondSignal.resolve('again');
  };
  for (const signal of stopSignals) process.on(signal, onSignal);
  try {
    const started = await Promise.race([start(request, (error) => end.resolve({ kind: 'fatal', error })), end.promise]);
    if ('kind' in started) return finishEarly(started, io);
    request.onServing(started);
    logger.info('serving', { address: hostPort(settings.host, started.port) });
    // A server that is only ever killed would never write its compile cache.
    setImmediate(flushCompileCache);
    const ended = await end.promise;
    if (ended.kind === 'fatal') return finishEarly(ended, io);
    logger.info('stopping', { signal: ended.signal });
    return await stop(started, secondSignal.promise, io);
  } finally {
    for (const signal of stopSignals) process.off(signal, onSignal);
  }
}

async function start({ settings, logger, io, startMsMax }: ServeRequest, onFatal: (error: Error) => void): Promise<RunningServer> {
  const loading = io.loadServer();
  // A busy port is told before a database file is made or a topic created.
  await checkPort(settings);
  const { startServer } = await loading;
  const timer = setTimeout(() => onFatal(new Error(`the server did not start within ${startMsMax / 1000} s`)), startMsMax);
  try {
    return await startServer({ ...settings, logger, onFatal });
  } catch (error) {
    throw startFailure(error, settings);
  } finally {
    clearTimeout(timer);
  }
}

function finishEarly(end: End, io: Io): ExitCode {
  if (end.kind === 'signal') return exitCodes.done;
  io.err(`perdure: ${end.error.message}\n`);
  return end.error instanceof AnotherServerError ? exitCodes.anotherServer : exitCodes.failed;
}

async function stop(server: RunningServer, secondSignal: Promise<'again'>, io: Io): Promise<ExitCode> {
  const tooLong = Promise.withResolvers<'too long'>();
  const timer = setTimeout(() => tooLong.resolve('too long'), stopMsMax);
  const how = await Promise.race([server.stop().then(() => 'stopped' as const), tooLong.promise, secondSignal]);
  clearTimeout(timer);
  switch (how) {
    case 'stopped':
      return exitCodes.done;
    case 'again':
      io.err('perdure: program interrupted\n');
      return exitCodes.failed;
    case 'too long':
      io.err(`perdure: did not stop within ${stopMsMax / 1000} s, leaving without draining; nothing acknowledged is lost\n`);
      return exitCodes.failed;
  }
}

async function checkPort({ host, port }: ServerSettings): Promise<void> {
  if (port === 0) return;
  const probe = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject);
      probe.listen({ host, port, exclusive: true }, resolve);
    });
    await new Promise<void>((resolve) => void probe.close(() => resolve()));
  } catch (error) {
    throw portFailure(error, port);
  }
}

const listenErrors = new Set(['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL']);

function startFailure(error: unknown, { port }: ServerSettings): Error {
  if (!(error instanceof Error)) return failure('the server could not start', { why: String(error) });
  if (error.name === 'AssertionError' || error instanceof TypeError || error instanceof ReferenceError) return error;
  if (error instanceof AnotherServerError) return new CliError(exitCodes.anotherServer, error.message);
  if ('syscall' in error && error.syscall === 'listen') return portFailure(error, port);
  const causes: string[] = [];
  // What the log says of itself is the whole sentence: under it is only what the library said, which it has put into words already.
  for (let current = error; current.name !== 'LogError' && current.cause instanceof Error && causes.length < 5; current = current.cause) {
    causes.push(current.cause.message);
  }
  return failure(error.message, { why: causes.length === 0 ? undefined : `Because: ${causes.join(': ')}` });
}

function portFailure(error: unknown, port: number): Error {
  if (!(error instanceof Error)) return failure(`can't set frontend port ${port}: ${String(error)}`);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (!listenErrors.has(code)) return error;
  return failure(`can't set frontend port ${port}: ${error.message}`, {
    next: code === 'EADDRINUSE' ? 'Stop the server that listens there, or choose another port with --port.' : undefined,
  });
}
