import type { Database } from '../database.ts';

type Writes = Pick<Database, 'write' | 'flush'>;

/**
 * Writes of one memory, one after the other: a database with several connections would else let a later one go first, and a row that was on
 * its way would come back behind the checkpoint that has retired its run.
 */
export function inOneLane(database: Writes): Writes {
  let last: Promise<unknown> = Promise.resolve();
  const afterLast = <Result>(write: () => Promise<Result>): Promise<Result> => {
    const written = last.then(write);
    last = written.catch(() => {});
    return written;
  };
  return {
    write: (...args) => afterLast(() => database.write(...args)),
    flush: (...args) => afterLast(() => database.flush(...args)),
  };
}
