import { createServer, type Server } from 'node:net';
import { flushCompileCache } from 'node:module';
import { AnotherServerError } from '../../config/another-server.ts';
import { memoryThereIs, usableHeapBytes } from '../../config/memory.ts';
import type { RunningServer } from '../../config/server-options.ts';
import { portRoles, type PortRole } from '../../config/role-ports.ts';
import type { ServerSettings } from '../../config/settings.ts';
import { perdureBuild } from '../../config/version.ts';
import { boundHeapGrowth, boundThreadHeaps, HeapWatch, heapUse } from '../../observability/heap-watch.ts';
import { asError, errorCode } from '../../kernel/error-text.ts';
import type { Logger } from '../../observability/logger.ts';
import { CliError, failure } from '../cli-error.ts';
import { incompleteInstallation } from '../incomplete-installation.ts';
import type { Io } from '../io.ts';
import { exitCodes, type ExitCode } from '../command.ts';
import { leaveAtOnce } from '../leave-at-once.ts';
import { hostPort } from './banner.ts';
import type { LastWords } from './last-words.ts';

export type ServeRequest = {
  readonly settings: ServerSettings;
  readonly addressSetBy: AddressSetBy;
  readonly logger: Logger;
  readonly io: Io;
  /** A start without progress for longer than this has failed. Reading journals is progress, however long it takes. */
  readonly startMsMax: number;
  readonly lastWords: LastWords;
  readonly onServing: (server: RunningServer) => void;
};

/** The flag or the key that sets the address of a role's port, as the user would write it. */
export type AddressSetBy = (role: 'frontend' | PortRole) => { readonly host: string; readonly port: string };

const stopSignals = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
/** Supervisors wait ten seconds after the signal; after this time the process exits without having drained. */
const stopMsMax = 9_000;

type End = { readonly kind: 'signal'; readonly signal: string } | { readonly kind: 'fatal'; readonly error: Error };

/**
 * Runs a server until a signal or its own failure ends it.
 *
 *     starting ── banner ──▶ serving ── SIGTERM, SIGINT, SIGHUP ──▶ stopping ──▶ exit 0
 *        │                      │                                      └─ second signal, or 9 s ──▶ exit 1
 *        └── signal: exit 0     └── onFatal: exit 1, or 3 for another server, at once, because it may write nothing more
 *
 * Only a server that has stopped has ended its threads. After any other end they may still be in a long statement.
 */
export async function serve(request: ServeRequest): Promise<ExitCode> {
  const end = Promise.withResolvers<End>();
  const secondSignal = Promise.withResolvers<'again'>();
  let signals = 0;
  const onSignal = (signal: NodeJS.Signals): void => {
    signals += 1;
    if (signals === 1) end.resolve({ kind: 'signal', signal });
    else secondSignal.resolve('again');
  };
  const onBug = (error: unknown): void => {
    request.lastWords.bug(asError(error));
    leaveAtOnce(exitCodes.failed);
  };
  for (const signal of stopSignals) process.on(signal, onSignal);
  // Without a listener for SIGUSR1 Node would open its debugger.
  process.on('SIGUSR1', ignore);
  process.on('uncaughtException', onBug);
  const heap = new HeapWatch(request.logger, () => usableHeapBytes(memoryThereIs()));
  boundThreadHeaps();
  let hasStopped = false;
  try {
    hasStopped = await lifeOf(request, heap, end, secondSignal.promise);
    return exitCodes.done;
  } catch (error) {
    const told = error instanceof CliError ? error : incompleteInstallation(error);
    if (told === undefined) request.lastWords.bug(asError(error));
    else request.lastWords.failure(told);
    return told?.exitCode ?? exitCodes.failed;
  } finally {
    if (!hasStopped) request.io.leaveThreads();
    heap.stop();
    process.off('uncaughtException', onBug);
    for (const signal of stopSignals) process.off(signal, onSignal);
    process.off('SIGUSR1', ignore);
  }
}

/** Returns false if a signal ended the server before it served. Throws CliError if the server ended without being asked to. */
async function lifeOf(
  request: ServeRequest,
  heap: HeapWatch,
  end: PromiseWithResolvers<End>,
  secondSignal: Promise<'again'>,
): Promise<boolean> {
  const { settings, logger } = request;
  const heapBefore = heapUse();
  const beganMs = performance.now();
  const started = await Promise.race([start(request, heap, (error) => end.resolve({ kind: 'fatal', error })), end.promise]);
  if ('kind' in started) return endedEarly(started);
  request.onServing(started);
  const heapNow = heapUse();
  logger.info('serving', {
    address: hostPort(settings.host, started.port),
    'history-port': started.rolePorts.history,
    'matching-port': started.rolePorts.matching,
    version: perdureBuild(),
    log: started.started.log,
    'topic-prefix': started.started.topicPrefix === '' ? undefined : started.started.topicPrefix,
    shards: started.started.historyShards,
    records: started.started.records,
    'journal-mib': Math.round(started.started.bytes / 2 ** 20),
    seconds: secondsSince(beganMs),
    'start-heap-mib': heapNow.usedMiB - heapBefore.usedMiB,
    'heap-mib': heapNow.usedMiB,
    'heap-limit-mib': heapNow.limitMiB,
  });
  // Otherwise a server that is always killed would never write its compile cache.
  setImmediate(flushCompileCache);
  const unboundHeap = boundHeapGrowth();
  const ended = await end.promise;
  unboundHeap();
  if (ended.kind === 'fatal') return endedEarly(ended);
  logger.info('stopping', { signal: ended.signal });
  const stoppingMs = performance.now();
  await stop(started, secondSignal);
  logger.info('stopped', { seconds: secondsSince(stoppingMs), 'served-seconds': secondsSince(beganMs) });
  return true;
}

