/** Where the embedded log keeps its batches: in memory, or in a file on a thread of its own, whose fsync takes 150 µs and more. */
import { Worker } from 'node:worker_threads';
import { LogError } from '../../ports/log.ts';
import { assert } from '../../kernel/assert.ts';
import { MemoryJournal } from './memory-journal.ts';
import { callJournal } from './writer-messages.ts';
import type { WriterAnswer, WriterArguments, WriterCall, WriterMethod, WriterResult } from './writer-messages.ts';
import type { JournalAppend, JournalBounds, JournalDbOptions, JournalEntry } from './journal-db.ts';

export interface JournalBackend {
  readonly bounds: readonly JournalBounds[];
  /** One transaction, one fsync. The caller gives the buffers away. `done` may be called before this returns. */
  append(entries: readonly JournalEntry[], done: (result: JournalAppend) => void): void;
  call<M extends WriterMethod>(method: M, ...args: WriterArguments<M>): Promise<WriterResult<M>>;
  close(): Promise<void>;
}

/** `filename`: undefined = in memory, where pragmas say nothing. */
export async function openJournalBackend({ filename, ...options }: BackendOptions): Promise<JournalBackend> {
  return filename === undefined ? memoryBackend(options.topics) : await FileBackend.open({ ...options, filename });
}

type BackendOptions = Omit<JournalDbOptions, 'filename'> & { readonly filename: string | undefined };

function memoryBackend(topics: JournalDbOptions['topics']): JournalBackend {
  const journal = new MemoryJournal(topics);
  return {
    bounds: journal.bounds,
    append: (entries, done) => done(journal.append(entries)),
    call: async (method, ...args) => callJournal(journal, method, args),
    close: async () => journal.close(),
  };
}

type Result = Extract<WriterAnswer, { readonly result: unknown }>['result'];
type Pending = { readonly resolve: (result: Result) => void; readonly fail: (error: LogError) => void };

class FileBackend implements JournalBackend {
  bounds: readonly JournalBounds[] = [];
  readonly #worker: Worker;
  /** Calls in their order, which is the order of the thread's answers. */
  readonly #pending: Pending[] = [];
  #gone: LogError | undefined;

  static async open(options: JournalDbOptions): Promise<FileBackend> {
    const worker = new Worker(new URL('./writer-thread.ts', import.meta.url), { workerData: options, name: 'log-writer' });
    const backend = new FileBackend(worker);
    try {
      const found = new Promise<Result>((resolve, fail) => backend.#pending.push({ resolve, fail }));
      backend.bounds = (await found) as readonly JournalBounds[];
      return backend;
    } catch (error) {
      await worker.terminate();
      throw error;
    }
  }

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on('message', (answer: WriterAnswer) => this.#answered(answer));
    worker.on('error', (error) =>
      this.#lost(new LogError('unavailable', 'the log writer thread failed', { cause: error, recoverable: false })),
    );
    worker.on('exit', () => this.#lost(new LogError('closed', 'the log is closed')));
  }

  append(entries: readonly JournalEntry[], done: (result: JournalAppend) => void): void {
    // A thread that died may have committed before it did.
    const fail = (error: LogError): void => done({ ok: false, certain: false, reason: error.message });
    const transfer = entries.map((entry) => entry.data.buffer as ArrayBuffer);
    this.#post({ method: 'append', args: [entries] }, { resolve: (result) => done(result as JournalAppend), fail }, transfer);
  }

  call<M extends WriterMethod>(method: M, ...args: WriterArguments<M>): Promise<WriterResult<M>> {
    return new Promise((resolve, fail) =>
      this.#post({ method, args } as WriterCall, { resolve: (result) => resolve(result as WriterResult<M>), fail }, []),
    );
  }

  async close(): Promise<void> {
    if (this.#gone !== undefined) return;
    const exited = new Promise((resolve) => this.#worker.once('exit', resolve));
    await this.call('close');
    await exited;
  }

  #post(call: WriterCall, pending: Pending, transfer: readonly ArrayBuffer[]): void {
    if (this.#gone !== undefined) return pending.fail(this.#gone);
    this.#pending.push(pending);
    this.#worker.postMessage(call, transfer);
  }

  #answered(answer: WriterAnswer): void {
    const pending = this.#pending.shift();
    assert(pending !== undefined, 'the writer answers only what it was asked');
    if ('result' in answer) return pending.resolve(answer.result);
    const { code, message, recoverable } = answer.failure;
    pending.fail(new LogError(code, message, { recoverable }));
  }

  #lost(error: LogError): void {
    this.#gone ??= error;
    for (const pending of this.#pending.splice(0)) pending.fail(this.#gone);
  }
}
