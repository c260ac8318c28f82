/**
 * State that is never journaled, never hashed, and lost at a takeover: whoever waits asks again.
 *
 *   waiters      long polls for history
 *   queries      buffered until the next workflow task takes them along, or until it is over
 *   speculative  workflow tasks for updates: nothing of them is written unless they turn out to matter
 *   finished     transfer tasks that are done, until a record carries that along
 */
import type { WorkflowTask } from './state.ts';

export type HistoryWaiter = {
  readonly askId: number;
  readonly waitBeyondEventId: number;
  readonly waitForClose: boolean;
};

export type BufferedQuery = {
  readonly askId: number;
  readonly queryId: string;
  readonly query: Uint8Array;
  readonly deadlineMs: number;
};

export type Volatile = {
  /** By run id, as all others. */
  readonly waiters: Map<string, HistoryWaiter[]>;
  readonly queries: Map<string, BufferedQuery[]>;
  readonly speculative: Map<string, WorkflowTask>;
  /** Which run an ask waits on. */
  readonly waitingOn: Map<number, string>;
  finished: number[];
};

export function emptyVolatile(): Volatile {
  return { waiters: new Map(), queries: new Map(), speculative: new Map(), waitingOn: new Map(), finished: [] };
}
