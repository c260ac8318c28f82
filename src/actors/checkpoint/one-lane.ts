import type { Database } from '../database.ts';

type Writes = Pick<Database, 'write' | 'flush'>;

export type Lane = Writes & {
  /** What is read of tasks, with all that comes of it: none is deleted meanwhile. */
  readonly inTurn: <Result>(work: () => Promise<Result>) => Promise<Result>;
};

/**
 * Writes of one memory, one after the other: a database with several connections would else let a later one go first, and a row that was on
 * its way would come back behind the checkpoint that has retired its run. Windows of tasks are read between them: a task that was read, and
 * deleted behind that, would come to life again.
 */
export function inOneLane(database: Writes): Lane {
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <Result>(work: () => Promise<Result>): Promise<Result> => {
    const done = last.then(work);
    last = done.catch(() => {});
    return done;
  };
  return {
    write: (...args) => inTurn(() => database.write(...args)),
    flush: (...args) => inTurn(() => database.flush(...args)),
    inTurn,
  };
}
