import {
  constants,
  createServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Socket } from 'node:net';
import { notBuilt, statusCode, StatusError } from '../errors/status-error.ts';
import { headerBytes } from './call-headers.ts';
import { undeclared, undeclaredRpc, type Rpc } from '../rpcs/rpc.ts';
import type { Method, Service } from './call.ts';
import type { Gate } from './gate.ts';
import { Allowance } from './allowance.ts';
import { FairReading, readingCost, type ReadConnection } from './fair-reading.ts';
import { CallTurns } from './call-turns.ts';
import { Http2Call, type CallContext, type Traffic } from './http2-call.ts';
import { KeptBytes } from './kept-bytes.ts';
import type { LimitHits } from './limit-hits.ts';
import { peerOf } from './tcp-port.ts';
import type { TransportLimits } from './transport-limits.ts';

/** gRPC over HTTP/2, on sockets that somebody else accepted. Sessions and streams live here; one call is `Http2Call`. */
export class Http2Front {
  readonly #server: Http2Server;
  readonly #rpcs: ReadonlyMap<string, Served>;
  readonly #context: CallContext;
  readonly #reading: FairReading;
  readonly #hits: LimitHits;
  readonly #sessions = new Map<ServerHttp2Session, SessionState>();
  /** The connection whose session is being made: `session` is emitted before this is cleared. */
  #accepted: ReadConnection | undefined;

  constructor(options: {
    readonly services: readonly Service[];
    readonly gate: Gate;
    readonly limits: TransportLimits;
    readonly hits: LimitHits;
  }) {
    this.#rpcs = new Map(
      options.services.flatMap(({ rpcs, methods }) => [...rpcs].map(([name, rpc]) => [rpc.path, { rpc, method: methods.get(name) }])),
    );
    this.#reading = new FairReading(options.limits.reading);
    this.#hits = options.hits;
    const kept = new KeptBytes(options.limits.keptBytesMax, (session) => this.#endFor(session, this.#sessions.get(session)?.connection));
    this.#context = { ...options, kept, turns: new CallTurns() };
    this.#server = createServer(serverOptions(options.limits));
    this.#server.on('session', (session) => this.#openSession(session));
    // A session's error ends that session; it must not end the process.
    this.#server.on('sessionError', () => {});
    this.#server.setTimeout(0);
  }

