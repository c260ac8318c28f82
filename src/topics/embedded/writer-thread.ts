/** The thread that writes the file: fsync stops this thread, never the event loop that serves requests. */
import { parentPort, workerData } from 'node:worker_threads';
import { LogError } from '../../ports/log.ts';
import { assert } from '../../kernel/assert.ts';
import { JournalDb, logFailure, type JournalDbOptions } from './journal-db.ts';
import { callJournal, type WriterAnswer, type WriterCall } from './writer-messages.ts';

assert(parentPort !== null, 'the writer runs in a worker thread');
const port = parentPort;
const options: JournalDbOptions = workerData;

function answer(call: () => Extract<WriterAnswer, { readonly result: unknown }>['result']): void {
  let message: WriterAnswer;
  try {
    message = { result: call() };
  } catch (error) {
    const { code, message: text, recoverable } = error instanceof LogError ? error : logFailure(error, options.filename);
    message = { failure: { code, message: text, recoverable } };
  }
  port.postMessage(message);
}

answer(() => {
  const db = new JournalDb(options);
  port.on('message', ({ method, args }: WriterCall) => {
    answer(() => callJournal(db, method, args));
    if (method === 'close') port.close();
  });
  return db.bounds;
});
