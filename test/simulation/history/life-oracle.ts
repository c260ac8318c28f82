/**
 * What resets, pauses and ends of runs must have left in a journal, whatever happened meanwhile:
 *
 *     I1   a request resets once
 *     I5   a signal that the base run had accepted is in the run that goes on
 *     I6   a run closes once, with its last event; the base run of a reset does so before another goes on
 *     I24  a paused workflow is given no workflow task; a request pauses once
 */
import type { EventKind, HistoryEvent } from '../../../src/history/run/events.ts';
import type { Fact, HistoryRecord, RunChange } from '../../../src/history/run/record.ts';
import { check } from '../oracle.ts';

export const closeKinds: ReadonlySet<EventKind> = new Set<EventKind>([
  'workflowExecutionCompleted',
  'workflowExecutionFailed',
  'workflowExecutionTimedOut',
  'workflowExecutionCanceled',
  'workflowExecutionTerminated',
  'workflowExecutionContinuedAsNew',
]);

/** Of a run so far. */
class Life {
  readonly #runId: string;
  readonly signals = new Set<string>();
  readonly #pauses = new Set<string>();
  closedBy: EventKind | undefined;
  #paused = false;

  constructor(runId: string) {
    this.#runId = runId;
  }

  add(event: HistoryEvent): void {
    const name = (): string => `${event.type} ${event.eventId} of ${this.#runId}`;
    check(this.closedBy === undefined, 'I6 an event behind the close', () => `${name()} behind ${this.closedBy}`);
    if (closeKinds.has(event.type)) this.closedBy = event.type;
    switch (event.type) {
      case 'workflowExecutionSignaled':
        this.signals.add(event.attributes.requestId);
        return;
      case 'workflowExecutionPaused':
        check(!this.#paused, 'I24 paused twice', name);
        check(!this.#pauses.has(event.attributes.requestId), 'I24 paused twice', name);
        this.#pauses.add(event.attributes.requestId);
        this.#paused = true;
        return;
      case 'workflowExecutionUnpaused':
        check(this.#paused, 'I24 unpaused, and not paused', name);
        this.#paused = false;
        return;
      case 'workflowTaskScheduled':
      case 'workflowTaskStarted':
        check(!this.#paused, 'I24 a task of a paused workflow', name);
        return;
      default:
        return;
    }
  }

  /** Of attempts that history does not show. */
  addFact({ kind }: Fact): void {
    const isTask = kind === 'workflowTaskScheduled' || kind === 'workflowTaskStarted';
    check(!isTask || !this.#paused, 'I24 a task of a paused workflow', () => `${kind} of ${this.#runId}`);
  }
}

/** Of one shard, in order. */
export function checkLives(records: readonly HistoryRecord[]): void {
  const lives = new Map<string, Life>();
  const resets = new Map<string, string>();
  /** It is forgotten which request has made it. */
  const forget = (forgotten: string): void => {
    for (const [request, runId] of resets) if (runId === forgotten) resets.delete(request);
  };
  for (const { workflowId, runs, retiredRuns } of records) {
    for (const { runId } of retiredRuns ?? []) forget(runId);
    for (const { runId, events, facts } of runs) {
      const life = lives.get(runId) ?? new Life(runId);
      lives.set(runId, life);
      for (const { event } of events) life.add(event);
      for (const { fact } of facts) {
        if (fact.kind === 'runForgotten') forget(runId);
        life.addFact(fact);
      }
    }
    for (const change of runs)
      checkReset(change, lives, (requestId) => {
        const request = `${workflowId} ${requestId}`;
        const before = resets.get(request);
        check(before === undefined, 'I1 reset twice', () => `${request} made ${before} and ${change.runId}`);
        resets.set(request, change.runId);
      });
  }
}

function checkReset({ runId, facts }: RunChange, lives: ReadonlyMap<string, Life>, made: (requestId: string) => void): void {
  for (const { fact } of facts) {
    if (fact.kind !== 'runReset') continue;
    made(fact.requestId);
    const baseId = fact.bases.at(-1)?.runId ?? '';
    const [base, run] = [lives.get(baseId), lives.get(runId)];
    check(base?.closedBy !== undefined, 'I6 a base run goes on', () => `${baseId}, of which ${runId} is made`);
    const lost = [...(base?.signals ?? [])].filter((signal) => run?.signals.has(signal) !== true);
    check(lost.length === 0, 'I5 a reset loses signals', () => `${lost.join()} of ${baseId}, which ${runId} does not have`);
  }
}