  accept(socket: Socket): void {
    socket.on('error', ignore);
    this.#reading.admit(socket, (connection) => {
      this.#accepted = connection;
      this.#server.emit('connection', socket);
      this.#accepted = undefined;
    });
  }

  /** Takes no new calls, lets open ones finish for `graceMs`, then cuts what is left. */
  async stop(graceMs: number): Promise<void> {
    const open = [...this.#sessions];
    const sessions = open.map(([session]) => session);
    const closed = sessions.map((session) => new Promise<void>((resolve) => void session.once('close', resolve)));
    for (const session of sessions) session.close();
    this.#reading.stop();
    const timer = setTimeout(() => {
      for (const [session, { connection }] of open) cut(session, connection?.socket);
    }, graceMs);
    await Promise.all(closed);
    clearTimeout(timer);
  }

  /** Nothing that one stream does may end the process. */
  #accept(session: ServerHttp2Session, state: SessionState, stream: ServerHttp2Stream, headers: IncomingHttpHeaders, bytes: number): void {
    try {
      this.#countCall(session, state, stream, bytes);
      const { connection, traffic } = state;
      if (connection === undefined || !this.#reading.hasReadEnough(connection)) this.#open(stream, headers, traffic);
      // What one read brings is dealt with to its end: the calls that are too many for this turn are opened in the next ones.
      else this.#context.turns.add(traffic.bytes, { isOver: () => stream.closed, begin: () => this.#open(stream, headers, traffic) });
    } catch {
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    }
  }

  #open(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, traffic: Traffic): void {
    try {
      // A call that was cancelled in the same read has nobody to answer.
      if (!stream.destroyed) this.#openCall(stream, headers, traffic);
    } catch {
      stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    }
  }

  #openCall(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, traffic: Traffic): void {
    const path = headers[':path'] ?? '';
    if (headers[':method'] !== 'POST') {
      stream.respond({ ':status': 405, allow: 'POST' }, { endStream: true });
      return;
    }
    if (headers['content-type']?.startsWith('application/grpc') !== true) {
      stream.respond({ ':status': 415 }, { endStream: true });
      return;
    }
    const served = this.#rpcs.get(path);
    const call = new Http2Call(stream, headers, served?.rpc ?? undeclaredRpc(path), this.#context, traffic);
    if (served?.method === undefined) call.fail(notServed(call.rpc));
    else call.run(served.method);
  }

  /**
   * Clients ping as they like and get their answers. Our own pings find those that vanished; a connection that has had no call for
   * a while is closed with a GOAWAY, which clients take as a request to connect again when they need to.
   */
  #openSession(session: ServerHttp2Session): void {
    const { firstBytesTimeoutMs, pingIntervalMs, pingTimeoutMs, idleTimeoutMs } = this.#context.limits;
    const connection = this.#accepted;
    const state: SessionState = {
      connection,
      traffic: {
        peer: peerOf(session.socket),
        bytes: this.#context.kept.open(session),
        piece: (bytes, isNeedless) => this.#countPiece(session, state, bytes, isNeedless),
        names: (namespace) => {
          if (connection !== undefined) this.#reading.names(connection, namespace);
        },
      },
      needlessPieces: new Allowance(needlessPieces.burst, needlessPieces.perSecond),
      openCalls: 0,
      idleSinceMs: performance.now(),
    };
    this.#sessions.set(session, state);
    session.on('stream', (stream, headers, _flags, rawHeaders) => {
      // A broken stream also closes, which is where it is dealt with.
      stream.on('error', ignore);
      this.#accept(session, state, stream, headers, headerBytes(rawHeaders));
    });
    session.on('error', ignore);
    const noSettings = setTimeout(() => session.destroy(), firstBytesTimeoutMs);
    session.once('remoteSettings', () => clearTimeout(noSettings));
    let unanswered: NodeJS.Timeout | undefined;
    const watch = setInterval(() => {
      if (session.destroyed || unanswered !== undefined) return;
      if (state.openCalls === 0 && performance.now() - state.idleSinceMs >= idleTimeoutMs) {
        session.close();
        // A peer that answers nothing would keep a closed session for ever.
        unanswered = setTimeout(() => cut(session, connection?.socket), pingTimeoutMs);
        return;
      }
      const sent = session.ping(() => {
        clearTimeout(unanswered);
        unanswered = undefined;
      });
      if (sent) unanswered = setTimeout(() => cut(session, connection?.socket), pingTimeoutMs);
    }, pingIntervalMs);
    session.on('close', () => {
      clearTimeout(noSettings);
      clearInterval(watch);
      clearTimeout(unanswered);
      this.#sessions.delete(session);
      this.#context.kept.close(state.traffic.bytes);
    });
  }

  #countCall(session: ServerHttp2Session, state: SessionState, stream: ServerHttp2Stream, bytes: number): void {
    const { connection } = state;
    const { concurrentStreamsMax } = this.#context.limits;
    if (++state.openCalls === concurrentStreamsMax) {
      this.#hits.hit('calls_of_connection', concurrentStreamsMax, connection?.socket.remoteAddress ?? '');
    }
    if (connection !== undefined) this.#reading.spend(connection, readingCost.call + bytes * readingCost.headerByte);
    const { turn } = this.#reading;
    stream.on('close', () => {
      state.openCalls--;
      state.idleSinceMs = performance.now();
      if (connection === undefined || stream.headersSent || session.destroyed) return;
      if (!this.#reading.cancelled(connection, turn)) this.#endFor(session, connection);
    });
  }

  #countPiece(session: ServerHttp2Session, { connection, needlessPieces }: SessionState, bytes: number, isNeedless: boolean): void {
    if (connection === undefined || session.destroyed) return;
    this.#reading.spend(connection, readingCost.piece + bytes * readingCost.pieceByte);
    if (!isNeedless) return;
    const nowMs = performance.now();
    needlessPieces.take(1, nowMs);
    if (needlessPieces.waitMs(nowMs) === 0) return;
    this.#endFor(session, connection);
  }

  #endFor(session: ServerHttp2Session, connection: ReadConnection | undefined): void {
    if (connection !== undefined) this.#reading.ended(connection);
    cut(session, connection?.socket, constants.NGHTTP2_ENHANCE_YOUR_CALM);
  }
}

type SessionState = {
  readonly connection: ReadConnection | undefined;
  readonly traffic: Traffic;
  readonly needlessPieces: Allowance;
  openCalls: number;
  idleSinceMs: number;
};

/** Needless pieces (`isNeedless` of http2-call.ts) beyond those of honest clients, whose pieces are larger. */
const needlessPieces = { burst: 1_000, perSecond: 100 };

const unlimited = 2 ** 31 - 1;

/** A session that was closed waits for its peer to close the connection, also when it is destroyed; who does not even read never does. */
function cut(session: ServerHttp2Session, socket: Socket | undefined, code = constants.NGHTTP2_CANCEL): void {
  session.destroy(undefined, code);
  setImmediate(() => socket?.destroy());
}

function ignore(): void {}

type Served = { readonly rpc: Rpc; readonly method: Method | undefined };

/** Who reads `unknown method` looks for a wrong address or a typo: nobody should who calls what Temporal has and this server lacks. */
function notServed({ service, method, missing }: Rpc): StatusError {
  if (missing !== undeclared) return notBuilt(method);
  return new StatusError(statusCode.unimplemented, `unknown method ${method} for service ${service}`);
}

function serverOptions(limits: TransportLimits): Parameters<typeof createServer>[0] {
  return {
    maxSessionMemory: limits.sessionMemoryMiBMax,
    maxHeaderListPairs: limits.headerPairsMax,
    maxSessionInvalidFrames: limits.invalidFramesMax,
    maxSessionRejectedStreams: limits.rejectedStreamsMax,
    // A client that cancels much is read later (fair-reading.ts): nghttp2 would end its connection, which may carry the calls of many others.
    streamResetBurst: unlimited,
    streamResetRate: unlimited,
    settings: { maxConcurrentStreams: limits.concurrentStreamsMax, maxHeaderListSize: limits.headerListBytesMax },
  };
}
