/**
 * A database that lives in a worker thread: encoding parameters, reading rows, and waiting for a disk never hold up the event loop.
 *
 *     caller ── pack ──▶ [ id, method, arguments ] ──▶ thread: serve(database)
 *            ◀── by id ── [ id, answer or failure ] ◀──
 *     a large write ── [ rows ] [ rows ] … [ write ] ──▶   in slices of the event loop (parcels.ts)
 *
 * The thread starts with the first call, or at once if it is asked to. Should it die, every open call ends, and a later one starts a new
 * thread after a pause that grows as long as no thread answers. A write that was under way then may have been committed: it ends *unknown*.
 */
import { Worker } from 'node:worker_threads';
import { DatabaseError } from '../database-port.ts';
import { everyMethod, type Answer, type Arguments, type Method } from '../database-methods.ts';
import { errorText } from '../../kernel/error-text.ts';
import { pack } from './pack.ts';
import { isSmall, parcelsOf } from './parcels.ts';
import type { Checkpoint, Database } from '../database-port.ts';
import type { Said, ThreadAnswer, ThreadMessage } from './messages.ts';

export type ThreadDatabaseOptions = {
  /** For people: `sqlite x.db-state`. */
  readonly name: string;
  /** A module that calls `serve`. */
  readonly worker: URL;
  /** Plain data: the thread's `workerData`. */
  readonly workerData: unknown;
  /** What the thread says for the log. */
  readonly heard?: (said: Said) => void;
  /** Not with the first call: it loads while its owner is busy otherwise. */
  readonly startsAtOnce?: boolean;
  /** The pause before a thread takes the place of one that died; doubled each time until one answers, up to 32 times as long. Default 250. */
  readonly restartPauseMs?: number;
};

const defaultRestartPauseMs = 250;
const pauseDoublingsMax = 5;
/** Parcels are sent for so long at a time, a quarter of the event loop's time at most. */
const sendSliceMs = 2;

export function threadDatabase(options: ThreadDatabaseOptions): Database {
  const channel = new Channel(options);
  const all = everyMethod(options.name, (method, args) => channel.ask(method, args));
  return { ...all, write: (...args) => channel.write(args), close: () => channel.close() };
}

type OpenCall = {
  readonly method: Method;
  readonly resolve: (answer: Answer<Method>) => void;
  readonly reject: (error: DatabaseError) => void;
};

/** One life of the thread. */
type Thread = { readonly worker: Worker; readonly open: Map<number, OpenCall>; reason: string; hasAnswered: boolean };

