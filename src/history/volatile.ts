/**
 * State that is never journaled, never hashed, and lost at a takeover: whoever waits asks again.
 *
 *   waiters      long polls for history
 *   queries      buffered until the next workflow task takes them along, or until it is over
 *   speculative  workflow tasks for updates: nothing of them is written unless they turn out to matter
 *   letterWaits  who waits for the outcome of a letter
 *   finished     transfer tasks that are done, until a record carries that along
 *
 * A decision only reads it. What the decision would change is staged with its draft and applied once its record is accepted (or at once,
 * when there is none): a command that throws, or whose record is refused, changes nothing for the asks that wait.
 */
import { unreachable } from '../kernel/assert.ts';
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

export type LetterWait = { readonly askId: number };

export type Volatile = {
  /** By run id, like the maps below; within a run by ask id, in order of arrival. */
  readonly waiters: Map<string, Map<number, HistoryWaiter>>;
  readonly queries: Map<string, Map<number, BufferedQuery>>;
  readonly speculative: Map<string, WorkflowTask>;
  /** By `markKey`. */
  readonly letterWaits: Map<string, Map<number, LetterWait>>;
  /** Which run, or which letter, an ask waits on. */
  readonly waitingOn: Map<number, string>;
  readonly finished: Set<number>;
};

/** What a decision sees of it. */
export type VolatileView = {
  readonly waiters: ReadonlyMap<string, ReadonlyMap<number, HistoryWaiter>>;
  readonly queries: ReadonlyMap<string, ReadonlyMap<number, BufferedQuery>>;
  readonly speculative: ReadonlyMap<string, WorkflowTask>;
  readonly letterWaits: ReadonlyMap<string, ReadonlyMap<number, LetterWait>>;
  readonly waitingOn: ReadonlyMap<number, string>;
  readonly finished: ReadonlySet<number>;
};

export type VolatileChange =
  | { readonly kind: 'historyAwaited'; readonly runId: string; readonly waiter: HistoryWaiter }
  | { readonly kind: 'queryBuffered'; readonly runId: string; readonly query: BufferedQuery }
  | { readonly kind: 'letterAwaited'; readonly markKey: string; readonly askId: number }
  /** Answered, sent on or given up, whatever the ask waited for. */
  | { readonly kind: 'waitEnded'; readonly askId: number }
  | { readonly kind: 'speculativeSet'; readonly runId: string; readonly workflowTask: WorkflowTask }
  /** Dropped without a trace, or written: the run has a real task now, or is closed. */
  | { readonly kind: 'speculativeEnded'; readonly runId: string }
  | { readonly kind: 'taskFinished'; readonly taskId: number };

export function emptyVolatile(): Volatile {
  return {
    waiters: new Map(),
    queries: new Map(),
    speculative: new Map(),
    letterWaits: new Map(),
    waitingOn: new Map(),
    finished: new Set(),
  };
}

/** The only code that changes volatile state. */
export function changeVolatile(volatile: Volatile, change: VolatileChange): void {
  switch (change.kind) {
    case 'historyAwaited':
      addWait(volatile.waiters, change.runId, change.waiter);
      volatile.waitingOn.set(change.waiter.askId, change.runId);
      return;
    case 'queryBuffered':
      addWait(volatile.queries, change.runId, change.query);
      volatile.waitingOn.set(change.query.askId, change.runId);
      return;
    case 'letterAwaited':
      addWait(volatile.letterWaits, change.markKey, { askId: change.askId });
      volatile.waitingOn.set(change.askId, change.markKey);
      return;
    case 'waitEnded': {
      const on = volatile.waitingOn.get(change.askId);
      if (on === undefined) return;
      volatile.waitingOn.delete(change.askId);
      endWait(volatile.waiters, on, change.askId);
      endWait(volatile.queries, on, change.askId);
      endWait(volatile.letterWaits, on, change.askId);
      return;
    }
    case 'speculativeSet':
      volatile.speculative.set(change.runId, change.workflowTask);
      return;
    case 'speculativeEnded':
      volatile.speculative.delete(change.runId);
      return;
    case 'taskFinished':
      volatile.finished.add(change.taskId);
      return;
    default:
      return unreachable(change);
  }
}

function addWait<Wait extends { readonly askId: number }>(waits: Map<string, Map<number, Wait>>, runId: string, wait: Wait): void {
  const others = waits.get(runId);
  if (others === undefined) waits.set(runId, new Map([[wait.askId, wait]]));
  else others.set(wait.askId, wait);
}

function endWait<Wait>(waits: Map<string, Map<number, Wait>>, runId: string, askId: number): void {
  const others = waits.get(runId);
  if (others?.delete(askId) === true && others.size === 0) waits.delete(runId);
}
