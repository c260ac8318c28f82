/** The thread that writes the file: fsync stops this thread, never the event loop that serves requests. */
import { parentPort, workerData } from 'node:worker_threads';
import { LogError } from '../../actors/log.ts';
import { assert } from '../../kernel/assert.ts';
import { JournalDb } from './journal-db.ts';
import { logFailure } from './log-failure.ts';
import type { WriterAnswer, WriterOptions, WriterRequest } from './writer-messages.ts';

assert(parentPort !== null, 'the writer runs in a worker thread');
const port = parentPort;
const options: WriterOptions = workerData;

function answer(message: WriterAnswer): void {
  port.postMessage(message);
}

function fail(error: unknown): void {
  const failure = error instanceof LogError ? error : logFailure(error, options.filename ?? ':memory:');
  answer({ kind: 'failed', failure: { code: failure.code, message: failure.message, recoverable: failure.recoverable } });
}

function serve(db: JournalDb, request: WriterRequest): void {
  switch (request.kind) {
    case 'append':
      return answer({ kind: 'appended', result: db.append(request.entries) });
    case 'add':
      return answer({ kind: 'added', bounds: db.add(request.topic) });
    case 'read':
      return answer({ kind: 'rows', rows: db.read(request.index, request.offset, request.bytesMax) });
    case 'truncate':
      return answer({ kind: 'truncated', more: db.truncate(request.index, request.offset) });
    case 'close':
      db.close();
      answer({ kind: 'done' });
      return port.close();
  }
}

try {
  const db = new JournalDb(options);
  port.on('message', (request: WriterRequest) => {
    try {
      serve(db, request);
    } catch (error) {
      fail(error);
    }
  });
  answer({ kind: 'opened', bounds: db.bounds });
} catch (error) {
  fail(error);
}
