/** The side of the thread: answers what the event loop asks of a database, until it is closed. */
import { parentPort, type MessagePort } from 'node:worker_threads';
import { DatabaseError } from '../database-port.ts';
import { callMethod, type Answer, type Method } from '../database-methods.ts';
import { assert, unreachable } from '../../kernel/assert.ts';
import { errorText } from '../../kernel/error-text.ts';
import { pack } from './pack.ts';
import { Parcels } from './parcels.ts';
import type { Database } from '../database-port.ts';
import type { Said, ThreadAnswer, ThreadMessage, ThreadRequest } from './messages.ts';

export function serve(database: Database): void {
  assert(parentPort !== null, 'a database is served in a worker thread');
  const port = parentPort;
  const parcels = new Parcels();
  port.on('message', (message: ThreadMessage) => {
    switch (message.kind) {
      case 'call':
        return void serveOne(port, database, message);
      case 'rows':
        return parcels.add(message.id, message.rows);
      case 'write': {
        const { id, journal, fence, checkpoint } = message;
        return void serveOne(port, database, { id, method: 'write', args: [journal, fence, parcels.checkpoint(id, checkpoint)] });
      }
      default:
        return unreachable(message);
    }
  });
}

async function serveOne<M extends Method>(port: MessagePort, database: Database, { id, method, args }: ThreadRequest<M>): Promise<void> {
  const { value, transfer } = pack(await answered(id, () => callMethod(database, method, args)));
  port.postMessage(value, transfer);
  // What ended before it is answered in the same turn. Then nothing listens any more, and the thread ends.
  if (method === 'close') setImmediate(() => port.close());
}

async function answered(id: number, call: () => Promise<Answer<Method>>): Promise<ThreadAnswer> {
  try {
    return { kind: 'done', id, value: await call() };
  } catch (error) {
    // What is no DatabaseError is a bug of ours; asking again would meet it again.
    const code = error instanceof DatabaseError ? error.code : 'data';
    return { kind: 'failed', id, failure: { code, message: error instanceof DatabaseError ? error.message : errorText(error) } };
  }
}

/** Tells whoever started the thread, for its log. */
export function say(said: Said): void {
  const line: ThreadAnswer = { kind: 'said', said };
  parentPort?.postMessage(line);
}