async function start(
  { settings, addressSetBy, logger, io, startMsMax }: ServeRequest,
  heap: HeapWatch,
  onFatal: (error: Error) => void,
): Promise<RunningServer> {
  // A busy port is reported before a database file or a topic is created.
  const [{ startServer }] = await Promise.all([io.loadServer(), checkPorts(settings, addressSetBy)]);
  const stuck = (): void => onFatal(new Error(`the server did not start: there was no progress for ${startMsMax / 1000} s`));
  let timer = setTimeout(stuck, startMsMax);
  let starting = true;
  const onProgress = (): void => {
    if (!starting) return;
    clearTimeout(timer);
    timer = setTimeout(stuck, startMsMax);
  };
  try {
    return await startServer({ ...settings, heap, logger, startMsMax, onFatal, onProgress });
  } catch (error) {
    throw startFailure(error);
  } finally {
    starting = false;
    clearTimeout(timer);
  }
}

function endedEarly(end: End): false {
  if (end.kind === 'signal') return false;
  throw end.error instanceof AnotherServerError ? new CliError(exitCodes.anotherServer, end.error.message) : failure(end.error.message);
}

async function stop(server: RunningServer, secondSignal: Promise<'again'>): Promise<void> {
  const tooLong = Promise.withResolvers<'too long'>();
  const timer = setTimeout(() => tooLong.resolve('too long'), stopMsMax);
  const how = await Promise.race([server.stop().then(() => 'stopped' as const), tooLong.promise, secondSignal]);
  clearTimeout(timer);
  switch (how) {
    case 'stopped':
      return;
    case 'again':
      throw failure('program interrupted');
    case 'too long':
      throw failure(`did not stop within ${stopMsMax / 1000} s, so it exits without draining; nothing acknowledged is lost`);
  }
}

function ignore(): void {}

function secondsSince(startMs: number): number {
  return Math.round((performance.now() - startMs) / 10) / 100;
}

type Wanted = { readonly role: 'frontend' | PortRole; readonly host: string; readonly port: number };

/** All at once, as two may have been given the same. A port that is taken between this look and the start fails the start in the listener's words. */
async function checkPorts({ host, port, rolePorts }: ServerSettings, setBy: AddressSetBy): Promise<void> {
  const wanted: Wanted[] = [{ role: 'frontend', host, port }];
  for (const role of portRoles) if (rolePorts?.[role]?.orFree === false) wanted.push({ role, ...rolePorts[role] });
  const probes: Server[] = [];
  try {
    for (const each of wanted) if (each.port !== 0) probes.push(await probeOf(each, setBy));
  } finally {
    await Promise.all(probes.map((probe) => new Promise<void>((resolve) => void probe.close(() => resolve()))));
  }
}

async function probeOf({ role, host, port }: Wanted, setBy: AddressSetBy): Promise<Server> {
  const probe = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once('error', reject);
      probe.listen({ host, port, exclusive: true }, resolve);
    });
    return probe;
  } catch (error) {
    throw listenFailure(error, { role, host, port }, setBy);
  }
}

const portErrors: ReadonlySet<string> = new Set(['EADDRINUSE', 'EACCES']);
const hostErrors: ReadonlySet<string> = new Set(['EADDRNOTAVAIL', 'ENOTFOUND', 'EAI_AGAIN', 'EINVAL']);

function startFailure(error: unknown): Error {
  if (!(error instanceof Error)) return failure('the server could not start', { why: String(error) });
  if (error.name === 'AssertionError' || error instanceof TypeError || error instanceof ReferenceError) return error;
  const incomplete = incompleteInstallation(error);
  if (incomplete !== undefined) return incomplete;
  if (error instanceof AnotherServerError) return new CliError(exitCodes.anotherServer, error.message);
  const causes: string[] = [];
  // The message of a LogError is complete: it explains the library's error, which is its cause.
  for (let current = error; current.name !== 'LogError' && current.cause instanceof Error && causes.length < 5; current = current.cause) {
    causes.push(current.cause.message);
  }
  return failure(error.message, { why: causes.length === 0 ? undefined : `Because: ${causes.join(': ')}` });
}

function listenFailure(error: unknown, { role, host, port }: Wanted, setBy: AddressSetBy): Error {
  if (!(error instanceof Error)) return failure(`can't listen on ${hostPort(host, port)}: ${String(error)}`);
  const code = errorCode(error) ?? '';
  if (hostErrors.has(code)) {
    return failure(`can't listen on ${host}: ${error.message}`, {
      next: `Choose an address of this machine, or 0.0.0.0 for all of them, with ${setBy(role).host}.`,
    });
  }
  if (!portErrors.has(code)) return error;
  return failure(`can't set ${role} port ${port}: ${error.message}`, {
    next: code === 'EADDRINUSE' ? `Stop the server that listens there, or choose another port with ${setBy(role).port}.` : undefined,
  });
}
