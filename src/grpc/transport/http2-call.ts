import { constants, type IncomingHttpHeaders, type OutgoingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import type { Principal } from '../../actors/asks/asks.ts';
import { assert } from '../../kernel/assert.ts';
import { statusCode, StatusError } from '../errors/status-error.ts';
import type { Rpc } from '../rpcs/rpc.ts';
import type { CallTurns, WaitingCall } from './call-turns.ts';
import { newNotes, type Call, type Method, type TaskToken } from './call.ts';
import type { Gate } from './gate.ts';
import { CallHeaders, type ReadHeader } from './call-headers.ts';
import { compressed, decompressed } from './compression.ts';
import type { TransportLimits } from './transport-limits.ts';
import type { ConnectionBytes, KeptBytes } from './kept-bytes.ts';
import { MessageReader } from './message-reader.ts';
import { answerHeaders, asStatusError, statusTrailers } from './status-trailers.ts';

export type CallContext = {
  readonly limits: TransportLimits;
  readonly gate: Gate;
  readonly kept: KeptBytes;
  readonly turns: CallTurns;
};

export type Traffic = {
  readonly peer: string;
  readonly bytes: ConnectionBytes;
  /** A piece of a request has come. `isNeedless`: it is far smaller than those in which honest clients send. May end the connection. */
  piece(bytes: number, isNeedless: boolean): void;
  names(namespace: string): void;
};

/**
 * One gRPC call on one HTTP/2 stream.
 *
 *   headers ── before() ── DATA … END ── decompress ── handle ─▶ finish(answer) ─▶ headers, DATA, trailers
 *                 │                                       │
 *                 └──────────── StatusError ──────────────┴────▶ fail(error)    ─▶ headers with the status
 *   RST_STREAM, connection lost, deadline passed                ─▶ abandon()      cancels what the handler waits for
 *
 * Exactly one of finish, fail and abandon takes effect: the first.
 */
export class Http2Call implements Call, WaitingCall {
  readonly rpc: Rpc;
  readonly deadlineMs: number;
  cancelled = false;
  principal: Principal | undefined = undefined;
  readonly notes = newNotes();

  readonly #stream: ServerHttp2Stream;
  readonly #headers: CallHeaders;
  readonly #context: CallContext;
  readonly #traffic: Traffic;
  readonly #startedMs = performance.now();
  readonly #reader: MessageReader;
  #method: Method | undefined;
  #timer: NodeJS.Timeout | undefined;
  #cancelListener: (() => void) | undefined;
  #ended = false;
  #headersSent = false;
  #keptBytes = 0;
  #pieces = 0;
  #bytes = 0;
  #isReceived = false;
  #isTimeUp = false;

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rpc: Rpc, context: CallContext, traffic: Traffic) {
    this.#stream = stream;
    this.#headers = new CallHeaders(headers);
    this.#context = context;
    this.#traffic = traffic;
    this.#reader = new MessageReader(context.limits.messageBytesMax);
    this.rpc = rpc;
    const timeout = timeoutMs(this.header('grpc-timeout'));
    this.deadlineMs = Number.isNaN(timeout) ? Infinity : this.#startedMs + timeout;
    stream.on('close', () => {
      this.#letGo();
      this.#abandon();
    });
    this.#keep(this.#headers.bytes + openCallBytes);
    if (Number.isNaN(timeout)) this.fail(new StatusError(statusCode.internal, `malformed grpc-timeout: "${this.header('grpc-timeout')}"`));
    else this.#startTimer(Math.min(timeout, context.limits.requestTimeoutMs));
  }

  header(name: ReadHeader): string {
    return this.#headers.get(name);
  }

  get peer(): string {
    return this.#traffic.peer;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** Calls that wait for decompression take turns by their connection. */
  get connection(): object {
    return this.#traffic.bytes;
  }

  onCancel(listener: () => void): void {
    if (this.cancelled) listener();
    else this.#cancelListener = listener;
  }

  admit(request: object, token?: TaskToken): Promise<void> | undefined {
    return this.#context.gate.admit(this, request, token);
  }

  run(method: Method): void {
    if (this.#ended) return;
    try {
      this.#context.gate.before(this);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.#method = method;
    const stream = this.#stream;
    stream.on('data', (chunk: Buffer) => this.#read(chunk));
    stream.on('end', () => {
      // The timer has guarded the request; when it fires, it goes on to the deadline.
      this.#isReceived = true;
      if (!this.isOver()) this.#context.turns.add(this.connection, this);
    });
  }

  #read(chunk: Buffer): void {
    this.#count(chunk);
    if (this.#ended) return;
    this.#keep(chunk.length);
    try {
      this.#reader.add(chunk);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Whether nobody waits for the answer: Node tells the end of the request of a stream that its client has reset before it tells of the reset. */
  isOver(): boolean {
    return this.#ended || this.#stream.closed;
  }

  begin(): void {
    assert(this.#method !== undefined, 'a call that begins has run');
    this.#received(this.#method);
    this.#tellNamespace();
  }

  #tellNamespace(): void {
    const { namespace } = this.notes;
    if (namespace !== '') this.#traffic.names(namespace);
  }

  #count(chunk: Buffer): void {
    this.#pieces++;
    this.#bytes += chunk.length;
    const needed = neededPieces + this.#bytes / neededPieceBytes;
    this.#traffic.piece(chunk.length, this.#pieces > needed);
  }

  fail(thrown: unknown): void {
    if (!(thrown instanceof StatusError)) this.#context.gate.reportBug(this, thrown);
    const error = asStatusError(thrown);
    if (!this.#end(error.code, error.message, error)) return;
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    if (this.#headersSent) {
      this.#sendTrailers(statusTrailers(error));
      return;
    }
    this.#write(() => stream.respond({ ...statusTrailers(error), ...answerHeaders }, withoutBody));
    if (stream.readableEnded) return;
    if (stream.listenerCount('data') === 0) stream.on('data', (chunk: Buffer) => this.#count(chunk));
    drain(stream, this.#isTimeUp ? lateDrainMs : this.#context.limits.requestTimeoutMs);
  }

  #received(method: Method): void {
    try {
      const { message, compressed: isCompressed } = this.#reader.finish();
      if (!isCompressed) {
        this.#handle(method, message);
        return;
      }
      const plain = decompressed(message, this.header('grpc-encoding'), this.#context.limits.messageBytesMax, this);
      if (plain instanceof Promise) plain.then((bytes) => this.#handle(method, bytes)).catch((error: unknown) => this.fail(error));
      else this.#handle(method, plain);
    } catch (error) {
      this.fail(error);
    }
  }

  #handle(method: Method, request: Uint8Array): void {
    if (this.#ended) return;
    // The request counted as kept from its first byte until now: it may have waited for its turn to be decompressed.
    this.#letGo(this.#headers.bytes);
    if (this.deadlineMs === Infinity) clearTimeout(this.#timer);
    if (method.kind === 'serverStream') {
      method
        .handle(request, this, (message) => this.#send(message))
        .then(
          () => this.#finishStream(),
          (error: unknown) => this.fail(error),
        );
      return;
    }
    const answer = method.handle(request, this);
    if (answer instanceof Promise) answer.then((bytes) => this.#finish(bytes)).catch((error: unknown) => this.fail(error));
    else this.#finish(answer);
  }

  #finish(answer: Uint8Array): void {
    if (this.#ended) return;
    if (answer.length >= this.#context.limits.gzipAnswerBytesMin && acceptsGzip(this.header('grpc-accept-encoding'))) {
      // While it waits for a compression thread the answer counts as kept, like an answer that nobody takes.
      this.#keep(answer.length);
      compressed(answer)
        .then((small) => {
          this.#letGo(this.#headers.bytes);
          this.#answer(small, true);
        })
        .catch((error: unknown) => this.fail(error));
      return;
    }
    this.#answer(answer, false);
  }

  #answer(message: Uint8Array, isCompressed: boolean): void {
    if (!this.#end(statusCode.ok, '')) return;
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    this.#write(() => {
      stream.respond(isCompressed ? gzipAnswerFields : answerFields, withTrailers);
      stream.on('wantTrailers', sendOk);
      stream.end(framed(message, isCompressed));
    });
    this.#keep(message.length);
  }

  #keep(bytes: number): void {
    this.#keptBytes += bytes;
    this.#context.kept.add(this.#traffic.bytes, bytes);
  }

  #letGo(leftBytes = 0): void {
    const bytes = this.#keptBytes - leftBytes;
    if (bytes <= 0) return;
    this.#context.kept.remove(this.#traffic.bytes, bytes);
    this.#keptBytes = leftBytes;
  }

  /** Node throws when it finds a header or a stream unfit: that ends this stream, nothing else. */
  #write(send: () => void): void {
    try {
      send();
    } catch (error) {
      this.#context.gate.reportBug(this, error);
      this.#stream.close(constants.NGHTTP2_INTERNAL_ERROR);
    }
  }

  #send(message: Uint8Array): void {
    const stream = this.#stream;
    if (this.#ended || stream.destroyed || stream.closed) return;
    if (!this.#headersSent) {
      this.#headersSent = true;
      stream.respond(answerFields, withTrailers);
    }
    stream.write(framed(message, false));
  }

  #finishStream(): void {
    if (!this.#headersSent) this.#send(new Uint8Array(0));
    if (this.#end(statusCode.ok, '')) this.#sendTrailers({ 'grpc-status': '0' });
  }

  #sendTrailers(trailers: OutgoingHttpHeaders): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.closed) return;
    stream.on('wantTrailers', () => stream.sendTrailers(trailers));
    stream.end();
  }

  /** First until the request must be here, then until the deadline. */
  #startTimer(waitMs: number): void {
    this.#timer = setTimeout(() => this.#timeIsUp(), Math.min(waitMs, timerMsMax));
  }

  #timeIsUp(): void {
    const leftMs = this.deadlineMs - performance.now();
    if (this.#isReceived && leftMs > 0) {
      this.#startTimer(Math.ceil(leftMs));
      return;
    }
    this.#isTimeUp = true;
    const message = leftMs > 1 ? 'the request was not received in time' : 'context deadline exceeded';
    this.fail(new StatusError(statusCode.deadlineExceeded, message));
    this.#cancel();
  }

  /** The stream is gone. Also comes after every regular end, and then does nothing. */
  #abandon(): void {
    if (this.#end(statusCode.cancelled, 'the client cancelled the call')) this.#cancel();
  }

  #cancel(): void {
    this.cancelled = true;
    const listener = this.#cancelListener;
    this.#cancelListener = undefined;
    try {
      listener?.();
    } catch (error) {
      this.#context.gate.reportBug(this, error);
    }
  }

  /** False when the call has ended already. */
  #end(code: number, message: string, error?: StatusError): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    clearTimeout(this.#timer);
    // A call that was compressed, or whose namespace was looked up, has named it since it began.
    this.#tellNamespace();
    this.#context.gate.after(this, { code, message, error, durationMs: performance.now() - this.#startedMs });
    return true;
  }
}

/** Names and values in turn: of an object Node makes copies for each answer. */
const answerFields = Object.entries(answerHeaders).flat().map(String);
const gzipAnswerFields = [...answerFields, 'grpc-encoding', 'gzip'];
/** Nobody reads the `date` that Node would add. */
const withTrailers = { waitForTrailers: true, sendDate: false } as const;
const withoutBody = { endStream: true, sendDate: false } as const;
const okTrailers = { 'grpc-status': '0' } as const;

/** Beside its headers, what a call takes whose request is not here: streams of Node live outside of the heap. */
const openCallBytes = 4 * 1024;

/** Whoever has not sent his request in time has a moment to see that it is refused. */
const lateDrainMs = 1_000;

/** The smallest requests come in up to so many pieces; larger ones may have one for each so many bytes. */
const [neededPieces, neededPieceBytes] = [4, 64];

function sendOk(this: ServerHttp2Stream): void {
  this.sendTrailers(okTrailers);
}

function framed(message: Uint8Array, isCompressed: boolean): Buffer {
  const frame = Buffer.allocUnsafe(message.length + 5);
  frame[0] = isCompressed ? 1 : 0;
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, 5);
  return frame;
}

function acceptsGzip(accepted: string): boolean {
  return accepted !== '' && accepted.split(',').some((encoding) => encoding.trim() === 'gzip');
}

/** A client whose stream is reset while it still sends would not see the status. One that goes on sending is cut off. */
function drain(stream: ServerHttp2Stream, timeoutMsMax: number): void {
  stream.resume();
  const timer = setTimeout(() => stream.close(constants.NGHTTP2_NO_ERROR), timeoutMsMax);
  stream.once('close', () => clearTimeout(timer));
}

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1_000, m: 1, u: 1e-3, n: 1e-6 };

/** `grpc-timeout` as whole milliseconds, rounded up; Infinity when absent, NaN when it cannot be read. */
function timeoutMs(header: string): number {
  if (header === '') return Infinity;
  const match = /^(\d{1,8})([HMSmun])$/.exec(header);
  return match === null ? Number.NaN : Math.ceil(Number(match[1]) * (unitMs[match[2] as string] as number));
}

/** Timers of Node hold 31 bits; a longer wait would end at once. */
const timerMsMax = 2 ** 31 - 1;
