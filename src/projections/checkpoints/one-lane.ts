import type { Database } from '../database-port.ts';
import { oneAtATime, type OneAtATime } from '../../kernel/one-at-a-time.ts';

type Writes = Pick<Database, 'write' | 'flush'>;

export type Lane = Writes & {
  /** What is read of tasks, with all that comes of it: none is deleted meanwhile. */
  readonly inTurn: OneAtATime;
};

/**
 * Writes of one memory, one after the other: a database with several connections would else let a later one go first, and a row that was on
 * its way would come back behind the checkpoint that has retired its run. Windows of tasks are read between them: a task that was read, and
 * deleted behind that, would come to life again.
 */
export function inOneLane(database: Writes): Lane {
  const inTurn = oneAtATime();
  return { write: (...args) => inTurn(() => database.write(...args)), flush: (...args) => inTurn(() => database.flush(...args)), inTurn };
}