class Channel {
  readonly #options: ThreadDatabaseOptions;
  #thread: Thread | undefined;
  #lastId = 0;
  /** Threads that died without an answer, one after the other. */
  #failedStarts = 0;
  /** Large writes whose rows are on their way. */
  readonly #sending = new Set<Promise<void>>();
  #death: { readonly reason: string; readonly startAgainMs: number } | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: ThreadDatabaseOptions) {
    this.#options = options;
    if (options.startsAtOnce === true) this.#thread = this.#start();
  }

  async ask<M extends Method>(method: M, args: Arguments<M>): Promise<Answer<M>> {
    if (this.#closing !== undefined) throw this.#closed();
    return await this.#post(this.#running(), method, args);
  }

  /** Rows that are many go ahead, with pauses; nothing is written before the last of them is there. */
  async write(args: Arguments<'write'>): Promise<Answer<'write'>> {
    const [journal, fence, checkpoint] = args;
    if (isSmall(checkpoint)) return await this.ask('write', args);
    if (this.#closing !== undefined) throw this.#closed();
    const thread = this.#running();
    const id = ++this.#lastId;
    const sent = this.#sendRows(thread, id, checkpoint);
    this.#sending.add(sent);
    try {
      await sent;
    } finally {
      this.#sending.delete(sent);
    }
    const { delta: _, ...head } = checkpoint;
    return await this.#open(thread, 'write', { kind: 'write', id, journal, fence, checkpoint: head });
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** What is under way ends first: the database sees to that. */
  async #close(): Promise<void> {
    await Promise.allSettled(this.#sending);
    const thread = this.#thread;
    if (thread === undefined) return;
    const exited = new Promise((resolve) => thread.worker.once('exit', resolve));
    try {
      await this.#post(thread, 'close', []);
    } catch {
      // It died on the way, or cannot end in good order.
      await thread.worker.terminate();
    }
    await exited;
  }

  #post<M extends Method>(thread: Thread, method: M, args: Arguments<M>): Promise<Answer<M>> {
    return this.#open(thread, method, { kind: 'call', id: ++this.#lastId, method, args });
  }

  #open<M extends Method>(thread: Thread, method: M, message: ThreadMessage): Promise<Answer<M>> {
    return new Promise((resolve, reject) => {
      send(thread, message);
      thread.open.set(message.id, { method, resolve: (answer) => resolve(answer as Answer<M>), reject });
    });
  }

  /** Throws DatabaseError when the thread ends: it wrote none of them. */
  async #sendRows(thread: Thread, id: number, { delta }: Checkpoint): Promise<void> {
    let sliceEndMs = performance.now() + sendSliceMs;
    for (const rows of parcelsOf(delta)) {
      // Whoever stops waits for it, and serves nobody.
      if (performance.now() >= sliceEndMs && this.#closing === undefined) {
        await new Promise((resolve) => void setTimeout(resolve, 3 * sendSliceMs));
        sliceEndMs = performance.now() + sendSliceMs;
      }
      if (this.#thread !== thread) throw this.#unavailable(thread.reason);
      send(thread, { kind: 'rows', id, rows });
    }
  }

  #running(): Thread {
    if (this.#thread !== undefined) return this.#thread;
    const death = this.#death;
    if (death !== undefined && performance.now() < death.startAgainMs) throw this.#unavailable(death.reason);
    this.#thread = this.#start();
    return this.#thread;
  }

  #start(): Thread {
    const { name, worker: url, workerData } = this.#options;
    const worker = new Worker(url, { workerData, name });
    const thread: Thread = { worker, open: new Map(), reason: 'it ended without an error', hasAnswered: false };
    worker.on('message', (answer: ThreadAnswer) => this.#answered(thread, answer));
    worker.on('error', (error) => (thread.reason = errorText(error)));
    worker.on('exit', () => this.#died(thread));
    return thread;
  }

  #answered(thread: Thread, answer: ThreadAnswer): void {
    if (answer.kind === 'said') {
      this.#options.heard?.(answer.said);
      return;
    }
    thread.hasAnswered = true;
    this.#failedStarts = 0;
    const call = thread.open.get(answer.id);
    if (call === undefined) return;
    thread.open.delete(answer.id);
    if (answer.kind === 'failed') call.reject(new DatabaseError(answer.failure.code, answer.failure.message));
    else call.resolve(answer.value);
  }

  #died(thread: Thread): void {
    this.#thread = undefined;
    if (!thread.hasAnswered) this.#failedStarts++;
    const pauseMs = (this.#options.restartPauseMs ?? defaultRestartPauseMs) * 2 ** Math.min(this.#failedStarts, pauseDoublingsMax);
    this.#death = { reason: thread.reason, startAgainMs: performance.now() + pauseMs };
    const error = this.#closing === undefined ? this.#unavailable(thread.reason) : this.#closed();
    for (const { method, resolve, reject } of thread.open.values()) {
      if (method === 'write') resolve({ kind: 'unknown', reason: error.message });
      else reject(error);
    }
    thread.open.clear();
  }

  #unavailable(reason: string): DatabaseError {
    return new DatabaseError('unavailable', `${this.#options.name}: its thread ended (${reason}); the next call starts it again`);
  }

  #closed(): DatabaseError {
    return new DatabaseError('closed', `${this.#options.name} is closed`);
  }
}

function send({ worker }: Thread, message: ThreadMessage): void {
  const { value, transfer } = pack(message);
  worker.postMessage(value, transfer);
}
