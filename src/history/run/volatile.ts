/**
 * State that is never journaled, never hashed, and lost at a takeover: whoever waits asks again.
 *
 *   waiters      long polls for history
 *   queries      buffered until the next workflow task takes them along, or until it is over
 *   updates      admitted, or with a worker; who waits for what comes of them, and of those that are accepted
 *   speculative  workflow tasks for updates: nothing of them is written unless they turn out to matter
 *   letterWaits  who waits for the outcome of a letter
 *   finished     transfer tasks that are done, until a record carries that along
 *
 * A decision only reads it. What the decision would change is staged with its draft and applied once its record is accepted (or at once,
 * when there is none): a command that throws, or whose record is refused, changes nothing for the asks that wait.
 */
import type { DirectQuery } from '../commands/query-commands.ts';
import type { GetHistoryPosition } from '../commands/history-commands.ts';
import { unreachable } from '../../kernel/assert.ts';
import type { RunView, WorkflowTask } from './state.ts';
import { type PendingUpdate, pendingUpdateBytes, type UpdateWait } from '../commands/pending-update.ts';

export type HistoryWaiter = Pick<GetHistoryPosition, 'waitBeyondEventId' | 'waitForClose'> & { readonly askId: number };

export type BufferedQuery = Pick<DirectQuery, 'askId' | 'queryId' | 'query' | 'deadlineMs'>;

export type LetterWait = { readonly askId: number };

export type Volatile = {
  /** Callers who wait, by run id and then by ask id, in order of arrival. */
  readonly waiters: Map<string, Map<number, HistoryWaiter>>;
  readonly queries: Map<string, Map<number, BufferedQuery>>;
  readonly speculative: Map<string, WorkflowTask>;
  /** Updates by run id, then by update id, in the order of their admission. */
  readonly updates: Map<string, Map<string, PendingUpdate>>;
  readonly updateWaits: Map<string, Map<number, UpdateWait>>;
  /** What the updates of a namespace take, by its id. */
  readonly updateBytes: Map<string, number>;
  /** Callers who wait for a letter, by `markKey`. */
  readonly letterWaits: Map<string, Map<number, LetterWait>>;
  /** Which run, or which letter, an ask waits on. */
  readonly waitingOn: Map<number, string>;
  readonly finished: Set<number>;
};

type ViewOf<Held> =
  Held extends Map<infer Key, infer Value> ? ReadonlyMap<Key, ViewOf<Value>> : Held extends Set<infer Id> ? ReadonlySet<Id> : Held;

export type VolatileView = { readonly [Name in keyof Volatile]: ViewOf<Volatile[Name]> };

/** The one that is pending, in history or not. */
export function workflowTaskOf({ speculative }: VolatileView, { workflowTask, key }: RunView): WorkflowTask | undefined {
  return workflowTask ?? speculative.get(key.runId);
}

export type VolatileChange =
  | { readonly kind: 'historyAwaited'; readonly runId: string; readonly waiter: HistoryWaiter }
  | { readonly kind: 'queryBuffered'; readonly runId: string; readonly query: BufferedQuery }
  | { readonly kind: 'letterAwaited'; readonly markKey: string; readonly askId: number }
  /** Answered, sent on or given up, whatever the ask waited for. */
  | { readonly kind: 'waitEnded'; readonly askId: number }
  | { readonly kind: 'speculativeSet'; readonly runId: string; readonly workflowTask: WorkflowTask }
  /** Dropped without a trace, or written: the run has a real task now, or is closed. */
  | { readonly kind: 'speculativeEnded'; readonly runId: string }
  | { readonly kind: 'updateAwaited'; readonly runId: string; readonly wait: UpdateWait }
  /** Admitted, sent, or to be sent once more. */
  | { readonly kind: 'updatePending'; readonly runId: string; readonly update: PendingUpdate }
  /** Accepted, rejected or aborted. */
  | { readonly kind: 'updateEnded'; readonly runId: string; readonly updateId: string }
  | { readonly kind: 'taskFinished'; readonly taskId: number };

export function emptyVolatile(): Volatile {
  return {
    waiters: new Map(),
    queries: new Map(),
    speculative: new Map(),
    updates: new Map(),
    updateWaits: new Map(),
    updateBytes: new Map(),
    letterWaits: new Map(),
    waitingOn: new Map(),
    finished: new Set(),
  };
}

/** The only code that changes volatile state. */
export function changeVolatile(volatile: Volatile, change: VolatileChange): void {
  switch (change.kind) {
    case 'historyAwaited':
      return addWait(volatile, volatile.waiters, change.runId, change.waiter);
    case 'queryBuffered':
      return addWait(volatile, volatile.queries, change.runId, change.query);
    case 'letterAwaited':
      return addWait(volatile, volatile.letterWaits, change.markKey, { askId: change.askId });
    case 'waitEnded': {
      const on = volatile.waitingOn.get(change.askId);
      if (on === undefined) return;
      volatile.waitingOn.delete(change.askId);
      endWait(volatile.waiters, on, change.askId);
      endWait(volatile.queries, on, change.askId);
      endWait(volatile.updateWaits, on, change.askId);
      endWait(volatile.letterWaits, on, change.askId);
      return;
    }
    case 'speculativeSet':
      volatile.speculative.set(change.runId, change.workflowTask);
      return;
    case 'speculativeEnded':
      volatile.speculative.delete(change.runId);
      return;
    case 'updateAwaited':
      return addWait(volatile, volatile.updateWaits, change.runId, change.wait);
    case 'updatePending':
      return setUpdate(volatile, change.runId, change.update);
    case 'updateEnded':
      return endUpdate(volatile, change.runId, change.updateId);
    case 'taskFinished':
      volatile.finished.add(change.taskId);
      return;
    default:
      return unreachable(change);
  }
}

type Waits<Wait> = Map<string, Map<number, Wait>>;

/** `on`: a run id, or the key of a letter's mark. */
function addWait<Wait extends LetterWait>({ waitingOn }: Volatile, waits: Waits<Wait>, on: string, wait: Wait): void {
  const others = waits.get(on);
  if (others === undefined) waits.set(on, new Map([[wait.askId, wait]]));
  else others.set(wait.askId, wait);
  waitingOn.set(wait.askId, on);
}

function setUpdate(volatile: Volatile, runId: string, update: PendingUpdate): void {
  const { updates, updateBytes } = volatile;
  const ofRun = updates.get(runId) ?? new Map<string, PendingUpdate>();
  updates.set(runId, ofRun);
  const before = ofRun.get(update.updateId);
  ofRun.set(update.updateId, update);
  // It grows where callbacks are attached to it, and what is counted when it ends is all of it.
  const grown = pendingUpdateBytes(update) - (before === undefined ? 0 : pendingUpdateBytes(before));
  if (grown !== 0) updateBytes.set(update.namespaceId, (updateBytes.get(update.namespaceId) ?? 0) + grown);
}

function endUpdate({ updates, updateBytes }: Volatile, runId: string, updateId: string): void {
  const ofRun = updates.get(runId);
  const update = ofRun?.get(updateId);
  if (ofRun === undefined || update === undefined) return;
  ofRun.delete(updateId);
  if (ofRun.size === 0) updates.delete(runId);
  const left = (updateBytes.get(update.namespaceId) ?? 0) - pendingUpdateBytes(update);
  if (left > 0) updateBytes.set(update.namespaceId, left);
  else updateBytes.delete(update.namespaceId);
}

function endWait<Wait>(waits: Waits<Wait>, runId: string, askId: number): void {
  const others = waits.get(runId);
  if (others?.delete(askId) === true && others.size === 0) waits.delete(runId);
}
