/** In the thread: answers what the event loop asks of a database, until it is closed. */
import { parentPort, type MessagePort } from 'node:worker_threads';
import { DatabaseError } from '../../actors/database.ts';
import { assert, unreachable } from '../../kernel/assert.ts';
import { errorText } from '../../kernel/error-text.ts';
import { pack } from './pack.ts';
import { Parcels } from './parcels.ts';
import type { Database } from '../../actors/database.ts';
import type { Arguments, Method, Said, ThreadAnswer, ThreadMessage, ThreadRequest } from './messages.ts';

/** Total over the port: a method that it gains does not compile before it stands here and in `thread-database.ts`. */
const calls: { readonly [M in Method]: (database: Database, args: Arguments<M>) => ReturnType<Database[M]> } = {
  cluster: (database, args) => database.cluster(...args),
  bind: (database, args) => database.bind(...args),
  restore: (database, args) => database.restore(...args),
  position: (database, args) => database.position(...args),
  write: (database, args) => database.write(...args),
  flush: (database, args) => database.flush(...args),
  clearSlots: (database, args) => database.clearSlots(...args),
  rewrite: (database, args) => database.rewrite(...args),
  load: (database, args) => database.load(...args),
  transferTasks: (database, args) => database.transferTasks(...args),
  timers: (database, args) => database.timers(...args),
  tasksAside: (database, args) => database.tasksAside(...args),
  dueRuns: (database, args) => database.dueRuns(...args),
  runIds: (database, args) => database.runIds(...args),
  runs: (database, args) => database.runs(...args),
  strayRows: (database, args) => database.strayRows(...args),
  rebuildDue: (database, args) => database.rebuildDue(...args),
  noteRebuild: (database, args) => database.noteRebuild(...args),
  matchingTasks: (database, args) => database.matchingTasks(...args),
  matchingQueues: (database, args) => database.matchingQueues(...args),
  countMatchingTasks: (database, args) => database.countMatchingTasks(...args),
  letters: (database, args) => database.letters(...args),
  letterIds: (database, args) => database.letterIds(...args),
  countLetters: (database, args) => database.countLetters(...args),
  letterGroups: (database, args) => database.letterGroups(...args),
  history: (database, args) => database.history(...args),
  list: (database, args) => database.list(...args),
  count: (database, args) => database.count(...args),
  giveUp: (database, args) => database.giveUp(...args),
  close: (database, args) => database.close(...args),
};

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
  const { value, transfer } = pack(await answered(id, () => calls[method](database, args)));
  port.postMessage(value, transfer);
  // What ended before it is answered in the same turn. Then nothing listens any more, and the thread ends.
  if (method === 'close') setImmediate(() => port.close());
}

async function answered(id: number, call: () => ReturnType<Database[Method]>): Promise<ThreadAnswer> {
  try {
    return { kind: 'done', id, value: await call() };
  } catch (error) {
    // What is no DatabaseError is a bug of ours; asking again would meet it again.
    const code = error instanceof DatabaseError ? error.code : 'data';
    return { kind: 'failed', id, failure: { code, message: error instanceof DatabaseError ? error.message : errorText(error) } };
  }
}

/** To whoever started the thread, for its log. */
export function say(said: Said): void {
  const line: ThreadAnswer = { kind: 'said', said };
  parentPort?.postMessage(line);
}
